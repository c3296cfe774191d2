"""How a command reads tables: the options are the same wherever one is read."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import wraps
from typing import Any, TypeVar, get_type_hints

__all__ = ["FOUND_OUT", "Reading", "reads_tables"]

C = TypeVar("C", bound=Callable[..., None])


@dataclass(frozen=True)
class Reading:
    """What is said of how a file is written."""

    encoding: str | None = None
    delimiter: str | None = None
    header: bool = True
    sheet: str | None = None
    header_row: int | None = None

    def options(self) -> dict[str, Any]:
        """The same for `oboro.io.files.read`."""
        return asdict(self)

    def said(self) -> dict[str, Any]:
        """The options that somebody gave, as they are written on the command line."""
        given = {name: value for name, value in asdict(self).items() if value != getattr(FOUND_OUT, name)}
        return {("--no-header" if name == "header" else f"--{name.replace('_', '-')}"): given[name] for name in given}


FOUND_OUT = Reading()
"""Nothing is said: everything is found out."""


def reads_tables(command: C) -> C:
    """Give a command the options of `Reading`, which come to it as its parameter `reading`."""
    own = [one.replace(kind=KEYWORD) for one in inspect.signature(command, eval_str=True).parameters.values()]
    place = [one.name for one in own].index("reading")
    shown = [*own[:place], *OPTIONS, *own[place + 1 :]]

    @wraps(command)
    def called(**given: Any) -> None:
        command(reading=Reading(**{one.name: given.pop(one.name) for one in OPTIONS}), **given)

    del called.__wrapped__  # typer is to see the options
    called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in shown}
    return called  # type: ignore[return-value]


KEYWORD = inspect.Parameter.KEYWORD_ONLY
OPTIONS = [
    inspect.Parameter(name, KEYWORD, default=getattr(FOUND_OUT, name), annotation=annotation)
    for name, annotation in get_type_hints(Reading, include_extras=True).items()
]
