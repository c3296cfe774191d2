"""Two processes on one output, each of which may believe that it leads: they are killed, stopped and woken by chance.

A process that finds that another has published in its place stops with an error; it is started again, as a supervisor would.
"""

from __future__ import annotations

import os
import random
import signal
import time

from oboro.papers.service.kills.trial import Death, KillTally, Trial, ended_within
from oboro.papers.service.local_brokers import ended

__all__ = ["rivalry"]

PUT_OUT = 2  # the exit code of a process whose place was taken
EVENTS, PATIENCE = 60, 60.0


def rivalry(trial: Trial, rng: random.Random, tally: KillTally, kills: int, span: float) -> None:
    """Let two go on until one of them comes to the end; at most so many are killed. `span`: seconds that one life takes."""
    trial.state = None
    trial.more = {"lease": 0.3} if trial.broker.leases and rng.random() < 0.5 else {}
    lives = [trial.begin(Death(), quiet=True) for _ in range(2)]
    until = time.monotonic() + PATIENCE
    for event in range(EVENTS * 10):
        which = rng.randrange(2)
        time.sleep(rng.uniform(0.0, span / 4))
        code = ended_within(lives[which], 0.0)
        if code is None and event < EVENTS:
            code = _disturbed(lives[which], rng, tally, kills, span)
            kills -= code == -signal.SIGKILL
        if code == 0 or time.monotonic() > until:
            break
        if code is not None:
            if code not in (PUT_OUT, -signal.SIGKILL):
                tally.failed.append(f"exit code {code} beside another process")
            lives[which] = trial.begin(Death(), quiet=True)
    _over(trial, lives, which, tally)


def _disturbed(pid: int, rng: random.Random, tally: KillTally, kills: int, span: float) -> int | None:
    """Kill it, or stop it for a while and wake it; its exit code if it has ended."""
    if rng.random() < 0.5 and kills > 0:
        code = ended(pid, signal.SIGKILL)
        if code == -signal.SIGKILL:  # it may have come to its end just before
            tally.kills += 1
            tally.steps["beside another"] += 1
        return code
    os.kill(pid, signal.SIGSTOP)
    time.sleep(rng.uniform(0.0, 0.4) if rng.random() < 0.3 else rng.uniform(0.0, span))
    os.kill(pid, signal.SIGCONT)
    tally.woken += 1
    return None


def _over(trial: Trial, lives: list[int], which: int, tally: KillTally) -> None:
    """One has come to the end, so has the output; the other is killed. Where none has, one more is let go on alone."""
    ended(lives[1 - which], signal.SIGKILL)
    try:
        os.kill(lives[which], 0)
    except ProcessLookupError:
        return  # the one that came to the end
    ended(lives[which], signal.SIGKILL)
    code = trial.live(Death())
    if code:
        tally.failed.append(f"exit code {code} after two processes")
