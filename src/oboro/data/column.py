"""Column: dictionary-encoded, unread, unencoded and nested columns of a table.

A column is its distinct values (a small Arrow array, the *dictionary*) and one small unsigned code per row. Techniques work on
dictionaries and codes; a row's value is looked up only when the table is written. Columns and datasets are never changed: every
act returns new ones that share what stayed the same.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.errors import ColumnError, InputError
from oboro.kernels import grouping
from oboro.notations.kinds import Kind, from_numbers, kind_of, numbers_of
from oboro.notations.texts import texts_of
from oboro.text import Message

__all__ = [
    "DEEPEST_VALUE",
    "Column",
    "NestedColumn",
    "UnencodedColumn",
    "UnreadColumn",
    "address",
    "is_nested",
    "is_too_deep",
    "large_zeros",
    "missing_for_nan",
    "nested_column",
    "numbered",
    "plain",
    "single_parts",
    "smallest_unsigned",
    "why_unusable",
]


# Large arrays ---------------------------------------------------------------------------------------------------------
# Allocate large arrays in the way that is fastest on this system.


# Pages of our own: shared ones, which mmap gives by default, are slower to come by.
PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
AT_ONCE = {"flags": PRIVATE["flags"] | mmap.MAP_POPULATE} if hasattr(mmap, "MAP_POPULATE") else PRIVATE
LARGE_PAGE = 1 << 21  # bytes
SLOW = 5e-4  # seconds of the processor for a large page; its 512 small ones take about three times as long
TRIES = 3  # slow ones after which no more are asked for

_tries = TRIES if hasattr(mmap, "MADV_HUGEPAGE") else 0


def address(array: np.ndarray) -> int:
    """Return the address of an array, for kernels that take addresses; a third of the time of `array.ctypes.data`."""
    place: int = array.__array_interface__["data"][0]
    return place


def large_zeros(size: int, dtype: Any = np.uint8, *, at_once: bool = False) -> np.ndarray:
    """A large array of zeros that starts with a page; it takes memory only where it is touched, or all of it `at_once`.

    Large pages come seven times as fast as small ones (0.1 instead of 0.7 ns a byte), where the system has them at hand. On a
    virtual machine whose host must first find the memory they come more slowly than small pages, which are those that were used
    before (3 to 5 ns a byte: reading a wide table took half as long again). So one is tried.
    """
    bytes_ = max(size * np.dtype(dtype).itemsize, 1)
    large = _tries > 0 and bytes_ >= LARGE_PAGE
    memory = mmap.mmap(-1, bytes_, **(AT_ONCE if at_once and not large else PRIVATE))
    if large:
        _try_large_pages(memory)
    return np.frombuffer(memory, dtype, size)


def _try_large_pages(memory: mmap.mmap) -> None:
    """Have memory in large pages if the first one comes fast."""
    global _tries
    array = np.frombuffer(memory, np.uint8)
    first = -array.ctypes.data % LARGE_PAGE
    if first + LARGE_PAGE > array.size:
        return
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except OSError:  # a system without them
        _tries = 0
        return
    begin = time.thread_time()
    array[first] = 0
    fast = time.thread_time() - begin < SLOW
    _tries = TRIES if fast else _tries - 1
    if not fast:
        memory.madvise(mmap.MADV_NOHUGEPAGE)


# Dictionary-encoded columns -------------------------------------------------------------------------------------------


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

    @property
    def loaded(self) -> bool:
        """True where values and codes can be asked for; False of a column that was left in its file or on an engine."""
        return True

    def finest(self) -> Column:
        """The same rows by everything that a tool could tell apart in what came; its values are only names."""
        return self if self.finer is None else self.finer()

    @cached_property
    def kind(self) -> Kind:
        """Kind of the values; text is judged by the form of every value."""
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
        """Number of rows with each dictionary entry."""
        out = np.zeros(len(self.values), dtype=np.int64)
        grouping.occurrences(self.codes, out)
        return out

    def recode(self, table: np.ndarray, values: pa.Array) -> Column:
        """Replace every value by looking its code up: row i gets `values[table[codes[i]]]`. One small gather.

        `values` may repeat or hold unused entries: equal ones are merged and unused ones go.
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
        """Bytes of codes and dictionary."""
        return int(self.codes.nbytes + self.values.nbytes)


def _from_dictionary(encoded: pa.DictionaryArray) -> Column:
    """Encode a foreign dictionary, which may repeat values, hold unused ones, have two missing values, or be too short."""
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
    """Return the array with not-a-number as missing, since some writers have no other form for it."""
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


# Unread and unencoded columns -----------------------------------------------------------------------------------------
# A recipe uses few columns of a wide table. The others are not encoded: they keep their positions in the table, move
# with its rows, and are read when the release is written.


class UnreadColumn(Column):
    """A column that was left in its file. It has a length and nothing else: a step that asks for more did not say what it reads.

    >>> len(UnreadColumn(3).take(np.array([0, 2])))
    2
    """

    def __init__(self, rows: int) -> None:
        object.__setattr__(self, "rows", rows)

    rows: int

    @property
    def loaded(self) -> bool:
        """False: nothing is in memory."""
        return False

    def __repr__(self) -> str:
        return f"UnreadColumn({self.rows})"

    def __len__(self) -> int:
        return self.rows

    @property
    def values(self) -> pa.Array:
        """There are none."""
        raise RuntimeError("a column was used that was left in its file; a step must say in `reads` what it reads")

    @property
    def codes(self) -> np.ndarray:
        """There are none."""
        raise RuntimeError("a column was used that was left in its file; a step must say in `reads` what it reads")

    def take(self, rows: np.ndarray) -> UnreadColumn:
        """So many rows, wherever they are."""
        return UnreadColumn(int(rows.sum() if rows.dtype == bool else rows.size))

    def tidy(self) -> UnreadColumn:
        """Nothing is held that could be unused."""
        return self

    @property
    def nbytes(self) -> int:
        """Nothing is held."""
        return 0


class UnencodedColumn(Column):
    """A column with one value per row, as read from a file; it is encoded only if codes are requested."""

    def __init__(self, array: pa.Array | pa.ChunkedArray) -> None:
        object.__setattr__(self, "array", _single(array))

    array: pa.Array

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def _encoded(self) -> Column:
        return Column.encode(self.array)

    @property
    def values(self) -> pa.Array:
        """The distinct values."""
        return self._encoded.values

    @property
    def codes(self) -> np.ndarray:
        """One code per row."""
        return self._encoded.codes

    def take(self, rows: np.ndarray) -> UnencodedColumn:
        """The given rows (positions or a boolean mask)."""
        return UnencodedColumn(
            self.array.filter(pa.array(rows)) if rows.dtype == bool else self.array.take(pa.array(rows))
        )

    def decode(self) -> pa.Array:
        """One value per row, with the type and the missing values that an encoded column would come back with."""
        return self.array


def _single(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return plain(missing_for_nan(array))


def why_unusable(name: str, type_: pa.DataType) -> Message | None:
    """Explain why a column of this type can only be dropped: it holds no single values, or times of an unknown zone."""
    inner = type_.value_type if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_) else type_
    if pa.types.is_nested(inner) or isinstance(inner, pa.BaseExtensionType):
        shown = inner.type_name if isinstance(inner, pa.OpaqueType) else str(type_)
        return Message("error_table.not_single", name=name, type=shown)
    if pa.types.is_timestamp(inner) and inner.tz:
        try:
            pa.array([0], inner).cast(pa.string())
        except pa.ArrowInvalid:
            return Message("error_table.no_zone", name=name, zone=inner.tz)
    return None


# Nested columns -------------------------------------------------------------------------------------------------------
# A column of lists or structures can only be dropped.


class NestedColumn(UnreadColumn):
    """A column of lists, structures or an extension type: it can only be dropped. Any other use raises the reason."""

    def __init__(self, rows: int, why: Message) -> None:
        super().__init__(rows)
        object.__setattr__(self, "why", why)

    why: Message

    @property
    def values(self) -> pa.Array:
        """There are none."""
        raise ColumnError(self.why)

    @property
    def codes(self) -> np.ndarray:
        """There are none."""
        raise ColumnError(self.why)

    def take(self, rows: np.ndarray) -> NestedColumn:
        """So many rows."""
        return NestedColumn(len(super().take(rows)), self.why)


# Encoding of nested values --------------------------------------------------------------------------------------------
# Columns of lists and structures only pass through. Their values are not used, but equal values must be recognized.
#
# Each value becomes a text that no other value has: every part is preceded by its length. There is no Python loop over
# rows.


DEEPEST_VALUE = 64
"""Lists within lists: Arrow reads them by recursion without a limit, and a list that contains itself ends the process."""
CONTAINERS = (list, tuple, set, frozenset, Mapping, np.ndarray)


def is_nested(type_: pa.DataType) -> bool:
    """Return whether a column holds lists, structures or an extension type."""
    inner = type_.value_type if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_) else type_
    return bool(pa.types.is_nested(inner) or isinstance(inner, pa.BaseExtensionType))


def is_too_deep(values: Any) -> bool:
    """Return whether some of a column's Python values are nested deeper than `DEEPEST_VALUE`. O(values).

    >>> endless = []
    >>> endless.append(endless)
    >>> is_too_deep([1, endless]), is_too_deep([1, [2, [3]]])
    (True, False)
    """
    if not isinstance(values, list | tuple) and getattr(getattr(values, "dtype", None), "kind", "") != "O":
        return False
    if not any(issubclass(kind, CONTAINERS) for kind in set(map(type, values))):
        return False
    seen: dict[int, int] = {}  # the greatest depth at which a container was met: one may be in many others
    waiting = [(one, 1) for one in values if isinstance(one, CONTAINERS)]
    while waiting:
        one, depth = waiting.pop()
        if depth > DEEPEST_VALUE:
            return True
        if seen.get(id(one), 0) < depth:
            seen[id(one)] = depth
            waiting += [(inner, depth + 1) for inner in _inner(one) if isinstance(inner, CONTAINERS)]
    return False


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype.kind == "O" else ()
    found: Iterable[Any] = value
    return found


def nested_column(array: pa.ChunkedArray) -> Column:
    """The column with each distinct value once, as it is, and a code for each row. O(bytes).

    >>> nested_column(pa.chunked_array([[[1], [2, 3], [1]]])).codes
    array([0, 1, 0], dtype=uint8)
    """
    texts = pa.chunked_array([_texts(chunk) for chunk in array.chunks], pa.large_binary())
    encoded = texts.combine_chunks().dictionary_encode(null_encoding="encode")
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(smallest_unsigned(len(encoded.dictionary)))
    first = np.empty(len(encoded.dictionary), dtype=np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]  # the last one written stays
    values = array.take(pa.array(first))
    return Column(values.combine_chunks() if values.num_chunks != 1 else values.chunk(0), codes)


def numbered(column: Column) -> Column:
    """The column with a number for each distinct value: which rows are equal, and nothing else."""
    return Column(pa.array(np.arange(len(column.values))), column.codes)


def single_parts(array: pa.Array) -> Iterator[tuple[pa.Array, np.ndarray]]:
    """Return the contents of lists and structures by field: single values, and the position in `array` of each.

    >>> [(part.to_pylist(), at.tolist()) for part, at in single_parts(pa.array([[{"a": 1, "b": "x"}], [], [{"a": 2, "b": None}]]))]
    [([1, 2], [0, 2]), (['x', None], [0, 2])]
    """
    plain, type_ = _undone(array), _undone(array).type
    if pa.types.is_struct(type_):
        for one in plain.flatten():
            yield from single_parts(one)
    elif pa.types.is_nested(type_):
        if pa.types.is_union(type_):
            return  # Arrow has no functions for them, and no file holds any
        listed = _as_list(plain) if pa.types.is_map(type_) else plain
        owners = pc.list_parent_indices(listed).to_numpy(zero_copy_only=False)
        for part, places in single_parts(pc.list_flatten(listed)):
            yield part, owners[places]
    else:
        yield plain, np.arange(len(plain))


def _undone(array: pa.Array) -> pa.Array:
    """Return the values behind an extension type, a dictionary or runs."""
    if isinstance(array, pa.ExtensionArray):
        return _undone(array.storage)
    if pa.types.is_dictionary(array.type):
        return _undone(array.dictionary_decode())
    return _undone(pc.run_end_decode(array)) if pa.types.is_run_end_encoded(array.type) else array


def _texts(array: pa.Array) -> pa.Array:
    """A text for each value, the same for the same value only; missing stays missing."""
    array = _undone(array)
    type_ = array.type
    if pa.types.is_struct(type_):
        parts = [_measured(_texts(one)) for one in array.flatten()]
        empty = pa.repeat(pa.scalar(b"", pa.large_binary()), len(array))
        joined = pc.binary_join_element_wise(empty, *parts, pa.scalar(b"", pa.large_binary()))
        return pc.if_else(array.is_valid(), joined, pa.scalar(None, pa.large_binary()))
    if pa.types.is_map(type_):
        return _listed(_as_list(array))
    if pa.types.is_nested(type_):
        return _listed(array)
    if pa.types.is_binary(type_) or pa.types.is_fixed_size_binary(type_) or pa.types.is_large_binary(type_):
        return array.cast(pa.large_binary())
    return array.cast(pa.large_string()).cast(pa.large_binary())


def _as_list(array: pa.MapArray) -> pa.Array:
    """A map as the list of its pairs: Arrow has no functions for maps."""
    pairs = pa.list_(pa.struct([pa.field("key", array.type.key_type), pa.field("value", array.type.item_type)]))
    return array.cast(pairs)


def _listed(array: pa.Array) -> pa.Array:
    """Lists, maps (lists of pairs) and lists of one length: their parts one after the other."""
    sizes = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    parts = _measured(_texts(array.flatten()))  # those of lists that are there, in their order
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int64())
    joined = pc.binary_join(pa.LargeListArray.from_arrays(offsets, parts), pa.scalar(b"", pa.large_binary()))
    return pc.if_else(array.is_valid(), joined, pa.scalar(None, pa.large_binary()))


def _measured(texts: pa.Array) -> pa.Array:
    """Each text behind its length, so that two of them in a row can be read in one way only; `n` is missing."""
    length = pc.binary_length(texts).cast(pa.large_string()).cast(pa.large_binary())
    measured = pc.binary_join_element_wise(length, texts, pa.scalar(b":", pa.large_binary()))
    return pc.fill_null(measured, pa.scalar(b"n", pa.large_binary()))
