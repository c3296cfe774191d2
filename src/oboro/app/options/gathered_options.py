"""Options that several commands have, or that go somewhere together: each set is declared once, as a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import wraps
from typing import Any, TypeVar, get_type_hints

__all__ = ["FOUND_OUT", "NOTHING_CLAIMED", "Claims", "Reading", "gathered"]

C = TypeVar("C", bound=Callable[..., None])
KEYWORD = inspect.Parameter.KEYWORD_ONLY


def gathered(command: C) -> C:
    """Give a command the options of each dataclass among its parameters; it gets them as that parameter."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    sets: dict[str, Any] = {one.name: one.annotation for one in own if is_dataclass(one.annotation)}
    shown = [each for one in own for each in (_options(sets[one.name]) if one.name in sets else [one])]

    @wraps(command)
    def called(**given: Any) -> None:
        made = {name: kind(**{one.name: given.pop(one.name) for one in fields(kind)}) for name, kind in sets.items()}
        command(**made, **given)

    del called.__wrapped__  # typer is to see the options
    called.__signature__ = inspect.Signature([one.replace(kind=KEYWORD) for one in shown])  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in shown}
    return called  # type: ignore[return-value]


def _options(kind: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(one.name, KEYWORD, default=one.default, annotation=hints[one.name]) for one in fields(kind)
    ]


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


@dataclass(frozen=True)
class Claims:
    """What a release is said to keep."""

    k: int | None = None
    l: float | None = None  # noqa: E741
    l_kind: str = "distinct"
    c: float | None = None
    t: float | None = None
    distance: str = "equal"
    alpha: float | None = None

    def demands(self) -> dict[str, Any]:
        """The same for `oboro.verify` and `oboro.evaluate`."""
        given = asdict(self)
        return {"kind": given.pop("l_kind"), **given}


NOTHING_CLAIMED = Claims()
