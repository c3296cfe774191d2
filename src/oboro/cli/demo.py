"""`oboro demo`: a first run without preparation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oboro.cli.language import spoken
from oboro.cli.options import console, stages, warn_if_cold
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.data.dataset import Dataset
    from oboro.recipe.starter import Demonstration

__all__ = ["demo"]


SHOWN = ("name", "birthdate", "sex", "address", "job", "diagnosis")
FILES = {"people.csv": "table", "recipe.yaml": "recipe", "released.csv": "released", "report.html": "report"}


def demo(
    output: Annotated[Path, typer.Option("--output", "-o")] = Path("oboro-demo"),
    rows: Annotated[int, typer.Option(min=100, max=1_000_000)] = 20_000,
    seed: Annotated[int, typer.Option(min=0)] = 42,
) -> None:
    """Try it: make up a table of people, anonymize it, verify it and write a report.

    Example: `oboro demo --rows 20000`
    """
    from oboro.recipe.starter import demonstrate

    warn_if_cold()
    with stages() as stage:
        done = demonstrate(output, rows=rows, seed=seed, progress=stage, lang=spoken())
    _show(done, console())


def _show(done: Demonstration, terminal: Any) -> None:
    """Before and after, what was verified, and where everything is."""
    terminal.print(_said("before"))
    terminal.print(_rows(done.original))
    terminal.print(_said("after"))
    terminal.print(_rows(done.release.dataset))
    terminal.print()
    terminal.print(_summary(done), markup=False, highlight=False, soft_wrap=True)
    terminal.print(_said("done", seconds=done.seconds))
    for name, what in FILES.items():
        if done.has_report or what != "report":
            terminal.print(f"  {done.folder / name!s:<36} {_said(what)}", highlight=False)
    if not done.has_report:
        terminal.print(_said("no_report"), markup=False, highlight=False, soft_wrap=True)
    terminal.print(_said("again"))
    terminal.print(f"  {_command(done.folder)}", soft_wrap=True, markup=False, highlight=False)
    terminal.print(_said("page"))
    page = f"oboro web {done.folder}/people.csv --recipe {done.folder}/recipe.yaml"
    terminal.print(f"  {page}", soft_wrap=True, markup=False, highlight=False)


def _summary(done: Demonstration) -> str:
    """Risk and loss where the report was made, the promises anyway."""
    return (
        done.release.report.in_language(spoken()).summary() if done.has_report else done.release.summary(lang=spoken())
    )


def _said(id: str, **values: Any) -> str:
    return Message(f"command.demo.{id}", **values).say(spoken())


def _command(folder: Path) -> str:
    return (
        f"oboro anonymize {folder}/people.csv --recipe {folder}/recipe.yaml "
        f"--output {folder}/released.csv --report {folder}/report.html --force"
    )


def _rows(data: Dataset, most: int = 5) -> Any:
    """The first rows of a table, for the terminal. Only ever called on made-up people."""
    from rich.table import Table

    names = [name for name in SHOWN if name in data]
    table = Table(box=None, header_style="dim", pad_edge=False)
    columns = [data[name].decode().slice(0, most).to_pylist() for name in names]
    for name, values in zip(names, columns, strict=True):
        widest = max(len(str(value)) for value in values)
        table.add_column(name, overflow="ellipsis", no_wrap=True, min_width=widest if widest <= 10 else None)
    for row in zip(*columns, strict=True):
        table.add_row(*["" if value is None else str(value) for value in row])
    return table
