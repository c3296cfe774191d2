"""What was written, counted again where it is: one sum over all rows, and how often each combination of some columns occurs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from oboro.engines.coded.scattered_rows import packed
from oboro.engines.coded.value_numbers import RowNumbers, encoded, summed
from oboro.engines.relational import COUNT

__all__ = ["Checked", "Checking", "CombinationCounts"]

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
                one.add(batch)
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

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of a batch. O(rows).

        By Arrow, from the values themselves: what decided who stands with whom has no part in it.
        """
        columns = {f"c{place}": _comparable(batch[name]) for place, name in enumerate(self.names)}
        if not columns:
            self.merge(pa.table({COUNT: pa.array([batch.num_rows], pa.int64())}))
            return
        counted = pa.table(columns).group_by(list(columns), use_threads=False).aggregate([([], "count_all")])
        self.merge(counted.rename_columns([*columns, COUNT]))

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
