"""Charts as inline SVG: drawn once, readable on light and dark paper, without scripts or fonts to load.

Colours are CSS variables of the page (`--before`, `--after`, `--muted`, `--line`), so that one chart serves both.
Before and after differ in width as well as in colour, for readers who print in grey or see few colours.

The last parameter of every chart is the language of its words: labels from tables are the same in all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from itertools import accumulate, takewhile
from math import ceil, floor, log10
from typing import Any, NamedTuple
from unicodedata import east_asian_width

from oboro.report.distributions import MISSING, OTHER, SPECIAL, Bar, Distribution
from oboro.text import Message, say

__all__ = [
    "LINE",
    "MUTED",
    "WIDTH",
    "Axis",
    "bar",
    "class_sizes",
    "clip",
    "distribution",
    "dot",
    "heat",
    "intervals",
    "lattice",
    "line",
    "path",
    "picture",
    "room",
    "timeline",
    "titled",
    "written",
]


# SVG elements ---------------------------------------------------------------------------------------------------------
# SVG text made of lines, bars, dots and words, and axes with round figures.
#
# A drawing library takes longer to load than all charts of a report take to be drawn here. Words are measured by their
# letters: the reader's fonts are not known, so some room is left beside them.


MUTED, LINE = "var(--muted)", "var(--line)"
LETTER = 6.9  # pixels, of 12-pixel letters on the average; Chinese and Japanese ones are as wide as they are high


def room(said: str) -> float:
    """Return the width of some words, in pixels."""
    return sum(12.5 if east_asian_width(letter) in "WF" else LETTER for letter in said if letter != "\u200b")


class Axis(NamedTuple):
    """From numbers to pixels: `low` … `high` over `start` … `end`, and where its figures stand."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    percent: bool = False

    @classmethod
    def over(
        cls, values: Iterable[float], start: float, end: float, *, percent: bool = False, limits: Sequence[float] = ()
    ) -> Axis:
        """Over some values and 0, up to a round figure; or between given limits."""
        seen = [0.0, *values]
        low, high = limits or (min(seen), max(seen))
        step = _step((high - low) or 1.0)
        if not limits:
            low, high = floor(low / step) * step, ceil(round(high / step, 9)) * step or step
        first, last = ceil(round(low / step, 9)), floor(round(high / step, 9))
        return cls(low, high, start, end, tuple(i * step for i in range(first, last + 1)), percent)

    def __call__(self, value: float) -> float:
        """Where a number stands."""
        return self.start + (value - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)

    def figures(self) -> list[tuple[float, str]]:
        """Where each figure stands, and how it is written: with as many digits as tell them apart."""
        scale = 100 if self.percent else 1
        step = scale * (self.ticks[1] - self.ticks[0]) if len(self.ticks) > 1 else 1.0
        digits = max(0, -floor(log10(step) + 1e-9))
        shown = [f"{one * scale:,.{digits}f}" for one in self.ticks]
        plain = [one.rstrip("0").rstrip(".") if digits else one for one in shown]
        return [
            (self(one), f"{said}{'%' if self.percent else ''}") for one, said in zip(self.ticks, plain, strict=True)
        ]


def _step(length: float, count: int = 4) -> float:
    """1, 2 or 5 times a power of ten, so that about `count` of them make up a length."""
    power = 10.0 ** floor(log10(length / count))
    part = length / count / power
    return power * (10 if part >= 7.07 else 5 if part >= 3.16 else 2 if part >= 1.41 else 1)


def written(x: float, y: float, said: str, anchor: str = "middle", more: str = f' fill="{MUTED}"') -> str:
    """Words; `anchor` says which end of them stands there."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(said)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str = LINE, width: float = 1) -> str:
    """A straight line."""
    return f'<path d="M{x1:.1f},{y1:.1f}L{x2:.1f},{y2:.1f}" stroke="{colour}" stroke-width="{width:g}"/>'


def path(points: Sequence[tuple[float, float]], colour: str) -> str:
    """A line through points."""
    through = "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<path class="mark" d="M{through}" fill="none" stroke="{colour}" stroke-width="2"/>'


def bar(x: float, y: float, width: float, height: float, colour: str, more: str = "") -> str:
    """A filled rectangle."""
    return f'<path class="mark" d="M{x:.1f},{y:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}Z" fill="{colour}"{more}/>'


def dot(x: float, y: float, radius: float, colour: str, fill: str) -> str:
    """A circle."""
    return f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}" stroke="{colour}" stroke-width="2"/>'


def titled(said: str, *marks: str) -> str:
    """Marks with the words that a pointer or a screen reader gets of them."""
    return f"<g><title>{escape(said)}</title>{''.join(marks)}</g>"


def picture(width: float, height: float, *parts: str) -> str:
    """The whole picture."""
    size = f'width="{ceil(width)}" height="{ceil(height)}" viewBox="0 0 {ceil(width)} {ceil(height)}"'
    style = 'font-family="system-ui, sans-serif" font-size="12px"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="marks" {size} {style}>{"".join(parts)}</svg>'


# Charts ---------------------------------------------------------------------------------------------------------------


WIDTH = 440  # of a picture of which two stand side by side; also what a phone shows without shrinking much
HEIGHT = 150  # of standing bars, points and lines, without what is written below
LABELS = 142  # room for the labels of lying bars
EDGE, BELOW = 10, 22  # free at the sides; the line of figures or labels below
BEFORE, AFTER = "var(--before)", "var(--after)"
SIDES = (
    ("before", BEFORE, 0.86),
    ("after", AFTER, 0.44),
)  # field, colour, part of the band: what was stands behind what is
SHARE_OF_ROWS, ROWS_IN_CLASS, SHARE_RIGHT, SUM_OF_LEVELS, LOSS, SECONDS = (
    Message(f"chart.{name}")
    for name in ("share_of_rows", "rows_in_class", "share_right", "sum_of_levels", "loss", "seconds")
)
OURS = {MISSING: Message("chart.missing"), OTHER: Message("chart.other")}


def distribution(column: Distribution, lang: str) -> str:
    """One column before and after, in percent of the rows. What has no place in a sequence is not drawn into it."""
    rows = _shares(column.bars, lang)
    if column.shape == "categories":
        return _lying(rows, lang)
    return _standing([row for row, bar in zip(rows, column.bars, strict=True) if bar.label not in SPECIAL], lang)


def class_sizes(bars: Sequence[Bar], width: int, lang: str) -> str:
    """Draw the number of rows in classes of each size, before and after."""
    return _standing(_shares(bars, lang), lang, title=say(ROWS_IN_CLASS, lang), width=width)


def intervals(rows: list[dict[str, Any]], width: int, lang: str) -> str:
    """Shares with their intervals, attack and control on one line for each label; rows of one line have the same `place`."""
    labels = {row["place"]: say(row["label"], lang) for row in rows}
    shown = dict(zip(labels, _distinct(labels.values()), strict=True))
    x = Axis.over((), LABELS + 14, width - 26, percent=True, limits=(0, 1))
    height, parts = 30.0 * len(shown), []
    places = {place: 30.0 * i + 15 for i, place in enumerate(shown)}
    for side, colour, radius, offset in (("control", BEFORE, 4, 5), ("attack", AFTER, 4.7, -3)):
        for row in (one for one in rows if one["side"] == side):
            y = places[row["place"]] + offset
            said = f"{labels[row['place']]}: {row['value']:.1%} ({row['low']:.1%}–{row['high']:.1%})"
            span = line(x(row["low"]), y, x(row["high"]), y, colour, 2)
            parts.append(titled(said, span, dot(x(row["value"]), y, radius, colour, colour)))
    names = [written(LABELS, places[place] + 4, name, "end") for place, name in shown.items()]
    return picture(width - 4, height + 2 * BELOW, *_across(x, height, say(SHARE_RIGHT, lang)), *names, *parts)


def heat(columns: Sequence[str], matrix: Sequence[Sequence[float]], lang: str) -> str:
    """A matrix of numbers from 0 to 1 as squares, the darker the larger; few columns have their numbers written in."""
    names = _distinct(columns, 13)
    side = min(32, (WIDTH - 120) // max(1, len(names)))
    wide = max([96.0, *map(room, names)])
    left, parts, long = wide + EDGE, [], side * len(names)
    for i, name in enumerate(names):
        middle = side * i + side / 2
        parts.append(written(left - 6, middle + 4, name, "end"))
        turned = f' fill="var(--muted)" transform="rotate(-60 {left + middle:.1f} {long + 14})"'
        parts.append(written(left + middle + 4, long + 14, name, "end", turned))
        for j in range(len(names)):
            if i != j:
                said = f"{columns[i]}, {columns[j]}: {matrix[i][j]:.2f}"
                parts.append(titled(said, *_square(left + side * j, side * i, side, matrix[i][j])))
    return picture(left + long + EDGE, long + 0.9 * wide + 24, *parts)


def _square(x: float, y: float, side: float, value: float) -> list[str]:
    """One field of a matrix; the number is in it where there is room."""
    found = [bar(x, y, side, side, AFTER, f' opacity="{0.06 + 0.94 * min(1.0, max(0.0, value)):.2f}"')]
    if side >= 28:
        ink = f' font-size="11px" fill="var(--{"card" if value > 0.55 else "ink"})"'
        found.append(written(x + side / 2, y + side / 2 + 4, f"{value:.2f}".lstrip("0"), more=ink))
    return found


def lattice(points: list[dict[str, Any]], lang: str) -> str:
    """Combinations of levels by how far they generalize and what they lose; the chosen one is filled."""
    heights, losses = ([point[name] for point in points] for name in ("height", "loss"))
    first, last, free = min(heights), max(heights), (max(losses) - min(losses)) * 0.12 or 0.05
    y = Axis.over((), HEIGHT, 8, limits=(max(0.0, min(losses) - free), max(losses) + free))
    ticks = tuple(map(float, range(first, last + 1, -(-(last - first + 1) // 10))))
    x = Axis(first - 0.6, last + 0.6, _beside(y), WIDTH - EDGE, ticks)
    ordered = sorted(points, key=lambda point: bool(point["chosen"]))
    dots = [
        dot(x(one["height"]), y(one["loss"]), 6, AFTER, AFTER if one["chosen"] else "transparent") for one in ordered
    ]
    axes = [*_up(y, WIDTH - EDGE, say(LOSS, lang)), *_across(x, HEIGHT, say(SUM_OF_LEVELS, lang))]
    return picture(WIDTH, HEIGHT + 2 * BELOW, *axes, *dots)


def timeline(rows: list[dict[str, Any]], lang: str) -> str:
    """One figure over the seconds of a stream."""
    y = Axis.over([row["value"] for row in rows], HEIGHT, 8)
    x = Axis.over([row["seconds"] for row in rows], _beside(y, titled=False), WIDTH - 2 * EDGE)
    points = [(x(row["seconds"]), y(row["value"])) for row in rows]
    axes = [*_up(y, WIDTH - 2 * EDGE), *_across(x, HEIGHT, say(SECONDS, lang))]
    return picture(WIDTH, HEIGHT + 2 * BELOW, *axes, path(points, AFTER))


def clip(label: str, columns: int = 20) -> str:
    """A label cut to a width in letters; Chinese and Japanese letters count twice.

    >>> clip("東京都世田谷区桜町3丁目", 12), clip("nurse")
    ('東京都世田…', 'nurse')
    """
    widths = list(accumulate(2 if east_asian_width(letter) in "WF" else 1 for letter in label))
    if not widths or widths[-1] <= columns:
        return label
    return label[: sum(width < columns for width in widths)] + "…"


def _distinct(labels: Iterable[str], columns: int = 20) -> list[str]:
    """Labels cut short that still differ: of those that begin alike, the part where they part is shown."""
    full = list(labels)
    cut = [clip(label, columns) for label in full]
    alike = [label for label, short in zip(full, cut, strict=True) if cut.count(short) > 1]
    start = _same_start(alike) if len(set(alike)) > 1 else 0
    if start > 3:
        cut = [
            clip(f"…{label[start - 3 :]}", columns) if label in alike else short
            for label, short in zip(full, cut, strict=True)
        ]
    seen = Counter[str]()
    texts = []
    for text in cut:
        texts.append(text + "\u200b" * seen[text])  # of no width: a chart would take equal labels for one
        seen[text] += 1
    return texts


def _same_start(labels: Sequence[str]) -> int:
    """How many letters all begin with."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*labels, strict=False)))


def _shares(bars: Sequence[Bar], lang: str) -> list[dict[str, Any]]:
    """The rows of a chart. Before and after each add up to one, so that a sample can be held against the whole."""
    before, after = (sum(getattr(bar, side) or 0 for bar in bars) or 1 for side in ("before", "after"))
    labels = _distinct(say(OURS.get(bar.label, bar.label), lang) for bar in bars)
    return [
        {"label": text, "before": (bar.before or 0) / before, "after": (bar.after or 0) / after}
        for text, bar in zip(labels, bars, strict=True)
    ]


def _said(row: dict[str, Any]) -> str:
    return f"{row['label']}: {row['before']:.1%} → {row['after']:.1%}"


def _lying(rows: list[dict[str, Any]], lang: str) -> str:
    """Bars from left to right, with room for words."""
    x = Axis.over(_both(rows), LABELS + 6, WIDTH - 2 * EDGE, percent=True)
    height, parts = 20.0 * len(rows), []
    for i, row in enumerate(rows):
        parts.append(written(LABELS, 20 * i + 14, row["label"], "end"))
        spans = [(20 * (i + (1 - part) / 2), 20 * part, row[side], colour) for side, colour, part in SIDES]
        parts.append(titled(_said(row), *(bar(x(0), y, x(share) - x(0), thick, c) for y, thick, share, c in spans)))
    return picture(WIDTH, height + 2 * BELOW, *_across(x, height, say(SHARE_OF_ROWS, lang)), *parts)


def _standing(rows: list[dict[str, Any]], lang: str, title: str | None = None, width: int = WIDTH) -> str:
    """Bars side by side, in the order of their labels."""
    y = Axis.over(_both(rows), HEIGHT, 8, percent=True)
    outer = [room(row["label"]) / 2 for row in rows] or [0.0]
    left = max(_beside(y), outer[0])
    band = (width - left - max(EDGE, outer[-1] / 2)) / max(1, len(rows))
    parts = list(_up(y, left + band * len(rows), say(SHARE_OF_ROWS, lang)))
    for i, row in enumerate(rows):
        spans = [(left + band * (i + (1 - part) / 2), band * part, row[side], c) for side, c, part in SIDES]
        parts.append(
            titled(_said(row), *(bar(x, y(share), thick, HEIGHT - y(share), c) for x, thick, share, c in spans))
        )
    parts += [written(left + band * (i + 0.5), HEIGHT + 16, rows[i]["label"]) for i in _apart(rows, band)]
    parts += [] if title is None else [written(left + band * len(rows) / 2, HEIGHT + 16 + BELOW - 4, title)]
    last = left + band * len(rows) + max(EDGE, outer[-1] - band / 2)
    return picture(max(width, last), HEIGHT + (BELOW if title is None else 2 * BELOW), *parts)


def _both(rows: list[dict[str, Any]]) -> list[float]:
    return [row[side] for row in rows for side, _, _ in SIDES]


def _apart(rows: list[dict[str, Any]], band: float) -> range:
    """Which labels are shown: all, or every second, fourth … so that none touches the next."""
    widths, step = [room(row["label"]) for row in rows], 1
    while step < len(rows) and any(
        (one + other) / 2 + 8 > band * step for one, other in zip(widths[::step], widths[step::step], strict=False)
    ):
        step *= 2
    return range(0, len(rows), step)


# Axes -----------------------------------------------------------------------------------------------------------------


def _beside(y: Axis, titled: bool = True) -> float:
    """How much room the figures of an upright axis need at their left, with a title along them."""
    return max(room(said) for _, said in y.figures()) + 8 + (18 if titled else 4)


def _up(y: Axis, end: float, title: str | None = None) -> list[str]:
    """Figures at the left, a line across for each, and the title along them."""
    start = _beside(y, title is not None)
    found = [line(start, at, end, at) for at, _ in y.figures()]
    found += [written(start - 6, at + 4, said, "end") for at, said in y.figures()]
    turned = f' fill="var(--muted)" transform="rotate(-90 12 {HEIGHT / 2})"'
    return found if title is None else [*found, written(12, HEIGHT / 2, title, more=turned)]


def _across(x: Axis, height: float, title: str) -> list[str]:
    """Figures below, an upright line for each, and the title."""
    found = [line(at, 0 if height != HEIGHT else 8, at, height) for at, _ in x.figures()]
    found += [written(at, height + 16, said) for at, said in x.figures()]
    return [*found, written((x.start + x.end) / 2, height + 16 + BELOW - 6, title)]
