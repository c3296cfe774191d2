"""Months and quarters with the year first, such as `2024-05`, `2024/5` and `2024-Q2`.

As values they are text: released months are written so too, and there each stands for all of its days.
"""

from __future__ import annotations

import pyarrow as pa

from oboro.system import arrow_functions as pc

__all__ = ["names_periods", "read_months"]

MONTH = r"^([0-9]{4})[-/](0?[1-9]|1[0-2])$"
PERIOD = r"^[0-9]{4}([-/](0?[1-9]|1[0-2])|-?Q[1-4])$"


def read_months(texts: pa.Array) -> pa.Array | None:
    """The first day of each month; None where a value is no month.

    >>> read_months(pa.array(["2024-05", None, "2023/1"])).to_pylist()[::2]
    [datetime.date(2024, 5, 1), datetime.date(2023, 1, 1)]
    >>> read_months(pa.array(["2024-05", "2024-05-17"])) is None
    True
    """
    texts = texts.cast(pa.string())
    if not _all(texts, MONTH):
        return None
    days = pc.replace_substring_regex(texts, MONTH, r"\1-\2-01")
    return pc.cast(pc.replace_substring_regex(days, "-([0-9])-", r"-0\1-"), pa.date32())


def names_periods(texts: pa.Array) -> bool:
    """Whether all values are months or quarters.

    >>> names_periods(pa.array(["2024-Q1", "2023-Q4"])), names_periods(pa.array(["2024"]))
    (True, False)
    """
    return _all(texts.cast(pa.string()), PERIOD)


def _all(texts: pa.Array, pattern: str) -> bool:
    """Of the values that there are, of which there is one at least; the first hundred settle nearly every other column."""
    known = texts.drop_null()
    return len(known) > 0 and all(
        pc.all(pc.match_substring_regex(some, pattern)).as_py() for some in (known.slice(0, 100), known)
    )
