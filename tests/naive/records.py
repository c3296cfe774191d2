"""Tables for the tests of record techniques, and what those techniques do, said with loops over rows."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from oboro.data.dataset import Dataset
from oboro.schema import Attribute, Schema
from oboro.techniques import Technique
from oboro.techniques.base import Outcome, Work

Row = tuple[Any, ...]

maybe_integer = st.none() | st.integers(-20, 20)
maybe_text = st.none() | st.sampled_from(["a", "b", "B", "é", "東京", ""])
maybe_date = st.none() | st.dates(date(1999, 12, 25), date(2000, 1, 10))
records = st.lists(st.tuples(maybe_integer, maybe_text, maybe_date), max_size=30)


def table(rows: list[Row]) -> Dataset:
    kinds = {"n": pa.int64(), "t": pa.string(), "d": pa.date32()}
    arrays = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(kinds.values())]
    return Dataset.from_arrow(pa.table(dict(zip(kinds, arrays, strict=True))))


def rows_of(data: Dataset) -> list[Row]:
    return list(zip(*(column.decode().to_pylist() for column in data.columns.values()), strict=True))


def run(technique: Technique, data: Dataset, *, seed: int = 0, **attributes: Any) -> Outcome:
    given_ = {name: Attribute.model_validate(attributes.get(name, {})) for name in data}
    return technique.run(Work(data, Schema(given_), np.random.default_rng(seed)))


def values(outcome: Outcome, name: str) -> list[Any]:
    return list(outcome.data[name].decode().to_pylist())


def explained(technique: Technique, **attributes: Any) -> str:
    return technique.explain(Schema({name: Attribute.model_validate(value) for name, value in attributes.items()}))


def naive_sort(rows: list[Row], keys: list[tuple[int, bool]]) -> list[Row]:
    for place, descending in reversed(keys):
        present = [row for row in rows if row[place] is not None]
        present = sorted(present, key=lambda row: row[place], reverse=descending)  # Python keeps ties in order here too
        rows = present + [row for row in rows if row[place] is None]
    return rows


def naive_condition(value: Any, condition: dict[str, Any]) -> bool:
    tests = {
        "above": lambda bound: value is not None and value > bound,
        "below": lambda bound: value is not None and value < bound,
        "at_least": lambda bound: value is not None and value >= bound,
        "at_most": lambda bound: value is not None and value <= bound,
        "equals": lambda wanted: value is not None and value == wanted,
        "not_equals": lambda wanted: value != wanted,
        "in": lambda wanted: value is not None and value in wanted,
        "not_in": lambda wanted: value not in wanted,
        "missing": lambda wanted: (value is None) == wanted,
        "matches": lambda pattern: value is not None and re.search(pattern, value) is not None,
    }
    return all(tests[operator](operand) for operator, operand in condition.items())


def naive_code(value: Any, bound: Any, top: bool, label: str | None) -> Any:
    if value is None:
        return None
    if label is not None:
        return label if (value >= bound if top else value <= bound) else str(value)
    return (min if top else max)(value, bound)


def naive_total(rows: int, fraction: float) -> int:
    return floor(Fraction(str(fraction)) * rows + Fraction(1, 2))
