"""Columns of lists and structures that only pass through: nobody reads their values, but equal ones must be known as equal.

Each value becomes a text that no other value has: every part with its length before it. No row is looked at in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.system import arrow_functions as pc
from oboro.table.dataset import Column, smallest_unsigned

__all__ = ["DEEPEST_VALUE", "is_nested", "is_too_deep", "nested_column", "numbered", "single_parts"]

DEEPEST_VALUE = 64
"""Lists within lists: Arrow reads them by recursion without a limit, and a list that contains itself ends the process."""
CONTAINERS = (list, tuple, set, frozenset, Mapping, np.ndarray)


def is_nested(type_: pa.DataType) -> bool:
    """Whether a column holds lists, structures or somebody's own type."""
    inner = type_.value_type if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_) else type_
    return bool(pa.types.is_nested(inner) or isinstance(inner, pa.BaseExtensionType))


def is_too_deep(values: Any) -> bool:
    """Whether some of a column's Python values are nested deeper than `DEEPEST_VALUE`. O(values).

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
    """What lists and structures hold, field by field: single values, and the place in `array` that each comes from.

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
    """The values themselves, where a type of somebody's own, a dictionary or runs stand for them."""
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
