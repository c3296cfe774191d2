"""Arguments of public functions: whoever gives a wrong kind gets an error of ours that names the parameter.

The arguments are looked at only after something failed, so that a good call costs nothing and may give whatever works. An error
that no argument explains is a mistake of ours, and stays what it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from oboro.errors import OboroError, UsageError
from oboro.text import Message

__all__ = ["at_the_door"]

P = ParamSpec("P")
R = TypeVar("R")
LARGE = 1 << 63
READING = ("delimiter", "quote", "encoding", "header", "sheet", "header_row")  # how a file is read


def at_the_door(function: Callable[P, R]) -> Callable[P, R]:
    """The same function; where it fails because an argument is of a wrong kind, a `UsageError` says which."""

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except OboroError:
            raise
        except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as problem:
            if (wrong := _wrong(function, args, kwargs)) is None:
                raise
            raise UsageError(wrong) from problem

    return checked


def _wrong(function: Callable[..., Any], args: Any, kwargs: Any) -> Message | None:
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:  # a parameter that there is not, or too few: Python says it
        return None
    hints = {name: one.annotation for name, one in inspect.signature(function).parameters.items()}
    for name, value in given.items():
        place = {"function": function.__qualname__, "parameter": name}
        if not _fits(value, hints[name], function):
            return Message("error_value.parameter", **place, expected=str(hints[name]), kind=type(value).__name__)
        if isinstance(value, int | float) and (not abs(value) < LARGE or (name == "seed" and value < 0)):
            return Message("error_value.unusable", **place)
        unknown = [key for key in value if key not in READING] if name == "reading" and value else []
        if unknown:
            return Message("error_value.no_key", key=unknown[0], known=list(READING))
    return None


def _fits(value: Any, hint: Any, function: Callable[..., Any]) -> bool:
    """Whether a value is of the kind that is asked for; where that cannot be told, it is."""
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
    from pydantic_core import SchemaError

    if hint is inspect.Parameter.empty:
        return True
    try:
        kind = eval(hint, function.__globals__) if isinstance(hint, str) else hint
        TypeAdapter(kind, config=ConfigDict(arbitrary_types_allowed=True)).validate_python(value, strict=True)
    except ValidationError:
        return False
    except (NameError, PydanticUserError, SchemaError, TypeError):
        return True
    return True
