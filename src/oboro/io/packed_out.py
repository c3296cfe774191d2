"""Bytes that are packed on their way into a file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

__all__ = ["COMPRESSIONS", "packed"]

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4", ".xz": "xz"}


@contextmanager
def packed(file: Any, compression: str | None) -> Iterator[Any]:
    """What packs bytes on their way into a file, which stays open: it is still to be synced and named."""
    if compression is None:
        yield file
    elif compression == "xz":
        import lzma

        kept: Any = _Kept(file)
        with lzma.LZMAFile(kept, "w") as out:
            yield out
    else:
        with pa.CompressedOutputStream(pa.PythonFile(_Kept(file), "w"), compression) as out:
            yield out


class _Kept(io.RawIOBase):
    """A file that Arrow does not close."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.file.write(data)
        return len(data)
