"""`oboro stream` between brokers: the skin of a service."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from oboro.app.language import spoken
from oboro.text import Message

__all__ = ["is_service", "require_some_released", "run_as_service"]


def is_service(*places: str | None) -> bool:
    """Whether a stream comes from or goes to a broker."""
    from oboro.io.brokers.brokers import broker_of

    return any(place is not None and broker_of(place) is not None for place in places)


def run_as_service(
    config: Path | None, given: dict[str, Any], *, check: bool, dry: bool, explain: bool, as_json: bool
) -> None:
    """Explain, check, try or run a service."""
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.service.service_making import check_service, run_service
    from oboro.recipe.service.service_settings import ServiceSettings
    from oboro.recipe.stream_plan import plan_of_stream

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
    from oboro.app.language.unforeseen import unforeseen
    from oboro.errors import OboroError
    from oboro.stream.service.watching import log_line

    words = error.words if isinstance(error, OboroError) else unforeseen(error)
    if isinstance(words, Message):
        print(log_line(words, "error", spoken(), True), file=sys.stderr, flush=True)
        sys.exit(error.exit_code if isinstance(error, OboroError) else 2)


def require_some_released(released: int, refused: int) -> None:
    """Raise where an input came to its end and every record was refused: nobody must take an empty output for done."""
    from oboro.errors import InputError

    if refused and not released:
        raise InputError(Message("error_stream.all_refused", count=refused))
