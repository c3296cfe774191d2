"""Pictures as inline SVG: drawn once, readable on light and dark paper, no script and no font to load.

Colours are CSS variables of the page (`--before`, `--after`, `--muted`, `--line`), so that one picture serves both.
What was and what is differ in width as well as in colour, for those who print in grey or see few colours. Altair and
the converter take 0.6 s each to start: both are imported when the first picture is drawn; each then takes about 0.03 s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any
from unicodedata import east_asian_width

from oboro.evaluate.report.distributions import SPECIAL, Bar, Distribution

__all__ = ["WIDTH", "class_sizes", "clip", "distribution"]

WIDTH = 440  # of a picture of which two stand side by side; also what a phone shows without shrinking much
LABELS = 130  # room for the labels of lying bars
BEFORE, AFTER, MUTED, LINE = "var(--before)", "var(--after)", "var(--muted)", "var(--line)"
SIDES = (
    ("before", BEFORE, 0.86),
    ("after", AFTER, 0.44),
)  # field, colour, part of the band: what was stands behind what is


def distribution(column: Distribution) -> str:
    """One column before and after, in percent of the rows. What has no place in a sequence is not drawn into it."""
    rows = _shares(column.bars)
    if column.shape == "categories":
        return _lying(rows)
    return _standing([row for row, bar in zip(rows, column.bars, strict=True) if bar.label not in SPECIAL])


def class_sizes(bars: Sequence[Bar], width: int) -> str:
    """How many rows stand in classes of which size, before and after."""
    return _standing(_shares(bars), title="rows in a class", width=width)


def clip(label: str, columns: int = 20) -> str:
    """A label cut to a width in letters; Chinese and Japanese letters count twice.

    >>> clip("東京都世田谷区桜町3丁目", 12), clip("nurse")
    ('東京都世田…', 'nurse')
    """
    widths = list(accumulate(2 if east_asian_width(letter) in "WF" else 1 for letter in label))
    if not widths or widths[-1] <= columns:
        return label
    return label[: sum(width < columns for width in widths)] + "…"


def _distinct(labels: Iterable[str]) -> list[str]:
    """Labels cut short that still differ: a repeated one gets spaces of no width."""
    seen: dict[str, int] = {}
    texts = []
    for text in map(clip, labels):
        seen[text] = seen.get(text, -1) + 1
        texts.append(text + "\u200b" * seen[text])
    return texts


def _shares(bars: Sequence[Bar]) -> list[dict[str, Any]]:
    """The rows of a chart. Before and after each add up to one, so that a sample can be held against the whole."""
    before, after = (sum(getattr(bar, side) or 0 for bar in bars) or 1 for side in ("before", "after"))
    return [
        {"label": text, "before": (bar.before or 0) / before, "after": (bar.after or 0) / after}
        for text, bar in zip(_distinct(bar.label for bar in bars), bars, strict=True)
    ]


def _lying(rows: list[dict[str, Any]]) -> str:
    """Bars from left to right, with room for words."""
    import altair as alt

    chart = _chart(rows, width=WIDTH - LABELS - 20, height=alt.Step(20))
    y = alt.Y("label:N", sort=None, title=None, axis=_labels_axis(minExtent=LABELS, maxExtent=LABELS))
    layers = [
        chart.mark_bar(color=colour, height=alt.RelativeBandSize(part)).encode(
            x=alt.X(f"{side}:Q", title="share of rows", axis=_values_axis(".0%")), y=y
        )
        for side, colour, part in SIDES
    ]
    return _svg(alt.layer(*layers))


def _standing(rows: list[dict[str, Any]], title: str | None = None, width: int = WIDTH) -> str:
    """Bars side by side, in the order of their labels."""
    import altair as alt

    chart = _chart(rows, width=width - 60, height=150)
    axis = _labels_axis(labelAngle=0, labelOverlap="parity", labelSeparation=10)
    layers = [
        chart.mark_bar(color=colour, width=alt.RelativeBandSize(part)).encode(
            x=alt.X("label:N", sort=None, title=title, axis=axis),
            y=alt.Y(f"{side}:Q", title="share of rows", axis=_values_axis(".0%")),
        )
        for side, colour, part in SIDES
    ]
    return _svg(alt.layer(*layers))


def _chart(rows: list[dict[str, Any]], **size: Any) -> Any:
    import altair as alt

    return alt.Chart(alt.InlineData(values=rows), **size)


def _labels_axis(**more: Any) -> Any:
    import altair as alt

    return alt.Axis(ticks=False, domain=False, grid=False, labelPadding=6, labelLimit=0, **more)


def _values_axis(form: str) -> Any:
    import altair as alt

    return alt.Axis(ticks=False, domain=False, grid=True, tickCount=4, labelPadding=4, format=form)


def _svg(chart: Any) -> str:
    """The picture as SVG text, with the page's colours and without a background."""
    import vl_convert

    text = {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    styled = chart.configure(background="transparent", padding=4, font="system-ui, sans-serif")
    styled = styled.configure_axis(gridColor=LINE, **text).configure_view(stroke=None)
    return str(vl_convert.vegalite_to_svg(styled.to_dict()))
