"""Both tables and their columns, counted."""

from __future__ import annotations

from collections.abc import Mapping

from oboro.measure.key_figures import suppressed_records
from oboro.report.distributions import compare
from oboro.report.facts import ColumnFacts, TableFacts
from oboro.report.inputs import Tables
from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.table.labels.starred_values import is_star
from oboro.table.unencoded_columns import unread_columns

__all__ = ["column_facts", "only_read", "table_facts"]


def only_read(data: Dataset) -> Dataset:
    """The columns that were read; those that pass by from file to file are in no figure."""
    return data.select([name for name in data if name not in unread_columns(data)])


def table_facts(original: Dataset, released: Dataset, quasi: list[str]) -> TableFacts:
    """Rows, columns and memory of both."""
    return TableFacts(
        rows_before=original.rows,
        rows_after=released.rows,
        columns_before=len(original.columns),
        columns_after=len(released.columns),
        dropped=[name for name in original if name not in released],
        added=[name for name in released if name not in original],
        passed=unread_columns(released),
        rows_suppressed=suppressed_records(released, quasi),
        bytes_before=sum(original.memory().values()),
        bytes_after=sum(released.memory().values()),
    )


def column_facts(tables: Tables, smallest: int) -> list[ColumnFacts]:
    """Every column that was read in both tables, those of the original first."""
    original, released = tables.original, tables.released
    names = [*original, *(name for name in released if name not in original)]
    passed = {*unread_columns(original), *unread_columns(released)}
    roles = _roles(tables)
    return [
        _column(name, roles.get(name, "other"), tables, tables.hierarchies.get(name), smallest)
        for name in names
        if name not in passed
    ]


def _roles(tables: Tables) -> Mapping[str, str]:
    return {**dict.fromkeys(tables.quasi, "quasi"), **dict.fromkeys(tables.sensitive, "sensitive")}


def _column(name: str, role: str, tables: Tables, hierarchy: Hierarchy | None, smallest: int) -> ColumnFacts:
    before, after = tables.original.columns.get(name), tables.released.columns.get(name)
    now = after if after is not None else before
    return ColumnFacts(
        name=name,
        role=role if after is not None else "dropped",
        kind="" if now is None else now.kind.value,
        distinct_before=None if before is None else len(before.values),
        distinct_after=None if after is None else len(after.values),
        missing_before=_missing(before),
        missing_after=_missing(after),
        suppressed_after=None if after is None else int(after.counts[is_star(after)].sum()),
        bytes_before=None if before is None else before.nbytes,
        bytes_after=None if after is None else after.nbytes,
        distribution=None if after is None else compare(before, after, smallest=smallest, hierarchy=hierarchy),
    )


def _missing(column: Column | None) -> int | None:
    if column is None:
        return None
    return int(column.counts[column.missing]) if column.missing >= 0 else 0
