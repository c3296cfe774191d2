"""Coding of records as rows of codes, and decoding of rows of codes under a mask into released records.

A mask has one bit for each level of each attribute's hierarchy below `*`; the level that a cell is released on is the number
of its bits that are gone. Codes, people and secrets are numbered in the order in which they are first seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, InputError, UsageError
from oboro.notations.kinds import STAR, reads_as_no_secret, tells_nothing
from oboro.stream.anonymizer import Record
from oboro.stream.delay_free.json_fast_path import JsonCells, JsonRows
from oboro.stream.delay_free.kernels import MISSING
from oboro.stream.delay_free.settings import DelayFreeSettings
from oboro.stream.delay_free.values import ValueLevels
from oboro.stream.records import wrong_fields
from oboro.text import Message

__all__ = ["Form", "KnownRecord", "RecordCoder"]


MOST_BITS = 62
BATCH = 65_536
FORMS = 16  # of one record
REMEMBERED = 1 << 16  # different records whose codes are kept at hand


class Form:
    """Released form of a record under a mask, with its number of suppressed and of generalized cells."""

    __slots__ = ("cells", "generalized", "head", "levels", "mask", "suppressed")

    def __init__(self, mask: int, levels: tuple[int, ...], suppressed: int) -> None:
        self.mask, self.levels, self.suppressed = mask, levels, suppressed
        self.generalized = len(levels) - levels.count(0) - suppressed
        self.cells: dict[str, Any] | None = None  # made when a record is asked for
        self.head: bytes | None = None  # made when JSON is asked for


class KnownRecord:
    """A record met before."""

    __slots__ = ("codes", "forms", "full", "leaves", "settled")

    def __init__(self, codes: tuple[int, ...], leaves: Sequence[int], full: int) -> None:
        self.codes = codes
        self.leaves = leaves
        self.full = full  # the mask that keeps everything
        self.forms: dict[int, Form] = {}  # for some masks
        self.settled: Form | None = None  # once it is always released like that, and nothing has to be remembered


class RecordCoder:
    """The values of one stream. What it holds grows with the distinct values, people and secrets; see `renumber`."""

    def __init__(self, settings: DelayFreeSettings, folder: Path) -> None:
        self.settings = settings
        missing = settings.missing == "value"
        self.attributes = [ValueLevels(name, settings.spec(name), folder, missing) for name in settings.attributes]
        self.heights = np.array([attribute.height for attribute in self.attributes])
        self.offsets = np.cumsum(self.heights) - self.heights
        bits = int(self.heights.sum())
        if bits > MOST_BITS:
            raise UsageError(Message("error_stream.too_many_levels", bits=bits, most=MOST_BITS))
        self.secrets: dict[Any, int] = {}
        self.people: dict[Any, int] = {}
        self.known: dict[tuple[Any, ...], KnownRecord] = {}
        self.rest = settings.released[len(self.attributes) :]
        self.nobody = settings.person is None and settings.sensitive is None
        self.take = _taker(settings.fields)
        self._strict = settings.unnamed == "error"
        self._flat, self._all = bits == len(self.attributes), (1 << bits) - 1
        self._hold()

    @cached_property
    def json(self) -> JsonRows:
        """For records that come and leave as JSON."""
        return JsonRows(self.settings.fields, self.attributes, self.rest)

    @cached_property
    def cells_of_json(self) -> JsonCells:
        """The same, for plain ones."""
        return JsonCells(self.settings.fields, self.attributes, len(self.rest))

    def _hold(self) -> None:
        """What is needed of each attribute for each record, at hand."""
        self._codes = [attribute.leaves for attribute in self.attributes]
        self._each = [(one.height, (1 << one.height) - 1) for one in self.attributes]
        self._paths = [(one.name, one.paths, one.height) for one in self.attributes]
        self._levels_of: dict[int, tuple[int, ...]] = {}

    # One record ---------------------------------------------------------------------------------------------------

    def admit(self, record: Record) -> tuple[Any, ...]:
        """The values of a record in the order of the fields; `ColumnError` where they are not those that were named."""
        try:
            values = self.take(record)
        except (KeyError, TypeError):
            raise ColumnError(wrong_fields(self.settings.fields, record)) from None
        if self._strict and len(record) != len(values):
            raise ColumnError(wrong_fields(self.settings.fields, record))
        return values

    def meet(self, key: tuple[Any, ...]) -> KnownRecord:
        """A record's attributes as codes. Looked up once; then the next one like it costs one dictionary access."""
        try:
            leaves = [codes[value] for codes, value in zip(self._codes, key, strict=True)]
            keep = True
        except (KeyError, TypeError):  # a new value, or none: its attribute says so, before any is learned
            for attribute, value in zip(self.attributes, key, strict=True):
                attribute.prepare([value])
            leaves = [attribute.code(value) for attribute, value in zip(self.attributes, key, strict=True)]
            keep = not any(isinstance(value, float) and math.isnan(value) for value in key)  # equals not even itself
        codes = tuple(leaves) if self._flat else self._climbed(leaves)
        full = self._all if min(codes) >= 0 else sum(1 << bit for bit, code in enumerate(codes) if code >= 0)
        known = KnownRecord(codes, codes if self._flat else leaves, full)
        if len(self.known) >= REMEMBERED:
            self.known.clear()
        if keep:
            self.known[key] = known
        return known

    def _climbed(self, leaves: Sequence[int]) -> tuple[int, ...]:
        """The codes on all levels."""
        codes: list[int] = []
        for attribute, leaf in zip(self.attributes, leaves, strict=True):
            codes += attribute.steps[leaf] if leaf >= 0 else attribute.nothing
        return tuple(codes)

    def numbers(self, values: tuple[Any, ...]) -> tuple[int, int]:
        """Person and secret as numbers, −1 where there are none; a person that is missing is `MISSING`."""
        person = secret = -1
        try:
            if self.settings.sensitive is not None:
                secret = _numbered_secret(values[len(self.attributes)], self.secrets)
            if self.settings.person is not None:
                person = _numbered_person(values[-1], self.people)
        except TypeError:
            raise ColumnError(Message("error_stream.single_sensitive")) from None
        return person, secret

    def form(self, known: KnownRecord, mask: int) -> Form:
        """Return the released form of a record under a mask; cached."""
        found = known.forms.get(mask)
        if found is None:
            found = self._form(known.leaves, mask)
            if len(known.forms) < FORMS:
                known.forms[mask] = found
        return found

    def _form(self, leaves: Sequence[int], mask: int) -> Form:
        if self._flat and min(leaves) >= 0:  # then the mask alone decides, and there are few
            levels = self._levels_of.get(mask)
            if levels is None:
                levels = self._levels_of[mask] = tuple([1 - (mask >> bit & 1) for bit in range(len(leaves))])
                if len(self._levels_of) > REMEMBERED:
                    self._levels_of.clear()
            return Form(mask, levels, len(levels) - mask.bit_count())
        suppressed, left, found = 0, mask, []
        for (height, all_levels), leaf in zip(self._each, leaves, strict=True):
            level = height - (left & all_levels).bit_count() if leaf >= 0 else height
            found.append(level)
            suppressed += level == height
            left >>= height
        return Form(mask, tuple(found), suppressed)

    def cells(self, known: KnownRecord, form: Form) -> dict[str, Any]:
        """The released attributes of a record, to be copied; as `ValueLevels.released` says, without a call for each."""
        if form.cells is None:
            attributes = zip(self._paths, known.leaves, form.levels, strict=True)
            form.cells = {
                name: STAR if leaf < 0 or level >= height else paths[leaf][level]
                for (name, paths, height), leaf, level in attributes
            }
        return form.cells

    def head(self, known: KnownRecord, form: Form) -> bytes:
        """The same in JSON."""
        if form.head is None:
            form.head = self.json.head(zip(known.leaves, form.levels, strict=True))
        return form.head

    # Many records -------------------------------------------------------------------------------------------------

    def look_up(self, records: Sequence[Record]) -> None:
        """Look new values up in their hierarchies together, which is much faster than one by one; learns and refuses nothing."""
        for attribute in self.attributes:
            if attribute.height > 1:
                self._prepare(attribute, [record.get(attribute.name) for record in records])

    def _prepare(self, attribute: ValueLevels, values: Sequence[Any]) -> None:
        new = {value for value in values if isinstance(value, str | int | float)} - attribute.leaves.keys()
        with suppress(InputError):  # whoever brought it will hear of it
            attribute.prepare(list(new))

    def meet_all(self, keys: Sequence[tuple[Any, ...]]) -> list[KnownRecord]:
        """`meet` for each; new values are looked up together."""
        try:
            found = list(map(self.known.get, keys))
        except TypeError:  # a list or an object: its attribute says so
            return [self.meet(key) for key in keys]
        if None not in found:
            return found  # type: ignore[return-value]
        new = [at for at, one in enumerate(found) if one is None]
        for i, attribute in enumerate(self.attributes):
            if attribute.height > 1:
                self._prepare(attribute, [keys[at][i] for at in new])
        for at in new:
            found[at] = self.known.get(keys[at]) or self.meet(keys[at])
        return found  # type: ignore[return-value]

    def admit_all(self, batch: Sequence[Record]) -> list[tuple[Any, ...]]:
        """`admit` for each, without a call of ours for each."""
        fields = len(self.settings.fields)
        try:
            admitted = list(map(self.take, batch))
            if not self._strict or set(map(len, batch)) <= {fields}:
                return admitted
        except (KeyError, TypeError):
            pass  # which one it was, and why, is said below
        return [self.admit(record) for record in batch]

    def distinct(self, keys: Sequence[tuple[Any, ...]]) -> tuple[list[KnownRecord], np.ndarray]:
        """The different ones among records' attributes, and for each record which one it is."""
        numbers: dict[tuple[Any, ...], int] = {}
        try:
            which = [numbers.setdefault(key, len(numbers)) for key in keys]
        except TypeError:  # a list or an object: its attribute says so
            return [self.meet(key) for key in keys], np.arange(len(keys))
        return [self.known.get(key) or self.meet(key) for key in numbers], np.array(which, dtype=np.int64)

    def leaves(self, data: Dataset) -> np.ndarray:
        """The codes of a table's values, `[row, attribute]`; `ColumnError` where its columns are not those that were named."""
        lacking = [name for name in self.settings.fields if name not in data]
        if lacking or (self._strict and len(data.columns) != len(self.settings.fields)):
            raise ColumnError(wrong_fields(self.settings.fields, dict.fromkeys(data)))
        leaves = np.empty((data.rows, len(self.attributes)), dtype=np.int64)
        values = [attribute.prepare(data[attribute.name].values.to_pylist()) for attribute in self.attributes]
        for i, attribute in enumerate(self.attributes):
            leaves[:, i] = np.array(attribute.learn(values[i]), dtype=np.int64)[data[attribute.name].codes]
        return leaves

    def all_numbers(self, data: Dataset) -> tuple[np.ndarray, np.ndarray]:
        """`numbers` for each row of a table."""
        numbers = []
        for name, known in ((self.settings.person, self.people), (self.settings.sensitive, self.secrets)):
            if name is None:
                numbers.append(np.full(data.rows, -1, dtype=np.int64))
                continue
            column = data[name]
            number = _numbered_person if name == self.settings.person else _numbered_secret
            codes = [number(value, known) for value in column.values.to_pylist()]
            numbers.append(np.array(codes, dtype=np.int64)[column.codes])
        return numbers[0], numbers[1]

    def rows(self, leaves: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """The codes on all levels, `[row, bit]`, of a bounded number of rows at a time."""
        tables = [
            np.concatenate([attribute.table, np.full((1, attribute.height), -1, np.int32)])
            for attribute in self.attributes
        ]
        for start in range(0, leaves.shape[0], BATCH):
            part = slice(start, start + BATCH)
            yield part, np.concatenate([table[leaves[part, i]] for i, table in enumerate(tables)], axis=1)

    def levels(self, masks: np.ndarray) -> np.ndarray:
        """The level of each cell, `[row, attribute]`."""
        own = masks[:, None] >> self.offsets & (np.int64(1) << self.heights) - 1
        levels: np.ndarray = self.heights - np.bitwise_count(own)
        return levels

    def columns(self, leaves: np.ndarray, levels: np.ndarray) -> dict[str, Column]:
        """The released attributes as columns of text."""
        return {
            attribute.name: _column(attribute, leaves[:, i], levels[:, i].astype(np.int64))
            for i, attribute in enumerate(self.attributes)
        }

    # What is known ------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Largest of the numbers of known values, people and sensitive values."""
        return max(len(self.people), len(self.secrets), *(len(attribute.leaves) for attribute in self.attributes))

    def renumber(self, arrays: dict[str, np.ndarray]) -> None:
        """Forget values, people and secrets that nobody in these arrays (of `CountingMode.dump`) has; number the others anew."""
        codes = arrays["codes"]
        for i, (attribute, offset) in enumerate(zip(self.attributes, self.offsets.tolist(), strict=True)):
            leaves = codes[offset]  # on the level of values, labels are values
            used = np.zeros(len(attribute.paths), dtype=bool)
            used[leaves[leaves >= 0]] = True
            self.attributes[i] = fresh = attribute.kept(used)
            table = np.concatenate([fresh.table, np.full((1, attribute.height), -1, dtype=np.int32)])
            place = np.append(np.cumsum(used) - 1, -1)
            codes[offset : offset + attribute.height] = table[place[leaves]].T
        self.people, arrays["person"] = _fewer(self.people, arrays["person"])
        self.secrets, arrays["secret"] = _fewer(self.secrets, arrays["secret"])
        self.known.clear()
        self._hold()

    def dump(self) -> dict[str, Any]:
        """Return the known values, people and sensitive values as plain data."""
        attributes = [attribute.dump() for attribute in self.attributes]
        return {"ladders": attributes, "secrets": list(self.secrets), "people": list(self.people)}

    def sizes(self) -> tuple[np.ndarray, int, int]:
        """Number of labels per level of each attribute, in the order of bits; number of people and sensitive values."""
        labels = [count for attribute in self.attributes for count in attribute.label_counts]
        return np.array(labels, dtype=np.int64), len(self.people), len(self.secrets)

    def restore(self, meta: Mapping[str, Any]) -> None:
        """Take up what `dump` gave."""
        for attribute, known in zip(self.attributes, meta["ladders"], strict=True):
            attribute.restore(known)
        self.secrets = {value: number for number, value in enumerate(meta["secrets"])}
        self.people = {value: number for number, value in enumerate(meta["people"])}


def _column(attribute: ValueLevels, leaves: np.ndarray, levels: np.ndarray) -> Column:
    """The released values of one attribute as a column of text. O(rows + values)."""
    steps = attribute.height + 1
    keys = np.where((leaves < 0) | (levels == attribute.height), attribute.height, leaves * steps + levels)
    used = np.zeros(max(len(attribute.paths), 1) * steps, dtype=bool)
    used[keys] = True
    labels = [attribute.released(key // steps, key % steps) for key in np.flatnonzero(used).tolist()]
    texts = pa.array([None if label is None else _text(label) for label in labels], pa.string())
    return Column(texts, (np.cumsum(used) - 1).astype(np.uint32)[keys]).tidy()


def _text(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _numbered_secret(value: Any, known: dict[Any, int]) -> int:
    """Return the number of a secret, a new one for a new secret. All that some reader takes for missing are one."""
    return known.setdefault(None if reads_as_no_secret(value) else value, len(known))


def _numbered_person(value: Any, known: dict[Any, int]) -> int:
    """Return the number of a person, a new one for a new person, and `MISSING` for a missing one."""
    return MISSING if tells_nothing(value) else known.setdefault(value, len(known))


def _fewer(known: dict[Any, int], numbers: np.ndarray) -> tuple[dict[Any, int], np.ndarray]:
    """Only the values whose numbers are in use, numbered anew, with the numbers."""
    used = np.zeros(len(known), dtype=bool)
    used[numbers[numbers >= 0]] = True
    place = np.cumsum(used) - 1
    fewer = {value: int(place[number]) for value, number in known.items() if used[number]}
    return fewer, np.where(numbers >= 0, place[np.maximum(numbers, 0)] if place.size else numbers, numbers)


def _taker(names: list[str]) -> Callable[[Record], tuple[Any, ...]]:
    if len(names) == 1:
        only = names[0]
        return lambda record: (record[only],)
    return itemgetter(*names)
