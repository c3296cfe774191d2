"""Tables of CSV: read a file of text, compressed or not, into encoded columns."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from oboro._lazy import lazy_module
from oboro.data.parameters import names_shown
from oboro.errors import ColumnError, FileError
from oboro.io.bytes import STDIN, ByteStream, can_be_read_twice, open_stream
from oboro.io.column_store import HeldColumns, HeldTooMuch
from oboro.io.formats.base import NO_TYPES, ReadRequest, TypedTable
from oboro.io.formats.csv.dialect import Dialect, NotUnicode, dialect_of, first_record, names_of, notes_of
from oboro.io.formats.csv.small import hold_columns, read_columns
from oboro.system.files import ASIDE
from oboro.text import Message, Raw
from oboro.text.language import ByteProgress

__all__ = ["column_names", "read_table"]


reader = lazy_module("oboro.io.formats.csv.reader")
progress_reading = lazy_module("oboro.text.progress_reading")


def read_table(path: str, request: ReadRequest) -> TypedTable:
    """Read a file of CSV, or standard input; the encoding is guessed unless it is given, and guessed again where it fails."""
    columns, held, fingerprinted = request.columns, request.held, request.fingerprinted
    progress, encoding = request.progress, request.encoding
    if progress is not None:
        progress = progress_reading.SteadyProgress(progress)  # it may be read a second time
    if os.path.exists(aside := os.path.realpath(path) + ASIDE):
        raise FileError(Message("error_io.list_in_doubt", path=path, aside=aside))
    options = _options(request)
    if held is not None and fingerprinted:
        with suppress(HeldTooMuch, NotUnicode), open_stream(path, encoding) as stream:
            return _table(stream, options, columns, ({*held, *fingerprinted}, fingerprinted), progress)
    with open_stream(path, encoding) as stream:
        try:
            return _table(stream, options, columns, (held, fingerprinted), progress)
        except NotUnicode:
            # A file whose first part is plain ASCII may turn out to be Japanese later on.
            if encoding or not stream.ascii_so_far or path == STDIN:
                raise
    with open_stream(path, "cp932") as stream:
        return _table(stream, options, columns, (held, fingerprinted), progress)


def column_names(path: str, request: ReadRequest) -> list[str]:
    """Return the names in the header."""
    with open_stream(path, request.encoding) as stream:
        return _headed(stream, _options(request))[1]


def _options(request: ReadRequest) -> dict[str, Any]:
    return {"delimiter": request.delimiter, "quote": request.quote, "header": request.header}


def _table(
    stream: ByteStream,
    options: dict[str, Any],
    columns: Sequence[str] | None,
    holding: tuple[Collection[str] | None, Collection[str]],
    progress: ByteProgress | None,
) -> TypedTable:
    dialect, names, notes = _headed(stream, options)
    if holding[0] is not None:
        held, looked = set(holding[0]), set(holding[1])
        kept = list(filter(held.__contains__, names))
        marked = list(filter((looked - held).__contains__, names))
        limited = list(filter(looked.__contains__, kept))
        data, untouched = hold_columns(stream, dialect, HeldColumns(names, kept, marked, limited), progress)
        return TypedTable(data, NO_TYPES, notes, dialect, untouched if len(kept) < len(names) else None)
    wanted = list(names if columns is None else columns)
    known = set(names)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ColumnError(
            Message("error_io.no_column", path=stream.path, unknown=unknown, names=names_shown(names, wanted))
        )
    data = read_columns(stream, dialect, names, wanted, progress)
    if can_be_read_twice(stream.path):
        data = reader.RawCells(stream.path, dialect, names).beside(data)
    return TypedTable(data, NO_TYPES, notes, dialect)


def _headed(stream: ByteStream, options: dict[str, Any]) -> tuple[Dialect, list[str], tuple[Message, ...]]:
    """Return the dialect of a CSV file, the names of its columns, and notes on these."""
    sample = stream.sample()
    dialect = replace(dialect_of(sample, **options), encoding=stream.encoding)
    first = first_record(stream.path, sample, dialect)
    if dialect.header:
        _require_text(stream.path, first)
    names = names_of(stream.path, first, dialect)
    odd = dialect.header and (dialect.single or not all(first))
    return dialect, names, notes_of(stream.path, sample, dialect, names) if odd else ()


def _require_text(path: str, names: Sequence[str]) -> None:
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            culprit = Raw(name.encode(errors="surrogateescape")[:40])
            raise NotUnicode(Message("error_io.not_utf8_somewhere", path=path, value=culprit)) from None
