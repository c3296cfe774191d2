"""Which original values fit each released value, told by the label alone and never by which record came from which.

That is the relation between people and records that any release leaves open, a non-homogeneous one too.

- `*` may be anything, a missing value included.
- A text that is also an original value is that value and nothing else.
- A label of the column's hierarchy is any leaf under it.
- `31–38`, `[10, 20[`, `<20`, `35+`, `{F, M}`, `130**` and what else `notation` understands is one of the values that it names.
- Everything else fits nobody: a label that is not understood must not pass for a secret that is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oboro.table.dataset import Column
from oboro.table.hierarchy import Hierarchy
from oboro.table.labels.label_ends import end_moment, end_number
from oboro.table.labels.notation import (
    LabelRange,
    beginning_with,
    label_range,
    listed_values,
    masked_values,
    set_values,
)
from oboro.table.labels.starred_values import is_star
from oboro.table.values import Kind

__all__ = ["PossibleValues", "possible_values"]

ONE_DATE = re.compile(r"^\d{4}(-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?)?)?$")
ONE_NUMBER = re.compile(r"^[-+]?\d+(\.\d+)?$")


@dataclass(frozen=True, eq=False)
class PossibleValues:
    """One attribute: originals have ranks; each released dictionary entry reaches the ranks from `low` to `high`, of
    which only those with a bit where `row` says so (−1: all of them). `low > high` reaches nobody."""

    ranks: np.ndarray  # per original row
    low: np.ndarray  # per entry of the released dictionary
    high: np.ndarray
    row: np.ndarray
    bits: np.ndarray

    @property
    def width(self) -> int:
        """How many ranks there are."""
        return int(self.ranks.max(initial=-1)) + 1

    def reaches(self, label: int) -> np.ndarray:
        """Which ranks one entry reaches, as a mask."""
        ranks = np.arange(self.width)
        found = (ranks >= self.low[label]) & (ranks <= self.high[label])
        if self.row[label] >= 0:
            words = self.bits[self.row[label] + ranks // 64]
            found &= (words >> (ranks % 64).astype(np.uint64)) & np.uint64(1) > 0
        return np.asarray(found)

    @staticmethod
    def of(ranks: np.ndarray, width: int, reached: Iterable[tuple[int, int] | np.ndarray]) -> PossibleValues:
        """From one (lowest, highest) pair or one array of ranks for each released entry: any relation at all."""
        words, used = -(-max(1, width) // 64), 0
        ends, row, bits = [], [], [np.zeros(0, dtype=np.uint64)]
        for one in reached:
            table = None if isinstance(one, tuple) else _some(one, words)
            ends.append(one if isinstance(one, tuple) else _ends(one))
            row.append(-1 if table is None else used)
            if table is not None:
                bits.append(table)
                used += words
        low, high = np.array(ends, dtype=np.int32).reshape(-1, 2).T
        return PossibleValues(ranks.astype(np.int32), low, high, np.array(row, dtype=np.int64), np.concatenate(bits))


def _ends(ranks: np.ndarray) -> tuple[int, int]:
    return (int(ranks.min()), int(ranks.max())) if ranks.size else (1, 0)


def _some(ranks: np.ndarray, words: int) -> np.ndarray | None:
    """One bit for each rank, or None where they are all that lies between the first and the last."""
    first, last = _ends(ranks)
    if np.unique(ranks).size == last - first + 1:
        return None
    table = np.zeros(words, dtype=np.uint64)
    np.bitwise_or.at(table, ranks // 64, np.uint64(1) << (ranks % 64).astype(np.uint64))
    return table


def possible_values(original: Column, released: Column, hierarchy: Hierarchy | None = None) -> PossibleValues:
    """What the released values of one column may stand for among its original ones. O(both dictionaries · log)."""
    order = _Order(original)
    tree = _leaves(original, hierarchy, order.rank) if hierarchy is not None else {}
    stars = is_star(released)
    found: list[tuple[int, int] | np.ndarray] = []
    for text, star in zip(released.texts, stars, strict=True):
        if star:
            found.append((0, order.width - 1))
        elif text in order.by_text:
            found.append((order.by_text[text], order.by_text[text]))
        elif text in tree:
            found.append(tree[text])
        else:
            found.append(order.between(text))
    return PossibleValues.of(order.rank[original.codes], order.width, found)


class _Order:
    """The original values in order: numbers by size, text as text, missing last; equal numbers have one rank."""

    def __init__(self, column: Column) -> None:
        texts = column.texts
        self.numbers: np.ndarray | None = None
        if column.kind.numeric:
            numbers = column.numbers()
            self.numbers, self.rank = np.unique(numbers, return_inverse=True)
            if np.isnan(numbers).any():
                self.numbers = self.numbers[: np.count_nonzero(~np.isnan(self.numbers))]
                self.rank = np.minimum(self.rank, self.numbers.size)
        else:
            keys = sorted(set(texts), key=lambda text: (text is None, text or ""))
            places = {text: place for place, text in enumerate(keys)}
            self.rank = np.array([places[text] for text in texts], dtype=np.int64)
            self.numbers = _as_numbers(keys)
        self.width = int(self.rank.max(initial=-1)) + 1
        self.by_text: dict[str | None, int] = dict(zip(texts, self.rank.tolist(), strict=True))
        self.kind = column.kind

    @cached_property
    def _sorted(self) -> tuple[list[str], np.ndarray]:
        """The values as text, in the order of text, and the rank of each."""
        texts = sorted(text for text in self.by_text if text is not None)
        return texts, np.array([self.by_text[text] for text in texts], dtype=np.int64)

    def between(self, text: str | None) -> tuple[int, int] | np.ndarray:
        """What a range, a set or a mask reaches; nobody, if it is none of them."""
        nobody = (1, 0)
        if text is None:
            return nobody
        if self.numbers is not None and self.kind in (Kind.INTEGER, Kind.NUMBER) and ONE_NUMBER.match(text):
            return self._ranks(LabelRange(text, text))  # the same number, written otherwise: 25.0
        if len(places := self._hidden(text)):
            return self._sorted[1][np.array(places, dtype=np.int64)]
        if self.kind in (Kind.DATE, Kind.DATETIME) and ONE_DATE.match(text):
            return self._ranks(LabelRange(text, text))  # the same day, written otherwise, or all of a month or a year
        if self.kind.numeric and (ends := self._own_ends(text)) is not None:
            return ends
        if self.numbers is not None and (named := label_range(text)) is not None:
            return self._ranks(named)
        for names, surely in self._sets(text):
            found = [self.by_text[one] for one in names if one in self.by_text]
            if found and (surely or len(found) == len(names)):
                return np.array(found, dtype=np.int64)
        return nobody

    def _own_ends(self, text: str) -> tuple[int, int] | None:
        """From one value of the column to another, which mean what they mean there: `€1.234 to €7,50`."""
        for mark in (" to ", "–", "〜"):
            first, _, last = text.partition(mark)
            if first in self.by_text and last in self.by_text:
                return self.by_text[first], self.by_text[last]
        return None

    def _hidden(self, text: str) -> Sequence[int]:
        """The values, by their places in order, of which a part is hidden or cut off: a mask, a shorter code, a month."""
        if "*" in text or "＊" in text:
            return masked_values(text, self._sorted[0])
        return () if self.kind in (Kind.INTEGER, Kind.NUMBER) else beginning_with(text, self._sorted[0])

    def _sets(self, text: str) -> Iterator[tuple[list[str], bool]]:
        if text.startswith("{") and text.endswith("}") and (names := set_values(text[1:-1])):
            yield names, True
        yield from listed_values(text)

    def _ranks(self, named: LabelRange) -> tuple[int, int]:
        assert self.numbers is not None
        low = -np.inf if named.first is None else self._place(named.first, last=named.after)
        high = np.inf if named.last is None else self._place(named.last, last=not named.before)
        if np.isnan(low) or np.isnan(high):
            return (1, 0)
        least = int(np.searchsorted(self.numbers, low, "right" if named.after else "left"))
        most = int(np.searchsorted(self.numbers, high, "left" if named.before else "right"))
        return (least, most - 1) if most > least else (1, 0)

    def _place(self, end: str, last: bool) -> float:
        """The end of a range as a number; NaN where it is none."""
        return end_moment(end, self.kind, last) if self.kind in (Kind.DATE, Kind.DATETIME) else end_number(end)


def _as_numbers(keys: list[str | None]) -> np.ndarray | None:
    """Codes of equally many digits, in order, as numbers: `02138` lies between `01000` and `03000`; None for other text."""
    codes = [key for key in keys if key is not None]
    alike = codes and codes[0].isdecimal() and all(len(key) == len(codes[0]) and key.isdecimal() for key in codes)
    return np.array([float(key) for key in codes]) if alike else None


def _leaves(original: Column, hierarchy: Hierarchy, rank: np.ndarray) -> dict[str | None, np.ndarray]:
    """For each label the ranks under it, on the lowest level that has the label."""
    out: dict[str | None, np.ndarray] = {}
    for level in hierarchy.bind(original).levels[1:]:
        labels = Column(level.labels, level.table).texts
        order = np.argsort(level.table, kind="stable")
        parts = np.split(rank[order], np.cumsum(np.bincount(level.table, minlength=len(labels)))[:-1])
        for label, part in zip(labels, parts, strict=True):
            out.setdefault(label, part)
    return out
