"""Kill services of each broker that is here, as often as is asked for: `make kills KILLS=200 ONLY=nats`.

On brokers that can be read again, every second stream has no folder for its state.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oboro.papers.service.killing import Trial, kill_often
from oboro.papers.service.local_brokers import LocalBroker
from oboro.papers.service.service_bench import KINDS

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> int:
    """A line of JSON for each broker; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--only", choices=[kind.kind for kind in KINDS])
    given = parser.parse_args(words)
    wrong = 0
    for kind in KINDS:
        if given.only not in (None, kind.kind):
            continue
        if why := kind.found():
            print(f"{kind.kind} is left out: {why}", file=sys.stderr)
            continue
        found = killed(kind, given.kills, given.seed)
        wrong += found["wrong"]
        print(json.dumps(found), flush=True)
    return 1 if wrong else 0


def killed(kind: type[LocalBroker], kills: int, seed: int) -> dict[str, Any]:
    """What was found with one broker."""
    numbers, began = count(), time.perf_counter()

    def bare(trial: Trial) -> None:
        if trial.broker.survives and next(numbers) % 2:
            trial.state, trial.target = None, f"BARE{trial.target}"

    with TemporaryDirectory() as made:
        broker = kind(Path(made))
        broker.start()
        try:
            tally = kill_often(broker, Path(made), kills, seed=seed, records=300, change=bare)
        finally:
            broker.stop()
    took = round(time.perf_counter() - began, 1)
    return {
        "broker": kind.kind,
        **vars(tally),
        "steps": dict(tally.steps),
        "wrong": tally.wrong,
        "seed": seed,
        "seconds": took,
    }


if __name__ == "__main__":
    sys.exit(main())
