"""Columns as people name them: a list, or one name where a list of one is meant."""

from __future__ import annotations

from collections.abc import Iterable

from oboro.errors import UsageError
from oboro.text import Message

__all__ = ["Names", "named_columns"]

Names = str | Iterable[object] | None
"""One column, several, or none."""


def named_columns(given: Names | object, what: str) -> list[str]:
    """The names in a list; `what` is the parameter that they came in, for the error when one stands there twice.

    >>> named_columns("income", "sensitive"), named_columns(["age", 7], "quasi"), named_columns(None, "quasi")
    (['income'], ['age', '7'], [])
    """
    if given is None:
        return []
    # Names are text, as in the encoded table. A set has no order of its own, and a result must not depend on chance.
    names = list(map(str, given)) if isinstance(given, Iterable) and not isinstance(given, str) else [str(given)]
    names = sorted(names) if isinstance(given, set | frozenset) else names
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(Message("error_table.named_twice", what=what, columns=twice))
    return names
