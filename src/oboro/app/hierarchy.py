"""`oboro hierarchy`: build, check and preview the hierarchy of one column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oboro.app.options import (
    AsJson,
    Data,
    Delimiter,
    Encoding,
    Header,
    Sheet,
    console,
    print_json,
    read_table,
)

if TYPE_CHECKING:
    from oboro.recipe.preparing.column_hierarchy import ColumnHierarchy
    from oboro.table.hierarchy import HierarchySpec

__all__ = ["hierarchy"]


def hierarchy(
    data: Data,
    column: Annotated[str, typer.Argument(help="The name of the column.")],
    spec: Annotated[
        str | None,
        typer.Option(
            help="The hierarchy as a recipe writes it after `hierarchy:`, for example '{intervals: [5, 10]}'."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also save the hierarchy as a CSV file in ARX's format.")
    ] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = True,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Check and preview the hierarchy of a column, level by level. Without --spec, one is proposed.

    Example: `oboro hierarchy people.csv age --spec '{intervals: [5, 10, 20]}'`
    """
    from oboro.recipe.preparing.column_hierarchy import column_hierarchy

    table = read_table(data, encoding, delimiter, header, sheet).data
    found = column_hierarchy(table, column, None if spec is None else _parsed(spec))
    if output is not None:
        found.save(output)
    if as_json:
        print_json(found.as_dict())
    else:
        _show(found, console())


def _parsed(text: str) -> HierarchySpec:
    import yaml
    from pydantic import ValidationError

    from oboro.errors import UsageError
    from oboro.table.hierarchy import HierarchySpec

    try:
        return HierarchySpec.model_validate(yaml.safe_load(text) or {})
    except yaml.YAMLError:
        raise UsageError(f"--spec: not valid YAML: {text!r}; write for example '{{intervals: [5, 10]}}'") from None
    except ValidationError as error:
        raise UsageError(
            "--spec: " + "; ".join(found["msg"].removeprefix("Value error, ") for found in error.errors())
        ) from None


def _show(found: ColumnHierarchy, terminal: Any) -> None:
    """A table with one line a level, and the line to put into a recipe."""
    from rich.table import Table

    table = Table(box=None, header_style="dim", pad_edge=False)
    for heading in ("level", "labels", "rows per label: least", "median", "most"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("most frequent labels (rows)", overflow="fold")
    for level in found.levels:
        examples = "  ".join(f"{'(missing)' if label is None else label} ({count})" for label, count in level.examples)
        counts = (level.level, level.labels, level.smallest, f"{level.median:g}", level.largest)
        table.add_row(*[str(count) for count in counts], examples)
    proposed = " (proposed)" if found.proposed else ""
    terminal.print(f"{found.hierarchy.name}: {found.spec.explain()}{proposed}", markup=False)
    terminal.print(table)
    terminal.print(f"In a recipe:  {found.line}", markup=False, highlight=False)
