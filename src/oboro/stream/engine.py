"""Engines of streams: the runner of files and pipes, and the service between brokers.

Both loop: read the available records, decide, log the decision, write; again. A block is whatever has arrived, never
waited for, so no record waits for another. Input that cannot be a record goes to the dead-letter records with its
position and the reason; it is never dropped silently, and never reaches the output.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar

import numpy as np

from oboro.errors import BrokerError, ConflictError, FileError, InputError, UsageError
from oboro.stream.anonymizer import KIND, Anonymizer, moment, require, restoring
from oboro.stream.endpoints import (
    Held,
    Incoming,
    Lease,
    MissingOutput,
    RecordSink,
    RecordSource,
    SilentSink,
    StopRequest,
    Store,
    StreamInput,
    StreamOutput,
    check_apart,
    paced,
)
from oboro.stream.exit_codes import stream_exit_codes
from oboro.stream.journal import Batch, JournalEntry, StateFolder
from oboro.stream.records import (
    DELIMITERS,
    HUGE,
    UTF_8,
    BadRecord,
    BodyForm,
    CsvCodec,
    Format,
    LetterIds,
    LineBlocks,
    NdjsonCodec,
    OtherEncoding,
    Partition,
    RecordIds,
    codec,
    encode_json,
    form_of,
    is_cut_by_bytes,
    new_key,
    reason_code,
)
from oboro.system.process import SteadyClock
from oboro.text import LANGUAGES, Message

__all__ = [
    "LIVE_WITHIN",
    "Decided",
    "Decider",
    "LoggedLetters",
    "Missing",
    "Outlet",
    "Runner",
    "Service",
    "ServicePlan",
    "ServicePosition",
    "StreamPlan",
    "StreamPosition",
    "Watch",
    "check_held",
    "check_input",
    "check_plan",
    "check_state",
    "digest",
    "from_store",
    "gone_on",
    "log_line",
    "publisher",
    "put_away",
    "replayed",
    "restored",
    "same_letter",
    "to_stderr",
    "unnoticed",
]


# Position of a stream -------------------------------------------------------------------------------------------------
# Progress of a stream: written into every snapshot beside the state of the anonymizer.


@dataclass
class StreamPosition:
    """Bytes and lines taken, written and refused, and where they began."""

    taken: int = 0
    written: int = 0
    refused: int = 0
    lines: int = 0
    released: int = 0
    header: Sequence[str] | None = None
    origin: int = 0  # what was taken before the first byte of this input, where one input followed another
    seen: str = ""  # a digest of the input up to some place
    seen_at: int = 0
    base: int = 0
    dead_base: int = 0
    now: float = 0.0  # when the last block came
    lang: str = "en"
    delimiter: str = DELIMITERS[0]  # between cells, as the header shows
    encoding: str = UTF_8  # of the input

    @staticmethod
    def of(noted: Mapping[str, Any]) -> StreamPosition:
        """What a snapshot says, if it can be."""
        at = StreamPosition(**noted)
        numbers = (
            at.taken,
            at.written,
            at.refused,
            at.lines,
            at.released,
            at.origin,
            at.seen_at,
            at.base,
            at.dead_base,
        )
        require(all(type(number) is int and 0 <= number < 1 << 62 for number in numbers))
        require(max(at.origin, at.seen_at) <= at.taken and isinstance(at.seen, str) and at.lang in LANGUAGES)
        require(at.header is None or all(isinstance(name, str) for name in at.header))
        require(at.delimiter in DELIMITERS and isinstance(at.encoding, str) and is_cut_by_bytes(at.encoding))
        at.now = moment(at.now)
        return at


# Runner ---------------------------------------------------------------------------------------------------------------


Opened = TypeVar("Opened", Anonymizer, StateFolder[Batch], StreamInput, StreamOutput)
IN_VAIN = Message("error_stream.letter.in_vain")
TOLD = 0.5  # seconds between two looks at the metrics


@dataclass(frozen=True)
class StreamPlan:
    """Settings of a running stream."""

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
        """Run until the input ends or a stop is requested; return the metrics of this run."""
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

    def _keep(self, thing: Opened) -> Opened:
        """Something that is closed at the end, however that comes."""
        self._opened.callback(thing.close)
        return thing


def _of_service(folder: Path, options: object) -> Message:
    """Name the options of the service that made a state; one of an earlier version does not say."""
    if isinstance(options, list) and options:
        return Message("error_stream.state_of_service", folder=folder, options=options)
    return Message("error_stream.state_of_some_service", folder=folder)


# Decisions of a service -----------------------------------------------------------------------------------------------
# Bodies to released bodies: decode, skip repeated records, decide, encode.
#
# All of it can be done again: the same bodies, moments and decisions give the same released bodies, after a crash and
# in another process. Time is the broker's, not this machine's.


@dataclass
class Decided:
    """Result of deciding a block."""

    bodies: list[bytes]
    letters: list[bytes]
    decisions: list[list[int]]
    records: int = 0
    repeats: int = 0
    elsewhere: int = 0
    reasons: list[str] = field(default_factory=list)
    """The short name of the reason of each letter."""


@dataclass
class Decider:
    """One stream's memory, and how its records are read and written."""

    anonymizer: Anonymizer
    incoming: BodyForm
    outgoing: BodyForm
    change: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    ids: RecordIds | None = None
    lang: str = "en"
    raw: bool = False
    """Whether dead letters hold what was refused."""
    now: float = 0.0
    part: Partition | None = None
    """Which records are this process's; the others are passed over."""
    longest: int = 1 << 20
    """Bodies of more bytes are refused."""
    letter_ids: LetterIds = field(default_factory=lambda: LetterIds(""))

    def decide(
        self,
        items: Sequence[Incoming],
        moment: float = 0.0,
        decisions: Sequence[list[int]] | None = None,
        last: bool = False,
    ) -> Decided:
        """Take a block, possibly empty (then `moment` says when). `decisions`: those of the first time."""
        bodies = [*map(itemgetter(0), items)]
        short = max(map(len, bodies), default=0) * self._growth <= self.longest
        direct = (
            self._directly(bodies, items[-1][2], decisions) if self._direct and items and short and not last else None
        )
        if direct is not None:
            return direct
        done = Decided([], [], [])
        letters: dict[int, InputError] = {}
        records, places = self._records(items, bodies, letters, done, short)
        again = iter(decisions or ())
        for start, stop, now in self._moments(items, places, moment):
            taken = self.anonymizer.take(records[start:stop], now, next(again, None) if decisions is not None else None)
            letters.update((places[start + i], reason) for i, reason in taken.refused.items())
            done.decisions.append(taken.decisions)
            done.bodies += self.outgoing.encode_all(taken.released)
        if last:
            done.bodies += self.outgoing.encode_all(self.anonymizer.flush(self.now))
        done.records = len(records)
        done.letters = [self._letter(items[i], letters[i]) for i in sorted(letters)]
        done.reasons = [reason_code(letters[i]) for i in sorted(letters)]
        withheld = self._withheld()
        done.letters += withheld
        done.reasons += ["in_vain"] * len(withheld)
        return done

    @cached_property
    def _direct(self) -> bool:
        """Whether bodies may go through as JSON, if they are plain."""
        looked_at = self.ids is not None or self.change or self.part is not None or self.anonymizer.timed
        return self.incoming.json and self.outgoing.json and not looked_at and not self.anonymizer.holds

    def _directly(self, bodies: list[bytes], moment: float, decisions: Sequence[list[int]] | None) -> Decided | None:
        """All of a block without records in between; None, and nothing taken, where one is not plain."""
        again = decisions[0] if decisions else None
        taken = self.anonymizer.take_json(bodies, moment, again)
        if taken is None:
            return None
        self.now = max(self.now, moment)
        return Decided(taken.bodies, [], [taken.decisions], len(bodies))

    def _records(
        self, items: Sequence[Incoming], bodies: list[bytes], letters: dict[int, InputError], done: Decided, short: bool
    ) -> tuple[list[dict[str, Any]], Sequence[int]]:
        """The records of a block and their places in it; what is none is among the letters."""
        if self.ids is None and not self.change and self.part is None and short:
            plain = self.incoming.decode_all(bodies) if items else []
            if plain is not None:
                return plain, range(len(plain))
        records: list[dict[str, Any]] = []
        places: list[int] = []
        decode, ids, changes, part = self.incoming.decode, self.ids, list(self.change.items()), self.part
        for i, (body, _, _) in enumerate(items):
            record = None
            try:
                if len(body) > self.longest:
                    raise BadRecord("too_long", bytes=len(body))
                record = decode(body)
                if record is None:
                    continue
                self._check_length(len(body), record)
                if part is not None and not part.mine(record):
                    done.elsewhere += 1
                    continue
                if ids is not None and ids.meet(record) == "repeat":
                    done.repeats += 1
                    continue
                for name, change in changes:
                    if name in record:  # where it is missing, the anonymizer says so
                        record[name] = change(record[name])
            except InputError as bad:
                if part is None or record is not None or part.serve == 0:  # what is no record is named once
                    letters[i] = bad
                continue
            records.append(record)
            places.append(i)
        return records, places

    @property
    def _growth(self) -> int:
        """How many times as long a body may be written as it came, at most: `1e15` becomes 1000000000000000.0."""
        return 8 if self.incoming.json else 64

    def _check_length(self, came: int, record: Mapping[str, Any]) -> None:
        """Raise where what could be released is longer than a broker takes: it would end the service, and every one after it."""
        if came * self._growth > self.longest:
            whole = {name: record[name] for name in self.anonymizer.fields if name in record}
            if (size := len(self.outgoing.encode(whole))) > self.longest:
                raise BadRecord("too_long", bytes=size)

    def _moments(
        self, items: Sequence[Incoming], places: Sequence[int], moment: float
    ) -> Iterator[tuple[int, int, float]]:
        """Parts of the block that arrived at one moment; all of it where time changes nothing. Time never goes back."""
        if not self.anonymizer.timed or not places:
            self.now = max(self.now, moment, items[-1][2] if items else 0.0)
            yield 0, len(places), self.now
            return
        start = 0
        for at in range(1, len(places) + 1):
            if at == len(places) or items[places[at]][2] > max(self.now, items[places[start]][2]):
                self.now = max(self.now, items[places[start]][2])
                yield start, at, self.now
                start = at

    def _letter(self, item: Incoming, reason: InputError) -> bytes:
        letter: dict[str, Any] = {
            "id": self.letter_ids.id_of(item[1], item[0]),
            "position": item[1],
            "code": reason_code(reason),
            "reason": reason.say(self.lang),
        }
        if self.raw:
            letter["record"] = item[0].decode(errors="backslashreplace")
        body = encode_json(letter).rstrip(b"\n")
        if len(body) > self.longest and self.raw:  # whoever takes the letters would not take this one
            del letter["record"]
            body = encode_json(letter).rstrip(b"\n")
        return body

    def _withheld(self) -> list[bytes]:
        """Letters about records that waited in vain: nothing they could be released as keeps the promise."""
        if not self.anonymizer.holds:
            return []
        said = Message("error_stream.letter.in_vain").say(self.lang)
        found = []
        for one in self.anonymizer.withheld():
            id = self.letter_ids.id_of("", encode_json(one))
            letter = {"id": id, "code": "in_vain", "reason": said, **({"record": one} if self.raw else {})}
            found.append(encode_json(letter).rstrip(b"\n"))
        return found


# Outlet ---------------------------------------------------------------------------------------------------------------
# An output of a service that publishes each record once, even if the connection or the process fails.


CONFLICTS = 5  # of one block, where nobody else publishes: a server may drop the end of a chain


def digest(body: bytes) -> str:
    """Short for a body, where it must be recognized later."""
    return blake2b(body, digest_size=16).hexdigest()


def publisher(mark: str) -> tuple[str, str]:
    """The stream and the process that a mark tells."""
    stream, _, rest = mark.partition("/")
    return stream, rest.partition("/")[0]


def same_letter(one: bytes, other: bytes) -> bool:
    """Test if two dead letters name the same record. Another version may word the reason differently.

    A letter about a record that waited in vain has no position. Its id may be of a process that keeps no key.
    """
    if one == other:
        return True
    try:
        first, second = json.loads(one), json.loads(other)
        if "position" in first or "position" in second:
            return bool(first["position"] == second["position"])
        return _without_id(first) == _without_id(second)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def _without_id(letter: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in letter.items() if name not in ("id", "code")}


class Outlet:
    """Publishes blocks one after the other, each exactly where the one before ended.

    What the place holds already is compared byte for byte and not published again: it came from a life before this one, or from
    another process that leads. `again` is asked after every interruption whether to go on.
    """

    def __init__(
        self,
        sink: RecordSink,
        name: str,
        stream: str,
        again: Callable[[BrokerError], None],
        same: Callable[[bytes, bytes], bool] = bytes.__eq__,
        run: str = "",
    ) -> None:
        self.sink = sink
        self.name = name
        self.stream = stream
        self.run = run or token_hex(6)
        self.at = 0
        self.last = ""  # a digest of what stands at `at`
        self.there = 0
        self.elsewhere = 0  # how many went to other places before
        self._again, self._same = again, same

    def open(self) -> Held:
        """Connect; what the place holds last."""
        while True:
            try:
                self.sink.open()
                held = self.held()
                self.there = held[0]
                return held
            except BrokerError as away:
                self._again(away)

    def held(self) -> Held:
        """What the place holds last, by the numbers of this stream."""
        number, mark, body = self.sink.last()
        return number + self.elsewhere, mark, body

    def tend(self) -> None:
        """Keep the connection alive while nothing is published; connect again where the broker was away meanwhile."""
        try:
            self.sink.tend()
        except BrokerError as away:
            self._again(away)
            self.open()

    def put(self, bodies: Sequence[bytes], position: str, run: str | None = None) -> None:
        """Publish, or see that it is published: at the end, the place holds all of it once. `run`: who noted it, if another did."""
        mark = f"{self.stream}/{self.run if run is None else run}/{position}"
        rest, conflicts = list(bodies), 0
        while rest:
            try:
                rest = rest[self._compare(rest) :]
                if rest:
                    self.sink.publish(self.at - self.elsewhere, rest, mark)
                    self._moved(rest)
                rest = []
            except BrokerError as away:
                self._again(away)
                rest = rest[self._reopened(rest) :]
            except ConflictError:
                conflicts += 1
                if conflicts > CONFLICTS:
                    raise
                rest = rest[self._found(rest, self._asked()) :]

    def _moved(self, bodies: Sequence[bytes]) -> None:
        units = self.sink.units
        self.at += sum(map(units, bodies))
        self.there = max(self.there, self.at)
        self.last = digest(bodies[-1])

    def _compare(self, bodies: list[bytes]) -> int:
        """How many of these stand in the output already; raises where something else stands there."""
        if self.there <= self.at:
            return 0
        count = min(len(bodies), self.there - self.at)
        found = self.sink.bodies(self.at - self.elsewhere + 1, count)
        if any(one is not None and not self._same(one, body) for one, body in zip(found, bodies, strict=False)):
            raise self.moved()
        self._moved(bodies[:count])
        return count

    def _reopened(self, bodies: list[bytes]) -> int:
        """Connect again; how many of these the place has got. What was being compared is compared again, whoever put it there."""
        comparing = self.there > self.at
        held = self.open()
        return 0 if comparing and held[0] >= self.at else self._found(bodies, held)

    def _asked(self) -> Held:
        """What the place holds last, without taking it from another process."""
        try:
            return self.held()
        except BrokerError as away:
            self._again(away)
            return self.open()

    def _found(self, bodies: list[bytes], held: Held) -> int:
        """How many of these the place has got meanwhile from this process, and from no other."""
        if not self.sink.compares:
            return 0
        number, mark, _ = held
        if number < self.at:
            raise ConflictError(Message("error_service.output_set_back", place=self.name, number=number, at=self.at))
        if number > self.at and publisher(mark) != (self.stream, self.run):
            raise self.moved()
        at, taken = self.at, 0
        while taken < len(bodies) and at < number:
            at += self.sink.units(bodies[taken])
            taken += 1
        if at != number:
            raise self.moved()
        if taken:
            self._moved(bodies[:taken])
        return taken

    def sync(self) -> None:
        """Wait until a file is on its disk."""
        if (sync := getattr(self.sink, "sync", None)) is not None:
            sync()

    def moved(self) -> ConflictError:
        """Somebody else has published what this process was about to."""
        return ConflictError(Message("error_service.other_leader", place=self.name))


# Plan of a service ----------------------------------------------------------------------------------------------------
# The settings of a service at its start, and its progress.


@dataclass(frozen=True, kw_only=True)
class ServicePlan:
    """What the places and the anonymizer do not say themselves."""

    state: Path | None = None
    """A folder for snapshots and the journal. Without it, what was published is decided again at the start and compared."""
    batch: int = 256
    """The most records that are taken at a time; fewer are never waited for."""
    once: bool = False
    """End when the input holds nothing more."""
    rate: float | None = None
    """The most records a second."""
    id: str | None = None
    """The field that tells a record from all others; repeats of it are passed over."""
    id_horizon: int = 100_000
    """How many of the latest ids are remembered."""
    raw_letters: bool = False
    """Whether dead letters hold what was refused."""
    every: int = 1 << 26
    """Bytes of journal (or of input, for snapshots in a broker) after which a new snapshot is made."""
    longest_line: int = 900_000
    """Records of more bytes are refused."""
    fsync: bool = False
    lang: str = "en"
    options: Sequence[str] = ()
    """The options that a stream between files does not know, as they were given."""
    patience: float = 300.0
    """Seconds for which a broker may be away before the service gives up."""
    part: Partition | None = None
    """Which records are taken, where several processes share a stream; the others are passed over."""
    change: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Fields that are replaced before anything else sees them (pseudonyms), and by what."""

    @property
    def most(self) -> int:
        """How many records are read at once: with a rate those of a second at most, or a lease would run out in between."""
        return self.batch if self.rate is None else min(self.batch, max(1, int(self.rate)))


@dataclass
class ServicePosition:
    """Progress of a service; kept in every snapshot."""

    kind: str = KIND
    stream: str = field(default_factory=lambda: token_hex(8))
    position: str | None = None
    published: int = 0
    last: str = ""
    """A digest of the last that was published."""
    letters: int = 0
    last_letter: str = ""
    now: float = 0.0
    lang: str = "en"
    ids: str = ""
    part: str = ""
    seen: str = ""
    """A digest of the last record that was read: by it a file is known again. It stays in the state, since it tells of a record."""
    input: str = ""
    """The kind of the input: positions in another one mean nothing."""
    id: str = ""
    """The field by which records are told apart."""
    renamed: str = ""
    """A digest of what pseudonyms look like: with another key, one person has two."""
    letters_elsewhere: int = 0
    """How many dead letters went to other places than the one where they go now."""
    letter_key: str = field(default_factory=new_key)
    """The key for the ids of dead letters."""
    options: list[str] = field(default_factory=list)
    """The options that a stream between files does not know: with them this state was made."""


# Monitoring -----------------------------------------------------------------------------------------------------------
# Counts, latencies, and log lines of a service. Never a value of a record.


LATENCIES = 4096  # of the latest blocks
LIVE_WITHIN = 120.0  # seconds; one answer of a broker may take 15, and a block asks for several


def log_line(said: Message, level: str, lang: str, as_json: bool) -> str:
    """One line of the log: a sentence, or an object with the event's name and its values."""
    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    if not as_json:
        return f"{moment} {level} {said.say(lang)}"
    values = {name: value if isinstance(value, int | float) else str(value) for name, value in said.values.items()}
    return json.dumps({"time": moment, "level": level, "event": said.id, "said": said.say(lang), **values})


class Watch:
    """Counts of one run, and where its log goes."""

    def __init__(self, log: Callable[[Message, str], None] | None = None) -> None:
        self._log = log
        self.records = self.released = self.dead_letters = self.repeats = self.blocks = self.interruptions = 0
        self.elsewhere = 0
        self.reasons: Counter[str] = Counter()
        """Dead letters by the short name of their reason."""
        self.behind = 0
        self.live_within = LIVE_WITHIN
        self._turned: float | None = None
        self.ready, self.connected, self.leading = False, True, True
        self.glance: Callable[[], dict[str, int | None]] = dict
        """What the anonymizer tells of itself."""
        self._saved: float | None = None
        self.latencies: deque[float] = deque(maxlen=LATENCIES)
        self.told: list[Callable[[int, Decided, float], None]] = []
        self._began = time.perf_counter()

    def say(self, said: Message, level: str = "info") -> None:
        """A line in the log."""
        if self._log is not None:
            self._log(said, level)

    def took(self, count: int, done: Decided, seconds: float) -> None:
        """A block went through in so many seconds."""
        self.records += count
        self.released += len(done.bodies)
        self.dead_letters += len(done.letters)
        self.reasons.update(done.reasons)
        self.repeats += done.repeats
        self.elsewhere += done.elsewhere
        self.blocks += 1
        self.latencies.append(seconds)
        for tell in self.told:
            tell(count, done, seconds)

    def turn(self, first: bool = False) -> None:
        """Note that the loop turns: it has read, decided and published, or waits for a broker. `first`: from now on it does."""
        if first or self._turned is not None:
            self._turned = time.monotonic()

    @property
    def live(self) -> bool:
        """Whether the loop has turned within `live_within` seconds. Until it begins, a state is restored, which takes its time."""
        return self._turned is None or time.monotonic() - self._turned < self.live_within

    def saved(self) -> None:
        """A snapshot was written now."""
        self._saved = time.monotonic()

    def figures(self) -> dict[str, float]:
        """What the anonymizer tells of itself, as far as it can be known now, and how old the latest snapshot of this run is."""
        told: dict[str, float] = {name: value for name, value in self.glance().items() if value is not None}
        return told if self._saved is None else {**told, "state_age_seconds": round(time.monotonic() - self._saved, 3)}

    def counts(self) -> dict[str, Any]:
        """What `oboro stream --json` prints at the end."""
        seconds = time.perf_counter() - self._began
        ordered = sorted(self.latencies) or [0.0]
        return {
            "records": self.records,
            "released": self.released,
            "dead_letters": self.dead_letters,
            "dead_letters_by_reason": dict(sorted(self.reasons.items())),
            "repeats": self.repeats,
            "elsewhere": self.elsewhere,
            "interruptions": self.interruptions,
            "behind": self.behind,
            **self.figures(),
            "seconds": round(seconds, 3),
            "records_per_second": round(self.records / seconds, 1) if seconds else 0.0,
            "latency_ms": {
                "p50": round(1e3 * ordered[len(ordered) // 2], 3),
                "p99": round(1e3 * ordered[int(len(ordered) * 0.99)], 3),
            },
        }

    def letters(self) -> LoggedLetters:
        """Where dead letters go if nobody gave a place: their reasons, into the log."""
        return LoggedLetters(self)


class LoggedLetters(SilentSink):
    """A sink for dead letters that only names their reasons."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """A line for each."""
        for body in bodies:
            letter = json.loads(body)
            named = {"position": letter.get("position", ""), "letter": letter["id"], "code": letter["code"]}
            said = Message("service.letter", **named, reason=letter["reason"])
            self._watch.say(said, "warning")


def to_stderr(lang: str, as_json: bool) -> Callable[[Message, str], None]:
    """A log on standard error."""

    def log(said: Message, level: str) -> None:
        print(log_line(said, level, lang, as_json), file=sys.stderr, flush=True)

    return log


# Start of a service ---------------------------------------------------------------------------------------------------
# Start of a service: compare its state with the output.
#
# Progress is read back from the output, not from acknowledgements of the input. Records beyond the state, missing
# records, and records of another stream are refused: to continue would lose or repeat records, or release one in two
# forms.


ADDED = (
    "part",
    "seen",
    "input",
    "id",
    "renamed",
    "letters_elsewhere",
    "options",
    "letter_key",
)  # states of earlier versions do not have them


def restored(
    make: Callable[[], Anonymizer], snapshot: Path, name: str, options: Sequence[str] = ()
) -> tuple[Anonymizer, ServicePosition]:
    """The anonymizer of a snapshot and where it was; raises unless it was made under the same settings.

    `options`: those that make this stream a service, for the message about a state of a stream between files.
    """
    fresh = make()
    anonymizer = type(fresh).restore(snapshot)
    if anonymizer.extra.get("kind") != KIND and "taken" in anonymizer.extra:
        raise UsageError(Message("error_service.state_of_files", folder=name, options=list(options)))
    known = {one.name for one in fields(ServicePosition)}
    if fresh.fingerprint() != anonymizer.fingerprint() or {*anonymizer.extra, *ADDED} != known:
        raise UsageError(Message("error_stream.other_settings", folder=name))
    return anonymizer, ServicePosition(**anonymizer.extra)


def from_store(make: Callable[[], Anonymizer], store: Store) -> tuple[Anonymizer, ServicePosition] | None:
    """The same from a store outside of this machine."""
    data = store.get()
    if data is None:
        return None
    with TemporaryDirectory() as folder:
        path = Path(folder, "snapshot")
        path.touch(mode=0o600)
        path.write_bytes(data)
        return restored(make, path, "--state")


def put_away(anonymizer: Anonymizer, extra: Mapping[str, Any], store: Store) -> None:
    """The way there."""
    with TemporaryDirectory() as folder:
        anonymizer.save(Path(folder, "snapshot"), extra=extra)
        store.put(Path(folder, "snapshot").read_bytes())


class Missing:
    """Knowledge of the journal on an output: all of it since the snapshot; the output may lack the end."""

    def __init__(self, outlet: Outlet, *, counted: bool = True) -> None:
        self.outlet = outlet
        self._counted = counted  # as this place counts; dead letters may have gone to another one
        self.start = outlet.at
        self.bodies: list[bytes] = []
        self.runs: list[str] = []  # who noted each
        self.end = outlet.at
        self.position = ""

    def add(self, after: int, bodies: list[bytes], position: str, run: str) -> None:
        """A block."""
        if after != self.end and self._counted:
            raise FileError(Message("error_service.broken_journal", place=self.outlet.name))
        self.bodies += bodies
        self.runs += [run] * len(bodies)
        self.end += sum(map(self.outlet.sink.units, bodies))
        self.position = position

    def confirmed(self, number: int) -> None:
        """The place had it up to a number: what it cannot say itself."""
        if not self.outlet.sink.compares:
            self._drop(number)

    def _drop(self, number: int) -> None:
        """Leave out what is there up to a number."""
        units, at, count = self.outlet.sink.units, self.outlet.at, 0
        while at < number:
            at += units(self.bodies[count])
            count += 1
        if at != number:
            raise FileError(Message("error_stream.shorter_output", place=self.outlet.name))
        if count:
            self.outlet.last = digest(self.bodies[count - 1])
        self.outlet.at, self.bodies, self.runs = at, self.bodies[count:], self.runs[count:]

    def publish(self, held: Held) -> int:
        """Publish what the place lacks, byte for byte as it was noted; how many."""
        number, outlet = held[0], self.outlet
        if outlet.sink.compares:
            if number < self.start:
                raise FileError(
                    Message("error_service.output_lacks", place=outlet.name, number=number, known=self.start)
                )
            if number > self.end:
                raise ConflictError(
                    Message("error_service.state_older", place=outlet.name, number=number, known=self.end)
                )
            self._drop(number)
            check_held(outlet, held, outlet.last)
        for run, noted in groupby(zip(self.runs, self.bodies, strict=True), itemgetter(0)):
            outlet.put([body for _, body in noted], self.position, None if outlet.sink.compares else run)
        return len(self.bodies)


def check_held(outlet: Outlet, held: Held, last: str) -> None:
    """Raise unless the last of the output is what this stream put there."""
    number, mark, body = held
    if number and mark and publisher(mark)[0] != outlet.stream:
        raise ConflictError(Message("error_service.foreign_output", place=outlet.name))
    if number and body and last and digest(body) != last:
        raise ConflictError(Message("error_service.other_output", place=outlet.name))


def gone_on(letters: Outlet, held: Held, watch: Watch) -> Held:
    """Where the place of dead letters holds fewer than were written, they went elsewhere, or were removed: it is gone on with.

    They keep no promise and are no records. Those of another stream are refused all the same.
    """
    number, mark, body = held
    short = letters.at - number
    if short <= 0 or not letters.sink.compares:
        return held
    check_held(letters, held, "")
    letters.elsewhere, letters.last, letters.there = letters.elsewhere + short, "", number + short
    watch.say(Message("service.letters_elsewhere"), "warning")
    return number + short, mark, body


def unnoticed(source: RecordSource, sink: RecordSink) -> bool:
    """Whether nobody would notice what a power failure took from the journal: the input hands over once, or the output cannot say
    what it holds. Then the disk is waited for.
    """
    return source.repeats or bool(getattr(sink, "keeps", False))


def check_plan(
    plan: ServicePlan,
    ends: tuple[RecordSource, RecordSink],
    names: tuple[str, str],
    anonymizer: Anonymizer,
    leased: bool,
) -> None:
    """Raise where the two places and the plan do not go together."""
    (source, sink), name = ends, names[0]
    if source.repeats and plan.id is None:
        raise UsageError(Message("error_service.needs_id", source=name))
    if source.repeats and plan.id_horizon < plan.most:  # it may hand over all that was taken last, a whole block
        raise UsageError(Message("error_service.short_horizon", source=name, least=plan.most))
    if plan.state is not None:
        if leased:
            raise UsageError(Message("error_service.lease_and_state"))
        return
    if not (source.replays and sink.compares):
        raise UsageError(Message("error_service.needs_state", source=name, sink=names[1]))
    if not anonymizer.repeatable:
        raise UsageError(Message("error_service.not_deterministic"))


def check_state(at: ServicePosition, plan: ServicePlan, source: RecordSource) -> None:
    """Raise where a state does not go on as it began; from here on it knows what it goes on with.

    The records of another part protect nobody here, a position in another kind of input means nothing, and ids of another field
    do not know the records that were taken.
    """
    part, kind = "" if plan.part is None else repr(plan.part), str(getattr(source, "kind", ""))
    if at.position is not None and at.part != part:
        raise UsageError(Message("error_service.other_part"))
    if at.position is not None and at.input not in ("", kind):
        raise UsageError(Message("error_service.other_kind", known=at.input, kind=kind))
    if at.id and plan.id != at.id:
        raise UsageError(Message("error_service.other_id", field=at.id))
    renamed = digest(repr([(name, change("oboro")) for name, change in plan.change.items()]).encode())
    if at.position is not None and at.renamed not in ("", renamed):
        raise UsageError(Message("error_service.other_key", fields=list(plan.change)))
    at.part, at.input, at.id, at.renamed = part, kind, plan.id or "", renamed


def check_input(source: RecordSource, at: ServicePosition, name: str) -> None:
    """Raise where a file does not hold what was read from it last; a broker knows its records by their moments."""
    reread = getattr(source, "reread", None)
    found = reread(at.position) if reread is not None and at.position and at.seen else None
    if found is not None and digest(found) != at.seen:
        raise FileError(Message("error_service.other_input", place=name))


def replayed(
    folder: StateFolder[JournalEntry], decider: Decider, records: Missing, letters: Missing, at: ServicePosition
) -> None:
    """Take what the journal holds into memory again, and note where in the input it ends."""
    for entry in folder.entries():
        if isinstance(entry, int):
            records.confirmed(entry)
            continue
        items = [(body, "", moment) for body, moment in zip(entry.bodies, entry.moments, strict=True)]
        done = decider.decide(items, entry.moment, entry.decisions, entry.last)
        if done.bodies != entry.released:
            raise FileError(Message("error_service.not_repeatable", path=folder.path))
        records.add(entry.after, entry.released, entry.position, entry.run)
        letters.add(entry.letters_after, entry.letters, entry.position, entry.run)
        at.position = entry.position or None
        at.seen = digest(entry.bodies[-1]) if entry.bodies else at.seen


# Service --------------------------------------------------------------------------------------------------------------
# The loop of a service: read the available records, decide, log, publish; again, for months.
#
# A record that was published and forgotten would be decided again, perhaps differently: two forms of one record. So
# everything is logged before it is published, the position in the input follows from the content of the output, and
# publishing succeeds only where the output is in the state that this process assumes. Any uncertainty stops the
# service.


T = TypeVar("T")
WAIT = 0.25  # seconds: a wish to end is heard this soon
AGAIN = 10.0  # seconds of the processor that a start after a kill may take to decide again what was decided since the last snapshot
SILENT = 3  # times that nothing came, after which an input that cannot say is at its end
LOOK = 5.0  # seconds, after which a service that never rests asks how much waits for it
PAUSES: tuple[float, ...] = (0.05, 0.1, 0.2, 0.5, 1.0)  # before a broker that is away is asked again


class _Stopped(Exception):
    """Somebody asked to end while a broker was away. Everything that was decided is noted, or will be decided alike."""


class Service:
    """One stream between two places."""

    def __init__(
        self,
        make: Callable[[], Anonymizer],
        ends: tuple[RecordSource, RecordSink],
        forms: tuple[BodyForm, BodyForm],
        plan: ServicePlan,
        *,
        letters: RecordSink | None = None,
        store: Store | None = None,
        lease: Lease | None = None,
        watch: Watch | None = None,
        stop: StopRequest | None = None,
        names: tuple[str, str] = ("--from", "--to"),
    ) -> None:
        self.plan, self.store, self.lease = plan, store, lease
        (self.source, self.sink), self.letter_sink = ends, letters
        self.forms, self.names, self._make = forms, names, make
        self.watch, self.stop = watch or Watch(), stop or StopRequest()
        self.fsync = plan.fsync or unnoticed(*ends)
        self._away, self._away_since = 0, 0.0  # times that a broker did not answer, one after the other
        self._taken_bytes, self._saving, self._saved = 0, 0.0, time.process_time()
        self._silent, self._looked, self._last_read = 0, 0.0, b""
        self._settled = False  # whether all that was decided is published

    def run(self, own_process: bool = False) -> dict[str, Any]:
        """Run until the input ends or a stop is requested; return the counts of this run."""
        with stream_exit_codes(), self.stop.listening(), ExitStack() as self._opened:
            self._hold()
            try:
                self._start()
                self.watch.say(Message("service.ready", source=self.names[0], sink=self.names[1], at=self.records.at))
                if self.lease is not None:
                    self.watch.say(Message("service.asks_to_lead", seconds=self.lease.seconds))
                self.watch.ready = self._settled = True
                if own_process:
                    gc.freeze()  # what is there stays: looking through it for garbage held a block up for 60 ms
                    self._opened.callback(gc.unfreeze)
                self._loop()
            except _Stopped:
                pass
            self.watch.ready = False
            self._end()
        return self.watch.counts()

    def _hold(self) -> None:
        """Whatever was opened is closed at the end, also where it does not come to a start."""
        self._opened.callback(self.stop.close)
        for end in (self.source, self.sink, self.letter_sink):
            if end is not None:
                self._opened.callback(end.close)
        if self.lease is not None:
            self._opened.callback(self.lease.release)

    # The start ----------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        plan = self.plan
        self.folder = StateFolder(plan.state, JournalEntry, self.fsync) if plan.state else None
        if self.folder is not None:
            self._opened.callback(self.folder.close)
        anonymizer, self.at = self._known() or (self._make(), ServicePosition(lang=plan.lang))
        self._opened.callback(anonymizer.close)
        self.watch.glance = anonymizer.glance
        self._fresh = self.at.position is None
        self.watch.leading = self.lease is None
        check_plan(self.plan, (self.source, self.sink), self.names, anonymizer, self.lease is not None)
        check_state(self.at, self.plan, self.source)
        self.at.options = list(self.plan.options)
        if (ids := RecordIds(plan.id, plan.id_horizon) if plan.id else None) is not None:
            ids.load(self.at.ids)
        (incoming, outgoing), at, lang, now = self.forms, self.at, self.at.lang, self.at.now
        self.decider = Decider(
            anonymizer, incoming, outgoing, plan.change, ids, lang, plan.raw_letters, now, plan.part, plan.longest_line
        )
        self.decider.letter_ids = LetterIds(self.at.letter_key, self.source.message_id, plan.raw_letters)
        self.records = Outlet(self.sink, self.names[1], self.at.stream, self._interrupted)
        self.records.at, self.records.last = self.at.published, self.at.last
        given = "--dead-letters", at.stream, self._interrupted, same_letter, self.records.run
        self.letters = Outlet(self.letter_sink or self.watch.letters(), *given)
        self.letters.at, self.letters.last, self.letters.elsewhere = at.letters, at.last_letter, at.letters_elsewhere
        anonymizer.warm()
        self._meet_output()
        self._open_source(self.at.position)
        check_input(self.source, self.at, self.names[0])
        self.clock = SteadyClock(self.decider.now)

    def _known(self) -> tuple[Anonymizer, ServicePosition] | None:
        """What was saved, if anything was."""
        if self.folder is not None:
            found = self.folder.snapshot.exists()
            given = str(self.folder.path), self.plan.options
            return restored(self._make, self.folder.snapshot, *given) if found else None
        store = self.store
        if store is None:
            return None
        self._opened.callback(store.close)
        return self._answered(lambda: from_store(self._make, store))

    def _meet_output(self) -> None:
        """Whether the output is the one that belongs to the state; publish what it lacks."""
        held, held_letters = self.records.open(), gone_on(self.letters, self.letters.open(), self.watch)
        if self.folder is None:
            self._adopt(held, held_letters)
            return
        if not self.folder.snapshot.exists():
            if held[0]:
                raise FileError(Message("error_service.not_empty", place=self.names[1]))
            list(self.folder.entries())
            self._snapshot()
            return
        missing, letters = Missing(self.records), Missing(self.letters, counted=False)
        replayed(self.folder, self.decider, missing, letters, self.at)
        again = missing.publish(held)
        letters.publish(held_letters)
        if again:
            self.watch.say(Message("service.published_again", count=again))
        self._fresh = False
        if self.letters.elsewhere != self.at.letters_elsewhere or "letter_key" not in self.decider.anonymizer.extra:
            self._snapshot()

    def _adopt(self, held: tuple[int, str, bytes], held_letters: tuple[int, str, bytes]) -> None:
        """Without a journal: what the output holds beyond the snapshot is decided again, and compared."""
        if held[0] < self.records.at:
            raise FileError(
                Message("error_service.output_lacks", place=self.names[1], number=held[0], known=self.records.at)
            )
        if self._fresh and held[0]:
            self.at.stream = publisher(held[1])[0]
            if not self.at.stream:
                raise FileError(Message("error_service.not_empty", place=self.names[1]))
            self.records.stream = self.letters.stream = self.at.stream
        check_held(self.records, held, self.records.last if held[0] == self.records.at else "")

    def _open_source(self, after: str | None) -> None:
        self._answered(lambda: self.source.open(after))
        if self.folder is None and after is None and self.records.there and not self.source.whole:
            raise FileError(Message("error_service.input_trimmed", place=self.names[0]))

    def _answered(self, ask: Callable[[], T]) -> T:
        """The answer of a broker that may be away for a while."""
        while True:
            try:
                return ask()
            except BrokerError as away:
                self._interrupted(away)

    def _interrupted(self, away: BrokerError) -> None:
        """A broker did not answer: wait a little longer each time, unless somebody asks to end or it takes too long."""
        if self.stop.asked:
            raise _Stopped
        self.watch.turn()
        self.watch.interruptions += 1
        self.watch.connected = False
        if not self._away:
            self._away_since = time.monotonic()
            self.watch.say(Message("service.away", why=away.words), "warning")
        if time.monotonic() - self._away_since > self.plan.patience:
            raise away
        time.sleep(PAUSES[min(self._away, len(PAUSES) - 1)])
        self._away += 1

    # The loop -----------------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        self.watch.turn(first=True)
        try:
            self._rounds()
        except ConflictError as taken:
            taken.transient = self.lease is not None  # it stands by when it is started again
            raise

    def _rounds(self) -> None:
        began, taken = time.monotonic(), 0
        kept = self.source.replays or self.source.repeats  # what was not read is there for the next life, too
        while not (self.stop.asked and kept):
            self.watch.turn()
            items = self._read()
            if items is None:
                self._handle([], last=True)
                return
            if items:
                self._silent = 0
                self._handle(items)
                taken += len(items)
                self._slow_down(began, taken)
                self._save_if_due()
                if time.monotonic() - self._looked > LOOK:
                    self._behind()
            elif self.stop.asked or self._idle():
                return

    def _read(self) -> list[Incoming] | None:
        due = self.decider.anonymizer.due
        wait = WAIT if due is None else min(WAIT, max(0.0, due - self.clock.now()))
        try:
            items = self.source.read(self.plan.most, wait)
        except BrokerError as away:
            self._interrupted(away)
            self._open_source(self.at.position)
            return []
        if self._away:
            self.watch.say(Message("service.back"))
        self._away, self.watch.connected = 0, True
        return items

    def _idle(self) -> bool:
        """Nothing came; whether that is the end."""
        due = self.decider.anonymizer.due
        if due is not None and due <= self.clock.now():
            self._handle([], self.clock.now())
        for outlet in (self.records, self.letters):
            outlet.tend()
        self._leads()
        behind = self._behind()
        self._silent += 1
        if not self.plan.once or behind or (behind is None and self._silent < SILENT):
            return False
        if self.decider.anonymizer.holds:
            self._handle([], last=True)
        return True

    def _behind(self) -> int | None:
        """How much waits in the input; None where it cannot say."""
        self._looked = time.monotonic()
        try:
            behind = self.source.behind()
        except BrokerError:
            return self.watch.behind or 1  # the next read says more
        self.watch.behind = behind or 0
        return behind

    def _handle(self, items: Sequence[Incoming], moment: float = 0.0, last: bool = False) -> None:
        """One block: decide, note, publish, confirm."""
        began = time.perf_counter()
        position = items[-1][1] if items else self.at.position or ""
        done = self.decider.decide(items, moment, None, last)
        self.clock.reach(self.decider.now)
        if self.folder is not None and (items or done.bodies or done.letters or self.decider.anonymizer.holds):
            bodies, moments = [one[0] for one in items], [one[2] for one in items]
            decided = (moment, done.decisions, position, self.records.at, done.bodies, self.letters.at, done.letters)
            self.folder.log(JournalEntry(bodies, moments, *decided, last, self.records.run))
        if items:
            self.at.position, self._last_read = position, items[-1][0]
        self._settled = False
        self._publish(done.bodies, position)
        self._tell(done.letters, position)
        self._settled = True
        if items:
            self._confirm(position)
        self.watch.took(len(items), done, time.perf_counter() - began)
        if self.store is not None:
            self._taken_bytes += sum(len(one[0]) for one in items)

    def _publish(self, bodies: list[bytes], position: str) -> None:
        if bodies:
            self._await_lead(self.records, bodies)
            self.records.put(bodies, position)
            if self.folder is not None and not self.sink.compares:
                self.folder.done(self.records.at)

    def _await_lead(self, outlet: Outlet, bodies: list[bytes]) -> None:
        """As a standby: wait until the leader has published this, or until it is gone.

        Whoever only goes over what was there at its start asks for no lease: the one that has caught up takes over sooner.
        """
        if self.lease is None or not outlet.sink.compares:
            return
        end = outlet.at + len(bodies)
        while outlet.there < end and not self._leads() and self._refresh(outlet) < end:
            if self.stop.asked:
                raise _Stopped
            self.watch.turn()
            time.sleep(min(0.05, self.lease.seconds / 10))

    def _leads(self) -> bool:
        """Whether this process may publish. One that begins to lead first asks what the one before has published."""
        leads = self.lease is None or self.lease.held()
        if leads != self.watch.leading:
            self.watch.leading = leads
            self.watch.say(Message("service.leads" if leads else "service.stands_by"))
            if leads:
                self._refresh(self.records)
                self._refresh(self.letters)
        return leads

    def _refresh(self, outlet: Outlet) -> int:
        """How much an output holds by now."""
        try:
            outlet.there = max(outlet.there, outlet.held()[0])
        except BrokerError as away:
            self._interrupted(away)
            outlet.open()
        return outlet.there

    def _tell(self, letters: list[bytes], position: str) -> None:
        if letters:
            self._await_lead(self.letters, letters)
            self.letters.put(letters, position)

    def _confirm(self, position: str) -> None:
        try:
            self.source.confirm(position)
        except BrokerError as away:  # it will be handed over again, and is known then
            self._interrupted(away)
            self._open_source(self.at.position)

    def _slow_down(self, began: float, taken: int) -> None:
        while self.plan.rate and not self.stop.asked:
            left = taken / self.plan.rate - (time.monotonic() - began)
            if left <= 0:
                return
            if self.watch.leading:
                self._leads()
            self.watch.turn()
            time.sleep(min(left, WAIT))

    # Snapshots ----------------------------------------------------------------------------------------------------

    def _save_if_due(self) -> None:
        """Save where a start after a kill would read or decide too much again; saving takes a hundredth of the time."""
        size = self.folder.size if self.folder is not None else self._taken_bytes if self.store is not None else 0
        worked = time.process_time() - self._saved
        if size > self.plan.every or (size and worked > max(AGAIN, 100 * self._saving)):
            self._snapshot()

    def _snapshot(self) -> None:
        began = time.process_time()
        self._note_position()
        anonymizer, extra = self.decider.anonymizer, asdict(self.at)
        if self.folder is not None:
            if self.fsync:  # the state must not know more than the output holds
                self.records.sync()
                self.letters.sync()
            anonymizer.save(self.folder.next(), extra=extra)
            self.folder.advance()
            self.watch.saved()
        elif self.store is not None and self.watch.leading:
            try:
                put_away(anonymizer, extra, self.store)
                self.watch.saved()
            except BrokerError as away:  # the one before still holds; only the next start takes longer
                self.watch.say(Message("service.not_saved", why=away.words), "warning")
        self._taken_bytes, self._saved = 0, time.process_time()
        self._saving = self._saved - began

    def _note_position(self) -> None:
        at = self.at
        at.published, at.last = self.records.at, self.records.last
        at.letters, at.last_letter, at.letters_elsewhere = self.letters.at, self.letters.last, self.letters.elsewhere
        at.now, at.seen = self.decider.now, digest(self._last_read) if self._last_read else at.seen
        at.ids = self.decider.ids.dump() if self.decider.ids is not None else ""

    def _end(self) -> None:
        if self._settled:
            self._snapshot()  # so that the next start is quick
        self.watch.say(Message("service.ended", records=self.watch.records, released=self.watch.released))
