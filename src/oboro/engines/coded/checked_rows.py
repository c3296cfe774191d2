"""What was written, counted again where it is: one sum over all rows, and how often each combination of some columns occurs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.engines.coded.scattered_rows import in_chunks, packed
from oboro.engines.coded.value_numbers import RowNumbers, encoded, summed
from oboro.engines.relational import COUNT

__all__ = ["Checked", "Checking", "CombinationCounts"]

COMBINED = 64  # counts of batches that are put together at once
COUNTED = 1 << 22  # combinations that one array counts


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
        for table in in_chunks(pa.table(batch) for batch in batches):
            rows += table.num_rows
            found = {name: encoded(table[name]) for name in table.column_names}
            totals.append(self.numbers.total(self.numbers.of_encoded(found, table.num_rows)))
            for one in counts:
                one.add(table, found)
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

    def add(self, table: pa.Table, found: Mapping[str, tuple[pa.Array, np.ndarray]] | None = None) -> None:
        """Count rows; `found` is what was already encoded of them. O(rows).

        From the values themselves: what decided who stands with whom has no part in it.
        """
        columns = [_told_apart(table[name], (found or {}).get(name)) for name in self.names]
        places, sizes = _occurring([len(values) for values, _ in columns], [codes for _, codes in columns], len(table))
        chosen = zip(columns, places, strict=True)
        counted = {f"c{place}": values.take(pa.array(one)) for place, ((values, _), one) in enumerate(chosen)}
        self.merge(pa.table({**counted, COUNT: pa.array(sizes, pa.int64())}))

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


def _told_apart(array: pa.ChunkedArray, found: tuple[pa.Array, np.ndarray] | None) -> tuple[pa.Array, np.ndarray]:
    """The distinct values and the place of each row's among them. Not-a-number is not missing to whoever reads the file."""
    inner = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if pa.types.is_floating(inner):
        return encoded(pc.cast(pc.cast(array, inner), pa.string()))
    return encoded(array) if found is None else found


def _occurring(widths: list[int], codes: list[np.ndarray], rows: int) -> tuple[Sequence[np.ndarray], np.ndarray]:
    """The combinations of codes that occur, and how often."""
    if not widths:
        return [], np.array([rows])
    if prod(widths) <= COUNTED:
        sizes = np.bincount(np.ravel_multi_index(codes, widths))
        found = np.flatnonzero(sizes)
        return np.unravel_index(found, widths), sizes[found]
    names = [f"{place}" for place in range(len(codes))]
    table = pa.table(dict(zip(names, map(pa.array, codes), strict=True)))
    counted = table.group_by(names, use_threads=False).aggregate([([], "count_all")])
    return [counted[name].to_numpy() for name in names], counted["count_all"].to_numpy()
