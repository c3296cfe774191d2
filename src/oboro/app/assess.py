"""`oboro assess`: the skin of the assessment of a released file."""

from __future__ import annotations

from typing import Annotated

import typer

from oboro.app.language import spoken
from oboro.app.options import (
    AsJson,
    Data,
    Earlier,
    Force,
    ReportFile,
    check_files,
    names,
    print_json,
    read_table,
    stages,
)
from oboro.app.options.reading_options import FOUND_OUT, Reading, reads_tables
from oboro.text import Message

__all__ = ["assess"]


@reads_tables
def assess(
    released: Data,
    quasi: Annotated[
        str | None, typer.Option(help="The quasi-identifiers, separated by commas. Default: guessed.")
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="The sensitive columns, separated by commas. Default: guessed.")
    ] = None,
    person: Annotated[
        str | None, typer.Option(help="The column that says whose a record is: people are counted, not records.")
    ] = None,
    earlier: Earlier = None,
    k: Annotated[
        int | None,
        typer.Option(help="With --earlier: the k that all releases together must keep. Default: the table's own k."),
    ] = None,
    report: ReportFile = None,
    force: Force = False,
    reading: Reading = FOUND_OUT,
    as_json: AsJson = False,
) -> None:
    """Say what a released file alone tells: its k, l and t, who is unique on what, whose secret is certain.

    Example: `oboro assess released.csv --quasi age,sex,zip --sensitive disease --report assessment.html`
    """
    from oboro.recipe.released.assess import assess as measure

    check_files({"--report": report}, released, *(earlier or ()), force=force)
    table = read_table(released, reading)
    with stages() as stage:
        stage(Message("progress.measuring"))
        before = [read_table(one, reading) for one in earlier or ()]
        found = measure(table, names(quasi), names(sensitive), person, earlier=before, k=k, lang=spoken())
        if report is not None:
            found.to_html(report, force=True)  # `check_files` asked
    if as_json:
        print_json(found.as_dict())
    else:
        print(found)
