"""Columns of pandas that Arrow has no values for, periods and intervals, as text and back.

`2024Q1`, `2024-01` and `(20, 30]` are what pandas shows, what a hierarchy can name and what a label may be. Where all released
values are among those that came, the column gets its own type back; where some are new, such as `*`, it stays text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.table.dataset import Column

__all__ = ["Spelling"]


@dataclass(frozen=True, eq=False)
class Spelling:
    """The distinct values of a column and their texts."""

    values: Any  # a pandas array of periods or intervals
    texts: list[str]
    dtype: Any

    @staticmethod
    def of(series: Any) -> tuple[Any, Spelling | None]:
        """What is encoded instead of a column, and how to get back; another kind of column as it is, and nothing."""
        import pandas as pd

        dtype = series.dtype
        if isinstance(dtype, pd.SparseDtype):
            return series.sparse.to_dense(), None
        if isinstance(dtype, pd.CategoricalDtype):
            codes, values = series.cat.codes.to_numpy(), dtype.categories.array
        else:
            codes, values = np.empty(0), series.array
        if not isinstance(values.dtype, pd.PeriodDtype | pd.IntervalDtype):
            return series, None
        if not isinstance(dtype, pd.CategoricalDtype):
            codes, values = pd.factorize(values)
        texts = [str(value) for value in values]
        if len(set(texts)) < len(texts):
            raise ValueError(f"two values are both written {max(texts, key=texts.count)}")
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(texts, pa.string())), Spelling(
            values, texts, dtype
        )

    def back(self, column: Column) -> Any:
        """The released column with the type that came; None where it holds a new value."""
        import pandas as pd

        place = {text: number for number, text in enumerate(self.texts)}
        column = column.tidy()
        held = column.values.to_pylist()
        if not all(text is None or text in place for text in held):
            return None
        used = sorted(place[text] for text in held if text is not None)  # what nobody has any more does not come back
        known = self.values.take(np.array(used, dtype=np.intp))
        rank = {number: at for at, number in enumerate(used)}
        codes = np.array([-1 if text is None else rank[place[text]] for text in held], dtype=np.intp)[column.codes]
        if isinstance(self.dtype, pd.CategoricalDtype):
            return pd.Categorical.from_codes(codes, categories=pd.Index(known), ordered=bool(self.dtype.ordered))
        return known.take(codes, allow_fill=True)

    @property
    def plain(self) -> Any:
        """The type of the column where it holds new labels: categories stay categories, all else is text."""
        import pandas as pd

        is_category = isinstance(self.dtype, pd.CategoricalDtype)
        return pd.CategoricalDtype(pd.Index(self.texts)) if is_category else None
