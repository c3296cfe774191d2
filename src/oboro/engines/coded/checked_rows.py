"""What was written, counted again where it is: one sum over all rows, and how often each combination of some columns occurs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.engines.coded.scattered_rows import packed
from oboro.engines.coded.tuple_keys import TupleKeys
from oboro.engines.coded.value_numbers import RowNumbers, encoded, summed
from oboro.engines.relational import COUNT

__all__ = ["Checked", "Checking", "CombinationCounts"]

NOTHING: Mapping[str, tuple[pa.Array, np.ndarray]] = {}
COMBINED = 64  # counts of batches that are put together at once


@dataclass(frozen=True)
class Checked:
    """What was found."""

    rows: int
    total: int
    """One number for all rows, whatever their order."""
    tallies: Sequence[pa.Table]


@dataclass(frozen=True)
class Checking:
    """What is counted. It travels to tasks; each says its part in blobs: two numbers first, then its counts."""

    numbers: RowNumbers
    groups: tuple[tuple[str, ...], ...]

    def part(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Of some batches."""
        rows, totals, counts = 0, [], [CombinationCounts(names) for names in self.groups]
        for batch in batches:
            rows += batch.num_rows
            found = {name: encoded(array) for name, array in zip(batch.schema.names, batch.columns, strict=True)}
            totals.append(self.numbers.total(self.numbers.of_encoded(found, batch.num_rows)))
            for one in counts:
                one.add(batch, found)
        yield bytes(1) + rows.to_bytes(8, "little") + summed(totals).to_bytes(8, "little")
        for place, one in enumerate(counts, 1):
            if rows:
                yield bytes([place]) + packed(one.together())

    def together(self, blobs: Iterable[Any]) -> Checked:
        """Of all tasks."""
        rows, total, counts = 0, 0, [CombinationCounts(names) for names in self.groups]
        for blob in map(bytes, blobs):
            if blob[0] == 0:
                rows += int.from_bytes(blob[1:9], "little")
                total = summed([total, int.from_bytes(blob[9:], "little")])
            else:
                counts[blob[0] - 1].merge(pa.ipc.open_stream(blob[1:]).read_all())
        return Checked(rows, total, [one.together() for one in counts])


class CombinationCounts:
    """How often combinations occur; floating numbers are compared as text."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.waiting = list(names), list[pa.Table]()

    def add(self, batch: pa.RecordBatch, found: Mapping[str, tuple[pa.Array, np.ndarray]] = NOTHING) -> None:
        """Count the rows of a batch, some of whose columns are encoded already. O(rows · log(rows))."""
        keys = self._keys(batch, found)
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        rows = batch.select(self.names).take(pa.array(first))
        columns = {f"c{place}": _comparable(rows[name]) for place, name in enumerate(self.names)}
        self.merge(pa.table({**columns, COUNT: pa.array(counts, pa.int64())}))

    def _keys(self, batch: pa.RecordBatch, found: Mapping[str, tuple[pa.Array, np.ndarray]]) -> np.ndarray:
        """Floating numbers by their text: here not-a-number is not yet missing."""
        parts = []
        for name in self.names:
            floating = pa.types.is_floating(batch[name].type)
            parts.append(encoded(_comparable(batch[name])) if floating or name not in found else found[name])
        codes, widths = [places for _, places in parts], [len(values) for values, _ in parts]
        return TupleKeys.of(codes, widths, batch.num_rows)[1]

    def merge(self, counted: pa.Table) -> None:
        """Add what was counted elsewhere."""
        self.waiting.append(counted)
        if len(self.waiting) >= COMBINED:
            self.waiting = [self.together()]

    def together(self) -> pa.Table:
        """One row a combination; names are c0, c1 …."""
        names = [f"c{place}" for place, _ in enumerate(self.names)]
        if not self.waiting:
            return pa.table({**{name: pa.array([], pa.string()) for name in names}, COUNT: pa.array([], pa.int64())})
        found = pa.concat_tables(self.waiting).group_by(names).aggregate([(COUNT, "sum")])
        return found.rename_columns([COUNT if name == f"{COUNT}_sum" else name for name in found.column_names])


def _comparable(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return pc.cast(array, pa.string()) if pa.types.is_floating(array.type) else array
