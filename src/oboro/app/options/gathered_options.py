"""Options that several commands have, or that go somewhere together: each set is declared once, as a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import wraps
from operator import attrgetter
from typing import Any, TypeVar, get_type_hints

__all__ = ["FOUND_OUT", "Reading", "gathered"]

C = TypeVar("C", bound=Callable[..., None])
KEYWORD = inspect.Parameter.KEYWORD_ONLY


def gathered(command: C) -> C:
    """Give a command the options of each dataclass among its parameters; it gets them as that parameter."""
    sets: dict[str, Any] = {}
    shown: dict[str, inspect.Parameter] = {}
    for one in inspect.signature(command, eval_str=True).parameters.values():
        if not is_dataclass(one.annotation):
            shown[one.name] = one.replace(kind=KEYWORD)
            continue
        sets[one.name], hints = one.annotation, get_type_hints(one.annotation, include_extras=True)
        for each in fields(one.annotation):
            shown[each.name] = inspect.Parameter(each.name, KEYWORD, default=each.default, annotation=hints[each.name])

    @wraps(command)
    def called(**given: Any) -> None:
        for name, kind in sets.items():
            given[name] = kind(*map(given.pop, map(attrgetter("name"), fields(kind))))
        command(**given)

    del called.__wrapped__  # typer is to see the options
    called.__signature__ = inspect.Signature(list(shown.values()))  # type: ignore[attr-defined]
    called.__annotations__ = {}  # those of the command are strings of another module; the signature has them evaluated
    return called  # type: ignore[return-value]


@dataclass(frozen=True)
class Reading:
    """What is said of how a file is written."""

    encoding: str | None = None
    delimiter: str | None = None
    header: bool = True
    sheet: str | None = None
    header_row: int | None = None

    @property
    def of_stream(self) -> Reading:
        """How what a stream made of such a file is written: its encoding is found out, since a stream writes UTF-8."""
        return replace(self, encoding=None)

    def said(self) -> dict[str, Any]:
        """The options that somebody gave, as they are written on the command line."""
        given = {name: value for name, value in asdict(self).items() if value != getattr(FOUND_OUT, name)}
        return {("--no-header" if name == "header" else f"--{name.replace('_', '-')}"): given[name] for name in given}


FOUND_OUT = Reading()
"""Nothing is said: everything is found out."""
