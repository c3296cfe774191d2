"""Distributions of a column before and after, without disclosing values: released labels only, and no small cells.

A report may travel further than the table it describes. So a label is shown only where it is released and where enough
rows have it, before and after; rarer labels are counted together as `(other)`. Numbers and dates are counted in bins
with round edges; the outermost bins are open, so that no extreme value shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict

from oboro.data.column import Column
from oboro.hierarchies.hierarchy import Hierarchy, text_array
from oboro.hierarchies.recoding import positions
from oboro.notations.kinds import STAR, Kind, kind_of, numbers_of
from oboro.notations.texts import is_text
from oboro.text import Message

__all__ = ["MISSING", "OTHER", "SPECIAL", "SUPPRESSED", "Bar", "Distribution", "compare"]


MISSING, SUPPRESSED, OTHER = "(missing)", "*", "(other)"
SPECIAL = frozenset({MISSING, SUPPRESSED, OTHER})
MOST_CATEGORIES = 12
MOST_BINS = 24
LONGEST_LABEL = 40
DAY = 86_400_000_000  # microseconds


class Bar(BaseModel):
    """Rows with one label, or in one bin. `None`: too few to say, or not comparable."""

    model_config = ConfigDict(frozen=True)

    label: str
    before: int | None
    after: int | None


class Distribution(BaseModel):
    """One column before and after. A `sequence` has an order of its own, `categories` come by how common they are."""

    model_config = ConfigDict(frozen=True)

    shape: Literal["categories", "sequence"]
    bars: list[Bar]
    note: Message | None = None

    @property
    def compared(self) -> bool:
        """Whether the original could be counted under the released labels."""
        return any(bar.before is not None for bar in self.bars)

    @property
    def drawable(self) -> bool:
        """Whether there is anything to see: a tenth of the rows or more have labels that are shown."""
        named = sum(bar.after or 0 for bar in self.bars if bar.label not in SPECIAL)
        return named * 10 >= sum(bar.after or 0 for bar in self.bars) > 0


@dataclass(frozen=True, eq=False)
class _Parts:
    """A column's dictionary without missing and suppressed, with the rows of each entry."""

    values: pa.Array
    counts: np.ndarray
    missing: int
    suppressed: int

    @staticmethod
    def of(column: Column) -> _Parts:
        missing = column.values.is_null().to_numpy(zero_copy_only=False)
        star = np.zeros(len(missing), dtype=bool)
        if is_text(column.values):
            star = pc.equal(column.values, STAR).fill_null(False).to_numpy(zero_copy_only=False)
        plain = ~missing & ~star & (column.counts > 0)
        counts = column.counts
        return _Parts(column.values.filter(pa.array(plain)), counts[plain], counts[missing].sum(), counts[star].sum())

    @property
    def kind(self) -> Kind:
        return kind_of(self.values)

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    def at_least(self, smallest: int) -> _Parts:
        """Only the entries that many rows hold."""
        large = self.counts >= smallest
        return _Parts(self.values.filter(pa.array(large)), self.counts[large], self.missing, self.suppressed)


@dataclass(frozen=True, eq=False)
class _Tally:
    """Rows per label, before (None where it cannot be said) and after."""

    labels: list[str]
    before: np.ndarray | None
    after: np.ndarray

    def put(self, order: Sequence[int]) -> _Tally:
        chosen = np.asarray(order, dtype=np.int64)
        before = None if self.before is None else self.before[chosen]
        return _Tally([self.labels[i] for i in order], before, self.after[chosen])


def compare(
    original: Column | None, released: Column, *, smallest: int = 5, hierarchy: Hierarchy | None = None
) -> Distribution:
    """Count both columns under the released labels; `hierarchy` (of the original) tells which label a value became."""
    after = _Parts.of(released)
    before = None if original is None else _Parts.of(original)
    if before is not None and _on_one_line(before.kind, after.kind) and len(after.values) > MOST_CATEGORIES:
        return _binned(before, after, smallest)
    return _labelled(original, before, after, smallest, hierarchy)


def _on_one_line(before: Kind, after: Kind) -> bool:
    """Whether both can be put into the same bins: means of whole numbers need not be whole."""
    numbers = (Kind.INTEGER, Kind.NUMBER)
    return (before in numbers and after in numbers) or (after.numeric and before is after)


# Labels


def _labelled(
    original: Column | None, before: _Parts | None, after: _Parts, smallest: int, hierarchy: Hierarchy | None
) -> Distribution:
    # Nothing below is ever written out: a column of names costs nothing. It goes by the release alone: a label left out because
    # few held it before would tell whoever has the release that few held it before.
    large = after.at_least(smallest)
    labels = text_array(large.values)
    earlier = None if original is None or before is None else _under_labels(original, before, labels, hierarchy)
    shown, in_order = _shown(_Tally(labels.to_pylist(), earlier, large.counts))
    rows_before = None if earlier is None or before is None else before.rows
    bars = [*_bars(shown, smallest), *_rest(shown, rows_before, after.rows, smallest)]
    bars += _specials(before, after, smallest, compared=earlier is not None)
    merged = any(bar.label == OTHER for bar in bars)
    note = Message("section.columns.rare_together", smallest=smallest) if merged else None
    return Distribution(shape="sequence" if in_order else "categories", bars=bars, note=note)


def _shown(tally: _Tally) -> tuple[_Tally, bool]:
    """The labels that may be shown, in order, and whether that order is their own.

    Small cells go first of all: even the ends of a run of labels must be labels that many rows hold.
    """
    places = [place for label in tally.labels if (place := _position(label)) is not None]
    if tally.labels and len(places) == len(tally.labels):
        return _in_runs(tally.put(sorted(range(len(places)), key=lambda i: (places[i], tally.labels[i])))), True
    common = sorted(range(len(tally.labels)), key=lambda i: (-int(tally.after[i]), tally.labels[i]))
    return tally.put(common[:MOST_CATEGORIES]), False


def _under_labels(original: Column, before: _Parts, labels: pa.Array, hierarchy: Hierarchy | None) -> np.ndarray | None:
    """The original's rows under the released labels: on the hierarchy's level that has them all, or as they are. A label for
    everything tells nothing of what there was: nobody had it."""
    if hierarchy is not None and not hierarchy.levels[0].labels.equals(original.values):
        hierarchy = hierarchy.bind(original)
    there = ~original.values.is_null().to_numpy(zero_copy_only=False)
    for level in hierarchy.levels if hierarchy is not None else ():
        under = np.bincount(level.table[there], minlength=len(level.labels))
        rows = np.bincount(level.table, weights=original.counts, minlength=len(level.labels))
        rows[under == max(2, there.sum())] = 0
        if (found := _looked_up(labels, level.labels, rows)) is not None:
            return found
    return _looked_up(labels, before.values, before.counts)


def _looked_up(labels: pa.Array, values: pa.Array, rows: np.ndarray) -> np.ndarray | None:
    """How many rows hold each label, or None if one is not among the values."""
    place = positions(labels, text_array(values))
    return None if (place < 0).any() else rows[place].astype(np.int64)


def _bars(tally: _Tally, smallest: int) -> list[Bar]:
    counts = [None] * len(tally.labels) if tally.before is None else tally.before.tolist()
    before = [None if count is None else _cell(count, smallest) for count in counts]
    return [
        Bar(label=_short(label), before=earlier, after=later)
        for label, earlier, later in zip(tally.labels, before, tally.after.tolist(), strict=True)
    ]


def _rest(shown: _Tally, rows_before: int | None, rows_after: int, smallest: int) -> list[Bar]:
    after = rows_after - int(shown.after.sum())
    before = None
    if (
        rows_before is not None and shown.before is not None
    ):  # with those before that are too few to be shown on their own
        before = _cell(rows_before - int(shown.before[shown.before >= smallest].sum()), smallest)
    return [Bar(label=OTHER, before=before, after=after)] if after or before else []


def _specials(before: _Parts | None, after: _Parts, smallest: int, compared: bool) -> list[Bar]:
    """Missing and suppressed values, where there are any."""
    pairs = (
        (MISSING, before.missing if before else 0, after.missing),
        (SUPPRESSED, before.suppressed if before else 0, after.suppressed),
    )
    return [
        Bar(label=label, before=_cell(earlier, smallest) if compared else None, after=_cell(later, smallest))
        for label, earlier, later in pairs
        if earlier or later
    ]


def _cell(count: int, smallest: int) -> int | None:
    return int(count) if count == 0 or count >= smallest else None


def _position(label: str) -> float | None:
    """Where a label that begins with a number stands on the line: `30–39`, `<20`, `≥90`, `1987-06`; None for a word.

    >>> _position("30–39"), _position("[90, 100["), _position("Tokyo")
    (30.0, 90.0, None)
    """
    found = re.match(r"([<≤>≥=\[(\s]*)(-?\d+(?:\.\d+)?)(?:[-/](\d{1,2})\b)?", label)
    if found is None:
        return None
    below = -0.5 if found.group(1).startswith(("<", "≤")) else 0.0
    within = int(found.group(3)) / 1000 if found.group(3) else 0.0  # months and quarters; the order is all that matters
    return float(found.group(2)) + within + below


def _in_runs(tally: _Tally) -> _Tally:
    """At most `MOST_BINS` · 2 bars: neighbours are counted together, under the first label of each run."""
    length = -(-len(tally.labels) // (MOST_BINS * 2))
    if length <= 1:
        return tally
    starts = np.arange(0, len(tally.labels), length)
    before = None if tally.before is None else np.add.reduceat(tally.before, starts)
    labels = [f"{tally.labels[start]} …" for start in starts]
    return _Tally(labels, before, np.add.reduceat(tally.after, starts))


def _short(label: str) -> str:
    """Both ends of a long label: many differ in their last letters only."""
    end = LONGEST_LABEL // 3
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - end - 1]}…{label[-end:]}"


# Numbers and dates


def _binned(before: _Parts, after: _Parts, smallest: int) -> Distribution:
    edges, name = _edges(numbers_of(after.values), after.counts, after.kind)
    counts = [_histogram(numbers_of(part.values), part.counts, edges) for part in (before, after)]
    labels = [f"< {name(edges[1])}", *map(name, edges[1:-2]), f"≥ {name(edges[-2])}"]
    bars = [
        Bar(label=label, before=_cell(a, smallest), after=_cell(b, smallest))
        for label, a, b in zip(labels, counts[0].tolist(), counts[1].tolist(), strict=True)
    ]
    hidden = any(bar.before is None or bar.after is None for bar in bars)
    note = Message("section.columns.small_bins", smallest=smallest) if hidden else None
    return Distribution(shape="sequence", bars=[*bars, *_specials(before, after, smallest, True)], note=note)


def _edges(numbers: np.ndarray, counts: np.ndarray, kind: Kind) -> tuple[np.ndarray, Callable[[float], str]]:
    """Edges of the bins, and how an edge is written."""
    low, middle, high = _quantiles(numbers, counts, (0.01, 0.5, 0.99))
    if kind is Kind.DATE:
        return _date_edges(low, high)
    if kind is Kind.DATETIME:
        return _moment_edges(low, high)
    # A long tail of large numbers would leave nearly all rows in the first of even bins.
    steep = low > 0 and (middle - low) * 8 < high - low
    return _growing_edges(low, high) if steep else _even_edges(low, high, kind), _number


def _quantiles(numbers: np.ndarray, counts: np.ndarray, shares: Sequence[float]) -> list[float]:
    order = np.argsort(numbers)
    upto = np.cumsum(counts[order]) / counts.sum()
    place = np.searchsorted(upto, np.asarray(shares)).clip(0, numbers.size - 1)
    return [float(number) for number in numbers[order][place]]


def _even_edges(low: float, high: float, kind: Kind) -> np.ndarray:
    """Round edges: steps of 1, 2 or 5 times a power of ten, whole for integers."""
    rough = max((high - low) / (MOST_BINS - 4), abs(high) * 1e-12, 1e-300)
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    step = max(step, 1.0) if kind is not Kind.NUMBER else step
    first, last = np.floor(low / step), np.floor(high / step) + 1
    return np.asarray(np.arange(first, max(last, first + 3) + 1) * step)


def _growing_edges(low: float, high: float) -> np.ndarray:
    """1, 1.5, 2, 3, 5, 7 times powers of ten."""
    powers = 10.0 ** np.arange(np.floor(np.log10(low)) - 1, np.ceil(np.log10(high)) + 1)
    every = (powers[:, None] * np.array([1, 1.5, 2, 3, 5, 7])).ravel()
    first, last = np.searchsorted(every, low, side="right") - 1, np.searchsorted(every, high, side="right")
    return np.asarray(every[first : max(last, first + 3) + 1])


def _date_edges(low: float, high: float) -> tuple[np.ndarray, Callable[[float], str]]:
    """Edges at the first of a month, or at days where the whole range is short."""
    start, end = (np.datetime64(int(day), "D") for day in (low, high))
    if end - start < np.timedelta64(70, "D"):
        step = max(1, int((high - low) // (MOST_BINS - 4)))
        return np.arange(low, max(high, low + 3 * step) + step, step), _day
    first, last = (int(day.astype("M8[M]").astype(int)) for day in (start, end))
    widths = (1, 3, 6, 12, 24, 60, 120, 240, 1200)
    width = next((width for width in widths if (last - first) / width <= MOST_BINS - 2), 12_000)
    first = first // width * width
    marks = first + width * np.arange(max((last - first) // width + 2, 4))
    return marks.astype("M8[M]").astype("M8[D]").astype(np.float64), _month if width < 12 else _year


def _moment_edges(low: float, high: float) -> tuple[np.ndarray, Callable[[float], str]]:
    """Days where there are enough of them, else round parts of a day; moments count in microseconds."""
    if high - low >= 4 * DAY:
        edges, name = _date_edges(low // DAY, high // DAY)
        return edges * DAY, lambda edge: name(edge / DAY)
    steps = (1, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600)  # seconds
    step = 1e6 * next((step for step in steps if high - low <= (MOST_BINS - 2) * step * 1e6), steps[-1])
    first, last = np.floor(low / step), np.floor(high / step) + 1
    return np.arange(first, max(last, first + 3) + 1) * step, _moment


def _histogram(numbers: np.ndarray, counts: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Rows per bin; the first and the last bin are open."""
    place = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    return np.bincount(place, weights=counts, minlength=len(edges) - 1).astype(np.int64)


def _number(edge: float) -> str:
    return f"{edge:,.6g}" if abs(edge) < 1e6 else f"{edge / 1e6:,.6g}M"


def _day(edge: float) -> str:
    return str(np.datetime64(int(edge), "D"))


def _month(edge: float) -> str:
    return str(np.datetime64(int(edge), "D").astype("M8[M]"))


def _year(edge: float) -> str:
    return str(np.datetime64(int(edge), "D").astype("M8[Y]"))


def _moment(edge: float) -> str:
    return str(np.datetime64(int(edge), "us").astype("M8[s]")).replace("T", " ").removesuffix(":00")
