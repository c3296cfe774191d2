"""A first run with nothing to prepare, and made-up tables to try things on."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oboro.errors import UsageError
from oboro.io.output import atomic, write, write_blocks
from oboro.recipe.recipe import Progress, Recipe
from oboro.recipe.release import Release
from oboro.samples.people_table import hierarchy_csv, people, people_hierarchies, people_recipe
from oboro.samples.purchases_table import purchases, purchases_hierarchies, purchases_recipe
from oboro.table.dataset import Dataset

__all__ = ["Story", "run", "synthesize"]

Rows = Iterable[Sequence[str]]

SHOWN = ("name", "birthdate", "sex", "address", "job", "diagnosis")


@dataclass(frozen=True)
class Story:
    """What the demonstration did, for the terminal."""

    folder: Path
    original: Dataset
    release: Release
    seconds: float

    def show(self, console: Any) -> None:
        """Before and after, what was verified, and where everything is."""
        console.print("\n[bold]Before[/bold]: made-up people; any likeness is chance")
        console.print(_rows(self.original))
        console.print("\n[bold]After[/bold]: what the recipe releases")
        console.print(_rows(self.release.dataset))
        console.print()
        console.print(self.release.report.summary(), markup=False, highlight=False, soft_wrap=True)
        console.print(f"\n[bold]Done in {self.seconds:.1f} s.[/bold] Look at:")
        for name, what in FILES.items():
            console.print(f"  {self.folder / name!s:<36} {what}", highlight=False)
        console.print("\nChange the recipe and run it again:")
        folder = self.folder
        command = (
            f"oboro anonymize {folder}/people.csv --recipe {folder}/recipe.yaml "
            f"--output {folder}/released.csv --report {folder}/report.html"
        )
        console.print(f"  {command}", soft_wrap=True, markup=False, highlight=False)


FILES = {
    "people.csv": "the table as it came",
    "recipe.yaml": "what was done to it, with comments",
    "released.csv": "the released table",
    "report.html": "the report: open it in a browser",
}


def run(folder: Path, rows: int, seed: int, stage: Progress) -> Story:
    """Make up people, anonymize them by a recipe, verify, report; everything is left in `folder`."""
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    stage("making up people")
    original = people(rows, seed)
    write(original, folder / "people.csv")
    _write_hierarchies(people_hierarchies(), folder / "hierarchies")
    _write_text(folder / "recipe.yaml", people_recipe("hierarchies"))
    recipe = Recipe.load(folder / "recipe.yaml")
    release = recipe.run(folder / "people.csv", progress=stage)
    release.write(folder / "released.csv")
    stage("making the report")
    _write_text(folder / "report.html", release.with_files(folder / "released.csv").to_html())
    return Story(folder, original, release, time.perf_counter() - started)


def synthesize(kind: str, rows: int, columns: int, seed: int, output: Path, stage: Progress) -> Path:
    """A made-up table with its hierarchies and a ready recipe beside it; returns where the recipe is."""
    hierarchies = f"{output.name}.hierarchies"
    stage(f"making up {rows} rows")
    if kind == "people":
        write(people(rows, seed), output)
        tables, recipe = people_hierarchies(), people_recipe(hierarchies)
    elif kind == "purchases":
        write_blocks(purchases(rows, seed, columns), output)
        tables, recipe = purchases_hierarchies(), purchases_recipe(hierarchies, columns)
    else:
        raise UsageError(f"there is no made-up table {kind!r}; there are people and purchases")
    _write_hierarchies(tables, output.parent / hierarchies)
    path = output.parent / f"{output.name}.recipe.yaml"
    _write_text(path, recipe)
    return path


def _write_hierarchies(tables: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        _write_text(folder / f"{name}.csv", hierarchy_csv(rows))


def _write_text(path: Path, text: str) -> None:
    with atomic(path) as file:
        file.write(text.encode())


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
