"""Public Python implementations of local recoding, where they are installed: the same records in, their release out.

- anonypy (MIT): Mondrian. anonypyx (MIT, a fork of it): Mondrian and MDAV-generic.
- Left out: polarfrost pins polars 1.30; umbra-k says MIT but carries another licence; anjana, pycanon and the like take
  one level for all or only measure.

Both are called as their documentation says, on the original records with a row number as a further column, and publish
ranges of numbers and sets of categories. anonypyx's MDAV-generic fails (pandas 3) on whole numbers and on categories that
are not numbered by appearance, so all of them get numbers as floats and categories by number; which number stands for
which category does not matter to either method.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.table.dataset import Column, Dataset

__all__ = ["PACKAGES", "peers"]

PACKAGES = ("anonypy", "anonypyx")
ROW = "oboro_row"


def peers(data: Dataset, k: int, numeric: frozenset[str]) -> dict[str, Callable[[], Dataset]]:
    """By name what each installed package releases for these records, rows in their order; missing ones are named on
    stderr.

    Both hold Python objects for each group, MDAV-generic a matrix of all pairs: some thousand records are what they take
    in a minute.
    """
    if absent := [name for name in (*PACKAGES, "pandas") if find_spec(name) is None]:
        print(
            f"oboro: {', '.join(absent)} not installed, so that comparison is left out; pip install 'oboro[bench]'",
            file=sys.stderr,
        )
    if "pandas" in absent:
        return {}
    found: dict[str, Callable[[], Dataset]] = {}
    if "anonypy" not in absent:
        found["anonypy mondrian"] = lambda: _anonypy(data, k, numeric)
    if "anonypyx" not in absent:
        found["anonypyx mondrian"] = lambda: _anonypyx(data, k, numeric, "Mondrian")
        found["anonypyx mdav"] = lambda: _anonypyx(data, k, numeric, "MDAV-generic")
    return found


def _anonypy(data: Dataset, k: int, numeric: frozenset[str]) -> Dataset:
    import anonypy
    import pandas as pd

    found = anonypy.Preserver(_frame(data, numeric), list(data), ROW).anonymize_k_anonymity(k)
    return _in_order(pd.DataFrame(found), data)


def _anonypyx(data: Dataset, k: int, numeric: frozenset[str], algorithm: str) -> Dataset:
    import anonypyx

    how = {"k": k, "algorithm": algorithm, "generalisation_strategy": "human-readable"}
    return _in_order(anonypyx.Anonymiser(_frame(data, numeric), feature_columns=list(data), **how).anonymise(), data)


def _frame(data: Dataset, numeric: frozenset[str]) -> Any:
    """A pandas frame: numbers as floats, categories numbered by appearance, and the number of each row."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for name in data:
        column = data[name]
        if name in numeric:
            columns[name] = column.numbers(name)[column.codes]
        else:
            columns[name] = pd.Categorical(pd.factorize(column.codes)[0])
    return pd.DataFrame({**columns, ROW: np.arange(data.rows)})


def _in_order(released: Any, data: Dataset) -> Dataset:
    """The released texts, a row for each original one; a record that was lost or doubled is an error."""
    released = released.sort_values(ROW)
    if not np.array_equal(released[ROW].to_numpy(), np.arange(data.rows)):
        raise ValueError("the package did not release each record once")
    return Dataset(
        {name: Column.encode(pa.array(released[name].map(str).to_numpy(dtype=object))) for name in data}, data.rows
    )
