"""`oboro bench`: reproduce a paper's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from oboro.app.options import AsJson, stages
from oboro.app.options.completed_words import benches
from oboro.text import Message

__all__ = ["bench"]


def bench(
    name: Annotated[str | None, typer.Argument(autocompletion=benches)] = None,
    names: Annotated[bool, typer.Option("--list")] = False,
    quick: Annotated[bool, typer.Option("--quick")] = False,
    full: Annotated[bool, typer.Option("--full")] = False,
    seconds: Annotated[float | None, typer.Option(min=1)] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o")] = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce a paper's tables on this machine and show our figures beside the paper's.

    Real data is read from the folder in OBORO_DATA. Without it, only the synthetic parts run.

    Example: `oboro bench histogram --quick`
    """
    from oboro.errors import UsageError
    from oboro.papers import BENCHES, run

    if names:
        print("\n".join(f"{one.replace('_', '-'):<12} {bench.shows}" for one, bench in BENCHES.items()))
        return
    if name is None:
        raise UsageError(Message("error_app.no_bench"))
    with stages() as stage:
        run(name, quick=quick, full=full, as_json=as_json, seconds=seconds, output=output, progress=stage)
