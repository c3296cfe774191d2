"""Do released values look like identifiers? Patterns over the dictionaries of the released columns.

This finds what was forgotten, such as an e-mail address in a column of remarks. Finding nothing proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.evaluate.meaning import plain_numbers, text_array
from oboro.table.dataset import Column, Dataset
from oboro.table.values import Kind

__all__ = ["PATTERNS", "Finding", "scan"]

MOSTLY = 0.9
MOST_VALUES = 200_000  # of a larger dictionary so many are looked at
PATTERNS = {
    "email": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "phone": r"^\+?\d{1,4}[-. ]\(?\d{1,4}\)?[-. ]\d{3,4}([-. ]\d{2,4})?$|^0\d{9,10}$",
    "ssn": r"^\d{3}-\d{2}-\d{4}$",
    "url": r"https?://",
    "ip": r"^(\d{1,3}\.){3}\d{1,3}$|^[0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4}){7}$",
    "card": r"^\d{4}[- ]?\d{4}[- ]?\d{4}[- ]?\d{4}$",
    "zip": r"^\d{5}(-\d{4})?$|^\d{3}-\d{4}$",
}


@dataclass(frozen=True)
class Finding:
    """One column in which released records look like one kind of identifier."""

    kind: str
    column: str
    records: int


def scan(released: Dataset) -> list[Finding]:
    """Which columns hold values of which kind: the patterns, dates finer than a year, ages above 89. O(dictionaries)."""
    return [Finding(kind, name, count) for name in released for kind, count in _kinds(name, released[name]).items()]


def _kinds(name: str, column: Column) -> dict[str, int]:
    few = slice(0, MOST_VALUES)
    counts = column.counts[few]
    texts = text_array(column.values.slice(0, MOST_VALUES)) if not _plain_number(column) else pa.nulls(0, pa.string())
    found = {}
    for kind, pattern in PATTERNS.items():
        if len(texts):
            hit = pc.match_substring_regex(texts, pattern).fill_null(False).to_numpy(zero_copy_only=False)
            found[kind] = int(counts[np.asarray(hit, dtype=bool)].sum())
    if column.kind is Kind.INTEGER and found.get("zip", 0) < MOSTLY * counts.sum():
        found.pop("zip", None)  # amounts some of which happen to have five digits
    if column.kind in (Kind.DATE, Kind.DATETIME):
        found["date"] = int(counts.sum())
    elif len(texts):
        day = pc.match_substring_regex(texts, r"^(1[89]|20)\d\d[-/.]\d{1,2}").fill_null(False)
        found["date"] = int(counts[np.asarray(day.to_numpy(zero_copy_only=False), dtype=bool)].sum())
    if "age" in name.lower().split("_") or "年齢" in name:
        numbers = plain_numbers(column)
        found["over_89"] = 0 if numbers is None else int(column.counts[numbers > 89].sum())
    return {kind: count for kind, count in found.items() if count}


def _plain_number(column: Column) -> bool:
    """Whether the values are stored as numbers, so that no pattern of text can match; text that looks like numbers is text."""
    return bool(pa.types.is_floating(column.values.type))
