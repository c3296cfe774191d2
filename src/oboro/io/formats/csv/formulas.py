"""Guard against formulas in CSV: cells that a spreadsheet would run are changed, and counted."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.notations.formulas import FORMULA_INSIDE, FORMULA_START, PLAIN_NUMBER, guarded_text
from oboro.text import Message

__all__ = ["FormulaGuard"]


class FormulaGuard:
    """Guards a table, block by block, and counts the cells that it changed."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """From the start, with nothing counted."""
        self.cells: Counter[str] = Counter()  # by column, its name among them
        self._known: dict[int, tuple[pa.Array, pa.Array, np.ndarray]] = {}

    def guarded(self, data: Dataset) -> Dataset:
        """The same rows with every value, and every name of a column, guarded. Only dictionaries are looked at; cost O(values)."""
        if not self.cells:  # the first block
            self.cells.update({name: int(guarded_text(name) != name) for name in data})
        columns = {guarded_text(name): self._column(name, column) for name, column in data.columns.items()}
        return Dataset(columns, data.rows)

    def _column(self, name: str, column: Column) -> Column:
        values = column.values
        if not _may_be_text(values.type):
            return column
        if id(values) not in self._known:  # held, so that no other dictionary gets its number
            self._known[id(values)] = (values, *_guarded(column))
        _, found, risky = self._known[id(values)]
        if not risky.any():
            return column
        self.cells[name] += int(np.count_nonzero(risky[column.codes]))
        return Column(found, column.codes)

    @property
    def said(self) -> Message:
        """Report the changes."""
        columns = [name for name, count in self.cells.items() if count]
        if not columns:
            return Message("report.excel_safe.none")
        return Message("report.excel_safe.some", cells=sum(self.cells.values()), columns=columns)


def _may_be_text(kind: pa.DataType) -> bool:
    """Numbers, dates and truths begin with no such character, or are numbers."""
    return not (pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind))


def _guarded(column: Column) -> tuple[pa.Array, np.ndarray]:
    """A dictionary with what is risky guarded, and which values that is."""
    texts = pa.array(column.texts, pa.large_string())
    suspects = pc.or_(pc.match_substring_regex(texts, FORMULA_START), pc.match_substring_regex(texts, FORMULA_INSIDE))
    plain = pc.match_substring_regex(texts, PLAIN_NUMBER)
    places = np.flatnonzero(pc.and_not(suspects, plain).fill_null(False).to_numpy(zero_copy_only=False))
    changed, risky = texts.to_pylist(), np.zeros(len(texts), dtype=bool)
    for place in places.tolist():
        before = changed[place]
        changed[place] = guarded_text(before)
        risky[place] = changed[place] != before
    return pa.array(changed, pa.string()), risky
