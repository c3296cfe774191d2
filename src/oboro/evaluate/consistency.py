"""What a released value may stand for, value by value: the generic relation behind any non-homogeneous release.

- `*` may be anything, a missing value included.
- A text that is also an original value is that value and nothing else.
- A label of the column's hierarchy is any leaf under it.
- `31–38`, `-5 to 3`, `[1.5, 2)`, `[10, 20]`, `<20`, `≥35` are the numbers (or dates) between.
- `{F, M}` is one of these values.
- Everything else fits nobody: a label that is not understood must not pass for a secret that is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from oboro.evaluate.meaning import is_star
from oboro.table.dataset import Column
from oboro.table.hierarchy import Hierarchy
from oboro.table.values import numbers_of

__all__ = ["Reach", "reach", "set_label"]

NUMBER = r"[^\[\]{}()<>≥≤,–]+?"
RANGES = (
    re.compile(rf"^(?P<first>{NUMBER})(?:–| to )(?P<last>{NUMBER})$"),
    re.compile(rf"^\[(?P<first>{NUMBER}), (?P<last>{NUMBER})(?P<open>[\])])$"),
    re.compile(rf"^<(?P<below>{NUMBER})$"),
    re.compile(rf"^≥(?P<first>{NUMBER})$"),
)
PLAIN = re.compile(r'^[^,{}"\s](?:[^,{}"]*[^,{}"\s])?$')


@dataclass(frozen=True, eq=False)
class Reach:
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

    @staticmethod
    def of(ranks: np.ndarray, width: int, reached: Iterable[tuple[int, int] | np.ndarray]) -> Reach:
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
        return Reach(ranks.astype(np.int32), low, high, np.array(row, dtype=np.int64), np.concatenate(bits))


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


def reach(original: Column, released: Column, hierarchy: Hierarchy | None = None) -> Reach:
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
    return Reach.of(order.rank[original.codes], order.width, found)


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
        self.width = int(self.rank.max(initial=-1)) + 1
        self.by_text: dict[str | None, int] = dict(zip(texts, self.rank.tolist(), strict=True))

    def between(self, text: str | None) -> tuple[int, int] | np.ndarray:
        """What a range or a set reaches; nobody, if it is neither."""
        nobody = (1, 0)
        if text is None:
            return nobody
        if text.startswith("{") and text.endswith("}"):
            named = _named(text[1:-1])
            known = [self.by_text[one] for one in named or () if one in self.by_text]
            return np.array(known, dtype=np.int64)
        if self.numbers is None:
            return nobody
        for form in RANGES:
            if match := form.match(text):
                return self._ranks(**{key: value for key, value in match.groupdict().items() if value is not None})
        return nobody

    def _ranks(
        self, first: str | None = None, last: str | None = None, below: str | None = None, open: str = "]"
    ) -> tuple[int, int]:
        assert self.numbers is not None
        try:
            low, high = (
                None if end is None else float(numbers_of(pa.array([end]))[0]) for end in (first, last or below)
            )
        except ValueError:
            return (1, 0)
        least = 0 if low is None else int(np.searchsorted(self.numbers, low, "left"))
        side: Literal["left", "right"] = "left" if below is not None or open == ")" else "right"
        most = self.numbers.size if high is None else int(np.searchsorted(self.numbers, high, side))
        return (least, most - 1) if most > least else (1, 0)


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


def set_label(texts: Iterable[str]) -> str:
    """A set of values in words; what could be misread stands in quotes.

    >>> set_label(["M", "F"]), set_label(["a, b", "c"])
    ('{F, M}', '{"a, b", c}')
    """
    words = (text if PLAIN.match(text) else json.dumps(text, ensure_ascii=False) for text in sorted(texts))
    return "{" + ", ".join(words) + "}"


def _named(inner: str) -> list[str] | None:
    """The values that a set names, or None where it is no set as `set_label` writes it."""
    names, decoder, at = [], json.JSONDecoder(), 0
    while True:
        if inner.startswith('"', at):
            try:
                name, at = decoder.raw_decode(inner, at)
            except json.JSONDecodeError:
                return None
        else:
            end = inner.find(", ", at)
            name, at = inner[at : end if end >= 0 else len(inner)], end if end >= 0 else len(inner)
        names.append(name)
        if at == len(inner):
            return names
        if not inner.startswith(", ", at):
            return None
        at += 2
