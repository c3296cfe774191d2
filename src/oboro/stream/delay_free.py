"""Anonymizing a stream without delay: every record is answered at once, from what came before it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa

from oboro.errors import ColumnError, FileError, InputError, UsageError, listing
from oboro.stream.anonymizer import Record, Taken
from oboro.stream.counting import Counting
from oboro.stream.generating import Fixed, Paper, Sequential
from oboro.stream.ladder import Ladder
from oboro.stream.settings import COUNTING, Settings
from oboro.stream.snapshot import read_snapshot, write_snapshot
from oboro.table.dataset import Column, Dataset
from oboro.table.frames import Frame

__all__ = ["DelayFree"]

SCALE = 1 << 20  # worth of one attribute with weight 1; whole numbers, so that sums do not depend on their order
MOST_BITS = 62
BATCH = 65_536
FORMAT = 1
REMEMBERED = 1 << 16  # different records whose codes are kept at hand
TIDY = 1024  # values more than those in use, before unused ones are looked for


class _Known(NamedTuple):
    """A record met before."""

    codes: tuple[int, ...]
    leaves: list[int]
    cells: dict[str, Any]  # what is released of it whole
    missing: int
    full: int  # the mask that keeps everything


class DelayFree:
    """A stream anonymizer: `push` a record, get its released version, now.

    Given: records with exactly the named fields, one at a time, in the order in which they are released. Promises:
    stream k-anonymity — every release that is not fully suppressed matches at least k − 1 earlier records of the stream
    (of other people, if `person` is given; with l different secrets among them and itself, if `l_diversity` is given).
    Checked by: `oboro.evaluate.stream_verify`, and in the tests by enumerating all correspondences of small streams. See
    docs/guarantees/stream-k-anonymity.md.

    >>> anonymizer = DelayFree(attributes=["sex", "age"], k=2, hierarchies={"age": {"intervals": [10]}})
    >>> [anonymizer.push({"sex": "F", "age": age})["age"] for age in (31, 38, 31)]
    ['*', '30–39', 31]
    """

    holds: ClassVar[bool] = False
    due: ClassVar[None] = None

    def __init__(self, attributes: Iterable[str], k: int, *, folder: str | Path = ".", **options: Any) -> None:
        names = [attributes] if isinstance(attributes, str) else list(attributes)
        given = {"attributes": names, "k": k, **options}
        self.settings = Settings.of({name: value for name, value in given.items() if value is not None})
        self.folder = Path(folder)
        self._prepare()

    def _prepare(self) -> None:
        settings = self.settings
        missing = settings.missing == "value"
        self.ladders = [Ladder(name, settings.spec(name), self.folder, missing) for name in settings.attributes]
        self._heights = np.array([ladder.height for ladder in self.ladders])
        self._offsets = np.cumsum(self._heights) - self._heights
        bits = int(self._heights.sum())
        if bits > MOST_BITS:
            raise UsageError(
                f"attributes: all levels of all hierarchies together are {bits}, at most {MOST_BITS} are possible; "
                "leave levels or attributes out"
            )
        self.worth = _worth(settings, self.ladders)
        self._side = self._make_side()
        self._secrets: dict[Any, int] = {}
        self._people: dict[Any, int] = {}
        self._take = _taker(settings.fields)
        self._nobody = settings.person is None and settings.sensitive is None
        self._strict = settings.unnamed == "error"
        self._rest = settings.released[len(self.ladders) :]
        self._known: dict[tuple[Any, ...], _Known] = {}
        self._next_tidy = TIDY
        self.extra: dict[str, Any] = {}
        self.records = self.suppressed_records = self.suppressed_cells = self.generalized_cells = 0

    def _make_side(self) -> Counting | Paper:
        if self.settings.mode in COUNTING:
            return Counting(self.settings, self.worth)
        kind = {"paper": Paper, "fixed": Fixed, "sequential": Sequential}[self.settings.mode]
        return kind(self.settings, self.ladders, self.worth)

    # One record ---------------------------------------------------------------------------------------------------

    def push(self, record: Record, *, now: float | None = None) -> dict[str, Any]:
        """The released version of one record. `now` (seconds) is for `horizon_seconds`; without it the clock is asked.

        Raises `ColumnError` where fields are missing, unknown or no single values; the record then leaves no trace.
        """
        return self.step(record, now)[0]

    def step(self, record: Record, now: float | None = None, forced: int | None = None) -> tuple[dict[str, Any], int]:
        """The released record and the decision behind it, as a number; `forced` repeats a decision taken earlier."""
        values = self._admit(record)
        key = values[: len(self.ladders)]
        try:
            known = self._known.get(key) or self._meet(key)
        except TypeError:  # a list or an object: the ladder says so
            known = self._meet(key)
        # In a replay a function may be ready sooner than it was: what was decided then is done.
        if known.codes not in self._side.whole or forced not in (None, known.full):
            return self._decide(values, known, now, forced)
        self.records += 1
        self.suppressed_cells += known.missing
        self.suppressed_records += known.full == 0
        released = known.cells.copy()
        if self._rest:
            released.update(zip(self._rest, values[len(key) :], strict=False))
        return released, known.full

    def _meet(self, key: tuple[Any, ...]) -> _Known:
        """A record's values as codes. Looked up once; then the next one like it costs one dictionary access."""
        leaves = [ladder.code(value) for ladder, value in zip(self.ladders, key, strict=True)]
        codes: list[int] = []
        for ladder, leaf in zip(self.ladders, leaves, strict=True):
            codes += ladder.steps[leaf] if leaf >= 0 else ladder.nothing
        cells = {ladder.name: ladder.released(leaf, 0) for ladder, leaf in zip(self.ladders, leaves, strict=True)}
        full = sum(1 << bit for bit, code in enumerate(codes) if code >= 0)
        known = _Known(tuple(codes), leaves, cells, sum(leaf < 0 for leaf in leaves), full)
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        if not any(isinstance(value, float) and math.isnan(value) for value in key):  # equals nothing, not even itself
            self._known[key] = known
        return known

    def take(self, records: Sequence[Record], now: float, decisions: Sequence[int] | None = None) -> Taken:
        """A block of records one after the other; one that is refused does not keep the others from being taken."""
        self._look_up(records)
        taken, again = Taken(), decisions or ()
        for i, record in enumerate(records):
            at = len(taken.decisions)  # refused ones had no decision
            try:
                released, mask = self.step(record, now, again[at] if at < len(again) else None)
            except InputError as error:
                taken.refused[i] = str(error)
                continue
            taken.released.append(released)
            taken.decisions.append(mask)
        return taken

    def flush(self, now: float) -> list[dict[str, Any]]:
        """Nothing waits."""
        return []

    def withheld(self) -> list[dict[str, Any]]:
        """Nothing waits in vain."""
        return []

    @property
    def fields(self) -> Sequence[str]:
        """The fields of a released record, in order."""
        return self.settings.released

    def fingerprint(self) -> str:
        """Equal for two anonymizers that would decide alike."""
        return self.settings.fingerprint(self.folder)

    def _look_up(self, records: Sequence[Record]) -> None:
        """Look new values up in their hierarchies together, which is much faster than one by one; refuses nothing."""
        for ladder in self.ladders:
            if ladder.height == 1:
                continue
            values = {
                record.get(ladder.name) for record in records if isinstance(record.get(ladder.name), str | int | float)
            }
            with suppress(InputError):  # whoever brought it will hear of it
                ladder.learn([value for value in values if value not in ladder.leaves])

    def _admit(self, record: Record) -> tuple[Any, ...]:
        try:
            values = self._take(record)
        except (KeyError, TypeError):
            raise ColumnError(_complain(self.settings.fields, record)) from None
        if len(record) != len(values) and self._strict:
            raise ColumnError(_complain(self.settings.fields, record))
        return values

    def _decide(
        self, values: tuple[Any, ...], known: _Known, now: float | None, forced: int | None
    ) -> tuple[dict[str, Any], int]:
        person, secret = (-1, -1) if self._nobody else self._numbers(values)
        moment = time.time() if now is None else now
        mask = self._side.decide_one(known.codes, person, secret, moment, forced)
        released = self._release(known, mask)
        released.update(zip(self._rest, values[len(self.ladders) :], strict=False))
        self._forget_values()
        return released, mask

    def _numbers(self, values: tuple[Any, ...]) -> tuple[int, int]:
        """Person and secret as numbers, −1 where there are none."""
        person = secret = -1
        try:
            if self.settings.sensitive is not None:
                secret = self._secrets.setdefault(values[len(self.ladders)], len(self._secrets))
            if self.settings.person is not None:
                person = self._people.setdefault(values[-1], len(self._people))
        except TypeError:
            raise ColumnError("the sensitive attribute or the person is no single value") from None
        return person, secret

    def _release(self, known: _Known, mask: int) -> dict[str, Any]:
        released, suppressed, generalized = {}, 0, 0
        rest = mask
        for ladder, leaf in zip(self.ladders, known.leaves, strict=True):
            level = ladder.height - (rest & (1 << ladder.height) - 1).bit_count()
            rest >>= ladder.height
            released[ladder.name] = ladder.released(leaf, level)
            suppressed += leaf < 0 or level == ladder.height
            generalized += 0 < level < ladder.height
        self._count(1, suppressed, generalized, int(suppressed == len(self.ladders)))
        return released

    def _count(self, records: int, suppressed: int, generalized: int, fully: int) -> None:
        self.records += records
        self.suppressed_cells += suppressed
        self.generalized_cells += generalized
        self.suppressed_records += fully

    # Many records -------------------------------------------------------------------------------------------------

    def push_many(self, batch: Any, *, now: float | None = None) -> Any:
        """The released versions of many records, as if pushed one after the other: a list of records, or a frame.

        A pandas, polars or pyarrow frame comes back as the same kind, its attributes as text. All of the batch arrives at
        one moment, and where a record is refused, none is taken.
        """
        moment = time.time() if now is None else now
        if isinstance(batch, Sequence):
            return self._push_list(batch, moment)
        frame = Frame.read(batch)
        data = frame.data
        lacking = [name for name in self.settings.fields if name not in data]
        if lacking or (self._strict and len(data.columns) != len(self.settings.fields)):
            raise ColumnError(_complain(self.settings.fields, dict.fromkeys(data)))
        leaves = np.empty((data.rows, len(self.ladders)), dtype=np.int64)
        for i, ladder in enumerate(self.ladders):
            column = data[ladder.name]
            leaves[:, i] = np.array(ladder.learn(column.values.to_pylist()), dtype=np.int64)[column.codes]
        masks = self._masks(leaves, self._column_numbers(data), moment)
        levels = self._levels(leaves, masks)
        ladders = list(self.ladders)
        self._forget_values()
        columns = {ladder.name: _column(ladder, leaves[:, i], levels[:, i]) for i, ladder in enumerate(ladders)}
        kept = {name: data[name] for name in self._rest}
        return replace(frame, data=Dataset({**columns, **kept}, data.rows)).write()

    def _push_list(self, batch: Sequence[Record], moment: float) -> list[dict[str, Any]]:
        admitted = [self._admit(record) for record in batch]
        columns = list(zip(*admitted, strict=True)) or [()] * len(self.settings.fields)
        leaves = np.empty((len(admitted), len(self.ladders)), dtype=np.int64)
        for i, (ladder, values) in enumerate(zip(self.ladders, columns, strict=False)):
            leaves[:, i] = [ladder.code(value) for value in values]
        numbers = np.array([self._numbers(values) for values in admitted], dtype=np.int64).reshape(-1, 2)
        people, secrets = numbers[:, 0], numbers[:, 1]
        levels = self._levels(leaves, self._masks(leaves, (people, secrets), moment)).tolist()
        names, ladders = self.settings.attributes, list(self.ladders)
        self._forget_values()
        released = []
        for values, codes, steps in zip(admitted, leaves.tolist(), levels, strict=True):
            cells = [ladder.released(code, step) for ladder, code, step in zip(ladders, codes, steps, strict=True)]
            released.append(
                {**dict(zip(names, cells, strict=True)), **dict(zip(self._rest, values[len(names) :], strict=False))}
            )
        return released

    def _column_numbers(self, data: Dataset) -> tuple[np.ndarray, np.ndarray]:
        numbers = []
        for name, known in ((self.settings.person, self._people), (self.settings.sensitive, self._secrets)):
            if name is None:
                numbers.append(np.full(data.rows, -1, dtype=np.int64))
                continue
            column = data[name]
            codes = [known.setdefault(value, len(known)) for value in column.values.to_pylist()]
            numbers.append(np.array(codes, dtype=np.int64)[column.codes])
        return numbers[0], numbers[1]

    def _masks(self, leaves: np.ndarray, numbers: tuple[np.ndarray, np.ndarray], moment: float) -> np.ndarray:
        masks = np.empty(leaves.shape[0], dtype=np.int64)
        tables = [np.concatenate([ladder.table, np.full((1, ladder.height), -1, np.int32)]) for ladder in self.ladders]
        for start in range(0, leaves.shape[0], BATCH):
            part = slice(start, start + BATCH)
            rows = np.concatenate([table[leaves[part, i]] for i, table in enumerate(tables)], axis=1)
            masks[part] = self._side.decide(rows, numbers[0][part], numbers[1][part], moment)
        return masks

    def _forget_values(self) -> None:
        """Where there is a horizon, also values, people and secrets that nobody remembered has any more are forgotten."""
        known = max(len(self._people), len(self._secrets), *(len(ladder.leaves) for ladder in self.ladders))
        if not isinstance(self._side, Counting) or not self.settings.forgets or known < self._next_tidy:
            return
        self._side.rewrite(self._renumber)
        self._known.clear()
        left = max(len(self._people), len(self._secrets), *(len(ladder.leaves) for ladder in self.ladders))
        self._next_tidy = 2 * left + TIDY

    def _renumber(self, arrays: dict[str, np.ndarray]) -> None:
        codes = arrays["codes"]
        for i, (ladder, offset) in enumerate(zip(self.ladders, self._offsets.tolist(), strict=True)):
            leaves = codes[offset]  # on the level of values, labels are values
            used = np.zeros(len(ladder.paths), dtype=bool)
            used[leaves[leaves >= 0]] = True
            self.ladders[i] = fresh = ladder.kept(used)
            table = np.concatenate([fresh.table, np.full((1, ladder.height), -1, dtype=np.int32)])
            place = np.append(np.cumsum(used) - 1, -1)
            codes[offset : offset + ladder.height] = table[place[leaves]].T
        self._people, arrays["person"] = _fewer(self._people, arrays["person"])
        self._secrets, arrays["secret"] = _fewer(self._secrets, arrays["secret"])

    def _levels(self, leaves: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """The level of each cell, `[row, attribute]`; and count them."""
        own = masks[:, None] >> self._offsets & (np.int64(1) << self._heights) - 1
        levels: np.ndarray = self._heights - np.bitwise_count(own)
        gone = (leaves < 0) | (levels == self._heights)
        self._count(masks.size, int(gone.sum()), int(((levels > 0) & ~gone).sum()), int(gone.all(axis=1).sum()))
        return levels

    # State --------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path, extra: Mapping[str, Any] | None = None) -> None:
        """Write everything to one file, atomically. It holds raw values, so only its owner may read it."""
        meta = {
            "format": FORMAT,
            "settings": self.settings.model_dump(mode="json", exclude_unset=True),
            "fingerprint": self.settings.fingerprint(self.folder),
            "folder": str(self.folder),
            "ladders": [ladder.dump() for ladder in self.ladders],
            "secrets": list(self._secrets),
            "people": list(self._people),
            "counts": [self.records, self.suppressed_cells, self.generalized_cells, self.suppressed_records],
            "extra": dict(extra or {}),
        }
        write_snapshot(Path(path), meta, self._side.dump())

    @classmethod
    def restore(cls, path: str | Path) -> DelayFree:
        """Go on from a saved state; the next record is answered as if there had been no break."""
        meta, arrays = read_snapshot(Path(path))
        if meta.get("format") != FORMAT:
            raise FileError(
                f"{path}: was written by another version; it has format {meta.get('format')!r}, not {FORMAT}"
            )
        anonymizer = cls(**meta["settings"], folder=meta["folder"])
        if anonymizer.settings.fingerprint(anonymizer.folder) != meta["fingerprint"]:
            raise FileError(f"{path}: a hierarchy file has changed since; start with a new state")
        for ladder, known in zip(anonymizer.ladders, meta["ladders"], strict=True):
            ladder.restore(known)
        anonymizer._secrets = {value: number for number, value in enumerate(meta["secrets"])}
        anonymizer._people = {value: number for number, value in enumerate(meta["people"])}
        anonymizer._count(*meta["counts"])
        anonymizer._side.load(arrays)
        anonymizer.extra = meta["extra"]
        return anonymizer

    def stats(self) -> dict[str, Any]:
        """Counts so far: records, cells suppressed (missing ones included) and generalized, what is remembered."""
        return {
            "mode": self.settings.mode,
            "records": self.records,
            "suppressed_cells": self.suppressed_cells,
            "generalized_cells": self.generalized_cells,
            "suppressed_records": self.suppressed_records,
            "function_version": self._side.version,
            **self._side.facts(),
        }

    def close(self) -> None:
        """End what runs in the background."""
        self._side.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _worth(settings: Settings, ladders: list[Ladder]) -> np.ndarray:
    """What each level is worth: an attribute's weight in equal steps, so that a cell under `*` has lost all of it."""
    steps = []
    for ladder in ladders:
        edges = np.rint(np.linspace(0, SCALE * settings.weights.get(ladder.name, 1.0), ladder.height + 1))
        steps.append(np.diff(edges))
    worth: np.ndarray = np.maximum(np.concatenate(steps), 1).astype(np.int64)
    return worth


def _column(ladder: Ladder, leaves: np.ndarray, levels: np.ndarray) -> Column:
    """The released values of one attribute as a column of text."""
    steps = ladder.height + 1
    keys = np.where(leaves < 0, ladder.height, leaves * steps + levels)
    distinct, codes = np.unique(np.where(keys % steps == ladder.height, ladder.height, keys), return_inverse=True)
    labels = [ladder.released(key // steps, key % steps) for key in distinct.tolist()]
    texts = pa.array([None if label is None else _text(label) for label in labels], pa.string())
    return Column(texts, codes.astype(np.uint32)).tidy()


def _text(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _fewer(known: dict[Any, int], numbers: np.ndarray) -> tuple[dict[Any, int], np.ndarray]:
    """Only the values whose numbers are in use, numbered anew, with the numbers."""
    used = np.zeros(len(known) + 1, dtype=bool)
    used[numbers] = True
    place = np.cumsum(used) - 1
    place[-1] = -1
    return {value: int(place[number]) for value, number in known.items() if used[number]}, place[numbers]


def _taker(names: list[str]) -> Callable[[Record], tuple[Any, ...]]:
    if len(names) == 1:
        only = names[0]
        return lambda record: (record[only],)
    return itemgetter(*names)


def _complain(fields: list[str], record: object) -> str:
    if not isinstance(record, Mapping):
        return f"a record is an object with the fields {listing(fields, most=30)}; this is a {type(record).__name__}"
    lacking = [name for name in fields if name not in record]
    extra = [name for name in record if name not in fields]
    parts = [f"the field {listing(lacking)} is missing"] if lacking else []
    parts += [f"the field {listing(extra)} is not known"] if extra else []
    return "; ".join(parts) or "the record has two fields of one name"
