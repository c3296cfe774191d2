"""`oboro stream`: the skin of a running stream."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    pass

__all__ = ["stream"]


def stream(
    recipe: Annotated[Path, typer.Option("--recipe", "-r", help="The recipe (YAML or JSON).")],
    source: Annotated[
        str, typer.Option("--from", help="-, a file, tcp://HOST:PORT, unix:///PATH, tcp-listen://…")
    ] = "-",
    target: Annotated[str, typer.Option("--to", help="The same, for what is released.")] = "-",
    state: Annotated[Path | None, typer.Option(help="A folder that keeps the state; it survives kill -9.")] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(help="A file for lines that are no records, and why; without it: stderr, reasons only."),
    ] = None,
    mode: Annotated[str, typer.Option(help="swap, count, paper, sequential, fixed, or window.")] = "swap",
    window: Annotated[int | None, typer.Option(help="Mode window: how many records are held at most (10,000).")] = None,
    max_delay: Annotated[float | None, typer.Option(help="Mode window: seconds that a record waits at most.")] = None,
    categories: Annotated[
        str | None, typer.Option(help="Mode window: attributes that are no numbers, with commas between.")
    ] = None,
    index: Annotated[str | None, typer.Option(help="Mode window: auto, exhaustive, fdh or fdhq.")] = None,
    group: Annotated[str | None, typer.Option(help="Mode window: grow or paper.")] = None,
    person: Annotated[
        str | None, typer.Option(help="The field that says whose record it is: k people, not k records.")
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="How many of the last records protect a new one.")] = None,
    horizon_seconds: Annotated[float | None, typer.Option(help="How many of the last seconds do.")] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="ndjson or csv; by the file's name if not given.")
    ] = None,
    output_form: Annotated[
        str | None, typer.Option("--output-format", help="ndjson or csv; as the input if not given.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option(help="After a restart: replay (the input starts over) or continue (it goes on).")
    ] = None,
    longest_line: Annotated[int, typer.Option(min=1, help="Longer lines are dead letters, in bytes.")] = 1 << 20,
    fsync: Annotated[bool, typer.Option("--fsync", help="Wait for the disk before anything is written.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print metrics as JSON on stderr, a line every half second and at the end.")
    ] = False,
) -> None:
    """Anonymize records as they come: each line in, its anonymized version out at once.

    Example: `oboro stream --recipe recipe.yaml --state state < people.ndjson > released.ndjson`
    """
    from oboro.recipe.stream import run_stream

    metrics = run_stream(
        recipe,
        source=source,
        target=target,
        state=state,
        dead_letters=dead_letters,
        form=form,
        output_form=output_form,
        resume=resume,
        longest_line=longest_line,
        fsync=fsync,
        watch=_watch() if sys.stderr.isatty() else _print if as_json else None,
        options={
            "mode": mode,
            "person": person,
            "horizon": horizon,
            "horizon_seconds": horizon_seconds,
            "window": window,
            "max_delay": max_delay,
            "categories": categories.split(",") if categories else None,
            "index": index,
            "group": group,
        },
    )
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if as_json:
        _print(metrics)


def _print(metrics: dict[str, Any]) -> None:
    print(json.dumps(metrics), file=sys.stderr, flush=True)


def _watch() -> Callable[[dict[str, Any]], None]:
    """One line on the terminal, written over and over."""

    def show(now: dict[str, Any]) -> None:
        latency = now["latency_ms"]
        if now["mode"] == "window":
            done = f"loss {now['loss']:.4g} a record  {now['held']:,} held"
        else:
            done = f"{now['suppressed_cells']:,} cells suppressed  function {now['function_version']}"
        print(
            f"\r{now['records']:>12,} records  {now['records_per_second']:>10,.0f}/s  "
            f"latency {latency['p50']:.1f} / {latency['p99']:.1f} ms  {done}  "
            f"{now['dead_letters']:,} dead letters   ",
            end="",
            file=sys.stderr,
            flush=True,
        )

    return show
