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
        Path | None, typer.Option("--recipe", "-r", help="The recipe, for roles and hierarchies.")
    ] = None,
    quasi: Annotated[str | None, typer.Option(help="Without a recipe: the quasi-identifiers, with commas.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="Without a recipe: the sensitive columns.")] = None,
    identifier: Annotated[str | None, typer.Option(help="Without a recipe: the columns that name people.")] = None,
    report: ReportFile = None,
    public_report: PublicReport = None,
    lang: Lang = "en",
    fraction: Fraction = 1.0,
    control: Annotated[
        Path | None, typer.Option(help="People who are in neither table: the control group of the attacks.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="A column that models trained on the release and on the original predict.")
    ] = None,
    attempts: Annotated[int, typer.Option(min=0, help="Guesses of each attack; 0: no attack is run.")] = 2000,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="The rows of the release stand in another order.")
    ] = False,
    rename: Annotated[
        str | None, typer.Option(help="Released columns that have another name in the original: Age=age,ZIP=zip.")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="A table whose first column says which original row each released record is, from 1."),
    ] = None,
    stream_metrics: Annotated[
        Path | None, typer.Option(help="What `oboro stream --json` printed, one line each, for the timelines.")
    ] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = True,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Attack a release, measure the risk that is left in it and what it lost, whoever made it.

    Roles come from the recipe (its steps are not run), from the options, or are guessed, which the report then says.

    Example: `oboro evaluate people.csv released.csv --quasi age,sex,zip --sensitive disease --report report.html`
    """
    from oboro.recipe.comparable import renaming
    from oboro.recipe.evaluate import Question
    from oboro.recipe.evaluate import evaluate as measure
    from oboro.table.schema import Role

    pages = Pages(report, public_report, lang)
    check_files(pages.files, original, released, recipe, control, truth, stream_metrics)
    files = {"input": original, "output": released, "control group": control, "truth": truth, "recipe": recipe}
    given = {role: path for role, path in files.items() if path is not None}
    tables = {
        role: read_table(given[role], encoding, delimiter, header, sheet).data for role in given if role != "recipe"
    }
    roles = {Role.QUASI: names(quasi), Role.SENSITIVE: names(sensitive), Role.IDENTIFIER: names(identifier)}
    group, known = tables.get("control group"), tables.get("truth")
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
