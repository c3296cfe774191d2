"""`oboro synth`: a table of example data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from oboro.cli.language import spoken
from oboro.cli.options import Force, kinds, stages
from oboro.text import Message

__all__ = ["synth"]


def synth(
    kind: Annotated[str, typer.Argument(autocompletion=kinds)],
    output: Annotated[Path, typer.Option("--output", "-o")],
    rows: Annotated[int, typer.Option(min=1)] = 10_000,
    columns: Annotated[int, typer.Option(min=4)] = 100,
    seed: Annotated[int, typer.Option(min=0)] = 42,
    force: Force = False,
) -> None:
    """Make up a table to try things on, with hierarchies and a ready recipe (OUTPUT.recipe.yaml) beside it.

    Example: `oboro synth people --rows 100000 --output people.csv`
    """
    from oboro.recipe.starter import write_sample

    with stages() as stage:
        stage(Message("progress.making_up", rows=rows))
        recipe = write_sample(kind, output, rows=rows, columns=columns, seed=seed, force=force, lang=spoken())
    print(Message("command.made_up", output=output, rows=rows, recipe=recipe).say(spoken()), file=sys.stderr)
