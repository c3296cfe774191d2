"""`oboro anonymize --engine`: the same recipe where the data is."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oboro.app.language import spoken
from oboro.app.options import Pages, print_json, stages
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

__all__ = ["on_engine", "refuse_options"]

MEASURED = 250_000  # rows up to which risk and loss are measured without being asked for


def refuse_options(engine: str, given: Mapping[str, Any]) -> None:
    """Raise where an option was given that an engine does not have."""
    from oboro.errors import UsageError

    for option, value in given.items():
        if value is not None:
            raise UsageError(Message("error_engine.option", option=option, engine=engine))


def on_engine(plan: Recipe, data: str, output: str, engine: str, pages: Pages, *, force: bool, as_json: bool) -> None:
    """Anonymize a place that an engine reads to a folder that it writes."""
    from oboro.engines import anonymize_place

    with stages() as stage:
        release = anonymize_place(plan, data, output, engine=engine, force=force, progress=stage)
        report = pages.completed(release.report) if pages.any or as_json else None
        if report is not None and pages.any:
            pages.write(report)
    for step in release.steps:
        for warning in step.warnings:
            print(Message("error_app.warning", step=step.name, warning=warning).say(spoken()), file=sys.stderr)
    if report is not None and as_json:
        print_json(report.as_dict())
    elif report is None:
        print(release.summary(lang=spoken(), figures=release.worked.data.rows <= MEASURED), file=sys.stderr)
    if release.small:
        print(release.small.say(spoken()), file=sys.stderr)
