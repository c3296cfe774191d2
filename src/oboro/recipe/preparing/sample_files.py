"""Made-up tables as files, each with its hierarchies and a ready recipe; and a first run on one of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oboro.errors import UsageError
from oboro.io.ordered_threads import ahead
from oboro.io.output import write, write_blocks
from oboro.recipe.recipe import Recipe
from oboro.recipe.release import Release
from oboro.samples.people_table import hierarchy_csv, people, people_hierarchies, people_recipe
from oboro.samples.purchases_table import purchases, purchases_hierarchies, purchases_recipe
from oboro.system.atomic_file import STDOUT, atomic, check_free
from oboro.system.extras import has_extra
from oboro.table.dataset import Dataset
from oboro.text import Message
from oboro.text.progress import Progress, silent

__all__ = ["Demonstration", "demonstrate", "write_sample"]

Rows = Iterable[Sequence[str]]


@dataclass(frozen=True)
class Demonstration:
    """What `demonstrate` did: the folder with its files, the made-up table, what was released, and how long it took."""

    folder: Path
    original: Dataset
    release: Release
    has_report: bool  # what writes it is an extra
    seconds: float


def demonstrate(
    folder: Path, *, rows: int = 20_000, seed: int = 42, progress: Progress | None = None, lang: str = "en"
) -> Demonstration:
    """Make up people, anonymize, verify, and report if that is installed; all is left in `folder`, in place of an older one."""
    say: Progress = progress or silent
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    say(Message("progress.making_up", rows=rows))
    original = people(rows, seed)
    write(original, folder / "people.csv")
    _write_hierarchies(people_hierarchies(), folder / "hierarchies")
    _write_text(folder / "recipe.yaml", people_recipe("hierarchies", lang))
    release = Recipe.load(folder / "recipe.yaml").run(folder / "people.csv", progress=progress)
    release.write(folder / "released.csv", force=True)
    has_report = has_extra("report", "science")
    if has_report:
        say(Message("progress.making_report"))
        _write_text(folder / "report.html", release.with_files(folder / "released.csv").to_html(lang=lang))
    return Demonstration(folder, original, release, has_report, time.perf_counter() - started)


def write_sample(
    kind: str,
    output: Path,
    *,
    rows: int = 10_000,
    columns: int = 100,
    seed: int = 42,
    force: bool = False,
    lang: str = "en",
) -> Path:
    """A made-up table (`people` or `purchases`) with its hierarchies and a ready recipe beside it; where the recipe is.

    Only purchases have as many `columns` as asked for. Only with `force` it replaces files that are there. What stands beside
    standard output has the kind's name.
    """
    stem = kind if str(output) == STDOUT else output.name
    path = output.parent / f"{stem}.recipe.yaml"
    hierarchies = f"{stem}.hierarchies"
    tables: Mapping[str, Rows]
    if kind == "people":
        tables, recipe = people_hierarchies(), people_recipe(hierarchies, lang)
    elif kind == "purchases":
        tables, recipe = purchases_hierarchies(), purchases_recipe(hierarchies, columns, lang)
    else:
        raise UsageError(Message("error_recipe.no_sample", kind=kind))
    for one in (output, path, *(output.parent / hierarchies / f"{name}.csv" for name in tables)):
        check_free(one, force)
    if kind == "people":
        write(people(rows, seed), output)
    else:
        write_blocks(ahead(purchases(rows, seed, columns)), output)
    _write_hierarchies(tables, output.parent / hierarchies)
    _write_text(path, recipe)
    return path


def _write_hierarchies(tables: Mapping[str, Rows], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        _write_text(folder / f"{name}.csv", hierarchy_csv(rows))


def _write_text(path: Path, text: str) -> None:
    with atomic(path) as file:
        file.write(text.encode())
