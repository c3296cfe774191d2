"""`oboro stream`: the skin of a running stream."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from oboro.app.language import spoken
from oboro.app.options import ExcelSafe, names
from oboro.app.streams.stream_service import is_service, run_as_service
from oboro.text import Message

__all__ = ["stream"]


def stream(
    recipe: Annotated[Path | None, typer.Option("--recipe", "-r", help="The recipe (YAML or JSON).")] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Where records come from: - (standard input), a file, tcp://HOST:PORT, unix:///PATH, tcp-listen://…, "
            "or a broker: nats://HOST/STREAM.",
        ),
    ] = None,
    target: Annotated[str | None, typer.Option("--to", help="Where released records go, in the same forms.")] = None,
    state: Annotated[
        Path | None, typer.Option(help="A folder for the state. After a crash, the stream continues from it.")
    ] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(help="A file for rejected lines, each with its reason. Without it, only reasons go to stderr."),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            help="How to decide: swap (if not given), count, paper, sequential or fixed (without delay), or window."
        ),
    ] = None,
    window: Annotated[
        int | None, typer.Option(help="Mode window: the most records held at a time (10,000 if not given).")
    ] = None,
    max_delay: Annotated[
        float | None, typer.Option(help="Mode window: the longest that a record waits, in seconds.")
    ] = None,
    categories: Annotated[
        str | None, typer.Option(help="Mode window: attributes that are categories, separated by commas.")
    ] = None,
    index: Annotated[
        str | None, typer.Option(help="Mode window: the nearest-neighbour index: auto, exhaustive, fdh or fdhq.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="Mode window: how groups are formed: grow or paper.")] = None,
    order: Annotated[
        str | None,
        typer.Option(
            help="Mode window: exchanged (members of a group leave their other fields in each other's places) or kept."
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(help="The field that identifies the person of a record; k then counts people, not records."),
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Only the latest records count towards k: how many.")] = None,
    horizon_seconds: Annotated[
        float | None, typer.Option(help="Only the latest records count towards k: those of how many seconds.")
    ] = None,
    reach: Annotated[
        int | None,
        typer.Option(
            help="Modes swap and count: how many distinct earlier records one search compares at most (65,536 if not given)."
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="The input format: ndjson or csv; in a broker ndjson, msgpack or avro. Default: by the name of the file.",
        ),
    ] = None,
    output_form: Annotated[
        str | None, typer.Option("--output-format", help="The output format. Default: as the input.")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(help="After a restart: replay (the input is sent again from its start) or continue (it is not)."),
    ] = None,
    longest_line: Annotated[
        int | None, typer.Option(min=1, help="Reject lines longer than this many bytes (1,048,576 if not given).")
    ] = None,
    excel_safe: ExcelSafe = False,
    fsync: Annotated[
        bool,
        typer.Option(
            "--fsync", help="Save the state to disk before each output; slower, but survives a power failure."
        ),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print metrics to stderr as JSON: one line every half second and one at the end."),
    ] = False,
    config: Annotated[
        Path | None, typer.Option(help="A file (YAML) with these options by name; what is given here counts more.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(help="Service: the most records that are taken at a time (256 if not given).")
    ] = None,
    once: Annotated[bool | None, typer.Option("--once", help="Service: end when the input holds nothing more.")] = None,
    id: Annotated[
        str | None, typer.Option("--id", help="Service: the field that tells records apart; repeats are passed over.")
    ] = None,
    id_horizon: Annotated[
        int | None, typer.Option(help="Service: how many of the latest ids are remembered (100,000 if not given).")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Service: the most records a second.")] = None,
    raw_letters: Annotated[
        bool | None, typer.Option("--raw-letters", help="Service: dead letters hold what was refused.")
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="Service: the Avro schema of the input.")] = None,
    snapshots: Annotated[
        str | None, typer.Option(help="Service: in place of --state, where in a broker snapshots are kept.")
    ] = None,
    lease: Annotated[
        float | None,
        typer.Option(help="Service: lead for so many seconds at a time; another process stands by and takes over."),
    ] = None,
    listen: Annotated[
        str | None, typer.Option(help="Service: HOST:PORT for /metrics, /health/live and /health/ready.")
    ] = None,
    log: Annotated[str | None, typer.Option(help="Service: how its log is written, text or json.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Service: try settings, recipe and brokers on a sample, and stop.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Service: decide what is there, publish nothing, and say what would be.")
    ] = False,
) -> None:
    """Anonymize a stream record by record: each line in, its anonymized version out.

    Example: `oboro stream --recipe recipe.yaml --state state < people.ndjson > released.ndjson`

    Between brokers: `oboro stream --recipe recipe.yaml --from nats://HOST/PEOPLE --to nats://HOST/RELEASED --state state`
    """
    from oboro.errors import UsageError
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.stream import run_stream
    from oboro.recipe.stream_plan import StreamOptions

    service: dict[str, Any] = {
        **{"batch": batch, "once": once, "id": id, "id_horizon": id_horizon, "rate": rate, "raw_letters": raw_letters},
        **{"schema": schema, "snapshots": snapshots, "lease": lease, "listen": listen, "log": log},
    }
    if config or check or dry_run or any(one is not None for one in service.values()) or is_service(source, target):
        given: dict[str, Any] = {
            **{"recipe": recipe, "from": source, "to": target, "state": state, "dead_letters": dead_letters},
            **{"mode": mode, "person": person, "horizon": horizon, "horizon_seconds": horizon_seconds, "reach": reach},
            **{"window": window, "max_delay": max_delay, "categories": names(categories) or None, "index": index},
            **{"group": group, "order": order, "format": form, "output_format": output_form},
            **{"longest_line": longest_line, "fsync": fsync or None},
        }
        run_as_service(config, {**given, **service}, check=check, dry=dry_run, as_json=as_json)
        return
    if recipe is None:
        raise UsageError(Message("error_app.no_recipe"))
    options = StreamOptions(
        mode=mode or "swap",  # type: ignore[arg-type]
        person=person,
        horizon=horizon,
        horizon_seconds=horizon_seconds,
        reach=reach,
        window=window,
        max_delay=max_delay,
        categories=names(categories) or None,
        index=index,  # type: ignore[arg-type]
        group=group,  # type: ignore[arg-type]
        order=order,  # type: ignore[arg-type]
    )
    metrics = run_stream(
        Recipe.load(recipe),
        options,
        source=source or "-",
        target=target or "-",
        state=state,
        dead_letters=dead_letters,
        form=form,  # type: ignore[arg-type]
        output_form=output_form,  # type: ignore[arg-type]
        resume=resume,  # type: ignore[arg-type]
        longest_line=longest_line or 1 << 20,
        excel_safe=excel_safe,
        fsync=fsync,
        lang=spoken(),
        watch=_watch() if sys.stderr.isatty() else _print if as_json else None,
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
            done = Message("command.stream_window", loss=now["loss"], held=now["held"])
        else:
            done = Message("command.stream_cells", cells=now["suppressed_cells"], version=now["function_version"])
        line = Message(
            "command.stream",
            records=now["records"],
            speed=now["records_per_second"],
            p50=latency["p50"],
            p99=latency["p99"],
            done=done,
            dead=now["dead_letters"],
        )
        print(f"\r{line.say(spoken())}", end="", file=sys.stderr, flush=True)

    return show
