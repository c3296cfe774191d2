"""All sections of a report, in order. A new section is one more entry in `SECTIONS`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oboro.report.page.blocks import Section
from oboro.report.released_alone.series_section import series_section
from oboro.report.sections.associations_section import associations
from oboro.report.sections.attacks_section import attacks
from oboro.report.sections.checklists_section import checklist_sections
from oboro.report.sections.evidence_section import counting, evidence, recipe, signature, warnings
from oboro.report.sections.exposure_section import exposure_section, last_look_section
from oboro.report.sections.how_it_was_made import solutions, steps
from oboro.report.sections.overview.glance import glance
from oboro.report.sections.promises import promises
from oboro.report.sections.reidentification_risk import reidentification_risk
from oboro.report.sections.released_columns import released_columns
from oboro.report.sections.stream_timeline import stream_timeline
from oboro.report.sections.uniqueness_section import uniqueness
from oboro.report.sections.utility_section import losses, statistics
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["first_sections", "sections", "subtitle"]

SECTIONS = (
    glance,
    promises,
    warnings,
    exposure_section,
    last_look_section,
    reidentification_risk,
    attacks,
    series_section,
    uniqueness,
    solutions,
    losses,
    statistics,
    associations,
    released_columns,
    stream_timeline,
    steps,
)
RECORD = (counting, evidence, recipe, signature)


def sections(report: Report) -> list[Section]:
    """Everything there is to say, in order; a function that has nothing to say makes no section."""
    made = [section for make in SECTIONS if (section := make(report)) is not None]
    last = [section for make in RECORD if (section := make(report)) is not None]
    return [*made, *checklist_sections(report), *last]


def first_sections(report: Report) -> list[Section]:
    """The main figures and the promises, for a small view."""
    return [glance(report), promises(report)]


def subtitle(report: Report) -> Message:
    """How much came in and went out; of a public report what went out."""
    table = report.table
    if report.public:
        return Message("report.page.subtitle_public", rows=table.rows_after, columns=table.columns_after)
    return Message(
        "report.page.subtitle",
        rows_before=table.rows_before,
        rows_after=table.rows_after,
        columns_before=table.columns_before,
        columns_after=table.columns_after,
    )
