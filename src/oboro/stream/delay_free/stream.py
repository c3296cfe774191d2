"""Delay-free anonymization of a stream: each record is decided when it arrives, from the records before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.data.parameters import at_the_door
from oboro.errors import FileError, InputError
from oboro.stream.anonymizer import (
    BlockResult,
    Closing,
    JsonBlock,
    Record,
    moment,
    read_snapshot,
    require,
    restoring,
    write_snapshot,
)
from oboro.stream.delay_free.coder import Form, KnownRecord, RecordCoder
from oboro.stream.delay_free.json_fast_path import Row
from oboro.stream.delay_free.modes import CountingMode, FixedMode, PaperMode, SequentialMode
from oboro.stream.delay_free.settings import COUNTING, DelayFreeSettings
from oboro.stream.delay_free.values import ValueLevels
from oboro.stream.records import encode_json_block
from oboro.system.process import SteadyClock
from oboro.text import Message

__all__ = ["DecidedBlock", "DelayFree", "Values", "decided_block", "released_json", "released_records"]


# Decisions of a block -------------------------------------------------------------------------------------------------
# Decisions on a block of records, equal to those made one after the other.
#
# Pass-through fields are copied; all else is decided by one call of the kernel, in the order of the block. Each
# different release is made once.


Values = tuple[Any, ...]


class DecidedBlock(NamedTuple):
    """Decided block: each record as it is known, and its released form."""

    known: list[KnownRecord]
    forms: list[Form]

    @property
    def masks(self) -> list[int]:
        """Masks of the decisions."""
        return [form.mask for form in self.forms]


def decided_block(
    coder: RecordCoder,
    side: CountingMode,
    keys: Sequence[Values],
    numbers: list[tuple[int, int]] | None,
    now: float,
    again: Sequence[int] | None,
) -> DecidedBlock:
    """All of a block, by the values of its attributes; raises `InputError` where one of them is refused, and then none is taken."""
    known = coder.meet_all(keys)
    forms: list[Any] = [one.settled for one in known]
    new = [i for i, form in enumerate(forms) if form is None] if None in forms else []
    asked = [i for i in new if not _settle(coder, side, known[i])]
    decided = side.decide_some(
        [known[i].codes for i in asked],
        [numbers[i] for i in asked] if numbers is not None else None,
        now,
        [again[i] for i in asked] if again is not None else None,
    )
    for i, mask in zip(asked, decided, strict=True):
        forms[i] = coder.form(known[i], mask)
    for i in new:
        forms[i] = forms[i] or known[i].settled
    return DecidedBlock(known, forms)


def released_records(coder: RecordCoder, block: DecidedBlock, admitted: Sequence[Values]) -> list[dict[str, Any]]:
    """The released records: cells of attributes, and the other fields as they came."""
    released = [(form.cells or coder.cells(one, form)).copy() for one, form in zip(*block, strict=True)]
    for place, name in enumerate(coder.rest, len(coder.attributes)):
        for one, values in zip(released, admitted, strict=True):
            one[name] = values[place]
    return released


def released_json(coder: RecordCoder, block: DecidedBlock, rows: Sequence[Row]) -> list[bytes]:
    """The same in JSON."""
    return coder.json.write([form.head or coder.head(one, form) for one, form in zip(*block, strict=True)], rows)


def _settle(coder: RecordCoder, side: CountingMode, known: KnownRecord) -> bool:
    """Whether a record is always released whole from now on; then that is kept at hand."""
    if known.settled is None and known.codes in side.whole:
        known.settled = coder.form(known, known.full)
    return known.settled is not None


# Delay-free stream ----------------------------------------------------------------------------------------------------


SCALE = 1 << 20  # worth of one attribute with weight 1; whole numbers, so that sums do not depend on their order
FORMAT = 2  # 1 forgot what has no weight any more, and went on a little differently
MADE_UP = 300  # records: more than there is room for at first
WARM: set[tuple[str, bool]] = set()  # modes that this process has compiled
FEW = 4  # records of a block that are taken one by one as fast
TIDY = 1024  # values more than those in use, before unused ones are looked for


class DelayFree(Closing):
    """A stream anonymizer: `push` a record, get its released version, now.

    Given: records with exactly the named fields, one at a time, in the order in which they are released. Promises:
    stream k-anonymity — every release that is not fully suppressed matches at least k − 1 earlier records of the stream
    (of other people, if `person` is given; with l different secrets among them and itself, if `l_diversity` is given).
    Checked by: `oboro.verifier.stream`, and in the tests by enumerating all correspondences of small streams. See
    docs/guarantees/stream-k-anonymity.md.

    >>> anonymizer = DelayFree(attributes=["sex", "age"], k=2, hierarchies={"age": {"intervals": [10]}})
    >>> [anonymizer.push({"sex": "F", "age": age})["age"] for age in (31, 38, 31)]
    ['*', '30–39', 31]
    """

    holds: ClassVar[bool] = False
    due: ClassVar[None] = None

    @at_the_door
    def __init__(self, attributes: Iterable[str], k: int, *, folder: str | Path = ".", **options: Any) -> None:
        names = [attributes] if isinstance(attributes, str) else list(attributes)
        given = {"attributes": names, "k": k, **options}
        self.settings = DelayFreeSettings.of({name: value for name, value in given.items() if value is not None})
        self.folder = Path(folder)
        self._coder = RecordCoder(self.settings, self.folder)
        self._side = self._make_side()
        self._forgets = self.settings.forgets
        self._by_blocks = isinstance(self._side, CountingMode) and not self._forgets
        # msgspec takes no other names for fields of records that are read and written whole.
        self._plain_names = all(name.isprintable() and not {'"', "\\"} & set(name) for name in self.settings.fields)
        self._next_tidy = TIDY
        self._clock = SteadyClock()
        self.extra: dict[str, Any] = {}
        self.records = self.suppressed_records = self.suppressed_cells = self.generalized_cells = 0

    def _make_side(self) -> CountingMode | PaperMode:
        worth = _worth(self.settings, self._coder.attributes)
        if self.settings.mode in COUNTING:
            return CountingMode(self.settings, worth)
        kind = {"paper": PaperMode, "fixed": FixedMode, "sequential": SequentialMode}[self.settings.mode]
        return kind(self.settings, self._coder.attributes, worth)

    # One record ---------------------------------------------------------------------------------------------------

    def push(self, record: Record, *, now: float | None = None) -> dict[str, Any]:
        """The released version of one record. `now` (seconds) is for `horizon_seconds`; without it the clock is asked.

        Raises `ColumnError` where fields are missing, unknown or no single values; the record then leaves no trace.
        """
        return self.step(record, now)[0]

    def step(self, record: Record, now: float | None = None, forced: int | None = None) -> tuple[dict[str, Any], int]:
        """The released record and the decision behind it, as a number; `forced` repeats a decision taken earlier."""
        coder = self._coder
        values = coder.admit(record)
        key = values[: len(coder.attributes)]
        try:
            known = coder.known.get(key) or coder.meet(key)
        except TypeError:  # a list or an object: its attribute says so
            known = coder.meet(key)
        # In a replay a function may be ready sooner than it was: what was decided then is done.
        if known.codes not in self._side.whole or forced not in (None, known.full):
            return self._decide(values, known, now, forced)
        self._side.note_whole(known.codes, known.full)
        return self._released(known, known.full, values), known.full

    def _decide(
        self, values: tuple[Any, ...], known: KnownRecord, now: float | None, forced: int | None
    ) -> tuple[dict[str, Any], int]:
        coder = self._coder
        person, secret = (-1, -1) if coder.nobody else coder.numbers(values)
        if now is None:
            now = 0.0 if self._by_blocks else self._clock.now()  # no moment matters to what only counts
        mask = self._side.decide_one(known.codes, person, secret, now, forced)
        released = self._released(known, mask, values)
        if self._forgets:
            self._forget_values()
        return released, mask

    def _released(self, known: KnownRecord, mask: int, values: Values) -> dict[str, Any]:
        coder = self._coder
        form, width = coder.form(known, mask), len(coder.attributes)
        self._count(1, form.suppressed, form.generalized, form.suppressed == width)
        released = (form.cells or coder.cells(known, form)).copy()
        if coder.rest:
            released.update(zip(coder.rest, values[width:], strict=False))
        return released

    def _count(self, records: int, suppressed: int, generalized: int, fully: int) -> None:
        self.records += records
        self.suppressed_cells += suppressed
        self.generalized_cells += generalized
        self.suppressed_records += fully

    def _forget_values(self) -> None:
        """Where there is a horizon, also values, people and secrets that nobody remembered has any more are forgotten."""
        if not self._forgets or not isinstance(self._side, CountingMode) or self._coder.size < self._next_tidy:
            return
        self._side.rewrite(self._coder.renumber)
        self._next_tidy = 2 * self._coder.size + TIDY

    # Many records -------------------------------------------------------------------------------------------------

    def push_many(self, batch: Any, *, now: float | None = None) -> Any:
        """The released versions of many records, as if pushed one after the other: a list of records, or a frame.

        A pandas, polars or pyarrow frame or a dict of lists comes back as the same kind, its attributes as text; that is
        about twice as fast as a list of records. All of the batch arrives at one moment, and where a record is refused,
        none is taken.
        """
        moment = self._clock.now() if now is None else now
        if isinstance(batch, Sequence):
            return self._push_list(batch, moment)
        coder, frame = self._coder, Frame.read(batch)
        leaves = coder.leaves(frame.data)
        masks = self._masks(leaves, coder.all_numbers(frame.data), moment)
        columns = coder.columns(leaves, self._levels(leaves, masks))
        self._forget_values()
        kept = {name: frame.data[name] for name in coder.rest}
        return replace(frame, data=Dataset({**columns, **kept}, frame.data.rows)).write()

    def _push_list(self, batch: Sequence[Record], moment: float) -> list[dict[str, Any]]:
        """Each different release is made once and copied: a few dictionary accesses for each record."""
        coder = self._coder
        admitted, width = coder.admit_all(batch), len(coder.attributes)
        keys = admitted if width == len(self.settings.fields) else [values[:width] for values in admitted]
        known, which = coder.distinct(keys)
        leaves = np.array([one.leaves for one in known], dtype=np.int64).reshape(-1, width)[which]
        numbers = np.full((len(admitted), 2), -1, dtype=np.int64)
        if not coder.nobody:
            numbers[:] = np.array([coder.numbers(values) for values in admitted]).reshape(-1, 2)
        masks = self._masks(leaves, (numbers[:, 0], numbers[:, 1]), moment)
        self._levels(leaves, masks)
        made: dict[tuple[int, int], dict[str, Any]] = {}
        released = []
        for pair in zip(which.tolist(), masks.tolist(), strict=True):
            cells = made.get(pair)
            if cells is None:
                one = known[pair[0]]
                cells = made[pair] = coder.cells(one, coder.form(one, pair[1]))
            released.append(cells.copy())
        if coder.rest:
            for one, values in zip(released, admitted, strict=True):
                one.update(zip(coder.rest, values[width:], strict=False))
        self._forget_values()
        return released

    def _masks(self, leaves: np.ndarray, numbers: tuple[np.ndarray, np.ndarray], moment: float) -> np.ndarray:
        masks = np.empty(leaves.shape[0], dtype=np.int64)
        for part, rows in self._coder.rows(leaves):
            masks[part] = self._side.decide(rows, numbers[0][part], numbers[1][part], moment)
        return masks

    def _levels(self, leaves: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """The level of each cell, `[row, attribute]`; and count them."""
        levels = self._coder.levels(masks)
        gone = (leaves < 0) | (levels == self._coder.heights)
        self._count(masks.size, int(gone.sum()), int(((levels > 0) & ~gone).sum()), int(gone.all(axis=1).sum()))
        return levels

    # A running stream (`Anonymizer`) --------------------------------------------------------------------------------

    def take(self, records: Sequence[Record], now: float, decisions: Sequence[int] | None = None) -> BlockResult:
        """A block of records one after the other; one that is refused does not keep the others from being taken."""
        if len(records) > 1 and self._by_blocks and (decisions is None or len(decisions) == len(records)):
            with suppress(InputError):  # one of them is refused, and none is taken yet
                return self._take_all(records, now, decisions)
        self._coder.look_up(records)
        taken, again = BlockResult(), decisions or ()
        for i, record in enumerate(records):
            at = len(taken.decisions)  # refused ones had no decision
            try:
                released, mask = self.step(record, now, again[at] if at < len(again) else None)
            except InputError as error:
                taken.refused[i] = error
                continue
            taken.released.append(released)
            taken.decisions.append(mask)
        return taken

    def _take_all(self, records: Sequence[Record], now: float, decisions: Sequence[int] | None) -> BlockResult:
        coder = self._coder
        admitted, width = coder.admit_all(records), len(coder.attributes)
        keys = admitted if len(admitted[0]) == width else [values[:width] for values in admitted]
        block = self._decided(keys, admitted, now, decisions)
        return BlockResult(released_records(coder, block, admitted), block.masks)

    def take_json(
        self, bodies: Sequence[bytes], now: float, decisions: Sequence[int] | None = None
    ) -> JsonBlock | None:
        """`take` from JSON to JSON in one; None, and nothing taken, where a record must be looked at by itself."""
        if len(bodies) < 2 or not (self._by_blocks and self._plain_names) or self.settings.unnamed != "error":
            return None  # one record by itself takes half the time
        if decisions is not None and len(decisions) != len(bodies):
            return None
        with suppress(InputError):
            return self._take_cells(bodies, now, decisions) or self._take_rows(bodies, now, decisions)
        return None

    def _take_cells(self, bodies: Sequence[bytes], now: float, decisions: Sequence[int] | None) -> JsonBlock | None:
        """From bytes to bytes, where nothing but attributes has to be understood."""
        coder, side, count = self._coder, self._side, len(bodies)
        if not coder.nobody or count < FEW:
            return None
        block = coder.cells_of_json.read(bodies)
        if block is None:
            return None
        assert isinstance(side, CountingMode)
        nobody = np.full(count, -1, dtype=np.int64)
        masks = np.zeros(count, dtype=np.int64) if decisions is None else np.array(decisions, dtype=np.int64)
        side.absorb_rows(coder.cells_of_json.rows(block), (nobody, nobody), now, decisions is not None, masks)
        released, counts = coder.cells_of_json.write(block, masks)
        self._count(count, *counts)
        return JsonBlock(released, masks.tolist())

    def _take_rows(self, bodies: Sequence[bytes], now: float, decisions: Sequence[int] | None) -> JsonBlock | None:
        coder = self._coder
        rows = coder.json.read(bodies)
        if rows is None:
            return None
        admitted = () if coder.nobody else coder.json.values(rows)
        block = self._decided(coder.json.keys(rows), admitted, now, decisions)
        return JsonBlock(released_json(coder, block, rows), block.masks)

    def _decided(
        self, keys: Sequence[Values], admitted: Sequence[Values], now: float, decisions: Sequence[int] | None
    ) -> DecidedBlock:
        coder, side = self._coder, self._side
        assert isinstance(side, CountingMode)
        numbers = None if coder.nobody else [coder.numbers(values) for values in admitted]
        block = decided_block(coder, side, keys, numbers, now, decisions)
        gone = [form.suppressed for form in block.forms]
        coarser = sum([form.generalized for form in block.forms])
        self._count(len(keys), sum(gone), coarser, gone.count(len(coder.attributes)))
        return block

    def warm(self) -> None:
        """Compile what taking records needs, by made-up records in a stream of their own."""
        kind = (self.settings.mode, self.settings.forgets)
        if kind in WARM:
            return
        given = self.settings.model_dump(exclude_unset=True, exclude={"hierarchies", "weights", "initial"})
        first: dict[str, Any] = {"initial": max(self.settings.k, MADE_UP // 2)} if self.settings.mode == "fixed" else {}
        with DelayFree(**given, **first) as other:
            made_up = [dict.fromkeys(self.settings.fields, number) for number in range(MADE_UP)]
            other.take(made_up, 0.0)
            other.take_json(encode_json_block(made_up), 0.0)
        WARM.add(kind)

    def flush(self, now: float | None = None) -> list[dict[str, Any]]:
        """Nothing waits."""
        return []

    def withheld(self) -> list[dict[str, Any]]:
        """Nothing waits in vain."""
        return []

    @property
    def fields(self) -> Sequence[str]:
        """The fields of a released record, in order."""
        return self.settings.released

    @property
    def repeatable(self) -> bool:
        """Other blocks, the same decisions: not where functions are made in a thread of their own, or for each block."""
        return self.settings.mode in COUNTING

    @property
    def timed(self) -> bool:
        """Whether `now` matters."""
        return self.settings.horizon_seconds is not None

    def fingerprint(self) -> str:
        """Equal for two anonymizers that would decide alike."""
        return self.settings.fingerprint(self.folder)

    # State --------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path, extra: Mapping[str, Any] | None = None) -> None:
        """Write everything to one file, atomically. It holds raw values, so only its owner may read it."""
        meta = {
            "format": FORMAT,
            "settings": self.settings.model_dump(mode="json", exclude_unset=True),
            "fingerprint": self.settings.fingerprint(self.folder),
            "folder": str(self.folder),
            **self._coder.dump(),
            "counts": [self.records, self.suppressed_cells, self.generalized_cells, self.suppressed_records],
            "smallest_crowd": self._side.smallest_crowd,
            "next_tidy": self._next_tidy,
            "clock": self._clock.now(),
            "extra": dict(extra or {}),
        }
        write_snapshot(Path(path), meta, self._side.dump())

    @classmethod
    def restore(cls, path: str | Path) -> DelayFree:
        """Go on from a saved state; the next record is answered as if there had been no break."""
        meta, arrays = read_snapshot(Path(path))
        with restoring(Path(path)):
            if meta.get("format") != FORMAT:
                raise FileError(
                    Message("error_stream.other_version", path=path, form=meta.get("format"), expected=FORMAT)
                )
            anonymizer = cls(**meta["settings"], folder=meta["folder"])
            if anonymizer.settings.fingerprint(anonymizer.folder) != meta["fingerprint"]:
                raise FileError(Message("error_stream.hierarchy_changed", path=path))
            anonymizer._take_up(meta, arrays)
        return anonymizer

    def _take_up(self, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """What `save` wrote; `ValueError` and the like where it cannot be."""
        self._coder.restore(meta)
        crowd = meta.get("smallest_crowd", 0)  # counted from here on, where what was saved did not know it
        require(all(type(number) is int and number >= 0 for number in (*meta["counts"], meta["next_tidy"], crowd)))
        self._count(*meta["counts"])
        self._next_tidy = meta["next_tidy"]
        self._side.check(arrays, self._coder.sizes())
        self._side.load(arrays)
        self._side.smallest_crowd = crowd
        self.extra = dict(meta["extra"])
        self._clock = SteadyClock(moment(meta.get("clock", 0.0)))

    def stats(self) -> dict[str, Any]:
        """Counts so far: records, cells suppressed (missing ones included) and generalized, what is remembered."""
        return {
            "mode": self.settings.mode,
            "records": self.records,
            "suppressed_cells": self.suppressed_cells,
            "generalized_cells": self.generalized_cells,
            "suppressed_records": self.suppressed_records,
            "smallest_crowd": self.smallest_crowd,
            "function_version": self._side.version,
            **self._side.facts(),
        }

    @property
    def smallest_crowd(self) -> int | None:
        """The fewest records, or people, that were counted behind a release when it was decided; None before there was one."""
        return self._side.smallest_crowd or None

    def glance(self) -> dict[str, int | None]:
        """What may be asked at any moment, from any thread."""
        return {"suppressed_cells": self.suppressed_cells, "smallest_crowd": self.smallest_crowd}

    def close(self) -> None:
        """End what runs in the background."""
        self._side.close()


def _worth(settings: DelayFreeSettings, attributes: list[ValueLevels]) -> np.ndarray:
    """What each level is worth: an attribute's weight in equal steps, so that a cell under `*` has lost all of it."""
    steps = []
    for attribute in attributes:
        edges = np.rint(np.linspace(0, SCALE * settings.weights.get(attribute.name, 1.0), attribute.height + 1))
        steps.append(np.diff(edges))
    worth: np.ndarray = np.maximum(np.concatenate(steps), 1).astype(np.int64)
    return worth
