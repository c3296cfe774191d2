"""`oboro evaluate`: the report on any release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from oboro.cli.language import spoken
from oboro.cli.options import (
    FOUND_OUT,
    NO_PAGES,
    NOTHING_CLAIMED,
    AsJson,
    Claims,
    Force,
    Pages,
    Reading,
    check_files,
    gathered,
    names,
    print_json,
    read_table,
    stages,
)
from oboro.text import Message

__all__ = ["evaluate"]


@gathered
def evaluate(
    original: str,
    released: str,
    recipe: Annotated[Path | None, typer.Option("--recipe", "-r")] = None,
    quasi: str | None = None,
    sensitive: str | None = None,
    identifier: str | None = None,
    person: str | None = None,
    claims: Claims = NOTHING_CLAIMED,
    accept: str | None = None,
    pages: Pages = NO_PAGES,
    force: Force = False,
    fraction: float = 1.0,
    control: str | None = None,
    target: str | None = None,
    attempts: Annotated[int, typer.Option(min=0)] = 2000,
    unpaired: Annotated[bool, typer.Option("--unpaired")] = False,
    rename: str | None = None,
    truth: str | None = None,
    stream_metrics: Path | None = None,
    earlier: list[str] | None = None,
    reading: Reading = FOUND_OUT,
    as_json: AsJson = False,
) -> None:
    """Compare a release with its original: attack it, and measure the remaining risk and what was lost. Any tool may have made it.

    Roles come from the recipe or from the options. Without both they are guessed, and the report says so.
    --k, --l, --t and --alpha say what the release must keep; without them, the steps of the recipe do.

    With --earlier, all releases together are attacked.

    Exit code 1: a named promise does not hold; or somebody is unique by columns that no promise covers and that neither
    --accept nor the recipe names; or a series of releases leaves somebody fewer than k rows or l secrets.
    The report is written in any case.

    Example: `oboro evaluate people.csv released.csv --quasi age,sex,zip --sensitive disease --k 5 --report report.html`
    """
    from oboro.recipe.evaluate import evaluate as measure
    from oboro.recipe.evaluate import renaming
    from oboro.recipe.recipe import Recipe

    plan = None if recipe is None else Recipe.load(recipe)
    files = [] if plan is None else plan.files
    check_files(
        pages.files, original, released, recipe, control, truth, stream_metrics, *(earlier or ()), *files, force=force
    )
    after = read_table(released, reading if stream_metrics is None else reading.of_stream)
    before, group, known = (None if path is None else read_table(path, reading) for path in (original, control, truth))
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
            **claims.demands(),
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
