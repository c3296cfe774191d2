"""A session in a notebook: the columns as a table, the frontier as a picture drawn by hand, readable on light and dark paper."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from math import log
from typing import TYPE_CHECKING

from oboro.explorer.promises.other_curves import CURVES
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.explorer.answers import FrontierPoint
    from oboro.explorer.column_table import ColumnTable, ExploredColumn
    from oboro.explorer.promises.frontier import Frontier

__all__ = ["column_html", "frontier_svg"]

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BELOW = 640, 300, 52, 14, 225, 40  # on the right, names of lines in words
DASHES = ("", "6 3", "2 3", "8 3 2 3")  # lines differ in their dashes too, for those who see few colours
COLOURS = ("#4269d0", "#c55a11", "#2e8b57", "#a463f2", "#9c6b4e", "#6b7280", "#c2185b")
HEADS = ("column", "role", "alone", "with", "without", "pairs", "why")


def column_html(table: ColumnTable, lang: str) -> str:
    """One row for each column: role, whom it singles out, worst pairs, and why the role was proposed."""
    head = _row("th", (Message(f"explorer.head.{name}").say(lang) for name in HEADS))
    body = "".join(_row("td", _cells(one, lang)) for one in table)
    told = Message("explorer.unique", people=table.unique, of=table.people).say(lang)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{escape(told)}</p>"


def _cells(one: ExploredColumn, lang: str) -> list[str]:
    role = Message(f"section.columns.roles.{one.role.value}").say(lang)
    guess = "" if one.confirmed else Message("explorer.guess").say(lang)
    pairs = "; ".join(f"{' + '.join(pair.columns)}: {pair.people:,}" for pair in one.worst_pairs[:2])
    why = Message("starter.table.why", reasons=list(one.reasons)).say(lang)
    return [
        one.name,
        f"{role}{guess}",
        *map(_count, (one.unique_alone, one.unique_with, one.unique_without)),
        pairs,
        why,
    ]


def _count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in cells)}</tr>"


def frontier_svg(frontier: Frontier, lang: str) -> str:
    """The loss over k, one line for each curve and limit on suppression; cliffs are ringed."""
    lines = frontier.lines()
    points = [point for line in lines.values() for point in line]
    title = escape(Message("explorer.frontier").say(lang))
    ks = sorted({point.k for point in points}) or [2]
    highest = max((point.loss or 0.0 for point in points), default=0.0) or 1.0
    parts = [*_axes(ks, highest, lang)]
    for place, ((curve, suppress), line) in enumerate(lines.items()):
        parts += _line(line, place, ks, highest, _label(curve, suppress, lang))
    for cliff in frontier.cliffs:
        x, y = _x(cliff.k[1], ks), _y(cliff.loss[1], highest)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="none" stroke="currentColor"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
        f'aria-label="{title}" font-family="sans-serif" font-size="11" fill="currentColor">'
        f"<title>{title}</title>{''.join(parts)}</svg>"
    )


def _label(curve: str, suppress: float, lang: str) -> str:
    name = Message(f"explorer.curve.{curve}").say(lang)
    if curve.startswith("k_anonymize"):
        return Message("explorer.curve_suppress", curve=name, share=suppress).say(lang)
    return name


def _line(line: list[FrontierPoint], place: int, ks: list[int], highest: float, label: str) -> list[str]:
    colour = COLOURS[place % len(COLOURS)]
    at = [(_x(point.k, ks), _y(point.loss or 0.0, highest), point) for point in line]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in at)
    dash = f' stroke-dasharray="{DASHES[CURVES.index(line[0].curve)]}"' if line[0].curve != CURVES[0] else ""
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>']
    for x, y, point in at:
        said = escape(f"k = {point.k}: {point.loss or 0.0:.4f}")
        fill = colour if point.exact or point.curve != CURVES[0] else "none"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}" stroke="{colour}"><title>{said}</title></circle>'
        )
    top = TOP + 12 + 16 * place
    parts.append(
        f'<line x1="{WIDTH - RIGHT + 10}" x2="{WIDTH - RIGHT + 28}" y1="{top - 4}" y2="{top - 4}" stroke="{colour}"/>'
    )
    return [*parts, f'<text x="{WIDTH - RIGHT + 33}" y="{top}">{escape(label)}</text>']


def _axes(ks: list[int], highest: float, lang: str) -> list[str]:
    bottom, right = HEIGHT - BELOW, WIDTH - RIGHT
    parts = [f'<path d="M{LEFT},{TOP}V{bottom}H{right}" fill="none" stroke="currentColor" opacity="0.5"/>']
    for part in range(5):
        value = highest * part / 4
        y = _y(value, highest)
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>')
        parts.append(f'<path d="M{LEFT},{y:.1f}H{right}" stroke="currentColor" opacity="0.12"/>')
    parts += [f'<text x="{_x(k, ks):.1f}" y="{bottom + 16}" text-anchor="middle">{k}</text>' for k in ks]
    loss, size = (escape(Message(f"explorer.axis.{name}").say(lang)) for name in ("loss", "k"))
    parts.append(f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{size}</text>')
    return [
        *parts,
        f'<text transform="translate(12,{(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">{loss}</text>',
    ]


def _x(k: int, ks: list[int]) -> float:
    low, high = log(ks[0]), log(ks[-1])
    return LEFT + 12 + (WIDTH - RIGHT - LEFT - 24) * ((log(k) - low) / (high - low) if high > low else 0.5)


def _y(loss: float, highest: float) -> float:
    return TOP + (HEIGHT - BELOW - TOP) * (1 - loss / highest)
