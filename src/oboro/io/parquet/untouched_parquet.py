"""Columns that stay in a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oboro.io.byte_streams import readable
from oboro.io.parquet.encode import batches, encode, schema_of
from oboro.io.untouched_columns import UntouchedColumns
from oboro.table.dataset import Dataset
from oboro.table.unencoded_columns import UnencodedColumn

__all__ = ["UntouchedParquetColumns"]


@dataclass(frozen=True)
class UntouchedParquetColumns(UntouchedColumns):
    """Columns that stayed in a Parquet file."""

    def read(self, names: Sequence[str]) -> Dataset:
        """On all cores."""
        with readable(self.path):
            return encode(self.path, names)

    def blocks(self, wanted: Sequence[str]) -> Iterator[Dataset]:
        """Batch by batch, not encoded: most are written as they come."""
        with readable(self.path):
            empty = schema_of(self.path).empty_table().select(list(wanted))
            yield Dataset({name: UnencodedColumn(empty[name]) for name in wanted}, 0)
            for batch in batches(self.path, wanted):
                arrays = zip(wanted, batch.columns, strict=True)
                yield Dataset({name: UnencodedColumn(array) for name, array in arrays}, batch.num_rows)
