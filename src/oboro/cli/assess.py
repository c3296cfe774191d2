"""`oboro assess`: assessment of a released file."""

from __future__ import annotations

from pathlib import Path

from oboro.cli.language import spoken
from oboro.cli.options import (
    FOUND_OUT,
    AsJson,
    Force,
    Reading,
    check_files,
    gathered,
    names,
    print_json,
    read_table,
    stages,
)
from oboro.text import Message

__all__ = ["assess"]


@gathered
def assess(
    released: str,
    quasi: str | None = None,
    sensitive: str | None = None,
    person: str | None = None,
    earlier: list[str] | None = None,
    k: int | None = None,
    report: Path | None = None,
    force: Force = False,
    reading: Reading = FOUND_OUT,
    as_json: AsJson = False,
) -> None:
    """Say what a stranger can learn from a released file: its k, l and t, who is unique by which columns, whose secret is certain.

    Example: `oboro assess released.csv --quasi age,sex,zip --sensitive disease --report assessment.html`
    """
    from oboro.recipe.assess import assess as measure

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
