"""The page of an assessment: what holds, who is unique on what, whose secret is certain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from oboro.report.page.blocks import Block, Cell, Grid, Notes, Section
from oboro.report.released_alone.series_section import series_blocks
from oboro.report.sections.overview.banner import Banner
from oboro.text import Message, count, percent
from oboro.text.figures import few

if TYPE_CHECKING:
    from oboro.measure.exposure.separation import Exposure
    from oboro.report.released_alone.assessment import Assessment

__all__ = ["assessment_banner", "assessment_sections"]


def _m(name: str, /, **values: Any) -> Message:
    return Message(f"exposure.assess.{name}", **values)


def assessment_banner(found: Assessment) -> Banner:
    """Whether somebody is unique by what an attacker may know, and which k holds."""
    unique = found.together.unique
    line = _m("unique_said", columns=found.together.columns, unique=unique, people=found.together.people, k=found.k)
    return Banner("bad" if unique else "quiet", _m("headline", k=found.k), line)


def assessment_sections(found: Assessment) -> list[Section]:
    """Everything that there is to say, in order; a part with nothing to say is left out."""
    parts: list[tuple[str, str, list[Block]]] = [
        ("assess_said", "said", [Notes([one for _, one in found.lines()])]),
        ("assess_columns", "columns", [_grid(found.columns)]),
        ("assess_pairs", "pairs", [_grid(found.pairs)]),
        *([] if found.series is None else [("assess_series", "series_title", series_blocks(found.series))]),
        ("assess_secrets", "secrets", [_secrets(found)]),
        ("assess_worst", "worst", [_worst(found)]),
    ]
    return [
        Section(key, _m(title), blocks, _m(title))
        for key, title, blocks in parts
        if not isinstance(blocks[0], Grid) or blocks[0].rows
    ]


def _grid(found: Sequence[Exposure]) -> Grid:
    head = [_m(f"head.{name}") for name in ("columns", "unique", "k", "distinction", "separation")]
    rows = [
        [
            Cell(few(one.columns)),
            Cell(count(one.unique), "bad" if one.unique else ""),
            Cell(count(one.smallest)),
            Cell(percent(one.distinction)),
            Cell(percent(one.separation)),
        ]
        for one in found
    ]
    return Grid(head, rows, frozenset({1, 2, 3, 4}))


def _secrets(found: Assessment) -> Grid:
    head = [_m(f"head.{name}") for name in ("columns", "certain", "nearly", "largest", "everywhere")]
    rows = [
        [
            Cell(one.sensitive),
            Cell(count(one.certain), "bad" if one.certain else ""),
            Cell(count(one.nearly_certain)),
            Cell(percent(one.largest)),
            Cell(percent(one.everywhere)),
        ]
        for one in found.secrets
    ]
    return Grid(head, rows, frozenset({1, 2, 3, 4}))


def _worst(found: Assessment) -> Grid:
    rows = [[Cell(count(one.people)), Cell(few(one.columns) if one.columns else "–")] for one in found.worst]
    return Grid([_m("head.people"), _m("head.rare")], rows, frozenset({0}))
