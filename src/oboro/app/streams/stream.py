"""`oboro stream`: the skin of a running stream."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from oboro.app.language import spoken
from oboro.app.options import ExcelSafe, names
from oboro.app.options.completed_words import modes
from oboro.app.options.gathered_options import gathered
from oboro.app.streams.stream_service import is_service, require_some_released, run_as_service
from oboro.text import Message

__all__ = ["stream"]


@dataclass(frozen=True)
class ServiceOptions:
    """What only a service between brokers is told."""

    batch: int | None = None
    once: Annotated[bool | None, typer.Option("--once")] = None
    id: str | None = None
    id_horizon: int | None = None
    rate: float | None = None
    raw_letters: Annotated[bool | None, typer.Option("--raw-letters")] = None
    schema: Path | None = None
    snapshots: str | None = None
    lease: float | None = None
    listen: str | None = None
    live_within: float | None = None
    log: str | None = None


NO_SERVICE = ServiceOptions()


@gathered
def stream(
    recipe: Annotated[Path | None, typer.Option("--recipe", "-r")] = None,
    source: Annotated[str | None, typer.Option("--from")] = None,
    target: Annotated[str | None, typer.Option("--to")] = None,
    state: Path | None = None,
    dead_letters: str | None = None,
    mode: Annotated[str | None, typer.Option(autocompletion=modes)] = None,
    window: int | None = None,
    max_delay: float | None = None,
    categories: str | None = None,
    index: str | None = None,
    group: str | None = None,
    order: str | None = None,
    person: str | None = None,
    horizon: int | None = None,
    horizon_seconds: float | None = None,
    reach: int | None = None,
    form: Annotated[str | None, typer.Option("--format")] = None,
    output_form: Annotated[str | None, typer.Option("--output-format")] = None,
    encoding: str | None = None,
    resume: str | None = None,
    longest_line: Annotated[int | None, typer.Option(min=1)] = None,
    excel_safe: ExcelSafe = False,
    fsync: Annotated[bool, typer.Option("--fsync")] = False,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    config: Path | None = None,
    service: ServiceOptions = NO_SERVICE,
    check: Annotated[bool, typer.Option("--check")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run")] = False,
    explain: Annotated[bool, typer.Option("--explain")] = False,
) -> None:
    """Anonymize a stream record by record: each line in, its anonymized version out.

    Example: `oboro stream --recipe recipe.yaml --state state < people.ndjson > released.ndjson`

    Between brokers: `oboro stream --recipe recipe.yaml --from nats://HOST/PEOPLE --to nats://HOST/RELEASED --state state`

    Exit codes: 0 done; 1 a privacy promise does not hold; 2 bad usage or input; 75 a fault that may pass (a broker is away, the
    disk is full): start it again; 78 refused for good (the state or the output does not fit, a broker does not let it in).
    """
    from oboro.errors import UsageError
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.stream import run_stream
    from oboro.recipe.stream_plan import StreamOptions, cautions_of_stream, plan_of_stream

    if config or check or dry_run or service != NO_SERVICE or is_service(source, target):
        given: dict[str, Any] = {
            **{"recipe": recipe, "from": source, "to": target, "state": state, "dead_letters": dead_letters},
            **{"mode": mode, "person": person, "horizon": horizon, "horizon_seconds": horizon_seconds, "reach": reach},
            **{"window": window, "max_delay": max_delay, "categories": names(categories) or None, "index": index},
            **{"group": group, "order": order, "format": form, "output_format": output_form},
            **{"longest_line": longest_line, "fsync": fsync or None},
        }
        if encoding is not None:
            raise UsageError(Message("error_service.no_encoding"))
        if idle := ["--resume"] * (resume is not None) + ["--excel-safe"] * excel_safe:
            raise UsageError(Message("error_service.idle_options", options=idle))
        settings = {**given, **asdict(service)}
        run_as_service(config, settings, check=check, dry=dry_run, explain=explain, as_json=as_json)
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
    if explain:
        print(plan_of_stream(Recipe.load(recipe), options).say(spoken()))
        return
    ends = {"source": source or "-", "target": target or "-", "state": state, "dead_letters": dead_letters}
    forms = {"form": form, "output_form": output_form, "encoding": encoding, "excel_safe": excel_safe}
    how = {"resume": resume, "longest_line": longest_line or 1 << 20, "fsync": fsync, "lang": spoken()}
    watch = _watch() if sys.stderr.isatty() else _print if as_json else None
    loaded = Recipe.load(recipe)
    for said in () if as_json else cautions_of_stream(loaded, options):  # lines of JSON stand alone there
        print(Message("command.failed", what=said).say(spoken()), file=sys.stderr)
    metrics = run_stream(loaded, options, watch=watch, **ends, **forms, **how)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if as_json:
        _print(metrics)
    if not metrics["stopped"]:
        require_some_released(metrics["released_now"], metrics["dead_letters"])
    if metrics["dead_letters"] and not as_json:
        dead, kept = metrics["dead_letters"], "stream_refused" if dead_letters is None else "stream_refused_kept"
        told = Message(f"command.{kept}", dead=dead, all=dead + metrics["records"], place=dead_letters)
        print(told.say(spoken()), file=sys.stderr)


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
