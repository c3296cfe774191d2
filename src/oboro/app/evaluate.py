"""`oboro evaluate`: the skin of the report on any release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from oboro.app.language import spoken
from oboro.app.options import (
    AsJson,
    Data,
    Earlier,
    Force,
    Fraction,
    Law,
    MadeBy,
    MadeFor,
    Pages,
    PublicReport,
    Purpose,
    ReportFile,
    check_files,
    names,
    print_json,
    read_table,
    stages,
)
from oboro.app.options.reading_options import FOUND_OUT, Reading, reads_tables
from oboro.text import Message

__all__ = ["evaluate"]


@reads_tables
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
    person: Annotated[
        str | None,
        typer.Option(help="The column that identifies the person of a record; people are then counted, not records."),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(help="What the release is said to keep: each class holds at least k records or people."),
    ] = None,
    l: Annotated[  # noqa: E741
        float | None, typer.Option("--l", help="l-diversity of the sensitive columns, said to hold.")
    ] = None,
    l_kind: Annotated[
        str, typer.Option(help="The kind of l-diversity: distinct, entropy or recursive (recursive needs --c).")
    ] = "distinct",
    c: Annotated[float | None, typer.Option("--c", help="The constant c of recursive (c, l)-diversity.")] = None,
    t: Annotated[float | None, typer.Option("--t", help="t-closeness of the sensitive columns, said to hold.")] = None,
    distance: Annotated[str, typer.Option(help="How t-closeness compares values: equal or ordered.")] = "equal",
    alpha: Annotated[
        float | None,
        typer.Option(help="(α,k)-anonymity, said to hold: no sensitive value has a share above α in a class."),
    ] = None,
    accept: Annotated[
        str | None, typer.Option(help="Columns by which people may be unique, separated by commas.")
    ] = None,
    report: ReportFile = None,
    public_report: PublicReport = None,
    force: Force = False,
    law: Law = None,
    made_by: MadeBy = None,
    made_for: MadeFor = None,
    purpose: Purpose = None,
    fraction: Fraction = 1.0,
    control: Annotated[
        str | None, typer.Option(help="A control group for the attacks: people who are in neither table.")
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
        str | None,
        typer.Option(help="A table whose first column gives the original row number (from 1) of each released record."),
    ] = None,
    stream_metrics: Annotated[
        Path | None,
        typer.Option(help="The metrics that `oboro stream --json` printed; the report draws them over time."),
    ] = None,
    earlier: Earlier = None,
    reading: Reading = FOUND_OUT,
    as_json: AsJson = False,
) -> None:
    """Attack a release made by any tool; measure its remaining risk and its loss of utility.

    Roles come from the recipe or from the options. Without both they are guessed, and the report says so.
    --k, --l, --t and --alpha say what the release is to keep; without them, the recipe's steps do. Attacks are judged against it.

    With --earlier, who is in all releases, came or left is attacked by all of them together.

    Exit code 1: a promise that was named does not hold, somebody is singled out by columns that no promise covers and
    --accept (or the recipe) does not name, or a series of releases narrows somebody below k or l.
    The report is written all the same.

    Example: `oboro evaluate people.csv released.csv --quasi age,sex,zip --sensitive disease --k 5 --report report.html`
    """
    from oboro.recipe.comparable import renaming
    from oboro.recipe.evaluate import evaluate as measure
    from oboro.recipe.recipe import Recipe

    plan = None if recipe is None else Recipe.load(recipe)
    pages = Pages(report, public_report, law, made_by, made_for, purpose)
    files = [] if plan is None else plan.files
    check_files(
        pages.files, original, released, recipe, control, truth, stream_metrics, *(earlier or ()), *files, force=force
    )
    before, after, group, known = (
        None if path is None else read_table(path, reading) for path in (original, released, control, truth)
    )
    with stages() as stage:
        stage(Message("progress.measuring"))
        found = measure(
            before,
            after,
            plan,
            quasi=names(quasi),
            sensitive=names(sensitive),
            identifier=names(identifier),
            person=person,
            k=k,
            l=l,
            kind=l_kind,
            c=c,
            t=t,
            distance=distance,
            alpha=alpha,
            accept=names(accept),
            fraction=fraction,
            control=group,
            target=target,
            attempts=attempts,
            unpaired=unpaired,
            rename=renaming(rename),
            truth=known,
            stream=stream_metrics or (),
            earlier=[read_table(one, reading) for one in earlier or ()],
        )
        found = pages.completed(found.in_language(spoken()))
        pages.write(found)
    if as_json:
        print_json(found.as_dict())
    else:
        print(found.summary())
    raise typer.Exit(1 if found.refused else 0)
