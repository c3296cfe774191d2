"""Small CSV tables, by Python's own `csv` module: to load compiled code would take longer than all of it.

A small file in which anything is wrong, or unusual, goes to the reader for large ones (`parse`), which says what it is. What is
read and what is written is the same in both.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from oboro.data.column import Column, UnreadColumn
from oboro.data.dataset import Dataset
from oboro.errors import UsageError
from oboro.io import column_store
from oboro.io.bytes import ByteStream, FileState
from oboro.io.column_store import HeldColumns
from oboro.io.formats.csv.dialect import Dialect
from oboro.kernels.jit import little_work
from oboro.text import Message
from oboro.text.language import ByteProgress, RowProgress

if TYPE_CHECKING:
    from oboro.io.column_store import FileFingerprints, UntouchedCsvColumns

__all__ = ["hold_columns", "is_small", "read_columns", "text_before_rows", "text_of_rows"]


MOST = 1 << 17  # values in a small table


def is_small(data: Dataset) -> bool:
    """Return whether a table is written by Python."""
    return little_work(data.rows * len(data.columns), MOST)


# Reading --------------------------------------------------------------------------------------------------------------


def read_columns(
    stream: ByteStream,
    dialect: Dialect,
    names: Sequence[str],
    wanted: Sequence[str],
    progress: ByteProgress | None = None,
) -> Dataset:
    """Read the whole stream and encode the wanted columns."""
    records = _records(stream.whole(), dialect, len(names))
    if records is None:
        from oboro.io.formats.csv.reader import parse

        return parse(stream, dialect, names, wanted, progress)
    if progress:
        progress(stream.done(), stream.total)
    rows = records[int(dialect.header) :]
    place = {name: number for number, name in enumerate(names)}
    return Dataset({name: _column(rows, place[name]) for name in wanted}, len(rows))


def hold_columns(
    stream: ByteStream, dialect: Dialect, columns: HeldColumns, progress: RowProgress | None = None
) -> tuple[Dataset, UntouchedCsvColumns | None]:
    """Encode the columns to load; the others, if there are any, stay in the file. See `parse_held`."""
    names, held, fingerprinted, limited = columns
    text = stream.whole()
    if limited and text is not None and len(text) > column_store.HELD_TOO:
        raise column_store.HeldTooMuch
    records = _records(text, dialect, len(names))
    if text is None or records is None:
        from oboro.io.formats.csv.reader import parse_held

        return parse_held(stream, dialect, columns, progress)
    rows = records[int(dialect.header) :]
    if progress:
        progress(len(rows), len(rows))
    keep = set(held)
    made = {name: _column(rows, place) if name in keep else UnreadColumn(len(rows)) for place, name in enumerate(names)}
    if len(keep) == len(names):
        return Dataset(made, len(rows)), None
    from oboro.io.column_store import BlockEnd, UntouchedCsvColumns

    ends, state = (BlockEnd(len(text.encode()), len(records)),), FileState.of(stream.path)
    marks = _fingerprints(rows, names, fingerprinted) if fingerprinted else None
    untouched = UntouchedCsvColumns(stream.path, tuple(names), len(rows), state, marks, dialect, ends)
    return Dataset(made, len(rows)), untouched


def _records(text: str | None, dialect: Dialect, columns: int) -> list[list[str]] | None:
    """The records of a text, each with as many fields as there are columns; None if that is not so, or the text is large.

    In a table of one column a blank line is a record, which Python's reader does not know.
    """
    if text is None or columns < 2 or "\0" in text or not little_work(len(text), MOST * 8):
        return None
    marks = {"delimiter": dialect.cut, "quotechar": dialect.quote, "skipinitialspace": dialect.space}
    try:
        records = list(filter(None, csv.reader(io.StringIO(text, newline=""), strict=True, **marks)))  # type: ignore[arg-type]
    except csv.Error:
        return None
    return records if set(map(len, records)) <= {columns} else None


def _column(rows: list[list[str]], place: int) -> Column:
    """A column of the records; an empty field is a missing value."""
    return Column.encode(pa.array([row[place] or None for row in rows], pa.string()))


def _fingerprints(rows: list[list[str]], names: Sequence[str], wanted: Sequence[str]) -> FileFingerprints:
    """A number for each record, the same for the same fields: they are numbered, so that no two have the same by chance."""
    place = {name: number for number, name in enumerate(names)}
    places = [place[name] for name in wanted]
    known: dict[tuple[str, ...], int] = {}
    numbers = [known.setdefault(tuple(row[place] for place in places), len(known)) for row in rows]
    from oboro.io.column_store import FileFingerprints

    return FileFingerprints(tuple(wanted), [np.array(numbers, dtype=np.uint64)])


# Writing --------------------------------------------------------------------------------------------------------------


def text_before_rows(names: Sequence[str], dialect: Dialect) -> bytes:
    """Return the text before the first row: the byte order mark and the names, if the input had them."""
    mark = b"\xef\xbb\xbf" if dialect.encoding == "utf-8-sig" else b""
    if not dialect.header:
        return mark
    return mark + dialect.delimiter.join(_quoted(names, dialect, alone=len(names) == 1)).encode() + b"\n"


def text_of_rows(data: Dataset, dialect: Dialect) -> bytes:
    """All rows of a small table as lines."""
    columns = list(data.columns.values())
    if not columns:
        raise UsageError(Message("error_io.no_column_left"))
    fields = []
    for column in columns:
        texts = _quoted([text or "" for text in column.texts], dialect, alone=len(columns) == 1)
        fields.append([texts[code] for code in column.codes.tolist()])
    return "".join([f"{dialect.delimiter.join(row)}\n" for row in zip(*fields, strict=True)]).encode()


def _quoted(texts: Sequence[str], dialect: Dialect, alone: bool) -> list[str]:
    """Return values in the form of the file: quoted where necessary. A line with one empty field would be no line at all."""
    quote, marks = dialect.quote, re.escape(dialect.quote + dialect.delimiter)
    must = re.compile(rf"[\n\r{marks}]|^[ \t]|[ \t]\Z" + (r"|\A\Z" if alone else ""))
    return [f"{quote}{text.replace(quote, 2 * quote)}{quote}" if must.search(text) else text for text in texts]
