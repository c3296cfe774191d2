"""Kill services again and again: by chance, at every step of publishing, their broker, beside another; then count what is wrong.

Every life of a stream is given the same input, output and state as the one before it, until one is left in peace and comes to the
end. On brokers where every record comes out exactly once, streams are of four kinds: with a folder for the state, without one, by
way of a network that is cut, and with two processes on one output. What does not belong to an output (an older state, none, another
stream's) must be refused at the end.
"""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from oboro.papers.service.kills.cutting_proxy import CuttingProxy
from oboro.papers.service.kills.dying_steps import STEPS
from oboro.papers.service.kills.refused_states import StateBackup
from oboro.papers.service.kills.rivals import rivalry
from oboro.papers.service.kills.trial import RECIPE, Death, KillTally, Trial, people, with_poison
from oboro.papers.service.local_brokers import LocalBroker, ended, forked, free_port
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream_plan import StreamOptions, anonymizer

__all__ = ["KINDS_OF_STREAMS", "KillTally", "Trial", "kill_often"]

LIVES = 12  # of one stream
BROKERS = 0.05  # of lives end with a kill of the broker
WHOLE = 0.02  # of lives are processes that were started anew
KINDS_OF_STREAMS = ("folder", "folder", "folder", "bare", "bare", "cut", "rivals")
TOO_MUCH = 50  # things wrong, after which there is no need to go on


class _Killer:
    """One broker, and how its streams are treated."""

    def __init__(self, broker: LocalBroker, folder: Path, seed: int, records: int, brokers: bool) -> None:
        self.broker, self.folder = broker, folder
        self.rng, self.tally = random.Random(seed), KillTally()
        self.rows = people(records)
        self.bodies = with_poison([json.dumps(row).encode() for row in self.rows])
        self.brokers = brokers and broker.survives
        self.backup = StateBackup(folder)
        self.span = 1.0  # seconds that a life takes in peace, about
        self._made, self._seed, self._number = "", seed, 0

    def stream(self, kind: str, kills: int, change: Callable[[Trial], None]) -> None:
        """One stream, killed at most so often, and judged."""
        trial = self._trial(kind)
        change(trial)
        listening = trial.tap()
        try:
            if not self.broker.once:
                if self.broker.forgets:
                    ended(forked(trial.subscribe))
                self.broker.send(self._made, self.bodies)
            self._treat(kind, trial, kills)
            time.sleep(0.02)  # what is on the wire arrives
        finally:
            ended(listening, signal.SIGKILL)
        trial.judge(self.tally)

    def _trial(self, kind: str) -> Trial:
        number, self._number = self._number, self._number + 1
        if not self._made or not self.broker.once:
            self._made = f"IN{self._seed}N{number}"
            if self.broker.once:
                self.broker.send(self._made, self.bodies)
        trial = Trial(self.broker, self.folder, number, self._made, self.rows)
        trial.quick = self.broker.once
        trial.batch = self.rng.choice((8, 16)) if self.broker.once else 16
        if kind == "bare" or (kind == "cut" and self.rng.random() < 0.5):
            trial.state = None
        return trial

    def _treat(self, kind: str, trial: Trial, kills: int) -> None:
        if kind == "rivals":
            rivalry(trial, self.rng, self.tally, kills, self.span)
        elif kind == "cut":
            self._cut(trial, kills)
        else:
            held = self._lives(trial, kills)
            if kind == "folder" and self.broker.once:
                self.backup.try_all(trial, self.rng, self.tally, held)

    def _cut(self, trial: Trial, kills: int) -> None:
        """By way of a proxy, in a process of its own, that cuts connections."""
        port, seed, noted = free_port(), self.rng.randrange(1 << 30), self.folder / f"{trial.target}.cuts"

        def serve() -> None:
            with noted.open("ab", buffering=0) as file:
                CuttingProxy(self.broker.port, 10, 8_000, seed, port, lambda: file.write(b".")).serve()

        proxy = forked(serve)
        direct = f":{self.broker.port}/"
        trial.source = trial.source.replace(direct, f":{port}/")
        trial.through = f":{port}/"
        try:
            self._lives(trial, min(kills, LIVES // 2))
        finally:
            ended(proxy, signal.SIGKILL)
        self.tally.cuts += noted.stat().st_size

    def _lives(self, trial: Trial, lives: int) -> int:
        """One life after the other; how much the output held when its state was copied."""
        tally, held, copied = self.tally, 0, self.rng.randrange(1, LIVES)
        for life in range(lives):
            death, began = self._death(trial), time.perf_counter()
            code = trial.live(death)
            if code == 0 and not (death.broker or death.whole):
                self._took(time.perf_counter() - began)
            if death.broker:
                tally.broker_kills += 1
            elif code == -signal.SIGKILL:
                tally.kills += 1
                tally.steps[death.step or ("started anew" if death.whole else "by chance")] += 1
            if code not in (0, -signal.SIGKILL):
                tally.failed.append(f"exit code {code} after {death}")
            if code == 0:
                return held  # it came to its end before
            if life == copied and trial.state is not None and self.broker.once:
                self.backup.take(trial)
                held = len(self.broker.held(trial.target))
        began = time.perf_counter()
        code = trial.live(Death())
        self._took(time.perf_counter() - began)
        if code:
            tally.failed.append(f"exit code {code} in peace")
        return held

    def _took(self, seconds: float) -> None:
        """A life came to its end in so many seconds: the next kill by chance shall come before."""
        self.span = min(seconds, self.span) if self.tally.streams == 0 else 0.8 * self.span + 0.2 * seconds

    def _death(self, trial: Trial) -> Death:
        rng = self.rng
        if self.brokers and rng.random() < BROKERS:
            return Death(seconds=rng.uniform(0.0, self.span), broker=True)
        if trial.quick and rng.random() < WHOLE:
            return Death(seconds=rng.uniform(0.5, 2.5), whole=True)
        if rng.random() < 0.4:
            return Death(seconds=rng.uniform(0.0, 0.8 * self.span))
        steps = STEPS if trial.state is not None else ("before", "half", "published")
        return Death(step=rng.choice(steps), after=rng.randrange(4))


def kill_often(
    broker: LocalBroker,
    folder: Path,
    kills: int,
    seed: int,
    *,
    records: int = 400,
    brokers: bool = True,
    kinds: tuple[str, ...] = ("folder",),
    change: Callable[[Trial], None] = lambda trial: None,
) -> KillTally:
    """Kill so often, and judge every stream; `kinds` of streams by chance. The broker is killed too, if `brokers`."""
    anonymizer(Recipe(**RECIPE), StreamOptions()).warm()
    killer = _Killer(broker, folder, seed, records, brokers)
    killer.stream("left in peace", 0, change)  # how long a life takes: kills by chance must meet all of it
    tally = killer.tally
    while tally.done < kills and tally.wrong <= TOO_MUCH:
        killer.stream(killer.rng.choice(_possible(kinds, broker)), min(LIVES, kills - tally.done), change)
    return tally


def _possible(kinds: tuple[str, ...], broker: LocalBroker) -> list[str]:
    """Kinds of streams that a broker knows."""
    return [kind for kind in kinds if kind == "folder" or (broker.once and (broker.moves or kind != "cut"))]
