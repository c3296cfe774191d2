"""Rows on their way to the driver: where the data is, each part of the table is encoded, and only codes and distinct values travel.

A row of k touched columns takes one to four bytes a column, and eight bytes for all columns that no step touches: the number by
which rows are compared (`RowNumbers`). Distinct values travel once for every part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.engines.coded.value_numbers import RowNumbers, as_texts, encoded
from oboro.io.ordered_threads import in_order as in_turn
from oboro.table.dataset import Column, smallest_unsigned

__all__ = ["GatheredRows", "Packed", "Packer", "in_order", "unpacked"]

PART = 1 << 19  # rows that are packed together, so that a value travels once for many rows


@dataclass(frozen=True)
class Packer:
    """What is taken of each row: codes of the touched columns, one number for the others. It is sent to where the data is."""

    touched: tuple[str, ...]
    others: tuple[str, ...]
    numbers: RowNumbers
    compression: str | None = "lz4"  # None where nothing travels
    threads: int = 1  # a task has one core

    def parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """The rows of some batches, packed, as many together as are worth it."""
        if self.threads == 1:
            yield from map(self._packed, _put_together(batches))
            return
        with ThreadPoolExecutor(self.threads) as pool:
            yield from in_turn(pool, _put_together(batches), self._packed)

    def _packed(self, table: pa.Table) -> bytes:
        columns: dict[str, pa.Array] = {}
        for place, name in enumerate(self.touched):
            values, codes = encoded(table[name])
            width = smallest_unsigned(len(values))
            columns[f"{place}"] = pa.DictionaryArray.from_arrays(pa.array(codes.astype(width)), values)
        if self.others:
            arrays = {name: table[name] for name in self.others}
            columns["others"] = pa.array(self.numbers.of_arrays(arrays, table.num_rows))
        columns["rows"] = pa.nulls(table.num_rows)
        sink = pa.BufferOutputStream()
        packed = pa.table(columns)
        with pa.ipc.new_stream(
            sink, packed.schema, options=pa.ipc.IpcWriteOptions(compression=self.compression)
        ) as out:
            out.write_table(packed)
        return bytes(sink.getvalue())


def _put_together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= PART:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


@dataclass(frozen=True)
class Packed:
    """One part, unpacked."""

    columns: Sequence[pa.DictionaryArray]
    others: np.ndarray | None
    rows: int

    @staticmethod
    def of(part: bytes | pa.Buffer) -> Packed:
        """Read one part."""
        table = pa.ipc.open_stream(part).read_all().combine_chunks()
        names = [name for name in table.column_names if name.isdigit()]
        columns = [_single(table[name]) for name in names]
        others = _single(table["others"]).to_numpy() if "others" in table.column_names else None
        return Packed(columns, others, table.num_rows)


@dataclass(frozen=True, eq=False)
class GatheredRows:
    """The touched columns, encoded, and one number a row for the others."""

    columns: Mapping[str, Column]
    others: np.ndarray | None
    rows: int


def unpacked(
    parts: Iterable[bytes | pa.Buffer], touched: Sequence[str], types: Mapping[str, pa.DataType]
) -> GatheredRows:
    """Put the parts together. Distinct values are in one order, whatever the order of rows and parts. O(rows)."""
    held = [Packed.of(part) for part in parts]
    held = [part for part in held if part.rows]
    columns = {
        name: _together([part.columns[place] for part in held], types[name]) for place, name in enumerate(touched)
    }
    numbers = [part.others for part in held if part.others is not None]
    rows = sum(part.rows for part in held)
    return GatheredRows(columns, np.concatenate(numbers) if numbers else None, rows)


def _together(parts: Sequence[pa.DictionaryArray], type_: pa.DataType) -> Column:
    """One column from the parts of it, each with its own distinct values."""
    if not parts:
        return Column.encode(pa.array([], type_))
    merged = pa.concat_arrays([one.dictionary for one in parts]).dictionary_encode(null_encoding="encode")
    values, order = merged.dictionary, in_order(merged.dictionary)
    rank = np.empty(len(values), dtype=smallest_unsigned(len(values)))
    rank[order] = np.arange(len(values))
    ends = np.cumsum([len(one.dictionary) for one in parts])[:-1]
    tables = np.split(rank[merged.indices.to_numpy(zero_copy_only=False)], ends)
    codes = [table[one.indices.to_numpy(zero_copy_only=False)] for table, one in zip(tables, parts, strict=True)]
    return Column(values.take(pa.array(order)), np.concatenate(codes))


def in_order(values: pa.Array) -> np.ndarray:
    """In ascending order, missing last. What Arrow does not sort (true and false …) is sorted as text."""
    unsorted = pa.types.is_boolean(values.type) or pa.types.is_null(values.type)
    order = pc.sort_indices(as_texts(values) if unsorted else values)
    return np.asarray(order.to_numpy(zero_copy_only=False))


def _single(array: pa.ChunkedArray) -> pa.Array:
    return array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
