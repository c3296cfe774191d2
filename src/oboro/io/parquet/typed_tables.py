"""Blocks of a table as Arrow tables, in the types that came in and with as many rows as a row group has."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from oboro.io.output import rows_in_group
from oboro.table.dataset import Column, Dataset
from oboro.table.frames.came_as import Types, as_it_came, dictionary_array, type_again

__all__ = ["regrouped", "typed"]


def typed(data: Dataset, types: Types) -> pa.Table:
    """One value per row, in the types that came in."""

    def one(name: str, column: Column) -> pa.Array:
        type_ = type_again(name, column.values.type, types) if name in types else None
        if type_ is None or not pa.types.is_dictionary(type_):
            return as_it_came(column, type_)
        return dictionary_array(
            column, type_
        )  # all blocks have the same values: a file has one dictionary for a column

    return pa.table({name: one(name, column) for name, column in data.columns.items()})


def regrouped(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of as many as a row group has, whatever the blocks have."""
    waiting: list[pa.Table] = []
    first = True
    for table in tables:
        rows = rows_in_group(table.num_columns)
        waiting.append(table)
        while sum(map(len, waiting)) >= rows:
            together = pa.concat_tables(waiting)
            yield together.slice(0, rows).combine_chunks()
            waiting, first = [together.slice(rows)], False
    if first or any(map(len, waiting)):
        yield pa.concat_tables(waiting).combine_chunks()
