"""The relational part, once for every engine: narwhals says the same to DuckDB, polars and Spark.

Columns are numbers of our own here or compared as text, so that an engine's own idea of equal values (−0.0 and 0.0, not-a-number,
nulls in joins, upper and lower case) never decides anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from oboro.engines.coded.plan import FIRST, OURS, PLACE, ROW, SECOND
from oboro.table.dataset import Column, Dataset

__all__ = ["COUNT", "placed", "rows_of_tally"]

COUNT = OURS + "count"


def rows_of_tally(found: pa.Table, names: Sequence[str]) -> Dataset:
    """The rows that were counted, as a table again; their order is nobody's."""
    counts = found[COUNT].to_numpy().astype(np.int64)
    encoded = {name: Column.encode(found[place]) for place, name in enumerate(names)}
    columns = {name: Column(one.values, np.repeat(one.codes, counts)) for name, one in encoded.items()}
    return Dataset(columns, int(counts.sum()))


def placed(numbered: Any, outcomes: Any, names: Sequence[str], *, sorted_: bool) -> Any:
    """Rows with what is released of them: the n-th of those that agree on the touched columns gets the n-th outcome."""
    nth = nw.col(FIRST).cum_count().over(FIRST, order_by=SECOND)
    rows = nw.from_native(numbered).lazy().with_columns((nw.col(FIRST) + nth - 1).cast(nw.Int64).alias(ROW))
    joined = rows.join(nw.from_native(outcomes).lazy(), on=ROW, how="inner")
    joined = joined.sort(PLACE) if sorted_ else joined
    return joined.select(list(names)).to_native()
