"""Pictures as inline SVG: drawn once, readable on light and dark paper, no script and no font to load.

Colours are CSS variables of the page (`--before`, `--after`, `--muted`, `--line`), so that one picture serves both.
What was and what is differ in width as well as in colour, for those who print in grey or see few colours. Each picture
is written down as a Vega-Lite specification: to build one of Altair's objects took longer than to draw it. The converter
takes 0.6 s to start (`warm_up`), so is imported when the first picture is drawn; each then takes about 0.03 s.

The last parameter of every picture is the language of its words: labels from tables are the same in all of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import Any
from unicodedata import east_asian_width

from oboro.report.distributions import MISSING, OTHER, SPECIAL, Bar, Distribution
from oboro.system.extras import bring
from oboro.text import Message, say

__all__ = ["WIDTH", "class_sizes", "clip", "distribution", "heat", "intervals", "lattice", "timeline", "warm_up"]

WIDTH = 440  # of a picture of which two stand side by side; also what a phone shows without shrinking much
LABELS = 142  # room for the labels of lying bars
SLANTED = 22  # room below slanted labels: the reader's letters may be wider than those measured when drawing
BEFORE, AFTER, MUTED, LINE = "var(--before)", "var(--after)", "var(--muted)", "var(--line)"
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
    """How many rows stand in classes of which size, before and after."""
    return _standing(_shares(bars, lang), lang, title=say(ROWS_IN_CLASS, lang), width=width)


def intervals(rows: list[dict[str, Any]], width: int, lang: str) -> str:
    """Shares with their intervals, attack and control on one line for each label; rows of one line have the same `place`."""
    labels = {row["place"]: say(row["label"], lang) for row in rows}
    shown = dict(zip(labels, _distinct(labels.values()), strict=True))
    y = _labels("label", _labels_axis(14, minExtent=LABELS, maxExtent=LABELS))
    title = say(SHARE_RIGHT, lang)
    low, value = (_values(field, title, ".0%", scale={"domain": [0, 1]}) for field in ("low", "value"))
    layers = []
    for side, colour, dot, offset in (("control", BEFORE, 70, 5), ("attack", AFTER, 90, -3)):
        mine = [{**row, "label": shown[row["place"]]} for row in rows if row["side"] == side]
        line = {"type": "rule", "color": colour, "strokeWidth": 2, "yOffset": offset}
        point = {"type": "point", "color": colour, "fill": colour, "size": dot, "opacity": 1, "yOffset": offset}
        layers.append(_layer(line, mine, x=low, x2={"field": "high"}, y=y))
        layers.append(_layer(point, mine, x=value, y=y))
    return _svg(layers, width=width - LABELS - 20, height={"step": 30})


def heat(columns: Sequence[str], matrix: Sequence[Sequence[float]], lang: str) -> str:
    """A matrix of numbers from 0 to 1 as squares, the darker the larger; few columns have their numbers written in."""
    names = _distinct(columns, 13)
    rows = [
        {"a": names[i], "b": names[j], "value": matrix[i][j], "said": f"{matrix[i][j]:.2f}".lstrip("0")}
        for i in range(len(names))
        for j in range(len(names))
        if i != j
    ]
    side = min(32, (WIDTH - 120) // max(1, len(names)))
    x = _labels("b", _labels_axis(labelAngle=-60), sort=names)
    y = _labels("a", _labels_axis(minExtent=96), sort=names)
    scale = {"domain": [0, 1], "range": [0.06, 1]}
    strength = {"field": "value", "type": "quantitative", "legend": None, "scale": scale}
    layers = [_layer({"type": "rect", "color": AFTER}, rows, x=x, y=y, opacity=strength)]
    if side >= 28:
        ink = {"condition": {"test": "datum.value > 0.55", "value": "var(--card)"}, "value": "var(--ink)"}
        said = {"field": "said", "type": "nominal"}
        layers.append(_layer({"type": "text", "fontSize": 11}, rows, x=x, y=y, text=said, color=ink))
    return _svg(layers, below=SLANTED, width=side * len(names), height=side * len(names))


def lattice(points: list[dict[str, Any]], lang: str) -> str:
    """Combinations of levels by how far they generalize and what they lose; the chosen one is filled."""
    heights, losses = ([point[name] for point in points] for name in ("height", "loss"))
    first, last, room = min(heights), max(heights), (max(losses) - min(losses)) * 0.12 or 0.05
    ticks = list(range(first, last + 1, -(-(last - first + 1) // 10)))
    across = {"domain": [first - 0.6, last + 0.6], "nice": False}
    up = {"domain": [max(0.0, min(losses) - room), max(losses) + room], "nice": False}
    x = _values("height", say(SUM_OF_LEVELS, lang), "d", values=ticks, scale=across)
    y = _values("loss", say(LOSS, lang), "~g", scale=up)
    layers = []
    for chosen, fill in ((False, "transparent"), (True, AFTER)):
        dot = {"type": "point", "color": AFTER, "fill": fill, "size": 130, "opacity": 1, "strokeWidth": 2}
        layers.append(_layer(dot, [point for point in points if point["chosen"] is chosen], x=x, y=y))
    return _svg(layers, width=WIDTH - 60, height=150)


def timeline(rows: list[dict[str, Any]], lang: str) -> str:
    """One figure over the seconds of a stream."""
    line = {"type": "line", "color": AFTER, "strokeWidth": 2}
    encoding = {"x": _values("seconds", say(SECONDS, lang), ",.1~f"), "y": _values("value", None, ",.4~f")}
    return _svg([_layer(line, rows, **encoding)], width=WIDTH - 60, height=150)


def warm_up() -> None:
    """Start the converter while something else is waited for."""
    timeline([{"seconds": 0, "value": 0}], "en")


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


def _lying(rows: list[dict[str, Any]], lang: str) -> str:
    """Bars from left to right, with room for words."""
    y = _labels("label", _labels_axis(minExtent=LABELS, maxExtent=LABELS))
    layers = [
        _layer(
            {"type": "bar", "color": colour, "height": {"band": part}},
            rows,
            x=_values(side, say(SHARE_OF_ROWS, lang), ".0%"),
            y=y,
        )
        for side, colour, part in SIDES
    ]
    return _svg(layers, width=WIDTH - LABELS - 20, height={"step": 20})


def _standing(rows: list[dict[str, Any]], lang: str, title: str | None = None, width: int = WIDTH) -> str:
    """Bars side by side, in the order of their labels."""
    x = _labels("label", _labels_axis(labelAngle=0, labelOverlap="parity", labelSeparation=10), title=title)
    layers = [
        _layer(
            {"type": "bar", "color": colour, "width": {"band": part}},
            rows,
            x=x,
            y=_values(side, say(SHARE_OF_ROWS, lang), ".0%"),
        )
        for side, colour, part in SIDES
    ]
    return _svg(layers, width=width - 60, height=150)


# Vega-Lite ------------------------------------------------------------------------------------------------------------


def _layer(mark: dict[str, Any], rows: list[dict[str, Any]], **encoding: Any) -> dict[str, Any]:
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def _labels(
    field: str, axis: dict[str, Any], title: str | None = None, sort: Sequence[str] | None = None
) -> dict[str, Any]:
    return {"field": field, "type": "nominal", "title": title, "axis": axis, "sort": sort}


def _labels_axis(padding: int = 6, **more: Any) -> dict[str, Any]:
    return {"ticks": False, "domain": False, "grid": False, "labelPadding": padding, "labelLimit": 0, **more}


def _values(
    field: str, title: str | None, form: str, scale: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    axis = {"ticks": False, "domain": False, "grid": True, "tickCount": 4, "labelPadding": 4, "format": form, **more}
    found = {"field": field, "type": "quantitative", "title": title, "axis": axis}
    return found if scale is None else {**found, "scale": scale}


def _svg(layers: list[dict[str, Any]], below: int = 4, **size: Any) -> str:
    """The picture as SVG text, with the page's colours and without a background; `below` is free room at its foot."""
    text = {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    config = {
        "background": "transparent",
        "padding": {"left": 4, "right": 4, "top": 4, "bottom": below},
        "font": "system-ui, sans-serif",
        "axis": {"gridColor": LINE, **text},
        "view": {"stroke": None},
    }
    spec = {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "config": config, "layer": layers, **size}
    return _drawn(json.dumps(spec))


@lru_cache(maxsize=128)
def _drawn(spec: str) -> str:
    """The pages for the owner and for the public, in either language, show many of the same pictures."""
    return str(bring("vl_convert").vegalite_to_svg(spec))
