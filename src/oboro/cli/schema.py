"""`oboro schema`: the JSON Schema of recipes or of reports."""

from __future__ import annotations

from typing import Annotated

import typer

from oboro.cli.options import print_json
from oboro.text import Message

__all__ = ["schema"]


def schema(
    what: Annotated[str, typer.Argument()] = "recipe",
) -> None:
    """Print the JSON Schema of recipes (for editors) or of reports.

    Example: `oboro schema > recipe.schema.json`
    """
    from oboro.errors import UsageError
    from oboro.recipe.recipe import Recipe
    from oboro.report.report import Report

    schemas = {"recipe": Recipe.json_schema, "report": Report.json_schema}
    if what not in schemas:
        raise UsageError(Message("error_app.no_schema", what=what, schemas=list(schemas)))
    print_json(schemas[what]())
