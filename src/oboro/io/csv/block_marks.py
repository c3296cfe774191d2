"""Reading a CSV file of which only some columns are wanted now: every record is checked, and where blocks end is remembered."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from oboro.io.byte_streams import Stream
from oboro.io.csv.blocks import Block, Cutter
from oboro.io.csv.dialect import Dialect
from oboro.io.csv.parse import MOST_THREADS, NotUnicode, Parser, Progress
from oboro.io.untouched_columns import CsvRest, Mark, Rows, Stamp
from oboro.table.dataset import Column, Dataset
from oboro.table.unread import Unread

__all__ = ["parse_some"]


@dataclass
class Marker(Cutter):
    """Cuts a stream into blocks, remembers where they end, and checks the text of every field, wanted or not."""

    names: Sequence[str] = ()
    marks: list[Mark] = field(default_factory=list)
    rows: int = 0

    def fill(self, block: Block, before: Block) -> Block:
        """The next block."""
        block = super().fill(block, before)
        if block.found:
            used = int(block.state[0])
            if self.stream.encoding in ("utf-8", "utf-8-sig"):
                self._check_text(block.text[:used])
            self.marks.append(Mark(self.got - block.filled + used, block.found))
            self.rows += block.found
        return block

    def _check_text(self, text: np.ndarray) -> None:
        offsets = pa.py_buffer(np.array([0, text.size], dtype=np.int32))
        try:
            pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(text)]).validate(full=True)
        except pa.ArrowInvalid:
            raise self._not_text(text.tobytes()) from None

    def _not_text(self, text: bytes) -> NotUnicode:
        """The error for a block with a field that is no text; the block is read once more, by Python, to find it."""
        where, value = "", b""
        marks = {"delimiter": self.dialect.delimiter, "quotechar": self.dialect.quote}
        records = csv.reader(io.StringIO(text.decode("utf-8", "surrogateescape"), newline=""), **marks)  # type: ignore[arg-type]
        with suppress(csv.Error):
            for row, record in enumerate(filter(None, records), self.rows + 1 - int(self.dialect.header)):
                bad = next((place for place, one in enumerate(record) if not one.isascii() and not _is_text(one)), None)
                if bad is not None:
                    where = f"column {self.names[bad]!r}, row {row}: " if row else ""
                    value = record[bad].encode("utf-8", "surrogateescape")
                    break
        return NotUnicode(
            f"{self.stream.path}: {where}{value[:40]!r} is not UTF-8 text; "
            "say which encoding the file has (such as cp932, euc_jp, latin-1)"
        )


def _is_text(value: str) -> bool:
    return not any("\udc80" <= letter <= "\udcff" for letter in value)


def parse_some(
    stream: Stream,
    dialect: Dialect,
    names: Sequence[str],
    held: Sequence[str],
    stamp: Stamp,
    progress: Rows | None = None,
) -> tuple[Dataset, CsvRest]:
    """Encode the columns that are to be held; the others stay in the file. Memory: codes and dictionaries of the held ones."""
    marker = Marker(stream, dialect, len(names), names=names)
    parser = Parser(marker, [names.index(name) for name in held])
    helpers = min(max(os.cpu_count() or 1, 2), MOST_THREADS) - 1
    with ThreadPoolExecutor(helpers + 1) as pool:
        parser.run(pool, helpers, _counting(marker, progress))
        finished = pool.map(lambda coder, name: coder.column(stream.path, name, parser.scratch), parser.coders, held)
        known: dict[str, Column] = dict(zip(held, finished, strict=True))
    columns = {name: known[name] if name in known else Unread(parser.rows) for name in names}
    rest = CsvRest(stream.path, tuple(names), parser.rows, stamp, dialect, tuple(marker.marks))
    return Dataset(columns, parser.rows), rest


def _counting(marker: Marker, progress: Rows | None) -> Progress | None:
    """Bytes as rows: how many there are in all is guessed from what was read."""
    if progress is None:
        return None
    return lambda done, total: progress(marker.rows, round(marker.rows * max((total or 0) / max(done, 1), 1)))
