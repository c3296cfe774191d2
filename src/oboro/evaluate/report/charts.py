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

__all__ = ["WIDTH", "class_sizes", "clip", "distribution", "heat", "intervals", "lattice", "timeline"]

WIDTH = 440  # of a picture of which two stand side by side; also what a phone shows without shrinking much
LABELS = 142  # room for the labels of lying bars
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


def intervals(rows: list[dict[str, Any]], width: int) -> str:
    """Shares with their intervals, attack and control on one line for each label."""
    import altair as alt

    labels = list(dict.fromkeys(row["label"] for row in rows))
    shown = dict(zip(labels, _distinct(labels), strict=True))
    values = [{**row, "label": shown[row["label"]]} for row in rows]
    layers = []
    for side, colour, dot, offset in (("control", BEFORE, 70, 5), ("attack", AFTER, 90, -3)):
        chart = _chart([row for row in values if row["side"] == side], width=width - LABELS - 20, height=alt.Step(30))
        y = alt.Y("label:N", sort=None, title=None, axis=_labels_axis(14, minExtent=LABELS, maxExtent=LABELS))
        x = alt.X("low:Q", title="share that was right", axis=_values_axis(".0%"), scale=alt.Scale(domain=[0, 1]))
        layers.append(chart.mark_rule(color=colour, strokeWidth=2, yOffset=offset).encode(x=x, x2="high:Q", y=y))
        point = chart.mark_point(color=colour, fill=colour, size=dot, opacity=1, yOffset=offset)
        layers.append(point.encode(x=alt.X("value:Q"), y=y))
    return _svg(alt.layer(*layers))


def heat(columns: Sequence[str], matrix: Sequence[Sequence[float]]) -> str:
    """A matrix of numbers from 0 to 1 as squares, the darker the larger; few columns have their numbers written in."""
    import altair as alt

    names = _distinct(clip(name, 13) for name in columns)
    rows = [
        {"a": names[i], "b": names[j], "value": matrix[i][j], "said": f"{matrix[i][j]:.2f}".lstrip("0")}
        for i in range(len(names))
        for j in range(len(names))
        if i != j
    ]
    side = min(32, (WIDTH - 120) // max(1, len(names)))
    chart = _chart(rows, width=side * len(names), height=side * len(names))
    axis = _labels_axis(labelAngle=-60)
    x, y = (
        alt.X("b:N", sort=names, title=None, axis=axis),
        alt.Y("a:N", sort=names, title=None, axis=_labels_axis(minExtent=96)),
    )
    strength = alt.Opacity("value:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.06, 1]))
    squares = chart.mark_rect(color=AFTER).encode(x=x, y=y, opacity=strength)
    if side < 28:
        return _svg(squares)
    ink = alt.condition("datum.value > 0.55", alt.value("var(--card)"), alt.value("var(--ink)"))
    return _svg(alt.layer(squares, chart.mark_text(fontSize=11).encode(x=x, y=y, text="said:N", color=ink)))


def lattice(points: list[dict[str, Any]]) -> str:
    """Combinations of levels by how far they generalize and what they lose; the chosen one is filled."""
    import altair as alt

    heights, losses = ([point[name] for point in points] for name in ("height", "loss"))
    first, last, room = min(heights), max(heights), (max(losses) - min(losses)) * 0.12 or 0.05
    ticks = list(range(first, last + 1, -(-(last - first + 1) // 10)))
    domain = [max(0.0, min(losses) - room), max(losses) + room]
    layers = []
    for chosen in (False, True):
        chart = _chart([point for point in points if point["chosen"] is chosen], width=WIDTH - 60, height=150)
        x = alt.X(
            "height:Q",
            title="levels in all",
            axis=_values_axis("d", values=ticks),
            scale=alt.Scale(domain=[first - 0.6, last + 0.6], nice=False),
        )
        y = alt.Y("loss:Q", title="loss", axis=_values_axis("~g"), scale=alt.Scale(domain=domain, nice=False))
        fill = AFTER if chosen else "transparent"
        layers.append(chart.mark_point(color=AFTER, fill=fill, size=130, opacity=1, strokeWidth=2).encode(x=x, y=y))
    return _svg(alt.layer(*layers))


def timeline(rows: list[dict[str, Any]]) -> str:
    """One figure over the seconds of a stream."""
    import altair as alt

    chart = _chart(rows, width=WIDTH - 60, height=150).mark_line(color=AFTER, strokeWidth=2, point=False)
    x = alt.X("seconds:Q", title="seconds", axis=_values_axis(",d"))
    return _svg(chart.encode(x=x, y=alt.Y("value:Q", title=None, axis=_values_axis("~s"))))


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


def _labels_axis(padding: int = 6, **more: Any) -> Any:
    import altair as alt

    return alt.Axis(ticks=False, domain=False, grid=False, labelPadding=padding, labelLimit=0, **more)


def _values_axis(form: str, **more: Any) -> Any:
    import altair as alt

    return alt.Axis(ticks=False, domain=False, grid=True, tickCount=4, labelPadding=4, format=form, **more)


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
