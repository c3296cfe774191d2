"""Rows in a random order, where many tasks hold them: every row goes to a random part, and each part is put in a random order.

That is the order of one random number a row, whose first digits choose the part. Rows travel as codes, some hundred thousand
together: an engine moves a few blocks and sorts nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["Scattered", "Spool", "in_chunks", "packed", "parts_for", "shared_out", "spooled"]

TOGETHER, WIDE = 1 << 19, 1 << 26  # rows, or bytes, that are scattered at once
LARGE, SMALL = 1 << 20, 1 << 16  # rows of a part: no more than a task holds, no fewer than are worth one


def parts_for(rows: int, usual: int) -> int:
    """How many parts: as many as a session usually makes, unless that is too many or too few for the rows."""
    return max(1, -(-rows // LARGE), min(usual, -(-rows // SMALL)))


def in_chunks(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Several tables as one, as many as are worth it and fit."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(one.num_rows for one in waiting) >= TOGETHER or sum(one.nbytes for one in waiting) >= WIDE:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def shared_out(table: pa.Table, part: np.ndarray, parts: int) -> Iterator[tuple[int, bytes]]:
    """The rows of a table as blocks, one for each part that gets some. O(rows)."""
    order = np.argsort(part.astype(np.uint16) if parts < 1 << 16 else part, kind="stable")
    ends = np.cumsum(np.bincount(part, minlength=parts))
    moved = table.take(pa.array(order)).combine_chunks()
    for number in np.flatnonzero(np.diff(ends, prepend=0)):
        begin = int(ends[number - 1]) if number else 0
        yield int(number), packed(moved.slice(begin, int(ends[number]) - begin))


@dataclass(frozen=True)
class Scattered:
    """The parts and a key that nobody else has. A task that is run again draws the same."""

    parts: int
    key: bytes

    def _draws(self, purpose: str, number: int) -> np.random.Generator:
        seed = blake2b(f"{purpose} {number}".encode(), key=self.key, digest_size=32).digest()
        return np.random.default_rng(int.from_bytes(seed, "little"))

    def scatter(self, tables: Iterable[pa.Table], task: int) -> Iterator[tuple[int, bytes]]:
        """Blocks of rows, each with the part that it belongs to. O(rows)."""
        rng = self._draws("rows", task)
        for table in in_chunks(tables):
            yield from shared_out(table, rng.integers(0, self.parts, table.num_rows, dtype=np.uint32), self.parts)

    def collect(self, part: int, blocks: Iterable[Any]) -> pa.Table:
        """The rows of one part in a random order. The blocks may come in any order: theirs tells nothing."""
        tables = [pa.ipc.open_stream(block).read_all() for block in blocks]
        table = pa.concat_tables(tables).combine_chunks()
        return table.take(pa.array(self._draws("order", part).permutation(table.num_rows)))


class Spool:
    """Blocks of parts, in a file without a name. Memory: where each block begins."""

    def __init__(self, blocks: Iterable[tuple[int, bytes]]) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (`done` closes it)
        self._places: dict[int, list[tuple[int, int]]] = {}
        try:
            for part, block in blocks:
                self._places.setdefault(part, []).append((self._file.tell(), len(block)))
                self._file.write(block)
        except BaseException:
            self.done()
            raise

    def parts(self) -> Iterator[tuple[int, list[Any]]]:
        """The blocks of each part."""
        for part in sorted(self._places):
            yield part, [(self._file.seek(begin), self._file.read(size))[1] for begin, size in self._places[part]]

    def told(self, look: Callable[[int, list[Any]], bytes], job: str) -> Iterable[bytes]:
        """What is made of each part."""
        return [look(part, blocks) for part, blocks in self.parts()]

    def done(self) -> None:
        """The file is gone."""
        self._file.close()


def spooled(how: Scattered, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """All rows in a random order, part by part, on one machine. Memory: one part."""
    spool = Spool(how.scatter(tables, 0))
    try:
        for part, blocks in spool.parts():
            yield how.collect(part, blocks)
    finally:
        spool.done()


def packed(table: pa.Table) -> bytes:
    """A table as bytes that travel."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as out:
        out.write_table(table)
    return bytes(sink.getvalue())
