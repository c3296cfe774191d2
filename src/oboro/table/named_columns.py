"""Columns as people name them: a list, or one name where a list of one is meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from oboro.errors import ColumnError, FileError, UsageError
from oboro.text import Message, Raw

__all__ = [
    "LOOKS_LIKE_DATA",
    "MOST_COLUMNS",
    "Names",
    "named_by_place",
    "named_columns",
    "names_known",
    "names_shown",
    "require_few_columns",
    "require_in_both",
]

Names = str | Iterable[object] | None
"""One column, several, or none."""
MOST_COLUMNS = 100_000
"""In a file or another place. A column takes 6 KB of memory however few rows it has; a million of them took 5.7 GB."""
LOOKS_LIKE_DATA = re.compile(r"[-+]?[0-9][0-9.,:/\-+ eE]*")


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


def require_few_columns(path: str, count: int) -> None:
    """Raise a `FileError` where a table has more columns than memory has room for."""
    if count > MOST_COLUMNS:
        raise FileError(Message("error_io.too_many_columns", path=path, count=count, most=MOST_COLUMNS))


def names_shown(names: Iterable[str], asked: Iterable[str]) -> list[str] | list[Raw]:
    """The names of a table's columns for a message that says which of those asked for are not there.

    The first line of a file without a header is somebody's record (`names_known`); then its cells are values of the data.

    >>> names_shown(["age", "sex"], ["Age"]), [one.kind for one in names_shown(["Ann", "31"], ["age"])]
    (['age', 'sex'], ['text', 'number'])
    """
    known = names_known(names, asked)
    return list(names) if known else [Raw(name) for name in names]


def names_known(names: Iterable[str], asked: Iterable[str]) -> bool:
    """Return whether names of a table's columns are a header for certain, by those that were asked for.

    They are where one was asked for, or is nearly so written. They are not where the line end after the header may be lost, so that
    the first record's values are in it: where a table has no rows and names that nobody asked for, where one of these looks like a
    number or a date (and none that was asked for does), or begins with a name that was asked for and is missing.

    >>> names_known(["name", "age", "zipAnn", "31", "12345"], ["name", "age"]), names_known(["name", "zipAnn"], ["name", "zip"])
    (False, False)
    >>> names_known(["year", "2024", "2025"], ["year", "2024"])
    True
    """
    from difflib import get_close_matches

    rows, names, asked = getattr(names, "rows", None), list(names), list(map(str, asked))
    folded = [name.casefold() for name in names]
    if not any(name in names or get_close_matches(name.casefold(), folded, n=1, cutoff=0.75) for name in asked):
        return False
    others = set(names) - set(asked)
    if rows == 0 and others:
        return False
    if not any(LOOKS_LIKE_DATA.fullmatch(name) for name in asked) and any(map(_like_data, others)):
        return False
    missing = [name for name in asked if name and name not in names]
    return not any(_continued(name, begin) for name in others for begin in missing)


def _continued(name: str, begin: str) -> bool:
    """Return whether a name is another one with something behind it that may be a value: `zipAnn`, not `zip_code` or `zips`."""
    rest = name[len(begin) :] if name.casefold().startswith(begin.casefold()) else ""
    return bool(rest) and rest[0] not in "_-. " and not (len(rest) == 1 and rest.islower())


def _like_data(name: str) -> bool:
    return LOOKS_LIKE_DATA.fullmatch(name.strip()) is not None


def named_by_place(first: Sequence[str]) -> list[str]:
    """A header whose empty fields got names by their place; as it is where it may be no header, but a title or a record.

    It is one where only the first field is empty (R and pandas write the names of rows there), or most fields are not, and none of
    these looks like a number or a date.

    >>> named_by_place(["", "age", "column1"]), named_by_place(["Staff", "", ""]), named_by_place(["39", "", "M"])
    (['column1_', 'age', 'column1'], ['Staff', '', ''], ['39', '', 'M'])
    """
    known = [name for name in first if name]
    few = len(known) > len(first) / 2 or all(first[1:])
    if not known or not few or any(LOOKS_LIKE_DATA.fullmatch(name.strip()) for name in known):
        return list(first)
    names = list(first)
    for place, name in enumerate(first, 1):
        free = f"column{place}"
        while not name and free in names:
            free += "_"
        names[place - 1] = name or free
    return names


def require_in_both(names: Iterable[str], original: Collection[str], released: Collection[str], asker: str) -> None:
    """Raise where one of two tables lacks a column that was asked for; `asker` says for what."""
    for table, what in ((original, "original"), (released, "released")):
        if unknown := [name for name in names if name not in table]:
            raise ColumnError(
                Message(
                    f"error_table.lacks_column.{what}", asker=asker, unknown=unknown, columns=names_shown(table, names)
                )
            )
