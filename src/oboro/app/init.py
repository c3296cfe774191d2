"""`oboro init`: a starter recipe for a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from oboro.app.language import spoken
from oboro.app.options import AsJson, Data, Delimiter, Encoding, Header, HeaderRow, Sheet, print_json, read_table

__all__ = ["init"]


def init(
    data: Data,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = True,
    sheet: Sheet = None,
    header_row: HeaderRow = None,
    into: Annotated[
        Path | None,
        typer.Option(help="With a project of ARX (.deid): the folder for the recipe and its hierarchy files."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a starter recipe for a table: guessed roles with reasons and figures, proposed hierarchies, steps.

    Of a project of the ARX tool (`project.deid`) it takes over roles, hierarchies, models and settings.

    Example: `oboro init people.csv > recipe.yaml`
    """
    if str(data).endswith(".deid"):
        _from_arx(Path(str(data)), into)
        return
    from oboro.recipe.preparing.starter import init as starter

    found = starter(read_table(data, encoding, delimiter, header, sheet, header_row))
    if as_json:
        print_json(found.as_dict())
    else:
        print(found.to_yaml(spoken()), end="")


def _from_arx(project: Path, into: Path | None) -> None:
    from oboro.recipe.preparing.arx_project import from_arx

    found = from_arx(project)
    if into is not None:
        found.write(into, spoken())
    print(found.to_yaml(spoken()), end="")
