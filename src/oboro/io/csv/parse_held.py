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


@dataclass
class CheckingCutter(RecordCutter):
    """Cuts a stream into blocks, remembers where they end, and checks the text of every field, wanted or not.

    Where `all_held`, nothing is checked here: each different value is checked once, when its column is finished.
    """

    names: Sequence[str] = ()
    all_held: bool = False
    block_ends: list[BlockEnd] = field(default_factory=list)
    rows: int = 0

    def fill(self, block: RecordBlock, before: RecordBlock) -> RecordBlock:
        """The next block."""
        block = super().fill(block, before)
        if block.found:
            used = int(block.state[0])
            if self.stream.encoding in ("utf-8", "utf-8-sig") and not self.all_held:
                self._check_text(block.text[:used])
            self.block_ends.append(BlockEnd(self.got - block.filled + used, block.found))
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
        place: dict[str, Any] = {"name": "", "row": 0}
        value = Raw(b"")
        marks = {"delimiter": self.dialect.cut, "quotechar": self.dialect.quote}
        records = csv.reader(io.StringIO(text.decode("utf-8", "surrogateescape"), newline=""), **marks)  # type: ignore[arg-type]
        with suppress(csv.Error):
            for row, record in enumerate(filter(None, records), self.rows + 1 - int(self.dialect.header)):
                bad = next((place for place, one in enumerate(record) if not one.isascii() and not _is_text(one)), None)
                if bad is not None:
                    place = {"name": self.names[bad], "row": row}
                    value = Raw(record[bad].encode("utf-8", "surrogateescape")[:40], row)
                    break
        id = "error_io.not_utf8" if place["row"] else "error_io.not_utf8_somewhere"
        return NotUnicode(Message(id, path=self.stream.path, value=value, **place))


class FieldFingerprints:
    """One 64-bit number a record, from its fields in some columns, with keys that are drawn anew for every file."""

    def __init__(self, places: Sequence[int]) -> None:
        self.places = np.array(places, dtype=np.int64)
        self.keys = np.random.default_rng().integers(0, 1 << 64, len(places), np.uint64)
        self.parts: list[np.ndarray] = []

    def add(self, block: RecordBlock, first: int) -> None:
        """The records of the next block, from row `first` of it on."""
        part = large_zeros(block.found - first, np.uint64)
        add_cells(block.cells, first, block.found, block.words, self.places, self.keys, part)
        self.parts.append(part)

    def together(self, names: tuple[str, ...]) -> FileFingerprints:
        """The numbers of all records."""
        return FileFingerprints(names, self.parts)


def _is_text(value: str) -> bool:
    return not any("\udc80" <= letter <= "\udcff" for letter in value)


def parse_held(
    stream: ByteStream, dialect: Dialect, columns: HeldColumns, progress: RowProgress | None = None
) -> tuple[Dataset, UntouchedCsvColumns]:
    """Encode the columns that are to be held. Memory: their codes and dictionaries."""
    names, held, fingerprinted, limited = columns
    file_state = FileState.of(stream.path)
    cutter = CheckingCutter(stream, dialect, len(names), names=names, all_held=set(held) >= set(names))
    place = {name: number for number, name in enumerate(names)}
    marker = FieldFingerprints([place[name] for name in fingerprinted]) if fingerprinted else None
    parser = CsvParser(cutter, [place[name] for name in held], marker.add if marker else None)
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
        marker.together(tuple(fingerprinted)) if marker else None,
        dialect,
        tuple(cutter.block_ends),
    )
    return Dataset(made, parser.rows), untouched


def _counting(cutter: CheckingCutter, progress: RowProgress | None) -> ByteProgress | None:
    """Bytes as rows: how many there are in all is guessed from what was read."""
    if progress is None:
        return None
    return lambda done, total: progress(cutter.rows, round(cutter.rows * max((total or 0) / max(done, 1), 1)))
