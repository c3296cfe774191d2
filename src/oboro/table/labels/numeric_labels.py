"""Labels of intervals as numbers, or in their order, so that a model can be trained on a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oboro.table.dataset import Column
from oboro.table.labels.label_ends import end_number
from oboro.table.labels.notation import label_range
from oboro.table.values import STAR, Kind, kind_of, numbers_of

__all__ = ["NumericLabels"]


@dataclass(frozen=True, eq=False)
class NumericLabels:
    """A column whose labels are numbers or intervals: where each lies on the line; `*` and missing values lie nowhere."""

    column: Column
    starts: np.ndarray  # of each dictionary entry; NaN: nowhere
    ends: np.ndarray

    @staticmethod
    def of(column: Column) -> NumericLabels | None:
        """None for a column that holds anything else, and for one that holds numbers as they are."""
        if kind_of(column.values).numeric or not column.texts:
            return None
        spans = [(np.nan, np.nan) if text in (None, STAR) else _span(text or "") for text in column.texts]
        if any(span is None for span in spans) or all(text in (None, STAR) for text in column.texts):
            return None
        starts, ends = np.array([span for span in spans if span is not None], dtype=np.float64).T
        return NumericLabels(column, starts, ends)

    def midpoints(self) -> pa.Array:
        """For each row the middle of its interval, of an open one its end; missing where the value is suppressed.

        >>> NumericLabels.of(Column.of(["20–29", "[20, 30)", "≥90", "7", "*"])).midpoints().to_pylist()
        [24.5, 25.0, 90.0, 7.0, None]
        """
        low = np.where(np.isinf(self.starts), self.ends, self.starts)
        high = np.where(np.isinf(self.ends), self.starts, self.ends)
        middle = ((low + high) / 2)[self.column.codes]
        return pa.array(middle, mask=np.isnan(middle))

    def ordered(self) -> pa.DictionaryArray:
        """For each row its label, in a dictionary in the order of the line; missing where the value is suppressed.

        >>> NumericLabels.of(Column.of(["≥90", "100", "20–29", "*", "<20"])).ordered().dictionary.to_pylist()
        ['<20', '20–29', '≥90', '100']
        """
        order = [at for at in np.lexsort((self.ends, self.starts)) if not np.isnan(self.starts[at])]
        place = np.full(len(self.starts), -1)
        place[order] = np.arange(len(order))
        codes = place[self.column.codes]
        texts = pa.array([self.column.texts[at] for at in order], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=codes < 0), texts, ordered=True)


def _span(text: str) -> tuple[float, float] | None:
    """Where a label starts and ends; None if it is neither a number nor a range of numbers."""
    if kind_of(pa.array([text])) in (Kind.INTEGER, Kind.NUMBER):
        number = float(numbers_of(pa.array([text]))[0])  # `39歳` and `12,50` are numbers too
        return number, number
    found = label_range(text)
    if found is None:
        return None
    low = -np.inf if found.first is None else end_number(found.first)
    high = np.inf if found.last is None else end_number(found.last)
    return None if np.isnan(low) or np.isnan(high) else (low, high)
