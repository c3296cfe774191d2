"""Do released values look like identifiers? Forms of values, names of columns, values that nearly nobody or everybody has.

This finds what was forgotten, such as an e-mail address in a column of remarks. Finding nothing proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.measure.identifying.identifier_forms import MOST_VALUES, NAMES, RESTRICTED_ZIPS, WARNED, forms_of, words_of
from oboro.system.process import on_cores
from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy.levels import text_array
from oboro.table.labels.label_ends import end_number
from oboro.table.labels.notation import label_range
from oboro.table.labels.starred_values import is_star, plain_kind, plain_numbers
from oboro.table.unencoded_columns import UnreadColumn
from oboro.table.values import Kind
from oboro.text import Message

__all__ = ["MOST_VALUES", "WARNED", "Finding", "scan", "unseen"]

MOSTLY = 0.9
FEW = 5  # records that hold a value which nearly nobody has
FEWEST_ROWS = 20  # in a smaller table every value may be one record's
EACH_ITS_OWN = 0.95
FAR = 3.0  # Tukey's outer fence: so many times the middle half's width beyond it
OLDEST = 90  # ages above 89 are one category (45 CFR 164.514(b)(2)(i)(C))


@dataclass(frozen=True)
class Finding:
    """One column in which released records look like one kind of identifier; `named`: only its name says so."""

    kind: str
    column: str
    records: int
    named: bool = False

    @property
    def kind_name(self) -> Message:
        """What such identifiers are called; there are names for the kinds in `WARNED`."""
        return Message(f"measure.identifier.{self.kind}")


def scan(released: Dataset, original: Dataset | None = None) -> list[Finding]:
    """Which columns hold what: forms of identifiers, dates finer than a year, ages above 89, codes that are the original's
    (`code`), values far from all others (`extreme`), categories of few records (`rare`). O(dictionaries · kinds)."""
    known = original.columns if original is not None else {}
    each = on_cores(partial(_scan_column, known), released.columns, released.columns.values(), rows=released.rows)
    return [one for found in each for one in found]


def _scan_column(known: Mapping[str, Column], name: str, column: Column) -> list[Finding]:
    kinds = {**_forms(name, column), **_codes(column, name, known), **_unusual(name, column)}
    found = [Finding(kind, name, count) for kind, count in kinds.items() if count]
    said = [kind for kind in _named(name) if kind not in kinds and kind not in ("zip", "age", "birth")]
    if said and _kept(column, known.get(name)):
        found += [Finding(kind, name, len(column), named=True) for kind in said]
    return found


def unseen(released: Dataset) -> list[str]:
    """The columns that `scan` does not see, because they stayed in their file, or not wholly, because of their size."""
    return [n for n, one in released.columns.items() if isinstance(one, UnreadColumn) or len(one.values) > MOST_VALUES]


def _named(name: str) -> list[str]:
    """What the name of a column says that it holds."""
    words = words_of(name)
    return [kind for kind, pattern in NAMES.items() if re.search(pattern, words)]


def _forms(name: str, column: Column) -> dict[str, int]:
    counts, names = column.counts[:MOST_VALUES], _named(name)
    if pa.types.is_floating(column.values.type):
        return _ages(column) if "age" in names else {}
    numeric = _counts(column)
    texts = text_array(column.values.slice(0, MOST_VALUES))
    found = forms_of(texts, counts, numeric)
    found |= _zips(texts, counts, numeric, "zip" in names)
    if column.kind in (Kind.DATE, Kind.DATETIME):
        found["date"] = int(counts.sum())
    if "age" in names:
        found |= _ages(column)
    if "birth" in names and numeric and (years := plain_numbers(column)) is not None:
        found["over_89"] = int(column.counts[(years > 1800) & (years < date.today().year - OLDEST)].sum())
    return found


def _zips(texts: pa.Array, counts: np.ndarray, numeric: bool, named: bool) -> dict[str, int]:
    """ZIP and postal codes finer than three digits, and three digits that stand for too few people.

    Numbers of five digits are amounts unless the column's name or nearly all of a column of text says otherwise.
    """

    def held(pattern: str) -> int:
        hits = pc.match_substring_regex(texts, pattern).fill_null(False)
        return int(counts[np.asarray(hits.to_numpy(zero_copy_only=False), dtype=bool)].sum())

    whole = held(r"^\d{5}(-\d{4})?$|^\d{3}-\d{4}$")
    if named:
        small = "|".join(zip_.lstrip("0") if numeric else zip_ for zip_ in RESTRICTED_ZIPS)
        return {"zip": whole + held(r"^\d{4}[*xX]?$|^\d{7}$"), "small_zip": held(rf"^({small})[*xX]{{0,2}}$")}
    return {"zip": whole if not numeric and whole >= MOSTLY * counts.sum() else 0}


def _ages(column: Column) -> dict[str, int]:
    """Ages above 89, unless all of them are one category: 90, `90+`, `≥90`."""
    numbers = plain_numbers(column)
    if numbers is None:
        labels = {
            place: label_range(text)
            for place, text in enumerate(column.texts)
            if text is not None and any(map(str.isdigit, text))
        }
        numbers = np.full(len(column.values), np.nan)
        for place, label in labels.items():
            if label is not None and label.first is not None:
                first = end_number(label.first) + label.after
                numbers[place] = 0 if label.last is None and first <= OLDEST else first
    over = numbers >= OLDEST
    return {"over_89": int(column.counts[over].sum()) if (numbers[over] > OLDEST).any() or over.sum() > 1 else 0}


def _codes(column: Column, name: str, known: Mapping[str, Column]) -> dict[str, int]:
    """A column in which nearly every record has a value of its own, the same as in a column of the original."""
    if not _each_its_own(column):
        return {}
    candidates: Iterable[Column] = [known[name]] if name in known else known.values()
    some = text_array(column.values.slice(0, MOST_VALUES))
    for one in candidates:
        if one.kind in (Kind.TEXT, Kind.INTEGER) and len(one.values) >= EACH_ITS_OWN * len(column.values):
            shared = pc.sum(pc.is_in(text_array(one.values), value_set=some)).as_py() or 0
            if shared >= EACH_ITS_OWN * len(some):
                return {"code": len(column)}
    return {}


def _each_its_own(column: Column) -> bool:
    enough = len(column) >= FEWEST_ROWS and len(column.values) > EACH_ITS_OWN * len(column)
    return enough and column.kind in (Kind.TEXT, Kind.INTEGER)


def _counts(column: Column) -> bool:
    """Whether a column holds numbers (and no dates), perhaps with `*` among them."""
    return plain_kind(column) in (Kind.INTEGER, Kind.NUMBER)


def _kept(column: Column, original: Column | None) -> bool:
    """Whether most records hold values that the original column has too; without one nobody can tell."""
    if original is None:
        return True
    same = pc.is_in(text_array(column.values), value_set=text_array(original.values)).to_numpy(zero_copy_only=False)
    return bool(column.counts[np.asarray(same, dtype=bool) & ~is_star(column)].sum() * 2 >= len(column))


def _unusual(name: str, column: Column) -> dict[str, int]:
    """Numbers far from all others, and categories that few records hold: what is idiosyncratic about a person."""
    plain = ~is_star(column) & column.values.is_valid().to_numpy(zero_copy_only=False)
    counts = np.where(plain, column.counts, 0)
    numbers = plain_numbers(column)
    if numbers is not None:
        far = _far(numbers, counts) if _counts(column) else np.zeros(numbers.size, bool)
        if "age" in _named(name):
            far = far | ((numbers > OLDEST) & (counts < FEW))
        return {"extreme": int(counts[far].sum())}
    categories = 1 < np.count_nonzero(counts) <= counts.sum() / FEW
    return {"rare": int(counts[counts < FEW].sum()) if categories else 0}


def _far(numbers: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Beyond Tukey's outer fences, where at most one record in a hundred is: else the column is only skewed."""
    there = counts > 0
    if not there.any():
        return np.zeros(numbers.size, bool)
    order = np.argsort(np.where(there, numbers, np.inf))
    upto = np.cumsum(counts[order]) / counts.sum()
    first, third = (float(numbers[order][np.searchsorted(upto, share)]) for share in (0.25, 0.75))
    reach = FAR * (third - first)
    far = there & ((numbers < first - reach) | (numbers > third + reach))
    return far if reach > 0 and counts[far].sum() * 100 <= counts.sum() else np.zeros(numbers.size, bool)
