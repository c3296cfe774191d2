"""Columns as people name them: a list, or one name where a list of one is meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from oboro.errors import ColumnError, UsageError
from oboro.text import Message, Raw

__all__ = ["Names", "named_columns", "names_shown", "require_in_both"]

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


def names_shown(names: Iterable[str], asked: Iterable[str]) -> list[str] | list[Raw]:
    """The names of a table's columns for a message that says which of those asked for are not there.

    The first line of a file without a header is somebody's record. It is known to be a header where it has a name that was asked
    for, or one nearly so written; else its cells are values of the data.

    >>> names_shown(["age", "sex"], ["Age"]), [one.kind for one in names_shown(["Ann", "31"], ["age"])]
    (['age', 'sex'], ['text', 'number'])
    """
    from difflib import get_close_matches

    names, asked = list(names), list(map(str, asked))
    folded = [name.casefold() for name in names]
    header = any(name in names or get_close_matches(name.casefold(), folded, n=1, cutoff=0.75) for name in asked)
    return names if header else [Raw(name) for name in names]


def require_in_both(names: Iterable[str], original: Collection[str], released: Collection[str], asker: str) -> None:
    """Raise where one of two tables lacks a column that was asked for; `asker` says for what."""
    for table, what in ((original, "original"), (released, "released")):
        if unknown := [name for name in names if name not in table]:
            raise ColumnError(
                Message(
                    f"error_table.lacks_column.{what}", asker=asker, unknown=unknown, columns=names_shown(table, names)
                )
            )
