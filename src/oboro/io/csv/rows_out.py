"""Encoded tables to comma-separated text: only dictionaries are turned into text, rows are copied from them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.errors import FileError, UsageError
from oboro.io.csv.dialect import Dialect
from oboro.io.csv.kernels import rendering
from oboro.io.ordered_threads import in_order
from oboro.table.dataset import Column, Dataset
from oboro.table.large_arrays import address
from oboro.text import Message

__all__ = ["CsvRows", "column_table", "dictionary_text", "must_quote", "write_rows"]

PIECE = 1 << 20  # bytes of text made at a time
CELLS = 12_800  # fields looked up at a time: they stay in the cache


class CsvRows:
    """The rows of a table as lines of text. What the block `before` made of a dictionary is not made again."""

    def __init__(self, data: Dataset, dialect: Dialect, before: CsvRows | None = None) -> None:
        self.rows, self.delimiter = data.rows, ord(dialect.delimiter)
        self.columns = list(data.columns.values())
        if not self.columns:
            raise UsageError(Message("error_io.no_column_left"))
        self.codes = [np.ascontiguousarray(column.codes) for column in self.columns]
        known: dict[int, pa.Array] = before.known if before else {}
        # Held here, because the kernel knows their addresses only.
        self.texts = [
            known.get(id(column.values)) or dictionary_text(name, column, dialect, alone=len(self.columns) == 1)
            for name, column in data.columns.items()
        ]
        self.known: dict[int, pa.Array] = {
            id(column.values): text for column, text in zip(self.columns, self.texts, strict=True)
        }
        self.tables = np.array([column_table(codes, text) for codes, text in zip(self.codes, self.texts, strict=True)])
        self.longest = sum(1 + longest(text) for text in self.texts)

    def pieces(self) -> Iterator[range]:
        """The rows in pieces of about `PIECE` bytes."""
        mean = sum(1 + text.nbytes // max(len(text), 1) for text in self.texts)
        step = max(PIECE // max(mean, 1), 1)
        return (range(begin, min(begin + step, self.rows)) for begin in range(0, self.rows, step))

    def render(self, rows: range) -> list[memoryview]:
        """The text of some rows, in one or more parts."""
        parts = []
        row, size = rows.start, np.zeros(1, dtype=np.int64)
        cells = np.empty((max(CELLS // len(self.tables), 1), 2 * len(self.tables)), dtype=np.uint64)
        while row < rows.stop:
            out = np.empty((PIECE + PIECE // 4 + self.longest) // 8 + 2, dtype=np.uint64)
            row = rendering.render(self.tables, row, rows.stop, self.longest, self.delimiter, cells, size, out)
            parts.append(memoryview(out.view(np.uint8).data)[: size[0]])
        return parts


def write_rows(file: Any, data: Dataset, dialect: Dialect, before: CsvRows | None) -> CsvRows:
    """Write the rows of a block, made on all cores; `before` is what the block before it gave."""
    rows = CsvRows(data, dialect, before)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for texts in in_order(pool, rows.pieces(), rows.render):
            for text in texts:
                file.write(text)
    return rows


def column_table(codes: np.ndarray, text: pa.Array) -> tuple[int, int, int, int, int]:
    """Where the kernel finds a column's codes and its dictionary's offsets and text, how wide a code is, how many values."""
    _, offsets, data = text.buffers()
    begin = offsets.address + 4 * text.offset if offsets is not None else 0
    return address(codes), begin, data.address if data is not None else 0, codes.itemsize, len(text)


def longest(text: pa.Array) -> int:
    """The bytes of the longest value."""
    starts, _ = _arrays(text)
    return int(np.diff(starts).max(initial=0))


def dictionary_text(name: str, column: Column, dialect: Dialect, alone: bool) -> pa.Array:
    """A column's dictionary as it stands in the file: a missing value is empty, and what must be quoted is."""
    texts = column.values if pa.types.is_string(column.values.type) else pa.array(column.texts, pa.large_string())
    if texts.nbytes >= 1 << 31:
        raise FileError(Message("error_io.text_too_large", name=name))
    plain = texts if pa.types.is_string(texts.type) else texts.cast(pa.string())
    return _quoted(plain.fill_null("") if plain.null_count else plain, dialect, alone)


@cache
def must_quote(dialect: Dialect) -> np.ndarray:
    """For each byte, where in a value it makes quotes necessary."""
    kinds = np.zeros(256, dtype=np.uint8)
    kinds[[ord(" "), ord("\t")]] = rendering.AT_ENDS
    kinds[[ord(mark) for mark in ("\n", "\r", dialect.quote, dialect.delimiter)]] = rendering.ANYWHERE
    return kinds


def _quoted(texts: pa.Array, dialect: Dialect, alone: bool) -> pa.Array:
    """Values as they stand in the file: quoted where they must be. A line with one empty field would be no line at all."""
    kinds = must_quote(dialect)
    starts, text = _arrays(texts)
    places = np.zeros(len(texts) + 1, dtype=np.int64)
    if not rendering.quoted_sizes(text, starts, kinds, ord(dialect.quote), alone, places[1:]):
        return texts
    np.cumsum(places, out=places)
    out = np.empty(places[-1], dtype=np.uint8)
    rendering.quote_values(text, starts, places, ord(dialect.quote), out)
    buffers = [None, pa.py_buffer(places), pa.py_buffer(out)]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers).cast(pa.string())


def _arrays(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The offsets and the bytes of an Arrow array of text; an empty one may have neither."""
    _, offsets, data = texts.buffers()
    if len(texts) == 0:
        return np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint8)
    starts = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return starts, np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)
