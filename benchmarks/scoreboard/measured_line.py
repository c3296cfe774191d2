"""One line of the scoreboard: what was asked, what was measured, and what a line needs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Cost", "Line", "Measure", "Place", "program", "run"]


@dataclass(frozen=True)
class Line:
    """One figure beside its goal. Figures that other work on the machine disturbs have the seconds of the processor beside them."""

    work: str
    measured: float | None
    unit: str
    goal: float
    less: bool = True  # is better
    beside: dict[str, Any] = field(default_factory=dict)
    skipped: str | None = None

    @property
    def share(self) -> float | None:
        """How much of what the goal allows was needed: 1 is just reached, less is better."""
        if not self.measured:
            return None
        return self.measured / self.goal if self.less else self.goal / self.measured

    def as_dict(self) -> dict[str, Any]:
        """For the file; `reached` says whether the goal is."""
        reached = None if self.share is None else self.share <= 1
        return {**asdict(self), "measured": self.measured and float(f"{self.measured:.4g}"), "reached": reached}


@dataclass(frozen=True)
class Place:
    """Where tables are made, and how large they are: 1 is as large as the goals say."""

    folder: Path
    scale: float = 1.0

    def rows(self, count: int) -> int:
        """So many rows, or fewer for a first look."""
        return max(int(count * self.scale), 60_000)  # of fewer no levels keep the promise


class Measure(Protocol):
    """Measures some lines."""

    def __call__(self, place: Place) -> Iterator[Line]:
        """One line after the other, as they are known."""
        ...


@dataclass(frozen=True)
class Cost:
    """What a program took."""

    seconds: float
    processor: float
    gigabytes: float

    def as_dict(self) -> dict[str, float]:
        """Rounded."""
        return {name: round(value, 3) for name, value in asdict(self).items()}


def program(*words: object) -> list[str]:
    """`oboro` with these words, as a command."""
    return [sys.executable, "-m", "oboro", *map(str, words)]


def run(command: list[str], times: int = 1, **more: str) -> Cost:
    """The least that a command took, on the clock and of the processor, and the most memory."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | more
    found = [_once(command, environment) for _ in range(times)]
    return Cost(*(min(one) for one in zip(*found, strict=True)))


def _once(command: list[str], environment: dict[str, str]) -> tuple[float, float, float]:
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)}: failed")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6
