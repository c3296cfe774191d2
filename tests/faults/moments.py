"""The moments at which a process dies: at a call that changes a file, in a phase of the work, or after some time.

Nothing of it stands in oboro: functions are exchanged in the process that is to die. A process says on a `Board`, which its parent
sees too, in which phase it is.
"""

from __future__ import annotations

import mmap
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import Any

PHASES = {
    "batch": {
        "reading": "oboro.recipe.run:_opened",
        "deciding": "oboro.recipe.run:_Table.take",
        "verifying": "oboro.recipe.run:verify_promises",
        "looking": "oboro.recipe.run:check_release",
        "writing": "oboro.recipe.release:Release.write",
        "renaming": "oboro.system.files:Draft.finish",
        "measuring": "oboro.recipe.evidence:measure",
        "reporting": "oboro.cli.options:Pages.write",
    },
    "stream": {
        "opening": "oboro.stream.engine:Runner._open",
        "replaying": "oboro.stream.engine:Runner._replay",
        "deciding": "oboro.stream.engine:Runner._work",
        "logging": "oboro.stream.journal:StateFolder.log",
        "writing": "oboro.stream.endpoints:StreamOutput.write",
        "saving": "oboro.stream.anonymizer:atomic",
        "advancing": "oboro.stream.journal:StateFolder.advance",
    },
}
STARTING = "starting"


class Board:
    """One byte that parent and child see: the phase."""

    def __init__(self, kind: str) -> None:
        self.names = [STARTING, *PHASES[kind]]
        self.byte = mmap.mmap(-1, 1)

    @property
    def phase(self) -> str:
        return self.names[self.byte[0]]

    @phase.setter
    def phase(self, name: str) -> None:
        self.byte[0] = self.names.index(name)


@dataclass
class Moment:
    """When, and by which signal. `calls`: at the last of so many that change a file; `phase`: when it begins or ends."""

    number: int = signal.SIGKILL
    calls: int = 0
    phase: str = ""
    entries: int = 1  # the how manieth time that the phase begins
    when: str = "before"  # halfway, after
    seconds: float | None = None

    @staticmethod
    def chosen(kind: str) -> list[Moment]:
        """The beginning and the end of every phase, every call that changes a file, and wishes to end in every phase."""
        kills = [Moment(phase=phase, when=when) for phase in PHASES[kind] for when in ("before", "after")]
        kills += [Moment(calls=n, when=when) for n in (1, 2, 3, 5) for when in ("before", "halfway", "after")]
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE)
        return kills + [Moment(number, phase=phase) for number in numbers for phase in PHASES[kind]]

    @staticmethod
    def by_chance(rng: random.Random, kind: str, most_calls: int, most_seconds: float) -> Moment:
        """Any moment."""
        number = rng.choices([signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE], [16, 1, 1, 1])[0]
        when = rng.choice(["before", "halfway", "after"])
        how = rng.choice(["calls", "phase", "seconds"])
        if how == "calls":
            return Moment(number, calls=rng.randint(1, most_calls), when=when)
        if how == "phase":
            phase = rng.choice(list(PHASES[kind]))
            return Moment(number, phase=phase, entries=rng.choice([1, 1, 2, 5]), when=rng.choice(["before", "after"]))
        return Moment(number, seconds=rng.uniform(0.0, most_seconds))


def _lose_the_reader() -> None:
    """From now on nobody reads the standard output."""
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)
    os.close(writer)


class Death:
    """Lets a process die of what it does."""

    def __init__(self, moment: Moment, piped: bool = False) -> None:
        self.moment, self.piped = moment, piped
        self.calls, self.entries = moment.calls, moment.entries

    def arm(self, kind: str, board: Board) -> None:
        """From now on, in this process."""
        for name, place in PHASES[kind].items():
            self._watch(name, place, board)
        self._exchange_writing()
        for name in ("replace", "unlink", "fsync", "chmod"):
            setattr(os, name, self._counted(getattr(os, name)))

    def _watch(self, phase: str, place: str, board: Board) -> None:
        module, _, path = place.partition(":")
        holder: Any = import_module(module)
        *outer, name = path.split(".")
        for part in outer:
            holder = getattr(holder, part)
        act = getattr(holder, name)

        @wraps(act)
        def watched(*given: Any, **named: Any) -> Any:
            before, board.phase = board.phase, phase
            self._phase(phase, "before")
            try:
                return act(*given, **named)
            finally:
                self._phase(phase, "after")
                board.phase = before

        setattr(holder, name, watched)

    def _phase(self, phase: str, when: str) -> None:
        if (phase, when) == (self.moment.phase, self.moment.when):
            self.entries -= 1
            if self.entries == 0:
                self._die()

    def _die(self) -> None:
        if self.moment.number == signal.SIGPIPE and self.piped:
            _lose_the_reader()
        os.kill(os.getpid(), self.moment.number)
        if self.moment.number == signal.SIGKILL:
            time.sleep(60)

    def _counted(self, act: Callable[..., Any], half: Callable[..., Any] | None = None) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            self.calls -= 1
            if self.calls != 0:
                return act(*given, **named)
            if self.moment.when == "halfway" and half is not None:
                done = half(*given, **named)
            elif self.moment.when == "after":
                done = act(*given, **named)
            else:
                self._die()
                return act(*given, **named)
            self._die()
            return done

        return counted

    def _exchange_writing(self) -> None:
        """Writes that may be torn: a part of the bytes, then death."""
        from oboro.stream import journal
        from oboro.system import files

        death, write, opened, opened_log = self, os.write, files._opened, journal._opened

        class Torn(FileIO):
            def write(self, data: Any) -> int:
                plain = super().write
                count: int = death._counted(plain, lambda some: plain(memoryview(some)[: len(some) // 2]))(data)
                return count

        def open_draft(descriptor: int, large: bool) -> Any:
            return opened(descriptor, large) if large else BufferedWriter(Torn(descriptor, "wb"))

        def open_log(path: Path, flags: int) -> FileIO:
            file = death._counted(opened_log)(path, flags)
            return Torn(os.dup(file.fileno()), "r+")

        os.write = death._counted(write, lambda handle, data: write(handle, memoryview(data)[: len(data) // 2]))
        files._opened, journal._opened = open_draft, open_log  # type: ignore[assignment]
