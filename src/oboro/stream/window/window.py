"""Anonymizing a stream with a bounded delay: records wait in a window until k similar ones can be released as one."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from oboro.algorithms.neighbours.index import Kind, SearchPlan
from oboro.data.frames import Frame
from oboro.data.parameters import at_the_door
from oboro.errors import ColumnError, FileError, InputError
from oboro.notations.kinds import reads_as_no_secret, tells_nothing
from oboro.stream.anonymizer import (
    BlockResult,
    Closing,
    JsonBlock,
    Record,
    StreamSettings,
    moment,
    read_snapshot,
    require,
    restoring,
    same_form,
    within,
    write_snapshot,
)
from oboro.stream.records import wrong_fields
from oboro.stream.window.engine import EngineSpec, ValueCodes, WindowEngine
from oboro.stream.window.kernels import (
    DRAWN,
    DUE,
    EMPTY,
    ENTRY,
    HEAD,
    REFILLS,
    TAIL,
    WAITERS,
    WAITING,
    WITHHELD,
    Outgoing,
)
from oboro.system.process import SteadyClock
from oboro.text import Message

__all__ = ["Window", "WindowSettings", "check_window"]


# Check of a saved window ----------------------------------------------------------------------------------------------
# Kernels follow the numbers in a saved window without checking where they point, so it is checked here.


MAX_NUMBER = 1 << 60


def check_window(
    arrays: Mapping[str, np.ndarray], engine: WindowEngine, traits: Sequence[int], demands: Sequence[int]
) -> None:
    """Raise `ValueError` unless the engine may go on from these arrays. `traits`, `demands`: how many values of each are known."""
    for name, like in engine.dump().items():
        if not name.startswith("anchor_"):
            same_form(arrays[name], like)
    held = _check_marks(arrays["marks"], engine)
    _check_slots(arrays, engine, held)
    for name in ("buffer", "cache"):
        taken = arrays[f"{name}_number"] >= 0
        require(within(arrays[f"{name}_traits"][taken], 0, np.array(traits, dtype=np.int64)))
        require(within(arrays[f"{name}_lacking"], 0, 2) and within(arrays[f"{name}_alive"], 0, 2))
        require(not np.any(arrays[f"{name}_alive"][~taken]))
    require(within(arrays["demands"][held % engine.spec.window], -1, np.array(demands, dtype=np.int64)))
    require(within(arrays["count"], 0, MAX_NUMBER))
    require(np.isfinite(arrays["centre"]).all() and np.isfinite(arrays["factor"]).all())
    _check_anchors(arrays["anchor_places"], arrays["anchor_radii"], engine)


def _check_marks(marks: np.ndarray, engine: WindowEngine) -> np.ndarray:
    """The numbers of the records that are held."""
    require(within(marks, 0, MAX_NUMBER))
    require(marks[HEAD] <= marks[TAIL] <= marks[HEAD] + engine.spec.window and marks[DRAWN] <= engine.state.chance.size)
    require(marks[REFILLS] < 1 << 60 and (marks[DUE] == 0 or marks[DUE] <= marks[TAIL] + engine.spec.window))
    return np.arange(marks[HEAD], marks[TAIL])


def _check_slots(arrays: Mapping[str, np.ndarray], engine: WindowEngine, held: np.ndarray) -> None:
    """A slot is empty or has the record of its number; who waits can be found."""
    status, number, marks = arrays["status"], arrays["buffer_number"], arrays["marks"]
    expected = np.full(engine.spec.window, -1, dtype=np.int64)
    expected[held % engine.spec.window] = held
    require(within(status, EMPTY, WITHHELD + 1) and np.array_equal(number, expected))
    require(np.array_equal(status != EMPTY, number >= 0))
    waiting = status == WAITING
    require(np.array_equal(arrays["buffer_alive"].astype(bool), waiting) and waiting.sum() == marks[WAITERS])
    entry, cache = arrays["cache_number"], engine.spec.cache
    published = entry[entry >= 0]
    require(
        within(entry, -1, int(marks[ENTRY])) and np.array_equal(np.flatnonzero(entry >= 0), np.sort(published % cache))
    )


def _check_anchors(places: np.ndarray, radii: np.ndarray, engine: WindowEngine) -> None:
    plan = engine.spec.plan
    require(places.dtype == radii.dtype == np.float64 and places.ndim == radii.ndim == 2)
    if places.shape[1]:
        all_of_them = plan.sets * plan.anchors
        require(places.shape == (engine.spec.numbers, all_of_them) and radii.shape == (plan.base - 1, all_of_them))


# Settings -------------------------------------------------------------------------------------------------------------
# Parameters of a window: declared once, checked when it is made.


class WindowSettings(StreamSettings):
    """The parameters of `Window`."""

    attributes: list[str] = Field(min_length=1)
    """The quasi-identifiers: what is released is anonymous over them. Numbers, unless they stand in `categories`."""
    k: int = Field(ge=2)
    """Every released combination of the attributes occurs at least k times."""
    window: int = Field(default=10_000, ge=2, le=10_000_000)
    """How many records are held at most; a record waits for at most one fewer."""
    index: Kind = "auto"
    """How neighbours are found: auto (exact, for many heads at once), exhaustive, fdh or fdhq."""
    group: Literal["grow", "paper"] = "grow"
    """Whether the next member is nearest to the centre of the group so far, or to its head."""
    categories: list[str] = Field([])
    """Attributes that are no numbers: the most frequent value of the group is released."""
    l_diversity: dict[str, int] = Field({}, max_length=1)
    """A sensitive attribute and how many different values of it a group must have; it is released as it is."""
    keep: list[str] = Field([])
    """Further fields that are released as they are."""
    drop: list[str] = Field([])
    """Further fields that are taken and not released."""
    unnamed: Literal["error", "drop"] = "error"
    """Whether a record with fields that are not named is refused, or taken without them."""
    person: str | None = None
    """The field that says whose record it is; a group then has k people, not k records. It is not released."""
    weights: dict[str, float] = Field({})
    """How much an attribute counts in a distance against another one (1 if not said)."""
    scaling: Literal["learned", "none"] | dict[str, float] = "learned"
    """Numbers are divided by their standard deviation in the window (learned), by nothing, or by what is given."""
    max_delay: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Seconds after which a record is released even if the window is not full."""
    cache: int | None = Field(default=None, ge=1)
    """How many published centroids are remembered, which later records may join; as many as the window if not said."""
    anchors: int | None = Field(default=None, ge=1, le=20)
    """fdh, fdhq: anchors in a set; so many that a region has about ten records if not said."""
    sets: int | None = Field(default=None, ge=1, le=1000)
    """fdh, fdhq: sets of anchors (MA-); 100 if not said."""
    split: list[float] | None = None
    """fdhq: how the radii of an anchor part the data, such as [22, 28, 28, 22]; quarters if not said."""
    p: int | None = Field(default=None, ge=1)
    """fdh, fdhq: a search looks at 2pk candidates or more; 2 if not said."""
    batch: int | None = Field(default=None, ge=1, le=65_536)
    """auto: how many heads are searched at once (128). Fewer shorten the longest pause and cost time over all."""
    order: Literal["exchanged", "kept"] = "exchanged"
    """exchanged: members of a new group leave their other fields in each other's places, by chance; kept: each in its own."""
    seed: int | None = Field(default=None, ge=0)
    """Repeats where anchors are and how places are exchanged. For tests: whoever has it can undo the exchange."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self.require_named_once()
        scaled = self.scaling if isinstance(self.scaling, dict) else {}
        for what, names, known in (
            ("categories", self.categories, self.attributes),
            ("weights", self.weights, self.attributes),
            ("scaling", scaled, self.numbers),
        ):
            if unknown := [name for name in names if name not in known]:
                raise ValueError(Message("error_stream.not_among", what=what, unknown=unknown, known=list(known)))
        for what, values in (("weights", self.weights), ("scaling", scaled)):
            if bad := [name for name, value in values.items() if not 0 < value < 1e100]:
                raise ValueError(Message("error_stream.positive", what=what, bad=bad))
        if bad := [name for name, least in self.l_diversity.items() if not 2 <= least <= self.k]:
            raise ValueError(Message("error_stream.window_l", bad=bad, k=self.k))
        if self.window < 2 * self.k - 1:
            raise ValueError(Message("error_stream.window_size", least=2 * self.k - 1, window=self.window))
        if self.p is not None and self.index not in ("fdh", "fdhq"):
            raise ValueError(Message("error_stream.idle_p", index=self.index))
        return self

    @property
    def plan(self) -> SearchPlan:
        """The index."""
        return SearchPlan.of(
            self.index, anchors=self.anchors, sets=self.sets, split=self.split, batch=self.batch, window=self.window
        )

    @property
    def numbers(self) -> list[str]:
        """The attributes that are numbers."""
        return [name for name in self.attributes if name not in self.categories]

    def fingerprint(self) -> str:
        """What must not change between a snapshot and its continuation, as text."""
        text = self.model_dump_json(exclude={"batch"})
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


# Window ---------------------------------------------------------------------------------------------------------------


FORMAT = 2  # 1 had no exchanged places
MAX_BLOCK = 8192  # records that are taken in one go


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
    `oboro.verifier.stream`; tests/stream/test_window.py, against a transcription of the paper. See docs/guarantees/window.md.

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
        for start in range(0, max(len(rows), 1), MAX_BLOCK):
            part = rows[start : start + MAX_BLOCK]
            found += self._some(part, now, ending and start + MAX_BLOCK >= len(rows))
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
        room = 2 * (self.settings.window + self.engine.spec.cache) + MAX_BLOCK
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
