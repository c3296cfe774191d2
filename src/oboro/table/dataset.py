"""Dictionary-encoded columns: encode once, decode once.

A column is its distinct values (a small Arrow array, the *dictionary*) and one small unsigned code per row. Techniques work on
dictionaries and codes; a row's value is looked up only when the table is written. Columns and datasets are never changed: every
act returns new ones that share what stayed the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from oboro.errors import ColumnError, InputError
from oboro.kernels import grouping
from oboro.system import arrow_functions as pc
from oboro.system.process import on_cores
from oboro.table.large_arrays import large_zeros
from oboro.table.named_columns import names_shown
from oboro.table.parameters.at_the_door import at_the_door
from oboro.table.values import Kind, from_numbers, kind_of, numbers_of, texts_of
from oboro.text import Message

__all__ = ["Column", "Dataset", "missing_for_nan", "plain", "smallest_unsigned"]


def smallest_unsigned(count: int) -> type[np.unsignedinteger]:
    """The smallest unsigned type with at least `count` different values.

    >>> smallest_unsigned(256), smallest_unsigned(257)
    (<class 'numpy.uint8'>, <class 'numpy.uint16'>)
    """
    return np.uint8 if count <= 1 << 8 else np.uint16 if count <= 1 << 16 else np.uint32


@dataclass(frozen=True, eq=False)
class Column:
    """Distinct values and one code per row. A missing value is a dictionary entry (null) like any other."""

    values: pa.Array
    codes: np.ndarray
    finer: Callable[[], Column] | None = field(default=None, repr=False)
    """As its file or frame says it, where that tells more apart than the values do: not-a-number from missing, `""` from nothing,
    `"1"` from `1`. Made when asked for; only the verifier asks, since its reader may have a tool that sees it."""

    @staticmethod
    def encode(array: pa.Array | pa.ChunkedArray) -> Column:
        """Encode one Arrow column. Not-a-number counts as missing. O(n) hashing in Arrow."""
        if isinstance(array, pa.ChunkedArray) and array.num_chunks == 0 and pa.types.is_dictionary(array.type):
            array = pa.array([], array.type.value_type)  # Arrow combines no chunks of a dictionary of dates to none
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
        if isinstance(array, pa.ChunkedArray):  # combine_chunks keeps very long text in several chunks
            array = pa.concat_arrays([chunk.cast(_wide(array.type)) for chunk in array.chunks])
        if pa.types.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        if pa.types.is_dictionary(array.type):
            return _from_dictionary(array)
        encoded = plain(missing_for_nan(array)).dictionary_encode(null_encoding="encode")
        finer = _with_nan(array) if array.null_count and pa.types.is_floating(array.type) else None
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(smallest_unsigned(len(encoded.dictionary)))
        return Column(encoded.dictionary, codes, finer)

    @staticmethod
    def of(values: Sequence[object]) -> Column:
        """A column from plain Python values. Raises an `InputError` for those that no column holds together.

        >>> Column.of(["a", None, "a"]).codes
        array([0, 1, 0], dtype=uint8)
        """
        try:
            return Column.encode(pa.array(values))
        except (OverflowError, UnicodeEncodeError, pa.ArrowException):
            # Said without the value, and without what Arrow says of it.
            raise InputError(Message("error_table.unheld_values")) from None

    @staticmethod
    def from_numbers(numbers: np.ndarray, kind: Kind) -> Column:
        """A column from one number per row (as `Column.numbers` counts them); NaN is missing."""
        return Column.encode(from_numbers(numbers, kind))

    def __len__(self) -> int:
        return int(self.codes.size)

    def finest(self) -> Column:
        """The same rows by everything that a tool could tell apart in what came; its values are only names."""
        return self if self.finer is None else self.finer()

    @cached_property
    def kind(self) -> Kind:
        """What the column holds; text is judged by what every value looks like."""
        return kind_of(self.values)

    @cached_property
    def texts(self) -> list[str | None]:
        """The dictionary as text."""
        return texts_of(self.values)

    def numbers(self, name: str = "column") -> np.ndarray:
        """The dictionary's places on the line, NaN where missing; `name` is for the error when a value is no number."""
        with self.placing():
            return numbers_of(self.values, name, self.kind)

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Within this block an error about one of the column's values says its row: what reads a dictionary does not know it."""
        try:
            yield
        except InputError as error:
            if isinstance(error.words, Message):
                raise type(error)(error.words.placed(self.row_of)) from None
            raise

    def row_of(self, value: object) -> int | None:
        """The first row, from 1, that holds a value, given as itself or as text; None where none does."""
        held = [self.texts.index(str(value))] if str(value) in self.texts else []
        rows = np.flatnonzero(self.codes == held[0]) if held else np.empty(0)
        return int(rows[0]) + 1 if rows.size else None

    @cached_property
    def missing(self) -> int:
        """The code of the missing value, or −1."""
        if self.values.null_count == 0:
            return -1
        return int(np.flatnonzero(self.values.is_null().to_numpy(zero_copy_only=False))[0])

    @cached_property
    def counts(self) -> np.ndarray:
        """How many rows hold each dictionary entry."""
        out = np.zeros(len(self.values), dtype=np.int64)
        grouping.occurrences(self.codes, out)
        return out

    def recode(self, table: np.ndarray, values: pa.Array) -> Column:
        """Replace every value by looking its code up: row i gets `values[table[codes[i]]]`. One small gather.

        `values` may repeat or hold entries that nobody uses: equal ones are merged and unused ones go.
        """
        merged = values.dictionary_encode(null_encoding="encode")
        lookup = merged.indices.to_numpy(zero_copy_only=False)[table]
        used = np.zeros(len(merged.dictionary), dtype=bool)
        used[lookup[self.counts > 0]] = True
        renumber = np.cumsum(used) - 1
        dense = renumber[lookup].clip(0).astype(smallest_unsigned(int(used.sum())))
        codes = large_zeros(len(self), dense.dtype)
        grouping.look_up(dense, self.codes, codes)
        return Column(merged.dictionary.filter(pa.array(used)), codes)

    def where(self, rows: np.ndarray, value: object) -> Column:
        """The same column with one value (as text where the types differ) written into the rows of a boolean mask.

        >>> Column.of([1, 2, 3]).where(np.array([False, True, False]), "*").decode().to_pylist()
        ['1', '*', '3']
        """
        values = self.values
        if value is not None and not _fits(value, values.type):
            values = pa.array(self.texts, pa.string())
        values = pa.concat_arrays([values, pa.array([value], type=values.type)])
        codes = large_zeros(len(self), smallest_unsigned(len(values)))
        # Codes are below the number of values, however wide the step before made them.
        np.copyto(codes, self.codes, casting="unsafe")
        np.copyto(codes, codes.dtype.type(len(values) - 1), where=rows)
        return Column(values, codes).tidy()

    def tidy(self) -> Column:
        """Without dictionary entries that no row uses or that occur twice."""
        # Values that pass through nested are distinct from the beginning; Arrow cannot compare them.
        nested = pa.types.is_nested(self.values.type)
        if self.counts.all() and (nested or len(self.values.unique()) == len(self.values)):
            return self
        return self._used() if nested else self.recode(np.arange(len(self.values)), self.values)

    def _used(self) -> Column:
        """Without dictionary entries that no row uses: of a few rows of a large table, nearly all."""
        used = self.counts > 0
        dense = (np.cumsum(used) - 1).clip(0).astype(smallest_unsigned(int(used.sum())))
        codes = large_zeros(len(self), dense.dtype)
        grouping.look_up(dense, self.codes, codes)
        return Column(self.values.filter(pa.array(used)), codes)

    def take(self, rows: np.ndarray) -> Column:
        """The given rows (positions or a boolean mask), without values that no row uses any more."""
        codes = self.codes[rows]
        if 4 * codes.size < len(self.values):  # a large dictionary is not gone through for a few rows
            used, codes = np.unique(codes, return_inverse=True)
            some = self.values.take(pa.array(used))
            if not pa.types.is_nested(some.type) and len(some.unique()) == len(some):
                return Column(some, codes.astype(smallest_unsigned(len(some))))
        return Column(self.values, self.codes[rows]).tidy()

    def decode(self) -> pa.Array:
        """One value per row."""
        return self.values.take(pa.array(self.codes))

    @property
    def nbytes(self) -> int:
        """Bytes held by codes and dictionary."""
        return int(self.codes.nbytes + self.values.nbytes)


def _from_dictionary(encoded: pa.DictionaryArray) -> Column:
    """A dictionary that somebody else made may repeat values, hold unused ones, say "missing" in two ways, or be too short."""
    try:
        encoded.validate(full=True)  # kernels look codes up without asking whether there is such a value
    except pa.ArrowInvalid as problem:
        raise ColumnError(Message("error_table.broken_dictionary", problem=str(problem))) from None
    values, indices = missing_for_nan(plain(encoded.dictionary)), encoded.indices
    if indices.null_count:
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
        indices = pc.fill_null(indices.cast(pa.int64()), len(values) - 1)
    column = Column(values, _codes(indices, len(values)), _as_numbered(encoded))
    return (
        column
        if len(values.unique()) == len(values) and column.counts.all()
        else replace(column.tidy(), finer=column.finer)
    )


def _as_numbered(encoded: pa.DictionaryArray) -> Callable[[], Column] | None:
    """By the numbers of a dictionary that has a value twice, or says "missing" in two ways; they stand in the file."""
    values = encoded.dictionary
    nulls = values.null_count or (pa.types.is_floating(values.type) and bool(pc.any(pc.is_nan(values)).as_py()))
    if len(values.unique()) == len(values) and not (nulls and encoded.indices.null_count):
        return None
    numbers = Column.encode(encoded.indices)
    return lambda: numbers


def _with_nan(array: pa.Array) -> Callable[[], Column] | None:
    """A column that has not-a-number beside missing values, with both."""
    nan = pc.fill_null(pc.is_nan(array), False)
    if not pc.any(nan).as_py():
        return None
    apart = Column.encode(missing_for_nan(array)).where(nan.to_numpy(zero_copy_only=False), "NaN")
    return lambda: apart


def _codes(indices: pa.Array, count: int) -> np.ndarray:
    codes: np.ndarray = indices.to_numpy(zero_copy_only=False).astype(smallest_unsigned(count))
    return codes


def missing_for_nan(array: pa.Array) -> pa.Array:
    """The array with its not-a-numbers missing: whoever wrote them knew no other way to say so."""
    return pc.if_else(pc.is_nan(array), None, array) if pa.types.is_floating(array.type) else array


def plain(array: pa.Array) -> pa.Array:
    """Arrow has several types for text and for decimals; one is enough, and a dictionary never needs the wide offsets."""
    type_ = array.type
    if pa.types.is_decimal32(type_) or pa.types.is_decimal64(type_):  # Arrow itself can do little with them
        return array.cast(pa.decimal128(type_.precision, type_.scale))
    if pa.types.is_binary_view(type_):
        return array.cast(pa.binary())
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return array.cast(pa.string()) if array.nbytes < 2**31 else array.cast(pa.large_string())
    return array


def _wide(type_: pa.DataType) -> pa.DataType:
    return pa.large_string() if pa.types.is_string(type_) else type_


def _fits(value: object, type_: pa.DataType) -> bool:
    try:
        return bool(pa.scalar(value).type == type_)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False


@dataclass(frozen=True, eq=False)
class Dataset:
    """Named columns of equal length, in order. `origin` says which input row each row came from (None: the same)."""

    columns: Mapping[str, Column]
    rows: int
    origin: np.ndarray | None = field(default=None, repr=False)

    @staticmethod
    def from_arrow(table: pa.Table) -> Dataset:
        """Encode every column once; both cores, since Arrow releases the GIL."""
        duplicates = [name for name, count in Counter(table.column_names).items() if count > 1]
        if duplicates:
            raise ColumnError(Message("error_table.same_name", names=sorted(duplicates)))
        columns = on_cores(Column.encode, table.columns, rows=table.num_rows)
        return Dataset(dict(zip(table.column_names, columns, strict=True)), table.num_rows)

    @staticmethod
    @at_the_door
    def of(columns: Mapping[str, Sequence[object]]) -> Dataset:
        """A dataset from plain Python lists, for examples and tests."""
        encoded = {name: Column.of(values) for name, values in columns.items()}
        return Dataset(encoded, len(next(iter(encoded.values()), ())))

    def to_arrow(self) -> pa.Table:
        """Decode every column once."""
        return pa.table({name: column.decode() for name, column in self.columns.items()})

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.columns

    def __getitem__(self, name: str) -> Column:
        if name not in self:
            raise ColumnError(Message("error_table.no_column", name=name, columns=names_shown(self, [str(name)])))
        return self.columns[name]

    def replace(self, **columns: Column) -> Dataset:
        """The same table with some columns exchanged, in their old places."""
        return self.with_columns(columns)

    def with_columns(self, columns: Mapping[str, Column]) -> Dataset:
        """The same table with some columns exchanged (in their old places) or added (at the end)."""
        return replace(self, columns={**self.columns, **columns})

    def select(self, names: Sequence[str]) -> Dataset:
        """Only these columns, in this order."""
        return replace(self, columns=dict(zip(names, map(self.__getitem__, names), strict=True)))

    def finest(self, names: Sequence[str]) -> Dataset:
        """The table with these columns by everything that a tool could tell apart in what came; their values are only names."""
        made = next((self[name].finer for name in names), None)
        if ahead := getattr(made, "ahead", None):  # several are made faster together than one after the other
            ahead(names)
        return self.with_columns({name: self[name].finest() for name in names})

    def take(self, rows: np.ndarray) -> Dataset:
        """The given rows (positions or a boolean mask), in that order."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Dataset(columns, int(rows.size), self.origin_rows[rows])

    @property
    def origin_rows(self) -> np.ndarray:
        """For each row, the number of the input row that it came from."""
        return np.arange(self.rows) if self.origin is None else self.origin

    def memory(self) -> dict[str, int]:
        """Bytes held by each column: codes (1, 2 or 4 a row) and dictionary.

        >>> Dataset.of({"sex": ["F", "M", "F"]}).memory()
        {'sex': 13}
        """
        return {name: column.nbytes for name, column in self.columns.items()}
