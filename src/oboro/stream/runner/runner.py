"""The loop: read what is there, decide, note it in the state, write it; again.

A block is whatever arrived, never waited for, so no record waits for another. What cannot be a record goes to the dead
letters with its place and the reason; it is never dropped silently, and never reaches the output.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from oboro.errors import FileError, InputError, UsageError
from oboro.stream.anonymizer import Anonymizer
from oboro.stream.exit_codes import stream_exit_codes
from oboro.stream.runner.codecs import CsvCodec, Format, NdjsonCodec, codec, encode_json, form_of
from oboro.stream.runner.endpoints import StopRequest, StreamInput, StreamOutput, paced
from oboro.stream.runner.line_blocks import HUGE, LineBlocks
from oboro.stream.runner.other_encoding import UTF_8, OtherEncoding
from oboro.stream.runner.output_places import MissingOutput, check_apart
from oboro.stream.runner.state_folder import Batch, StateFolder
from oboro.stream.runner.stream_position import StreamPosition
from oboro.stream.snapshot import KIND, restoring
from oboro.system.steady_clock import SteadyClock
from oboro.text import Message

__all__ = ["Runner", "StreamPlan"]

T = TypeVar("T", Anonymizer, StateFolder[Batch], StreamInput, StreamOutput)
IN_VAIN = Message("error_stream.letter.in_vain")
TOLD = 0.5  # seconds between two looks at the metrics


@dataclass(frozen=True)
class StreamPlan:
    """Everything that is told to a running stream."""

    source: str = "-"
    target: str = "-"
    dead_letters: str | None = None
    """Where dead letters go, with the lines themselves; without it they go to stderr, without them."""
    state: Path | None = None
    form: Format | None = None
    output_form: Format | None = None
    encoding: str | None = None
    """Of the input. A stream that goes on keeps the one it began with."""
    resume: Literal["replay", "continue"] | None = None
    """After a restart: whether the input starts over (what was taken is skipped) or goes on. Sockets go on, others start over."""
    longest_line: int = 1 << 20
    """The longest line that is taken, in bytes."""
    every: int = 1 << 26
    """Bytes of log after which a new snapshot is made."""
    excel_safe: bool = False
    """CSV out: an apostrophe before cells that a spreadsheet would run as a formula."""
    fsync: bool = False
    """Wait for the disk before anything is written: safe also when the machine fails, not only the process."""
    lang: str = "en"
    """The language of the reasons in dead letters. A stream that goes on keeps the one it began with."""
    change: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Fields that are replaced before anything else sees them (pseudonyms), and by what; it may raise `InputError`."""
    others: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    """Files that the stream only reads, by what they are: its output may not go there."""


@dataclass
class _Work:
    """What came of some lines."""

    out: bytes
    dead: bytes
    decisions: list[int]
    released: int


class Runner:
    """One stream from its source to its target."""

    def __init__(
        self, make: Callable[[], Anonymizer], plan: StreamPlan, watch: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        self.plan = plan
        self.watch = watch
        self.stop = StopRequest()
        self.at = StreamPosition(lang=plan.lang, encoding=plan.encoding or UTF_8)
        self.dead_letters = 0
        self.in_doubt = 0
        self._met: list[tuple[int, bytes]] = []  # places in the input, and what stood there
        self._make = make
        self._latency: deque[float] = deque(maxlen=4096)
        self._began = self._watched = time.perf_counter()
        self._untold = False  # whether something came since metrics were told
        self._first = self._released_before = 0
        self._room: int | None = None  # bytes that are read at once, where they take long

    def run(self) -> dict[str, Any]:
        """Until the input ends or somebody asks to stop; the metrics of this run."""
        with stream_exit_codes(refusals=False), self.stop.listening(), ExitStack() as self._opened:
            self._opened.callback(self.stop.close)
            with ExitStack() as refused:  # a start that is refused leaves no empty file behind
                self._open(refused)
                refused.pop_all()
            if self._loop():
                self._snapshot()  # so that the next start is quick
        return self.metrics()

    def _open(self, refused: ExitStack) -> None:
        plan = self.plan
        check_apart(plan.source, plan.target, plan.dead_letters, plan.state, plan.others)
        self.folder = self._keep(StateFolder(plan.state, Batch, plan.fsync)) if plan.state else None
        self.target = self._keep(StreamOutput(plan.target, self.stop))
        refused.callback(self.target.withdraw)
        self.dead = self._keep(StreamOutput(plan.dead_letters or "stderr", self.stop))
        refused.callback(self.dead.withdraw)
        form = plan.form or form_of(plan.source)
        known = self.folder is not None and self.folder.snapshot.exists()
        with stream_exit_codes():
            restored = self._restored() if known else None
        self.anonymizer = self._keep(restored or self._make())
        self.input = self._input(form)
        output_form = plan.output_form or (form if plan.target == "-" else form_of(plan.target, form))
        self.output = codec(output_form, excel_safe=plan.excel_safe, delimiter=self.at.delimiter)
        self._json = isinstance(self.input, NdjsonCodec) and isinstance(self.output, NdjsonCodec)
        self.blocks = LineBlocks(self.input, plan.longest_line)
        if known:
            with stream_exit_codes():
                self._replay()
        else:
            self._start()
        self._first, self._released_before = self.anonymizer.records, self.at.released
        self.clock = SteadyClock(self.at.now)
        self.source = self._keep(StreamInput(plan.source, self.stop, plan.longest_line))
        if self.source.producers is not None:
            self.source.producers.ends = self.input.ends
        resume = plan.resume or ("continue" if self.source.is_socket else "replay")
        if resume == "replay" and self.at.taken:
            with stream_exit_codes():
                self._check_input()
            self.source.skip(self.at.taken - self.at.origin)
        elif self.at.taken:
            self.at.origin = self.at.taken
            self._snapshot()

    def _input(self, form: Format) -> NdjsonCodec | CsvCodec | OtherEncoding:
        found = codec(form, self.at.header, delimiter=self.at.delimiter)
        return found if self.at.encoding == UTF_8 else OtherEncoding(found, self.at.encoding)

    def _check_input(self) -> None:
        """Raise unless the file begins with what was taken from it."""
        if not self.source.is_file:
            return
        at = self.at
        known = not at.seen or self.source.seen(at.seen_at - at.origin) == at.seen
        met = [(place - at.origin, line) for place, line in self._met if not line.startswith(HUGE)]
        if not known or not all(self.source.holds(place, line) for place, line in met):
            raise FileError(Message("error_stream.other_input", place=self.plan.source))

    def _start(self) -> None:
        """A stream without a past."""
        for place in (self.target, self.dead):
            if place.is_file and place.start and place.place != "-":
                raise UsageError(Message("error_stream.not_empty", place=place.place))
        self.at.base, self.at.dead_base = self.target.start, self.dead.start
        if self.folder is not None:
            list(self.folder.entries())
            self._snapshot()

    def _restored(self) -> Anonymizer:
        assert self.folder is not None
        fresh = self._make()
        anonymizer = type(fresh).restore(self.folder.snapshot)
        if anonymizer.extra.get("kind") == KIND:
            raise UsageError(_of_service(self.folder.path, anonymizer.extra.get("options")))
        if fresh.fingerprint() != anonymizer.fingerprint():
            raise UsageError(Message("error_stream.other_settings", folder=self.folder.path))
        with restoring(self.folder.snapshot):
            self.at = StreamPosition.of(anonymizer.extra)
        if self.plan.encoding not in (None, self.at.encoding):
            raise UsageError(Message("error_stream.other_settings", folder=self.folder.path))
        return anonymizer

    # After a restart ----------------------------------------------------------------------------------------------

    def _replay(self) -> None:
        """Do again what the log says, and write what is missing of its output."""
        assert self.folder is not None
        out, dead = MissingOutput(self.target, self.at.base), MissingOutput(self.dead, self.at.dead_base)
        written, refused = self.at.written, self.at.refused
        doubts: list[bytes] = []
        for entry in self.folder.entries():
            if not isinstance(entry, Batch):
                doubts, self.in_doubt = [], 0  # everything before it is written
                continue
            if entry.lines:
                self._met.append((self.at.taken, entry.lines[0]))
            work = self._work(entry.lines, entry.now, entry.last, entry.decisions)
            out.add(self.at.written, entry.written, work.out)
            dead.add(self.at.refused, entry.refused, work.dead)
            doubts += self._doubts(entry, work)
            self._move(entry, work.released)
        unsure = b"".join(doubts)
        out.between(written, self.at.written)
        dead.between(refused, self.at.refused + len(unsure))
        dead.add(self.at.refused, self.at.refused + len(unsure), unsure)
        self.at.refused += len(unsure)
        for missing in (out, dead):
            missing.write()
        if not self.dead.is_file:
            self.dead.write(unsure)
        if unsure or self.folder.size > self.plan.every:
            self._snapshot()

    def _doubts(self, batch: Batch, work: _Work) -> list[bytes]:
        """What must be said of a batch of which nobody knows whether it was read: records are not written again, but named."""
        found = [work.dead] if work.dead and not self.dead.is_file else []
        if self.target.is_file:
            return found
        if not self.anonymizer.holds:
            doubt = InputError(Message("error_stream.letter.doubt"))
            found += [self._letter(number, line, doubt) for number, line in enumerate(batch.lines, self.at.lines + 1)]
            self.in_doubt += len(batch.lines)
        elif work.released:
            first, last = self.at.released + 1, self.at.released + work.released
            said = Message("error_stream.letter.doubts", first=first, last=last).say(self.at.lang)
            found.append(encode_json({"released": [first, last], "reason": said}))
            self.in_doubt += work.released
        return found

    def _move(self, batch: Batch, released: int) -> None:
        self.at.taken, self.at.written, self.at.refused = batch.taken, batch.written, batch.refused
        self.at.lines += len(batch.lines)
        self.at.released += released
        self.at.header, self.at.delimiter, self.at.now = self.input.header, self.input.delimiter, batch.now

    def _snapshot(self) -> None:
        if self.folder is not None:
            self._remember_input()
            if self.plan.fsync:
                for place in (self.target, self.dead):
                    place.sync()
            self.anonymizer.save(self.folder.next(), extra=vars(self.at))
            self.folder.advance()

    def _remember_input(self) -> None:
        """So that after a restart another file is not taken for this one."""
        source = getattr(self, "source", None)
        if source is not None and source.is_file:
            self.at.seen, self.at.seen_at = source.seen(self.at.taken - self.at.origin), self.at.taken

    # The loop -----------------------------------------------------------------------------------------------------

    def _loop(self) -> bool:
        """Whether everything that was taken is written."""
        for lines, taken, last in self._incoming():
            arrived = time.perf_counter()
            if not self._handle(lines, taken, last):
                return False
            seconds = time.perf_counter() - arrived
            self._latency.append(seconds)
            self._room = paced(self._room, taken, seconds)
            if self.folder is not None and self.folder.size > self.plan.every:
                self._snapshot()
            self._untold = self.watch is not None
            self._show()
        if self.stop.asked and self.folder is None and self.anonymizer.holds:
            return self._handle([], 0, True)  # nobody would remember those who wait
        return True

    def _incoming(self) -> Iterator[tuple[list[bytes], int, bool]]:
        """Blocks of lines, the bytes that they take, and whether it was the last one; an empty one when something is due."""
        while True:
            self._show(waits=True)
            if (due := self.anonymizer.due) is not None and not self.source.ready(max(0.0, due - self.clock.now())):
                if self.stop.asked:
                    return
                yield [], 0, False
                continue
            data = self.source.read(self._room)
            if data is None:
                return
            lines, taken = self.blocks.add(data) if data else self.blocks.end()
            last = not data
            if taken or last:
                yield lines, taken, last
            if last:
                return

    def _handle(self, lines: list[bytes], taken: int, last: bool = False) -> bool:
        """One block, from its lines to its output; false if its reader stopped taking it and it is time to end."""
        now = self.clock.now()
        work = self._work(lines, now, last, None)
        at, written, refused = self.at, self.at.written + len(work.out), self.at.refused + len(work.dead)
        batch = Batch(lines, work.decisions, now, at.taken + taken, written, refused, last)
        if self.folder is not None and (lines or taken or work.out or self.anonymizer.holds):
            self.folder.log(batch)
        self._move(batch, work.released)
        done = self.target.write(work.out) if work.out else True
        if work.dead:
            self.dead.write(work.dead)
        unsure = (work.out and not self.target.is_file) or (work.dead and not self.dead.is_file)
        if done and self.folder is not None and unsure:  # a file can be asked what it holds
            self.folder.done(at.written)
        return done

    def _work(self, lines: list[bytes], now: float, last: bool, decisions: list[int] | None) -> _Work:
        """Decode, anonymize, encode."""
        if lines and not last and (direct := self._directly(lines, now, decisions)) is not None:
            return direct
        records, places, letters = self._records(lines)
        taken = self.anonymizer.take(records, now, decisions)
        letters.update((places[i], reason) for i, reason in taken.refused.items())
        released = taken.released + self.anonymizer.flush(now) if last else taken.released
        self.output.delimiter = self.input.delimiter
        out = self.output.encode_all(released)
        if self.at.written == 0 and (lines or last):
            out = self.output.begin(self.anonymizer.fields) + out
        self.dead_letters += len(letters)
        dead = [self._letter(self.at.lines + i + 1, lines[i], letters[i]) for i in sorted(letters)]
        if self.anonymizer.holds:
            dead += self._withheld()
        return _Work(out, b"".join(dead), taken.decisions, len(released))

    def _directly(self, lines: list[bytes], now: float, decisions: list[int] | None) -> _Work | None:
        """All of a block from JSON to JSON, without a dictionary for each record; None, and nothing taken, where that cannot be."""
        if not self._json or self.plan.change or self.anonymizer.holds:
            return None
        taken = self.anonymizer.take_json(lines, now, decisions)
        return taken and _Work(b"\n".join(taken.bodies) + b"\n", b"", taken.decisions, len(taken.bodies))

    def _withheld(self) -> list[bytes]:
        """Letters about records that waited in vain: nothing they could be released as keeps the promise."""
        letters: list[dict[str, Any]] = [
            {"reason": IN_VAIN.say(self.at.lang), "record": one} for one in self.anonymizer.withheld()
        ]
        self.dead_letters += len(letters)
        return [
            encode_json(one if self.plan.dead_letters is not None else {"reason": one["reason"]}) for one in letters
        ]

    def _records(self, lines: list[bytes]) -> tuple[list[dict[str, Any]], Sequence[int], dict[int, InputError]]:
        """The records of a block, the lines they stand on, and what is wrong with the other lines."""
        plain = self.input.decode_all(lines) if lines and not self.plan.change else None
        if plain is not None:
            return plain, range(len(plain)), {}
        records: list[dict[str, Any]] = []
        places: list[int] = []
        letters: dict[int, InputError] = {}
        decode = self.input.decode
        changes = list(self.plan.change.items())
        for i, line in enumerate(lines):
            try:
                record = decode(line)
                for name, change in changes:
                    if record is not None and name in record:  # where it is missing, the anonymizer says so
                        record[name] = change(record[name])
            except InputError as bad:
                letters[i] = bad
                continue
            if record is not None:
                records.append(record)
                places.append(i)
        return records, places, letters

    def _letter(self, number: int, line: bytes, reason: InputError) -> bytes:
        letter: dict[str, Any] = {"line": number, "reason": reason.say(self.at.lang)}
        if self.plan.dead_letters is not None and not line.startswith(HUGE):
            letter["record"] = line.decode(self.at.encoding, errors="backslashreplace")
        return encode_json(letter)

    # What can be seen ---------------------------------------------------------------------------------------------

    def metrics(self) -> dict[str, Any]:
        """Counts of the whole stream, rate and latency (from arrival to written) of this run."""
        seconds = time.perf_counter() - self._began
        here = self.anonymizer.records - self._first
        p50, p99 = np.percentile(self._latency, [50, 99]).tolist() if self._latency else (0.0, 0.0)
        return {
            **self.anonymizer.stats(),
            "released_now": self.at.released - self._released_before,
            "dead_letters": self.dead_letters,
            "in_doubt": self.in_doubt,
            "stopped": self.stop.asked,
            "bytes_taken": self.at.taken,
            "bytes_written": self.at.written,
            "seconds": round(seconds, 3),
            "records_per_second": round(here / seconds, 1) if seconds else 0.0,
            "latency_ms": {"p50": round(1e3 * p50, 3), "p99": round(1e3 * p99, 3)},
        }

    def _show(self, waits: bool = False) -> None:
        """Metrics, twice a second; before a wait also of what came last, where nobody is due to leave sooner."""
        left, due = self._watched + TOLD - time.perf_counter(), self.anonymizer.due
        if waits and self._untold and left > 0 and (due is None or due - self.clock.now() > left):
            left = left if self.source.ready(left) else 0.0
        if self.watch is not None and self._untold and left <= 0:
            self._watched, self._untold = time.perf_counter(), False
            self.watch(self.metrics())

    def _keep(self, thing: T) -> T:
        """Something that is closed at the end, however that comes."""
        self._opened.callback(thing.close)
        return thing


def _of_service(folder: Path, options: object) -> Message:
    """Name the options of the service that made a state; one of an earlier version does not say."""
    if isinstance(options, list) and options:
        return Message("error_stream.state_of_service", folder=folder, options=options)
    return Message("error_stream.state_of_some_service", folder=folder)
