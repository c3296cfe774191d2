"""Many kills in parts, each noted when it is done: what takes half an hour goes on where it was broken off."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import oboro
from oboro.system.atomic_file import atomic

__all__ = ["NotedParts"]

PART = 250  # kills
CODE = ("stream", "io/brokers", "recipe/service", "papers/service")  # another version begins anew
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
    """A digest of the code that is killed, and of what kills it."""
    home, digest = Path(oboro.__file__).parent, hashlib.blake2b(digest_size=6)
    for path in sorted(path for folder in CODE for path in (home / folder).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "oboro" / "kills"
