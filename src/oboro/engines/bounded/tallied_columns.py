"""Columns of which the driver has the distinct values and how often each occurs, and no rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.engines.coded.packed_rows import in_order
from oboro.engines.coded.scattered_rows import packed
from oboro.engines.coded.value_numbers import encoded
from oboro.table.dataset import Column

__all__ = ["ColumnTallies", "TalliedColumn"]

COMBINED = 32  # tallies of batches that are put together at once


class TalliedColumn(Column):
    """Distinct values with their number. It has no codes: whoever asks for them would need the rows."""

    def __init__(self, values: pa.Array, tally: np.ndarray) -> None:
        object.__setattr__(self, "values", values)
        self.__dict__["counts"] = tally

    def __len__(self) -> int:
        return int(self.counts.sum())

    def __repr__(self) -> str:
        return f"TalliedColumn({len(self.values)} values of {len(self)} rows)"

    @property
    def codes(self) -> np.ndarray:
        """There are none here."""
        raise RuntimeError("the rows of a tallied column are where the data is; only recipes that need none come here")

    def tidy(self) -> TalliedColumn:
        """Every value occurs, and once."""
        return self

    @property
    def nbytes(self) -> int:
        """What is held."""
        return int(self.values.nbytes + self.counts.nbytes)


@dataclass(frozen=True)
class ColumnTallies:
    """What is counted. It travels to tasks; each says its part: for every column one table of values and counts."""

    names: tuple[str, ...]

    def part(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Of some batches."""
        held = [_Tally() for _ in self.names]
        for batch in batches:
            for name, one in zip(self.names, held, strict=True):
                values, codes = encoded(batch[name])
                one.add(values, np.bincount(codes, minlength=len(values)))
        for place, one in enumerate(held):
            if one.waiting:
                values, counts = one.together()
                yield bytes([place]) + packed(pa.table({"values": values, "counts": pa.array(counts)}))

    def together(self, blobs: Iterable[Any], types: Mapping[str, pa.DataType]) -> dict[str, TalliedColumn]:
        """Of all tasks. Values are in one order, whatever the order of rows and tasks."""
        held = [_Tally() for _ in self.names]
        for blob in map(bytes, blobs):
            table = pa.ipc.open_stream(blob[1:]).read_all().combine_chunks()
            held[blob[0]].add(_whole(table["values"]), table["counts"].to_numpy())
        return {name: one.column(types[name]) for name, one in zip(self.names, held, strict=True)}


class _Tally:
    def __init__(self) -> None:
        self.waiting: list[tuple[pa.Array, np.ndarray]] = []

    def add(self, values: pa.Array, counts: np.ndarray) -> None:
        self.waiting.append((values, counts))
        if len(self.waiting) >= COMBINED:
            self.waiting = [self.together()]

    def together(self) -> tuple[pa.Array, np.ndarray]:
        every = pa.concat_arrays([values for values, _ in self.waiting]).dictionary_encode(null_encoding="encode")
        counts = np.zeros(len(every.dictionary), np.int64)
        np.add.at(counts, every.indices.to_numpy(zero_copy_only=False), _joined(self.waiting))
        return every.dictionary, counts

    def column(self, type_: pa.DataType) -> TalliedColumn:
        if not self.waiting:
            return TalliedColumn(Column.encode(pa.array([], type_)).values, np.zeros(0, np.int64))
        values, counts = self.together()
        order = in_order(values)
        return TalliedColumn(values.take(pa.array(order)), counts[order])


def _joined(parts: Sequence[tuple[pa.Array, np.ndarray]]) -> np.ndarray:
    return np.concatenate([counts for _, counts in parts])


def _whole(array: pa.ChunkedArray) -> pa.Array:
    return array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
