"""Anonymizing a stream with a bounded delay: records wait in a window until k similar ones can be released as one."""

from __future__ import annotations

import math
import secrets
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from oboro.errors import ColumnError, FileError, InputError
from oboro.stream.anonymizer import BlockResult, Closing, JsonBlock, Record
from oboro.stream.record_fields import wrong_fields
from oboro.stream.snapshot import moment, read_snapshot, require, restoring, write_snapshot
from oboro.stream.window.kernels.window_steps import HEAD, TAIL, WAITING, Outgoing
from oboro.stream.window.saved_window import check_window
from oboro.stream.window.value_codes import ValueCodes
from oboro.stream.window.window_engine import EngineSpec, WindowEngine
from oboro.stream.window.window_settings import WindowSettings
from oboro.system.steady_clock import SteadyClock
from oboro.table.frames import Frame
from oboro.table.parameters.at_the_door import at_the_door
from oboro.table.values import reads_as_no_secret, tells_nothing
from oboro.text import Message

__all__ = ["Window"]

FORMAT = 2  # 1 had no exchanged places
MOST = 8192  # records that are taken in one go


class Window(Closing):
    """A stream anonymizer by microaggregation: `push` a record, get a list of released ones (often empty).

    For the record at the head of a full window, the group of k to 2k − 1 records with the least loss is formed around it, or it
    joins a centroid that was published before, whichever loses less (Yamayoshi, Wakabayashi & Kamidoi).

    The n-th place of the output has the attributes that were decided for the n-th record. Its other fields are those of a member
    of the same group, drawn by chance, so that a place does not tell whose record it is; with `order="kept"` they are its own.

    Given: records with exactly the named fields. Promises: every released combination of the attributes occurs at least k
    times in the output, and within the window: for the i-th released record among the first i + window − 1; with l different
    secrets if `l_diversity` is given, and of k people if `person` is. A place is filled at the latest when window − 1 more
    records have come, or after `max_delay` seconds if k records are there or a centroid was published; with exchanged places a
    record's own fields leave within twice that. Whoever can never be released
    with the promise kept (fewer than k records in all) is not released; see `withheld`. Checked by:
    `oboro.verifier.window_check`; tests/stream/test_window.py, against a transcription of the paper. See docs/guarantees/window.md.

    Memory: bounded by the window and the cache. Cost of a record: O(window · d) multiplications shared over a group (`auto`).

    >>> window = Window(attributes=["x"], k=2, window=3, scaling="none")
    >>> [window.push({"x": x}) for x in (1, 9, 2, 8)]
    [[], [], [{'x': 1.5}], [{'x': 8.5}, {'x': 1.5}, {'x': 8.5}]]
    """

    holds: ClassVar[bool] = True

    @at_the_door
    def __init__(self, attributes: Iterable[str], k: int, window: int = 10_000, **options: Any) -> None:
        names = [attributes] if isinstance(attributes, str) else list(attributes)
        given = {"attributes": names, "k": k, "window": window, **options}
        self.settings = WindowSettings.of({name: value for name, value in given.items() if value is not None})
        self._prepare(_key(self.settings))

    def _prepare(self, key: int) -> None:
        settings = self.settings
        self._key = key
        self.engine = WindowEngine(_spec(settings, key))
        self._numbers = settings.numbers
        self._categories = [ValueCodes(name) for name in settings.attributes if name in settings.categories]
        self._demands = [ValueCodes(name, none=reads_as_no_secret) for name in settings.l_diversity]
        if settings.person:
            self._demands.append(ValueCodes(settings.person, missing_counts=False, none=tells_nothing))
        self._rest = settings.released[len(settings.attributes) :]
        self._known = set(settings.fields)
        self._waiting: dict[int, tuple[Any, ...]] = {}  # by number: what is released as it is, of those in the window
        self._withheld: deque[dict[str, Any]] = deque()
        self._due: float | None = None
        self._clock = SteadyClock()
        self.extra: dict[str, Any] = {}
        self.records = self.released = self.withheld_records = 0

    # Records in, records out --------------------------------------------------------------------------------------

    def push(self, record: Record, *, now: float | None = None) -> list[dict[str, Any]]:
        """Take one record; what is released now. `now` (seconds) is for `max_delay` and does not go back; without it a clock is
        asked that nobody can set back.

        Raises `ColumnError` where fields are missing, unknown or of the wrong kind; the record then leaves no trace.
        """
        return self.push_many([record], now=now)

    def push_many(self, batch: Any, *, now: float | None = None) -> list[dict[str, Any]]:
        """Take many records, a list or a frame, as if pushed one after the other. Where one is refused, none is taken."""
        records = batch if isinstance(batch, Sequence) else Frame.read(batch).data.to_arrow().to_pylist()
        moment = self._clock.now() if now is None else now
        rows = [self._admit(record) for record in records]
        return self._advance(rows, moment)

    def take(self, records: Sequence[Record], now: float, decisions: Sequence[int] | None = None) -> BlockResult:
        """A block of records; one that is refused does not keep the others from being taken. Decides alike when repeated."""
        taken, rows = BlockResult(), []
        for i, record in enumerate(records):
            try:
                rows.append(self._admit(record))
            except InputError as error:
                taken.refused[i] = error
        taken.released = self._advance(rows, now)
        return taken

    def take_json(
        self, bodies: Sequence[bytes], now: float, decisions: Sequence[int] | None = None
    ) -> JsonBlock | None:
        """Records wait here: by way of `take` only."""
        return None

    def warm(self) -> None:
        """Compile what taking records needs, by made-up records in a stream of their own."""
        given = self.settings.model_dump(exclude_unset=True, exclude={"window"})
        other = Window(**given, window=min(self.settings.window, 4 * self.settings.k))
        other.take([dict.fromkeys(self.settings.fields, number) for number in range(8 * self.settings.k)], 0.0)
        other.flush(0.0)

    def flush(self, now: float | None = None) -> list[dict[str, Any]]:
        """Release everybody who waits: no more records will come for now. Never a group of fewer than k."""
        return self._advance([], self._clock.now() if now is None else now, ending=True)

    def withheld(self) -> list[dict[str, Any]]:
        """Return records that could not be released, as they came, since the last call: all of the latest batch, and at most
        the window's last ones of those before. `stats()["withheld"]` counts all.
        """
        found = list(self._withheld)
        self._withheld.clear()
        return found

    def _admit(self, record: Record) -> tuple[list[float], list[Any], list[Any], tuple[Any, ...]]:
        """A record's numbers, categories, demands and the rest; nothing is changed."""
        try:
            numbers = [_number(name, record[name]) for name in self._numbers]
            categories = [codes.checked(record[codes.name]) for codes in self._categories]
            demands = [codes.checked(record[codes.name]) for codes in self._demands]
            rest = tuple([record[name] for name in self._rest])
        except (KeyError, TypeError):
            raise ColumnError(wrong_fields(self.settings.fields, record)) from None
        strict = self.settings.unnamed == "error"
        if (strict and len(record) != len(self._known)) or not self._known <= record.keys():
            raise ColumnError(wrong_fields(self.settings.fields, record))
        return numbers, categories, demands, rest

    def _advance(self, rows: Sequence[Any], now: float, ending: bool = False) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while len(self._withheld) > self.settings.window:
            self._withheld.popleft()
        for start in range(0, max(len(rows), 1), MOST):
            part = rows[start : start + MOST]
            found += self._some(part, now, ending and start + MOST >= len(rows))
        self._due = self._next_due(now)
        return found

    def _some(self, rows: Sequence[Any], now: float, ending: bool) -> list[dict[str, Any]]:
        self._forget_values()
        traits = [[codes.code(value) for codes, value in zip(self._categories, row[1], strict=True)] for row in rows]
        demands = [[codes.code(value) for codes, value in zip(self._demands, row[2], strict=True)] for row in rows]
        count = len(rows)
        incoming = self.engine.incoming(
            np.array([row[0] for row in rows], dtype=np.float64).reshape(count, len(self._numbers)),
            np.array(traits, dtype=np.int32).reshape(count, len(self._categories)),
            np.array(demands, dtype=np.int64).reshape(count, len(self._demands)),
            now,
            self.settings.max_delay or math.inf,
            ending,
        )
        self._waiting.update(enumerate((row[3] for row in rows), self.records))
        self.records += count
        return self._out(self.engine.advance(incoming))

    def _out(self, out: Outgoing) -> list[dict[str, Any]]:
        """Rows of the engine as records, in order; those that are withheld are put aside."""
        columns: dict[str, list[Any]] = {}
        for j, name in enumerate(self._numbers):
            cells = out.raw[:, j].tolist()
            gone = out.lacking[:, j]
            columns[name] = (
                [None if no else cell for cell, no in zip(cells, gone, strict=True)] if gone.any() else cells
            )
        for j, codes in enumerate(self._categories):
            columns[codes.name] = [codes.values[code] for code in out.traits[:, j].tolist()]
        names = self.settings.attributes
        cells = zip(*(columns[name] for name in names), strict=True)
        released = []
        for own, owner, no in zip(cells, out.owner.tolist(), out.withheld.tolist(), strict=True):
            record = dict(zip(names, own, strict=True))
            record.update(zip(self._rest, self._waiting.pop(owner), strict=True))
            if no:
                self._withheld.append(record)
                self.withheld_records += 1
            else:
                released.append(record)
        self.released += len(released)
        return released

    def _forget_values(self) -> None:
        """Categories, secrets and people that nobody in the window or the cache has any more are forgotten."""
        state = self.engine.state
        room = 2 * (self.settings.window + self.engine.spec.cache) + MOST
        if any(len(codes) > room for codes in self._categories):
            for j, codes in enumerate(self._categories):
                codes.renumber([state.buffer.at.traits[:, j], state.cache.at.traits[:, j]])
        if any(len(codes) > room for codes in self._demands):
            for j, codes in enumerate(self._demands):
                codes.renumber([state.demands[:, j]])

    # Time ---------------------------------------------------------------------------------------------------------

    @property
    def due(self) -> float | None:
        """The moment at which the head has waited long enough, if it can be released then."""
        return self._due

    def _next_due(self, now: float) -> float | None:
        state, delay = self.engine.state, self.settings.max_delay
        head = int(state.marks[HEAD])
        slot = head % self.settings.window
        if delay is None or head == state.marks[TAIL] or state.status[slot] != WAITING:
            return None
        due = float(state.arrived[slot]) + delay
        return due if due > now else None  # it was due, and there are too few: only another record can help

    # State --------------------------------------------------------------------------------------------------------

    @property
    def fields(self) -> Sequence[str]:
        """The fields of a released record, in order."""
        return self.settings.released

    @property
    def repeatable(self) -> bool:
        """Other blocks, the same groups; but places are exchanged by chance, and time that passes is seen by one process only."""
        return self.settings.max_delay is None and (self.settings.order == "kept" or self.settings.seed is not None)

    @property
    def timed(self) -> bool:
        """Whether `now` matters."""
        return self.settings.max_delay is not None

    def fingerprint(self) -> str:
        """Equal for two windows that would decide alike."""
        return self.settings.fingerprint()

    def save(self, path: str | Path, extra: Mapping[str, Any] | None = None) -> None:
        """Write everything to one file, atomically. It holds raw values, so only its owner may read it."""
        meta = {
            "format": FORMAT,
            "settings": self.settings.model_dump(mode="json", exclude_unset=True),
            "codes": [codes.values for codes in (*self._categories, *self._demands)],
            "waiting": list(self._waiting.items()),
            "key": f"{self._key:032x}",
            "withheld": list(self._withheld),
            "counts": [self.records, self.released, self.withheld_records],
            "smallest_crowd": self.engine.smallest_crowd,
            "due": self._due,
            "clock": self._clock.now(),
            "extra": dict(extra or {}),
        }
        write_snapshot(Path(path), meta, self.engine.dump())

    @classmethod
    def restore(cls, path: str | Path) -> Self:
        """Go on from a saved state; everything is released as if there had been no break."""
        meta, arrays = read_snapshot(Path(path))
        with restoring(Path(path)):
            if meta.get("format") != FORMAT or "waiting" not in meta:
                raise FileError(Message("error_stream.not_a_window", path=path))
            window = cls(**meta["settings"])
            window._prepare(int(meta["key"], 16))
            window._take_up(meta, arrays)
        return window

    def _take_up(self, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """What `save` wrote; `ValueError` and the like where it cannot be."""
        for codes, values in zip((*self._categories, *self._demands), meta["codes"], strict=True):
            codes.load(values)
            require(len(codes) == codes.different)
        traits, demands = ([len(codes) for codes in some] for some in (self._categories, self._demands))
        check_window(arrays, self.engine, traits, demands)
        self.engine.load(arrays)
        crowd = meta.get("smallest_crowd", 0)  # counted from here on, where what was saved did not know it
        require(type(crowd) is int and crowd >= 0)
        self.engine.smallest_crowd = crowd
        self._waiting.update((number, tuple(rest)) for number, rest in meta["waiting"])
        require(sorted(self._waiting) == sorted(self.engine.owners))
        require(all(len(rest) == len(self._rest) for rest in self._waiting.values()))
        self._withheld.extend(dict(one) for one in meta["withheld"])
        self.records, self.released, self.withheld_records = meta["counts"]
        require(self.records == self.engine.state.marks[TAIL] and self.released >= 0 and self.withheld_records >= 0)
        self._due, self.extra = meta["due"] if meta["due"] is None else moment(meta["due"]), dict(meta["extra"])
        self._clock = SteadyClock(moment(meta.get("clock", 0.0)))

    def stats(self) -> dict[str, Any]:
        """Counts so far, and the loss per record: squared distances in scaled units."""
        return {
            "mode": "window",
            "order": self.settings.order,
            "records": self.records,
            "released": self.released,
            "withheld": self.withheld_records,
            "smallest_crowd": self.smallest_crowd,
            **self.engine.facts(),
        }

    @property
    def smallest_crowd(self) -> int | None:
        """The fewest records, or people, of a group when it was formed; None before the first."""
        return self.engine.smallest_crowd or None

    def glance(self) -> dict[str, int | None]:
        """What may be asked at any moment, from any thread."""
        return {"held": self.engine.held, "smallest_crowd": self.smallest_crowd}


def _key(settings: WindowSettings) -> int:
    """128 bits, from the seed if there is one; else nobody can know them."""
    if settings.seed is None:
        return secrets.randbits(128)
    low, high = np.random.SeedSequence(settings.seed).generate_state(2, np.uint64).tolist()
    return int(high) << 64 | int(low)


def _spec(settings: WindowSettings, key: int) -> EngineSpec:
    numbers, scaling = settings.numbers, settings.scaling
    categories = [name for name in settings.attributes if name in settings.categories]
    given = scaling if isinstance(scaling, dict) else {}
    least = (*settings.l_diversity.values(), *([settings.k] if settings.person else []))
    return EngineSpec(
        k=settings.k,
        window=settings.window,
        numbers=len(numbers),
        traits=len(categories),
        plan=settings.plan,
        cache=settings.cache or settings.window,
        group=settings.group,
        p=settings.p or 2,
        least=least,
        people=settings.person is not None,
        weights=np.sqrt([settings.weights.get(name, 1.0) for name in (*numbers, *categories)]),
        scales=None if scaling == "none" else np.array([given.get(name, np.nan) for name in numbers]),
        seed=settings.seed or 0,
        key=key if settings.order == "exchanged" else None,
    )


def _number(name: str, value: Any) -> float:
    """A number as it came, also as text; NaN where it is missing."""
    if type(value) is float or type(value) is int:
        number = float(value) if abs(value) < 1e150 else math.inf
    elif value is None:
        return math.nan
    elif isinstance(value, bool):
        number = math.inf
    else:
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.inf
    if abs(number) < 1e150 or number != number:  # squares of larger ones would overflow
        return number
    raise ColumnError(Message("error_stream.finite", name=name))
