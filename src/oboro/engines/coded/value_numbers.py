"""One keyed 64-bit number for a value, the same on every machine, so that rows and values can be compared without being held.

Two different values have the same number with a chance of 2⁻⁶⁴. The key is drawn anew for every run and never written: nobody can
choose values that collide, and nobody learns a value from its number.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oboro.engines.coded import kernels
from oboro.table.dataset import Column, missing_for_nan, plain

__all__ = ["RowNumbers", "as_texts", "drawn_key", "encoded", "value_numbers"]

MISSING = np.uint64(0x9E3779B97F4A7C15)


def drawn_key() -> bytes:
    """A new key."""
    return os.urandom(16)


def as_texts(values: pa.Array) -> pa.Array:
    """Values as text or bytes, different ones different: whole numbers of every width and text of every Arrow type alike."""
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        return values.cast(pa.large_binary())
    if pa.types.is_fixed_size_binary(values.type):
        return values.cast(pa.binary()).cast(pa.large_binary())
    return values.cast(pa.large_string())


def value_numbers(values: pa.Array, key: bytes) -> np.ndarray:
    """The number of each value. O(bytes)."""
    texts = as_texts(values)
    starts, data = texts.buffers()[1:]
    places = np.frombuffer(starts, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    held = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    out = np.zeros(len(texts), np.uint64)
    kernels.number_texts(held, places, np.frombuffer(key, np.uint64), out)
    if texts.null_count:
        out[texts.is_null().to_numpy(zero_copy_only=False)] = MISSING
    return out


def encoded(array: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """The distinct values of a batch and the place of each row's among them; not-a-number is missing."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    found = plain(missing_for_nan(array)).dictionary_encode(null_encoding="encode")
    return found.dictionary, found.indices.to_numpy(zero_copy_only=False)


@dataclass(frozen=True)
class RowNumbers:
    """One number for some columns of a row: the sum of the numbers of its values, each column with a key of its own."""

    key: bytes

    def of_values(self, name: str, values: pa.Array) -> np.ndarray:
        """The number of each value of a column."""
        own = np.frombuffer(self.key, np.uint64) ^ np.uint64(pc_name(name))
        return value_numbers(values, own.tobytes())

    def of_arrays(self, arrays: Mapping[str, pa.Array], rows: int) -> np.ndarray:
        """Of the rows of a batch."""
        return self.of_encoded({name: encoded(array) for name, array in arrays.items()}, rows)

    def of_encoded(self, found: Mapping[str, tuple[pa.Array, np.ndarray]], rows: int) -> np.ndarray:
        """Of the rows of a batch whose columns are encoded."""
        out = np.zeros(rows, np.uint64)
        for name, (values, places) in found.items():
            out += self.of_values(name, values)[places]
        return out

    def of_columns(self, columns: Mapping[str, Column], out: np.ndarray) -> np.ndarray:
        """Of the rows of encoded columns, added to `out`."""
        for name, column in columns.items():
            out += self.of_values(name, column.values)[column.codes]
        return out

    def total(self, numbers: np.ndarray) -> int:
        """One number for all rows, whatever their order."""
        return int(kernels.add_mixed(numbers, np.frombuffer(self.key, np.uint64)))


def pc_name(name: str) -> int:
    """A number of a column's name."""
    from hashlib import blake2b

    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def summed(parts: Iterable[int]) -> int:
    """The total of several parts."""
    return sum(parts) % (1 << 64)
