"""`oboro evaluate`: the skin of the report on any release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from oboro.app.options import (
    AsJson,
    Data,
    Delimiter,
    Encoding,
    Fraction,
    Header,
    Lang,
    Pages,
    PublicReport,
    ReportFile,
    Sheet,
    check_files,
    names,
    print_json,
    read_table,
    stages,
)

__all__ = ["evaluate"]


def evaluate(
    original: Data,
    released: Data,
    recipe: Annotated[
        Path | None,
        typer.Option("--recipe", "-r", help="The recipe: it gives roles and hierarchies. Its steps are not run."),
    ] = None,
    quasi: Annotated[
        str | None, typer.Option(help="Without a recipe: the quasi-identifiers, separated by commas.")
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="Without a recipe: the sensitive columns, separated by commas.")
    ] = None,
    identifier: Annotated[
        str | None, typer.Option(help="Without a recipe: the columns that identify people directly.")
    ] = None,
    report: ReportFile = None,
    public_report: PublicReport = None,
    lang: Lang = "en",
    fraction: Fraction = 1.0,
    control: Annotated[
        Path | None, typer.Option(help="A control group for the attacks: people who are in neither table.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="A column to predict: compares models trained on the release and on the original."),
    ] = None,
    attempts: Annotated[int, typer.Option(min=0, help="How many guesses each attack makes; 0 runs no attacks.")] = 2000,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="The released rows are in a different order than the original ones.")
    ] = False,
    rename: Annotated[
        str | None, typer.Option(help="Columns that were renamed, released=original: Age=age,ZIP=zip.")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="A table whose first column gives the original row number (from 1) of each released record."),
    ] = None,
    stream_metrics: Annotated[
        Path | None,
        typer.Option(help="The metrics that `oboro stream --json` printed; the report draws them over time."),
    ] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = True,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Attack a release made by any tool; measure its remaining risk and its loss of utility.

    Roles come from the recipe or from the options. Without both they are guessed, and the report says so.

    Example: `oboro evaluate people.csv released.csv --quasi age,sex,zip --sensitive disease --report report.html`
    """
    from oboro.recipe.comparable import renaming
    from oboro.recipe.evaluate import Question
    from oboro.recipe.evaluate import evaluate as measure
    from oboro.recipe.recipe import Recipe
    from oboro.table.schema import Role

    pages = Pages(report, public_report, lang)
    named = [] if recipe is None else Recipe.load(recipe).files
    check_files(pages.files, original, released, recipe, control, truth, stream_metrics, *named)
    files = {"input": original, "output": released, "control_group": control, "truth": truth, "recipe": recipe}
    given = {role: path for role, path in files.items() if path is not None}
    tables = {
        role: read_table(given[role], encoding, delimiter, header, sheet).data for role in given if role != "recipe"
    }
    roles = {Role.QUASI: names(quasi), Role.SENSITIVE: names(sensitive), Role.IDENTIFIER: names(identifier)}
    group, known = tables.get("control_group"), tables.get("truth")
    renames = renaming(rename)
    question = Question(recipe, roles, fraction, group, stream_metrics, unpaired, attempts, known, target, renames)
    with stages() as stage:
        stage("measuring")
        found = measure(tables["input"], tables["output"], question, given).in_language(lang)
        pages.write(found)
    if as_json:
        print_json(found.as_dict())
    else:
        print(found.summary())
