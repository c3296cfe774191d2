"""Kill services of each broker that is here, as often as is asked for: `make kills KILLS=200 ONLY=nats`.

Brokers take turns, or each has a process of its own (`--side-by-side`); what was found is a line of JSON for each.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oboro.papers.service.kills.killing import KINDS_OF_STREAMS, kill_often
from oboro.papers.service.local_brokers import LocalBroker, LocalNats, LocalRedis, ended, forked
from oboro.papers.service.local_rabbitmq import LocalRabbitmq
from oboro.papers.service.threaded_brokers import LocalKafka, LocalMqtt

__all__ = ["KINDS", "killed", "killed_side_by_side", "main"]

KINDS: tuple[type[LocalBroker], ...] = (LocalNats, LocalRedis, LocalKafka, LocalMqtt, LocalRabbitmq)
RECORDS = 300


def main(words: Sequence[str] | None = None) -> int:
    """A line of JSON for each broker; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--only", choices=[kind.kind for kind in KINDS], action="append")
    parser.add_argument("--side-by-side", action="store_true")
    parser.add_argument("--json", type=Path, help="a file that keeps what was found")
    given = parser.parse_args(words)
    kinds = []
    for kind in KINDS:
        if given.only and kind.kind not in given.only:
            continue
        if why := kind.found():
            print(f"{kind.kind} is left out: {why}", file=sys.stderr)
        else:
            kinds.append(kind)
    run = killed_side_by_side if given.side_by_side else _in_turn
    tallies = []
    for found in run(kinds, given.kills, given.seed):
        tallies.append(found)
        print(json.dumps(found), flush=True)
        if given.json is not None:
            given.json.write_text(json.dumps(tallies, indent=1) + "\n", encoding="utf-8")
    return 1 if any(found["wrong"] for found in tallies) else 0


def _in_turn(kinds: Sequence[type[LocalBroker]], kills: int, seed: int) -> Iterator[dict[str, Any]]:
    return (killed(kind, kills, seed) for kind in kinds)


def killed_side_by_side(kinds: Sequence[type[LocalBroker]], kills: int, seed: int) -> Iterator[dict[str, Any]]:
    """The same in a process for each broker."""
    with TemporaryDirectory() as made:
        places = [Path(made, kind.kind) for kind in kinds]
        work = [forked(_noted(kind, kills, seed, place)) for kind, place in zip(kinds, places, strict=True)]
        for pid, place in zip(work, places, strict=True):
            if code := ended(pid):
                raise RuntimeError(f"{place.name}: exit code {code}")
            yield json.loads(place.read_text(encoding="utf-8"))


def _noted(kind: type[LocalBroker], kills: int, seed: int, place: Path) -> Callable[[], object]:
    return lambda: place.write_text(json.dumps(killed(kind, kills, seed)), encoding="utf-8")


def killed(kind: type[LocalBroker], kills: int, seed: int) -> dict[str, Any]:
    """What was found with one broker."""
    began = time.perf_counter()
    with TemporaryDirectory() as made:
        broker = kind(Path(made))
        broker.start()
        try:
            tally = kill_often(broker, Path(made), kills, seed=seed, records=RECORDS, kinds=KINDS_OF_STREAMS)
        finally:
            broker.stop()
    took = round(time.perf_counter() - began, 1)
    counts = {**vars(tally), "steps": dict(tally.steps), "wrong": tally.wrong}
    return {"broker": kind.kind, **counts, "records": RECORDS, "seed": seed, "seconds": took}


if __name__ == "__main__":
    sys.exit(main())
