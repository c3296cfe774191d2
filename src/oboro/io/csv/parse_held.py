"""Reading a CSV file of which only some columns are held: every record is checked, and where blocks end is remembered."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.io import held_limit
from oboro.io.byte_streams import ByteStream, FileState
from oboro.io.csv.dialect import Dialect
from oboro.io.csv.encoded_text import NotUnicode
from oboro.io.csv.kernels.fingerprinting import add_cells
from oboro.io.csv.parse import CsvParser
from oboro.io.csv.record_blocks import RecordBlock, RecordCutter
from oboro.io.file_progress import ByteProgress, RowProgress
from oboro.io.held_limit import HeldColumns
from oboro.io.untouched_columns import BlockEnd, FileFingerprints, UntouchedCsvColumns
from oboro.table.dataset import Dataset
from oboro.table.large_arrays import large_zeros
from oboro.table.unencoded_columns import UnreadColumn
from oboro.text import Message, Raw

__all__ = ["parse_held"]

FEWEST_JOINED = 3  # columns beside each other that are looked at together
FIRST_MARK = 14  # delimiters below are not told from line breaks where many bytes are looked at together


@dataclass
class CheckingCutter(RecordCutter):
    """Cuts a stream into blocks, remembers where they end, and can check the text of every field, wanted or not.

    Where `all_held`, that is not needed: each different value is checked once, when its column is finished.
    """

    names: Sequence[str] = ()
    all_held: bool = False
    block_ends: list[BlockEnd] = field(default_factory=list)

    def fill(self, block: RecordBlock, before: RecordBlock) -> RecordBlock:
        """The next block."""
        block = super().fill(block, before)
        if block.found:
            self.block_ends.append(BlockEnd(self.got - block.filled + int(block.state[0]), block.found))
        return block

    def check_text(self, block: RecordBlock) -> None:
        """Raise where a field of a block is no text."""
        if self.all_held or self.stream.encoding not in ("utf-8", "utf-8-sig"):
            return
        text = block.text[: block.state[0]]
        offsets = pa.py_buffer(np.array([0, text.size], dtype=np.int32))
        try:
            pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(text)]).validate(full=True)
        except pa.ArrowInvalid:
            raise self._not_text(text.tobytes(), block.before) from None

    def _not_text(self, text: bytes, before: int) -> NotUnicode:
        """The error for a block with a field that is no text; the block is read once more, by Python, to find it."""
        place: dict[str, Any] = {"name": "", "row": 0}
        value = Raw(b"")
        marks = {"delimiter": self.dialect.cut, "quotechar": self.dialect.quote}
        records = csv.reader(io.StringIO(text.decode("utf-8", "surrogateescape"), newline=""), **marks)  # type: ignore[arg-type]
        with suppress(csv.Error):
            for row, record in enumerate(filter(None, records), before + 1 - int(self.dialect.header)):
                bad = next((place for place, one in enumerate(record) if not one.isascii() and not _is_text(one)), None)
                if bad is not None:
                    place = {"name": self.names[bad], "row": row}
                    value = Raw(record[bad].encode("utf-8", "surrogateescape")[:40], row)
                    break
        id = "error_io.not_utf8" if place["row"] else "error_io.not_utf8_somewhere"
        return NotUnicode(Message(id, path=self.stream.path, value=value, **place))


class FieldFingerprints:
    """One 64-bit number a record, from its fields in some columns, with keys that are drawn anew for every file."""

    def __init__(self, places: np.ndarray, skipped: int) -> None:
        """`places` of the columns among the cells of a block; `skipped` records stand before the first row."""
        self.places, self.skipped = places, skipped
        self.keys = np.random.default_rng().integers(0, 1 << 64, places.size, np.uint64)
        self.parts: list[np.ndarray] = []

    def add(self, block: RecordBlock) -> None:
        """The records of the next block."""
        first = 0 if block.before else self.skipped
        part = large_zeros(block.found - first, np.uint64)
        add_cells(block.cells, first, block.found, block.words, self.places, self.keys, part)
        self.parts.append(part)


def _is_text(value: str) -> bool:
    return not any("\udc80" <= letter <= "\udcff" for letter in value)


def parse_held(
    stream: ByteStream, dialect: Dialect, columns: HeldColumns, progress: RowProgress | None = None
) -> tuple[Dataset, UntouchedCsvColumns]:
    """Encode the columns that are to be held. Memory: their codes and dictionaries."""
    names, held, fingerprinted, limited = columns
    file_state = FileState.of(stream.path)
    place = {name: number for number, name in enumerate(names)}
    wanted = [place[name] for name in held]
    marked = [place[name] for name in fingerprinted]
    cutter = CheckingCutter(
        stream, dialect, len(names), packed=[*wanted, *marked], joined=_runs(marked, dialect), names=names,
        all_held=set(held) >= set(names),
    )  # fmt: skip
    seen = cutter.places[marked]
    marker = FieldFingerprints(seen[seen >= 0], dialect.skipped)
    parser = CsvParser(cutter, wanted, [cutter.check_text, *([marker.add] if marked else [])])
    may_take = set(limited)
    parser.limited = [coder for coder, name in zip(parser.coders, held, strict=True) if name in may_take]
    parser.most = held_limit.HELD_TOO
    found = parser.columns(held, _counting(cutter, progress))
    made = {name: found[name] if name in found else UnreadColumn(parser.rows) for name in names}
    untouched = UntouchedCsvColumns(
        stream.path,
        tuple(names),
        parser.rows,
        file_state,
        FileFingerprints(tuple(fingerprinted), marker.parts) if fingerprinted else None,
        dialect,
        tuple(cutter.block_ends),
    )
    return Dataset(made, parser.rows), untouched


def _runs(columns: Sequence[int], dialect: Dialect) -> list[range]:
    """Columns beside each other, of which one number is made from their text as it stands; not where spaces are skipped in it."""
    if dialect.space or ord(dialect.cut) < FIRST_MARK:
        return []
    groups = np.split(np.array(columns), np.flatnonzero(np.diff(columns) != 1) + 1)
    return [range(some[0], some[-1] + 1) for some in groups if len(some) >= FEWEST_JOINED]


def _counting(cutter: CheckingCutter, progress: RowProgress | None) -> ByteProgress | None:
    """Bytes as rows: how many there are in all is guessed from what was read."""
    if progress is None:
        return None
    return lambda done, total: progress(cutter.rows, round(cutter.rows * max((total or 0) / max(done, 1), 1)))
