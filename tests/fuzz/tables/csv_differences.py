"""The differences to other readers of CSV that are meant, and what each is recognised by; docs/reliability.md has the reasons."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from oboro.io.formats.csv.dialect import Dialect

__all__ = ["peer_difference", "refusal_difference"]

Rows = Sequence[Sequence[Any]]


def refusal_difference(records: Rows | None, text: str, dialect: Dialect) -> str | None:
    """Why a file is refused of which Python's csv module makes these records; None if there is no reason."""
    if records is None:
        return "refused: quotes"
    if not records:
        return "refused: empty"
    if "\0" in text:
        return "refused: NUL"
    first = records[0]
    if dialect.header and None in first:
        return "refused: a column without a name"
    if dialect.header and len(set(first)) < len(first):
        return "refused: two columns of one name"
    if any(len(record) != len(first) for record in records):
        return "refused: ragged"
    return None


def peer_difference(peer: str, text: str, dialect: Dialect, rows: Rows, theirs: Rows | None) -> str | None:
    """Why a peer reads something else than we do; None if there is no reason."""
    for name, recognised in DIFFERENCES[peer].items():
        if recognised(text, dialect, rows, theirs):
            return name
    return None


# By what each is recognised -------------------------------------------------------------------------------------------


def _lone_cr(text: str, dialect: Dialect, rows: Rows, theirs: Rows | None) -> bool:
    """A line that ends in CR alone, as on old Macs: polars knows LF and CR LF only."""
    return re.search("\r(?!\n)", text) is not None


def _stray_quote(text: str, dialect: Dialect, rows: Rows, theirs: Rows | None) -> bool:
    """A quote within a field that does not begin with one: to us and to Python's csv it is a letter, others look for its pair."""
    quote, edges = dialect.quote, (dialect.cut, "\n", "\r")
    quoted, begins = False, True
    for letter in text:
        if quoted:
            quoted = letter != quote  # a doubled quote closes the field and opens it again
            begins = not quoted
        elif letter == quote and not begins:
            return True
        elif letter == quote:
            quoted = True
        else:
            begins = letter in edges
    return False


def _blank_line(text: str, dialect: Dialect, rows: Rows, theirs: Rows | None) -> bool:
    """A blank line: to us no record, or a missing value where there is one column; others see it the other way round."""
    if re.search("(^|\n|\r(?!\n))[\r\n]", text) is None:
        return False
    return theirs is None or _filled(theirs) == _filled(rows)


def _filled(rows: Rows) -> Rows:
    return [row for row in rows if any(cell is not None for cell in row)]


def _leading_spaces(text: str, dialect: Dialect, rows: Rows, theirs: Rows | None) -> bool:
    """Spaces after every delimiter, which we take for a habit of whoever wrote the file; others for a part of the value."""
    return dialect.space


Recognised = Callable[[str, Dialect, Rows, Rows | None], bool]
DIFFERENCES: dict[str, dict[str, Recognised]] = {
    "polars": {
        "lone CR": _lone_cr, "stray quote": _stray_quote, "spaces": _leading_spaces, "blank line": _blank_line,
    },
    "pyarrow": {"stray quote": _stray_quote, "spaces": _leading_spaces, "blank line": _blank_line},
}  # fmt: skip
