"""What pictures are drawn with: SVG text made of lines, bars, dots and words, and axes with round figures.

A drawing library takes longer to load than all pictures of a report take to be drawn here. Words are measured by their letters:
the reader's fonts are not known, so some room is left beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import ceil, floor, log10
from typing import NamedTuple
from unicodedata import east_asian_width

__all__ = ["LINE", "MUTED", "Axis", "bar", "dot", "line", "path", "picture", "room", "titled", "written"]

MUTED, LINE = "var(--muted)", "var(--line)"
LETTER = 6.9  # pixels, of 12-pixel letters on the average; Chinese and Japanese ones are as wide as they are high


def room(said: str) -> float:
    """How wide some words are, in pixels."""
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
