"""Kill services of each broker that is here, as often as is asked for: `make kills KILLS=200 ONLY=nats`.

Brokers take turns, or each has a process of its own (`--side-by-side`); what was found is a line of JSON for each. Many kills are
done in parts, and each part is noted in the user's cache when it is done: a run that was broken off goes on from there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import oboro
from benchmarks.brokers import LocalBroker, LocalKafka, LocalMqtt, LocalNats, LocalRabbitmq, LocalRedis, forked
from benchmarks.kills import KINDS_OF_STREAMS, kill_often
from oboro.system.files import atomic

__all__ = ["KINDS", "NotedParts", "killed", "killed_side_by_side", "main"]

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


# ---------------------------------------------------------------------------------------------------------------------
# Many kills in parts, each noted when it is done: what takes half an hour goes on where it was broken off.


PART = 250  # kills
SUMMED = (
    *("kills", "broker_kills", "streams", "cuts", "woken", "refusals", "lost", "doubled", "two_forms"),
    *("promise_broken", "wrong", "seconds"),
)


class NotedParts:
    """The parts of one broker. Each has a seed of its own, so that no part repeats another."""

    def __init__(self, kind: str, kills: int, seed: int) -> None:
        self.kind, self.kills, self.seed = kind, kills, seed
        self.parts = [min(PART, kills - start) for start in range(0, kills, PART)]
        self.folder = _cache() / f"{kind}-{kills}-{seed}-{_code()}"

    def run(self, kind: Any, killed: Callable[[Any, int, int], dict[str, Any]]) -> None:
        """Do what is not noted yet. A part that fails is noted as failed, and the others are done."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if len(self.parts) == 1:  # it takes no longer than a look at what is there
            self._place(0).unlink(missing_ok=True)
        for number, kills in enumerate(self.parts):
            if self._noted(number) is None:
                try:
                    found = killed(kind, kills, self.seed + 1000 * number)
                except Exception as error:
                    found = {"broker": self.kind, "failed": [f"part {number}: {error!r}"], "wrong": 1, "records": 0}
                with atomic(self._place(number)) as file:
                    file.write(json.dumps(found).encode())

    def _place(self, number: int) -> Path:
        return self.folder / f"{number}.json"

    def _noted(self, number: int) -> dict[str, Any] | None:
        place = self._place(number)
        if not place.exists():
            return None
        found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        return found

    def _all(self) -> Iterator[dict[str, Any]]:
        for number in range(len(self.parts)):
            if (found := self._noted(number)) is not None:
                yield found

    def status(self) -> str:
        """How far it is, in a few words."""
        whole = self._summed()
        return f"{self.kind}: {whole['kills'] + whole['broker_kills']} of {self.kills} kills, {whole['wrong']} wrong"

    def _summed(self) -> dict[str, Any]:
        found = list(self._all())
        sums = {name: sum(one.get(name, 0) for one in found) for name in SUMMED}
        steps = sum((Counter(one.get("steps", {})) for one in found), Counter())
        failed = [text for one in found for text in one["failed"]]
        records = max((one["records"] for one in found), default=0)
        return {
            "broker": self.kind,
            **sums,
            "steps": dict(steps),
            "failed": failed,
            "records": records,
            "seed": self.seed,
        }

    def whole(self) -> dict[str, Any]:
        """All parts together; what was noted goes. A part that nobody noted was lost with its process: it has failed."""
        found = self._summed()
        lost = [number for number in range(len(self.parts)) if self._noted(number) is None]
        if lost:
            found["failed"].append(f"parts {lost} were not done: run it again")
            found["wrong"] += len(lost)
            return found
        for number in range(len(self.parts)):
            self._place(number).unlink()
        self.folder.rmdir()
        return found


def _code() -> str:
    """Digest the code that is killed and the code that kills it: another version begins anew."""
    digest = hashlib.blake2b(digest_size=6)
    for folder in (Path(oboro.__file__).parent, Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "oboro" / "kills"
