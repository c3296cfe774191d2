"""Kill services of each broker that is here, as often as is asked for: `make kills KILLS=200 ONLY=nats`.

Brokers take turns, or each has a process of its own (`--side-by-side`); what was found is a line of JSON for each. Many kills are
done in parts, and each part is noted in the user's cache when it is done: a run that was broken off goes on from there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oboro.papers.service.kills.killing import KINDS_OF_STREAMS, kill_often
from oboro.papers.service.local_brokers import LocalBroker, LocalNats, LocalRedis, forked
from oboro.papers.service.local_rabbitmq import LocalRabbitmq
from oboro.papers.service.noted_parts import NotedParts
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
    for found in run(kinds, given.kills, given.seed, lambda said: print(said, file=sys.stderr, flush=True)):
        tallies.append(found)
        print(json.dumps(found), flush=True)
        if given.json is not None:
            given.json.write_text(json.dumps(tallies, indent=1) + "\n", encoding="utf-8")
    return 1 if any(found["wrong"] for found in tallies) else 0


def _in_turn(kinds: Sequence[type[LocalBroker]], kills: int, seed: int, _: object) -> Iterator[dict[str, Any]]:
    return (killed(kind, kills, seed) for kind in kinds)


def killed_side_by_side(
    kinds: Sequence[type[LocalBroker]], kills: int, seed: int, progress: Callable[[str], object] = lambda said: None
) -> Iterator[dict[str, Any]]:
    """The same in a process for each broker, in parts."""
    runs = [NotedParts(kind.kind, kills, seed) for kind in kinds]
    work = [forked(partial(one.run, kind, killed)) for one, kind in zip(runs, kinds, strict=True)]
    said = ""
    while work:
        work = [pid for pid in work if not os.waitpid(pid, os.WNOHANG)[0]]
        now = "; ".join(one.status() for one in runs)
        if now != said:
            said = now
            progress(said)
        time.sleep(0.2)
    for one in runs:
        yield one.whole()


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
