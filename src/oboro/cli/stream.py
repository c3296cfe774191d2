"""`oboro stream`: anonymization of a running stream."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from oboro.cli.language import spoken
from oboro.cli.options import ExcelSafe, gathered, modes, names
from oboro.text import Message

__all__ = ["is_service", "require_some_released", "run_as_service", "stream"]


# Service --------------------------------------------------------------------------------------------------------------
# `oboro stream` between brokers.


def is_service(*places: str | None) -> bool:
    """Test if a stream comes from or goes to a broker."""
    from oboro.service.base import broker_of

    return any(place is not None and broker_of(place) is not None for place in places)


def run_as_service(
    config: Path | None, given: dict[str, Any], *, check: bool, dry: bool, explain: bool, as_json: bool
) -> None:
    """Explain, check, try or run a service."""
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.stream import plan_of_stream
    from oboro.service.make import check_service, run_service
    from oboro.service.settings import ServiceSettings

    settings = ServiceSettings.load(config, {name: one for name, one in given.items() if one is not None})
    if explain:
        print(plan_of_stream(Recipe.load(settings.recipe), settings.decide).say(spoken()))
        return
    if check:
        for said in check_service(settings):
            print(said.say(spoken()))
        return
    try:
        counts = run_service(settings, dry=dry, lang=spoken())
    except Exception as error:
        if settings.log == "json":
            _end_in_json(error)
        raise
    if dry and not as_json:
        print(Message("service.dry", **counts).say(spoken()))
    if as_json:
        print(json.dumps(counts), file=sys.stderr, flush=True)
    if not counts["stopped"]:
        require_some_released(counts["released"], counts["dead_letters"])


def _end_in_json(error: Exception) -> None:
    """The last words of a log in JSON are an object as well: whoever collects them looks for no sentence."""
    from oboro.errors import OboroError
    from oboro.stream.engine import log_line
    from oboro.text.unforeseen import unforeseen

    words = error.words if isinstance(error, OboroError) else unforeseen(error)
    if isinstance(words, Message):
        print(log_line(words, "error", spoken(), True), file=sys.stderr, flush=True)
        sys.exit(error.exit_code if isinstance(error, OboroError) else 2)


def require_some_released(released: int, refused: int) -> None:
    """Raise where an input came to its end and every record was refused: nobody must take an empty output for done."""
    from oboro.errors import InputError

    if refused and not released:
        raise InputError(Message("error_stream.all_refused", count=refused))


# Stream ---------------------------------------------------------------------------------------------------------------


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
    from oboro.recipe.stream import StreamOptions, cautions_of_stream, plan_of_stream, run_stream

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
