"""The loop: read what is there, decide, note it in the state, write it; again.

A block is whatever arrived, never waited for, so no record waits for another. What cannot be a record goes to the dead
letters with its place and the reason; it is never dropped silently, and never reaches the output.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from oboro.errors import FileError, InputError, UsageError
from oboro.stream.delay_free import DelayFree
from oboro.stream.places import Source, Stop, Target
from oboro.stream.records import HUGE, BadRecord, Blocks, Format, codec, encode_json
from oboro.stream.state import Batch, Folder

__all__ = ["Plan", "Runner"]

T = TypeVar("T", DelayFree, Folder, Source, Target)
DOUBT = "may or may not have been written: the stream ended while its output was on the way"


@dataclass(frozen=True)
class Plan:
    """Everything that is told to a running stream."""

    source: str = "-"
    target: str = "-"
    dead: str | None = None
    """Where dead letters go, with the lines themselves; without it they go to stderr, without them."""
    state: Path | None = None
    form: Format | None = None
    output_form: Format | None = None
    resume: Literal["replay", "continue"] | None = None
    """After a restart: whether the input starts over (what was taken is skipped) or goes on. Sockets go on, others start over."""
    most: int = 1 << 20
    """The longest line that is taken, in bytes."""
    every: int = 1 << 26
    """Bytes of log after which a new snapshot is made."""
    fsync: bool = False
    """Wait for the disk before anything is written: safe also when the machine fails, not only the process."""


@dataclass
class _Position:
    """How far the stream is; kept in every snapshot."""

    taken: int = 0
    written: int = 0
    refused: int = 0
    lines: int = 0
    header: Sequence[str] | None = None
    base: int = 0
    dead_base: int = 0


@dataclass
class _Work:
    """What came of some lines."""

    out: list[bytes] = field(default_factory=list)
    dead: list[bytes] = field(default_factory=list)
    masks: list[int] = field(default_factory=list)


class Runner:
    """One stream from its source to its target."""

    def __init__(
        self, make: Callable[[], DelayFree], plan: Plan, watch: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        self.plan = plan
        self.watch = watch
        self.stop = Stop()
        self.at = _Position()
        self.dead_letters = 0
        self.in_doubt = 0
        self._make = make
        self._latency: deque[float] = deque(maxlen=4096)
        self._began = self._watched = time.perf_counter()
        self._first = 0

    def run(self) -> dict[str, Any]:
        """Until the input ends or somebody asks to stop; the metrics of this run."""
        with self.stop.listening(), ExitStack() as self._opened:
            self._opened.callback(self.stop.close)
            self._open()
            if self._loop():
                self._snapshot()  # so that the next start is quick
        return self.metrics()

    def _open(self) -> None:
        plan = self.plan
        self.folder = self._keep(Folder(plan.state, plan.fsync)) if plan.state else None
        self.target = self._keep(Target(plan.target, self.stop))
        self.dead = self._keep(Target(plan.dead or "stderr", self.stop))
        form = plan.form or _form_of(plan.source)
        known = self.folder is not None and self.folder.snapshot.exists()
        self.anonymizer = self._keep(self._restored() if known else self._make())
        self.input = codec(form, self.at.header)
        self.output = codec(plan.output_form or (form if plan.target == "-" else _form_of(plan.target, form)))
        self.blocks = Blocks(self.input, plan.most)
        if known:
            self._replay()
        else:
            self._start()
        self._first = self.anonymizer.records
        self.source = self._keep(Source(plan.source, self.stop))
        resume = plan.resume or ("continue" if self.source.is_socket else "replay")
        if resume == "replay" and self.at.taken:
            self.source.skip(self.at.taken)

    def _start(self) -> None:
        """A stream without a past."""
        for place in (self.target, self.dead):
            if place.is_file and place.start and place.place not in ("-", "stderr"):
                raise UsageError(f"{place.place}: holds data already; remove it, or give the --state that wrote it")
        self.at.base, self.at.dead_base = self.target.start, self.dead.start
        if self.folder is not None:
            list(self.folder.entries())
            self._snapshot()

    def _restored(self) -> DelayFree:
        assert self.folder is not None
        fresh, anonymizer = self._make(), DelayFree.restore(self.folder.snapshot)
        if fresh.settings.fingerprint(fresh.folder) != anonymizer.settings.fingerprint(anonymizer.folder):
            raise UsageError(
                f"{self.folder.path}: belongs to a stream with other settings; give this one a state of its own"
            )
        self.at = _Position(**anonymizer.extra)
        return anonymizer

    # After a restart ----------------------------------------------------------------------------------------------

    def _replay(self) -> None:
        """Do again what the log says, and write what is missing of its output."""
        assert self.folder is not None
        out, dead = _Missing(self.target, self.at.base), _Missing(self.dead, self.at.dead_base)
        certain = self.at.written
        doubtful: list[tuple[Batch, int]] = []
        for entry in self.folder.entries():
            if not isinstance(entry, Batch):
                certain = entry
                doubtful = [batch for batch in doubtful if batch[0].written > certain]
                continue
            number = self.at.lines
            work = self._work(entry.lines, entry.now, entry.masks)
            out.add(self.at.written, entry.written, b"".join(work.out))
            dead.add(self.at.refused, entry.refused, b"".join(work.dead))
            self._move(entry)
            if not self.target.is_file and entry.written > certain:
                doubtful.append((entry, number))
        for missing in (out, dead):
            missing.write()
        for batch, number in doubtful:
            self._report(batch, number)
        if doubtful or self.folder.size > self.plan.every:
            self._snapshot()

    def _report(self, batch: Batch, number: int) -> None:
        """Nobody knows whether these were read: they are not written again, but named."""
        for line in batch.lines:
            number += 1
            self.in_doubt += 1
            letter = self._letter(number, line, DOUBT)
            self.dead.write(letter)
            self.at.refused += len(letter)

    def _move(self, batch: Batch) -> None:
        self.at.taken, self.at.written, self.at.refused = batch.taken, batch.written, batch.refused
        self.at.lines += len(batch.lines)
        self.at.header = self.input.header

    def _snapshot(self) -> None:
        if self.folder is not None:
            self.anonymizer.save(self.folder.next(), extra=vars(self.at))
            self.folder.advance()

    # The loop -----------------------------------------------------------------------------------------------------

    def _loop(self) -> bool:
        """Whether everything that was taken is written."""
        for lines, taken, arrived in self._incoming():
            if not self._handle(lines, taken):
                return False
            self._latency.append(time.perf_counter() - arrived)
            if self.folder is not None and self.folder.size > self.plan.every:
                self._snapshot()
            self._show()
        return True

    def _incoming(self) -> Iterator[tuple[list[bytes], int, float]]:
        while (data := self.source.read()) is not None:
            arrived = time.perf_counter()
            lines, taken = self.blocks.add(data) if data else self.blocks.end()
            if taken:
                yield lines, taken, arrived
            if not data and not self.source.again():
                return

    def _handle(self, lines: list[bytes], taken: int) -> bool:
        """One block, from its lines to its output; false if its reader stopped taking it and it is time to end."""
        now = time.time()
        work = self._work(lines, now, None)
        out, dead = b"".join(work.out), b"".join(work.dead)
        at = self.at
        batch = Batch(lines, work.masks, now, at.taken + taken, at.written + len(out), at.refused + len(dead))
        if self.folder is not None:
            self.folder.log(batch)
        self._move(batch)
        done = self.target.write(out) if out else True
        if dead:
            self.dead.write(dead)
        if done and self.folder is not None and not self.target.is_file:
            self.folder.done(at.written)
        return done

    def _work(self, lines: list[bytes], now: float, forced: list[int] | None) -> _Work:
        work = _Work()
        decisions = iter(forced) if forced is not None else None
        if self.at.written == 0 and lines:
            work.out.append(self.output.begin(self.anonymizer.settings.released))
        decoded = [(number, line, self._decode(line)) for number, line in enumerate(lines, self.at.lines + 1)]
        self.anonymizer.prepare([record for _, _, record in decoded if isinstance(record, dict)])
        encode, step = self.output.encode, self.anonymizer.step
        for number, line, record in decoded:
            if record is None:
                continue
            try:
                if isinstance(record, BadRecord):
                    raise record
                released, mask = step(record, now, next(decisions) if decisions is not None else None)
            except (BadRecord, InputError) as error:
                work.dead.append(self._letter(number, line, str(error)))
                self.dead_letters += 1
                continue
            work.masks.append(mask)
            work.out.append(encode(released))
        return work

    def _decode(self, line: bytes) -> dict[str, Any] | BadRecord | None:
        try:
            return self.input.decode(line)
        except BadRecord as bad:
            return bad

    def _letter(self, number: int, line: bytes, reason: str) -> bytes:
        letter: dict[str, Any] = {"line": number, "reason": reason}
        if self.plan.dead is not None and not line.startswith(HUGE):
            letter["record"] = line.decode(errors="backslashreplace")
        return encode_json(letter)

    # What can be seen ---------------------------------------------------------------------------------------------

    def metrics(self) -> dict[str, Any]:
        """Counts of the whole stream, rate and latency (from arrival to written) of this run."""
        seconds = time.perf_counter() - self._began
        here = self.anonymizer.records - self._first
        p50, p99 = np.percentile(self._latency, [50, 99]).tolist() if self._latency else (0.0, 0.0)
        return {
            **self.anonymizer.stats(),
            "dead_letters": self.dead_letters,
            "in_doubt": self.in_doubt,
            "bytes_taken": self.at.taken,
            "bytes_written": self.at.written,
            "seconds": round(seconds, 3),
            "records_per_second": round(here / seconds, 1) if seconds else 0.0,
            "latency_ms": {"p50": round(1e3 * p50, 3), "p99": round(1e3 * p99, 3)},
        }

    def _show(self) -> None:
        moment = time.perf_counter()
        if self.watch is not None and moment - self._watched >= 0.5:
            self._watched = moment
            self.watch(self.metrics())

    def _keep(self, thing: T) -> T:
        """Something that is closed at the end, however that comes."""
        self._opened.callback(thing.close)
        return thing


class _Missing:
    """The end of the output that the log knows and the file lacks."""

    def __init__(self, target: Target, base: int) -> None:
        self.target = target
        self.base = base
        self.have = target.start - base
        self.parts: list[bytes] = []

    def add(self, start: int, end: int, data: bytes) -> None:
        """One batch: its output takes the bytes from `start` to `end`."""
        if not self.target.is_file:
            return
        if end - start != len(data):
            raise FileError(
                f"{self.target.place}: the state was written by another version; its output cannot be repeated"
            )
        if end > self.have:
            self.parts.append(data[max(0, self.have - start) :])

    def write(self) -> None:
        """Write what is missing."""
        if self.target.is_file and self.have < 0:
            raise FileError(
                f"{self.target.place}: is shorter than when the stream began; give the file it was written to"
            )
        for part in self.parts:
            self.target.write(part)


def _form_of(place: str, otherwise: Format = "ndjson") -> Format:
    if place.endswith((".csv", ".CSV")):
        return "csv"
    return "ndjson" if place.endswith((".ndjson", ".jsonl")) else otherwise
