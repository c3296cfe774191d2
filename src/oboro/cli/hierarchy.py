"""`oboro hierarchy`: build, check and preview the hierarchy of one column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oboro.cli.language import spoken
from oboro.cli.options import FOUND_OUT, AsJson, Force, Reading, check_files, console, gathered, print_json, read_table
from oboro.text import Message
from oboro.text.printable import printable

if TYPE_CHECKING:
    from oboro.hierarchies.spec import HierarchySpec
    from oboro.recipe.starter import ColumnHierarchy

__all__ = ["hierarchy"]


@gathered
def hierarchy(
    data: str,
    column: str,
    spec: str | None = None,
    output: Annotated[Path | None, typer.Option("--output", "-o")] = None,
    force: Force = False,
    reading: Reading = FOUND_OUT,
    as_json: AsJson = False,
) -> None:
    """Check and preview the hierarchy of a column, level by level. Without --spec, one is proposed.

    Example: `oboro hierarchy people.csv age --spec '{intervals: [5, 10, 20]}'`
    """
    from oboro.recipe.starter import column_hierarchy

    check_files({"--output": output}, data, force=force)
    table = read_table(data, reading).data
    found = column_hierarchy(table, column, None if spec is None else _parsed(spec))
    if output is not None:
        found.save(output, force=True)  # `check_files` asked
    if as_json:
        print_json(found.as_dict())
    else:
        _show(found, console())


def _parsed(text: str) -> HierarchySpec:
    import yaml
    from pydantic import ValidationError

    from oboro.errors import UsageError
    from oboro.hierarchies.spec import HierarchySpec
    from oboro.text.pydantic import complaint

    try:
        return HierarchySpec.model_validate(yaml.safe_load(text) or {})
    except ValidationError as error:
        said = [complaint(found) for found in error.errors()]
        raise UsageError(Message("error_app.spec", said=said)) from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise UsageError(Message("error_app.spec_yaml", text=text)) from None


def _show(found: ColumnHierarchy, terminal: Any) -> None:
    """A table with one line a level, and the line to put into a recipe."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="dim", pad_edge=False)
    for heading in ("level", "labels", "least", "median", "most"):
        table.add_column(_said(heading), justify="right", no_wrap=True)
    table.add_column(_said("examples"), overflow="fold")
    for level in found.levels:
        examples = "  ".join(
            f"{_said('missing') if label is None else printable(label)} ({count})" for label, count in level.examples
        )
        counts = (level.level, level.labels, level.smallest, f"{level.median:g}", level.largest)
        table.add_row(*[str(count) for count in counts], Text(examples))  # labels may look like markup
    head = "proposed" if found.proposed else "given"
    terminal.print(_said(head, column=found.hierarchy.name, hierarchy=found.spec.plan()), markup=False)
    terminal.print(table)
    terminal.print(_said("line", line=found.line), markup=False, highlight=False)


def _said(id: str, **values: Any) -> str:
    return Message(f"command.hierarchy.{id}", **values).say(spoken())
