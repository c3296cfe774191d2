"""Files out: all of a file appears under its name at once, or nothing does."""

from __future__ import annotations

import errno
import os
import re
import secrets
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from oboro.errors import FileError, UsageError
from oboro.io.dialect import Dialect
from oboro.io.formats import EXCEL
from oboro.kernels import csv_out
from oboro.table.dataset import Column, Dataset

__all__ = ["atomic", "check_output", "write", "write_blocks"]

STDOUT = "-"
PIECE = 1 << 20  # bytes of CSV made at a time
CELLS = 12_800  # fields looked up at a time: they stay in the cache
WAITING = 4  # pieces that may wait to be written
CHUNK = 1 << 20  # rows decoded at a time for Arrow's formats
UNWRITABLE = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.ENOENT: "there is no such folder",
    errno.ENOTDIR: "part of the path is not a folder",
    errno.EACCES: "permission to write there is denied",
    errno.EROFS: "it is on a read-only disk",
    errno.EISDIR: "it is a folder",
}


@contextmanager
def atomic(path: str | Path) -> Iterator[BinaryIO]:
    """A binary file that appears under `path` only when the block ends well; `-` is standard output.

    Meanwhile it is a private file beside it (mode 0600), which is removed if anything goes wrong, an interrupt included. A file
    that was there before stays until then. A link is followed; a device or a pipe is written to directly.
    """
    if str(path) == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    with _writable(path):
        if _is_special(target):
            with open(target, "wb") as file:
                yield file
            return
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.chmod(0o666 & ~_umask())
            os.replace(draft, target)
        finally:
            with suppress(OSError):
                draft.unlink()


def _is_special(path: Path) -> bool:
    """Whether a path is neither a file nor free: /dev/null must not be replaced by a file of that name."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return path.exists() and not path.is_file()


@contextmanager
def _writable(path: str | Path) -> Iterator[None]:
    """Turn what the system says about a file that cannot be written into one clear message."""
    try:
        yield
    except (OSError, pa.ArrowException) as problem:
        if isinstance(problem, BrokenPipeError):
            raise
        number = getattr(problem, "errno", None) or _errno_in(str(problem))
        reason = UNWRITABLE.get(number or 0) or getattr(problem, "strerror", None) or type(problem).__name__
        raise FileError(f"{path}: cannot be written: {reason}; nothing was left there") from None


def _errno_in(message: str) -> int | None:
    """Arrow says errors of the system as text: `[errno 28] No space left on device`."""
    found = re.search(r"\[errno (\d+)\]", message)
    return int(found[1]) if found else None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def check_output(path: str | Path) -> None:
    """Before any work: raise if nothing could be written under this name."""
    _format_of(path)
    if str(path) != STDOUT:
        path = Path(path)
        with _writable(path):
            _is_special(path)
            if not path.parent.exists():
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            if not path.parent.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))


def write(data: Dataset, path: str | Path, dialect: Dialect | None = None) -> None:
    """Write a table; the name's ending chooses the format, `-` is CSV on standard output.

    CSV is UTF-8, with the delimiter, the header and the byte order mark of `dialect` (how the input was written). The output may
    have the name of the input: that was read before, and is replaced in one step.
    """
    write_blocks(iter([data]), path, dialect)


def write_blocks(blocks: Iterable[Dataset | pa.Table], path: str | Path, dialect: Dialect | None = None) -> None:
    """Write tables that together are one, without ever holding more than one of them."""
    writer, compression = _format_of(path)
    dialect = dialect or Dialect()
    if ".tsv" in Path(path).suffixes:
        dialect = replace(dialect, delimiter="\t")
    datasets = (block if isinstance(block, Dataset) else Dataset.from_arrow(block) for block in blocks)
    with atomic(path) as file:
        if compression is None:
            writer(file, datasets, dialect)
        else:
            # Arrow closes what it packs into, but the file is still to be synced and renamed: so it gets a second handle.
            with (
                open(os.dup(file.fileno()), "wb") as second,
                pa.CompressedOutputStream(pa.PythonFile(second, "w"), compression) as packed,
            ):
                writer(packed, datasets, dialect)


Writer = Callable[[Any, Iterator[Dataset], Dialect], None]


def _format_of(path: str | Path) -> tuple[Writer, str | None]:
    name = str(path).lower()
    compression = {".gz": "gzip", ".zst": "zstd"}.get(Path(name).suffix)
    inner = Path(name).stem if compression else name
    ending = ".csv" if name == STDOUT else Path(inner).suffix
    if ending in EXCEL:
        raise UsageError(f"{path}: Excel files are read but not written; write .csv, which Excel opens, or .parquet")
    if ending not in WRITERS or (compression and WRITERS[ending] is not _csv):
        raise UsageError(
            f"{path}: the ending chooses the format, and {Path(name).suffix or 'no ending'!r} is none of "
            f"{', '.join(WRITERS)}, .csv.gz, .csv.zst"
        )
    return WRITERS[ending], compression


def _csv(file: Any, blocks: Iterator[Dataset], dialect: Dialect) -> None:
    started = False
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for data in blocks:
            if not started:
                file.write(_start(data, dialect))
                started = True
            lines = Lines(data, dialect)
            for texts in _in_order(pool, lines.pieces(), lines.render):
                for text in texts:
                    file.write(text)


def _start(data: Dataset, dialect: Dialect) -> bytes:
    """What stands before the first row: the byte order mark and the names, where the input had them."""
    mark = b"\xef\xbb\xbf" if dialect.encoding == "utf-8-sig" else b""
    if not dialect.header:
        return mark
    names = _quoted(pa.array(list(data), pa.string()), dialect, alone=len(data.columns) == 1)
    return mark + dialect.delimiter.join(names.to_pylist()).encode() + b"\n"


class Lines:
    """The rows of a table as lines of text. Only dictionaries are turned into text; rows are copied from them."""

    def __init__(self, data: Dataset, dialect: Dialect) -> None:
        self.rows, self.delimiter = data.rows, ord(dialect.delimiter)
        self.codes = [np.ascontiguousarray(column.codes) for column in data.columns.values()]
        if not self.codes:
            raise UsageError("no column is left to write; keep at least one")
        alone = len(self.codes) == 1
        # Held here, because the kernel knows their addresses only.
        self.texts = [_quoted(_texts(name, data[name]), dialect, alone) for name in data]
        self.tables = np.array([_table(codes, text) for codes, text in zip(self.codes, self.texts, strict=True)])
        self.longest = sum(1 + _longest(text) for text in self.texts)

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
            row = csv_out.render(self.tables, row, rows.stop, self.longest, self.delimiter, cells, size, out)
            parts.append(memoryview(out.view(np.uint8).data)[: size[0]])
        return parts


def _table(codes: np.ndarray, text: pa.Array) -> tuple[int, int, int, int, int]:
    """Where the kernel finds a column's codes and its dictionary's offsets and text, how wide a code is, how many values."""
    _, offsets, data = text.buffers()
    start = offsets.address + 4 * text.offset if offsets is not None else 0
    return codes.ctypes.data, start, data.address if data is not None else 0, codes.itemsize, len(text)


def _longest(text: pa.Array) -> int:
    return int(pc.max(pc.binary_length(text)).as_py() or 0)


def _texts(name: str, column: Column) -> pa.Array:
    """A column's dictionary as text, a missing value as an empty one."""
    texts = column.values if pa.types.is_string(column.values.type) else pa.array(column.texts, pa.large_string())
    if texts.nbytes >= 1 << 31:
        raise FileError(f"column {name!r} holds more than 2 GiB of different text; write Parquet instead of CSV")
    return texts.cast(pa.string()).fill_null("")


def _quoted(texts: pa.Array, dialect: Dialect, alone: bool) -> pa.Array:
    """Values as they stand in the file: quoted where they must be. A line with one empty field would be no line at all."""
    kinds = np.zeros(256, dtype=np.uint8)
    kinds[[ord(" "), ord("\t")]] = csv_out.AT_ENDS
    kinds[[ord(mark) for mark in ("\n", "\r", dialect.quote, dialect.delimiter)]] = csv_out.ANYWHERE
    starts, text = _arrays(texts)
    places = np.zeros(len(texts) + 1, dtype=np.int64)
    if not csv_out.quoted_sizes(text, starts, kinds, ord(dialect.quote), alone, places[1:]):
        return texts
    np.cumsum(places, out=places)
    out = np.empty(places[-1], dtype=np.uint8)
    csv_out.quote_values(text, starts, places, ord(dialect.quote), out)
    buffers = [None, pa.py_buffer(places), pa.py_buffer(out)]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers).cast(pa.string())


def _arrays(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The offsets and the bytes of an Arrow array of text; an empty one may have neither."""
    _, offsets, data = texts.buffers()
    if len(texts) == 0:
        return np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint8)
    starts = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return starts, np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)


def _in_order(pool: ThreadPoolExecutor, tasks: Iterator[Any], act: Callable[[Any], Any]) -> Iterator[Any]:
    """The results in order, with a few pieces of work always under way and never more than a few waiting."""
    waiting: deque[Future[Any]] = deque()
    for task in tasks:
        waiting.append(pool.submit(act, task))
        if len(waiting) > WAITING:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _tables(blocks: Iterator[Dataset]) -> Iterator[pa.Table]:
    """Decoded tables of at most `CHUNK` rows, at least one (a table without rows still has columns)."""
    for data in blocks:
        for start in range(0, max(data.rows, 1), CHUNK):
            rows = slice(start, start + CHUNK)
            columns = {
                name: Column(column.values, column.codes[rows]).decode() for name, column in data.columns.items()
            }
            yield pa.table(columns)


def _parquet(file: Any, blocks: Iterator[Dataset], dialect: Dialect) -> None:
    writer = None
    try:
        for table in _tables(blocks):
            writer = writer or pq.ParquetWriter(file, table.schema, compression="zstd")
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _feather(file: Any, blocks: Iterator[Dataset], dialect: Dialect) -> None:
    writer = None
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    for table in _tables(blocks):
        writer = writer or pa.ipc.new_file(file, table.schema, options=options)
        writer.write_table(table)
    if writer is not None:
        writer.close()


WRITERS: dict[str, Writer] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".txt": _csv,
    ".parquet": _parquet,
    ".feather": _feather,
    ".arrow": _feather,
}
