"""Bytes of a file that are not UTF-8 text as they stand: packed, in another encoding, or both.

One encoding is added to those that Python knows, once this module is imported: `utf-16-be-sig`, UTF-16 with the high byte first
and a byte order mark. Python's own `utf-16` writes the low byte first.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa

from oboro.errors import FileError
from oboro.text import Message

__all__ = ["BIG_ENDIAN", "Decoder", "EncodedFile", "NotEncodable", "packed", "unpacked"]

BIG_ENDIAN = "utf-16-be-sig"
PIECE = 1 << 20
STDIN = "-"


class NotEncodable(FileError):
    """A character is not in the encoding."""


class Decoder:
    """Any encoding to UTF-8, piece by piece and strictly."""

    def __init__(self, path: str, encoding: str) -> None:
        self.path, self.encoding = path, encoding
        self.decoder = codecs.getincrementaldecoder(encoding)("strict")
        self.piece = memoryview(bytearray(PIECE))
        self.ready = b""
        self.lines = 0

    def readinto(self, read: Any, buffer: memoryview) -> int:
        """Fill the buffer with UTF-8, as far as there is some; `read` gives the bytes of the file."""
        ended = False
        while not self.ready and not ended:
            count = read(self.piece)
            ended = count == 0
            self.ready = self._decode(bytes(self.piece[:count]), ended)
        count = min(len(buffer), len(self.ready))
        buffer[:count] = self.ready[:count]
        self.ready = self.ready[count:]
        return count

    def peek(self, start: bytes) -> bytes:
        """What the first bytes say, before anything is read."""
        try:
            return codecs.getincrementaldecoder(self.encoding)("ignore").decode(start).encode()
        except UnicodeError:  # UTF-16 and UTF-32 ask for their mark
            raise FileError(Message("error_io.no_mark", path=self.path, encoding=self.encoding)) from None

    def _decode(self, data: bytes, ended: bool) -> bytes:
        before = self.decoder.getstate()[0]  # the first half of a character that the last piece ended with
        try:
            text = self.decoder.decode(data, ended)
        except UnicodeDecodeError as problem:
            good = (before + data)[: problem.start].decode(self.encoding, "ignore")
            line = self.lines + good.count("\n") + 1
            raise FileError(
                Message(
                    "error_io.bad_byte",
                    path=self.path,
                    line=line,
                    byte=problem.object[problem.start],
                    encoding=self.encoding,
                )
            ) from None
        except UnicodeError:
            raise FileError(Message("error_io.no_mark", path=self.path, encoding=self.encoding)) from None
        self.lines += text.count("\n")
        return text.encode()


class EncodedFile:
    """A file that takes UTF-8 and holds another encoding; a byte order mark is written once, where the encoding has one."""

    def __init__(self, file: Any, encoding: str) -> None:
        self.file, self.encoding = file, encoding
        self.decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self.encoder = codecs.getincrementalencoder(encoding)("strict")

    def write(self, part: bytes | memoryview) -> None:
        """Text, in parts of any size."""
        try:
            self.file.write(self.encoder.encode(self.decoder.decode(bytes(part))))
        except UnicodeEncodeError as problem:
            letter = problem.object[problem.start]
            raise NotEncodable(Message("error_io.not_encodable_text", letter=letter, encoding=self.encoding)) from None


def unpacked(name: str, start: bytes, file: BinaryIO, packed: str) -> Any:
    """What gives the bytes that were packed. Of an archive the one file in it."""
    if packed == "xz":
        import lzma

        joined: Any = _Joined(start, file)
        return lzma.LZMAFile(joined)
    if packed != "zip":
        return pa.CompressedInputStream(_Joined(start, file), packed)
    from zipfile import ZipFile

    if name == STDIN or not file.seekable():
        raise FileError(Message("error_io.archive_piped", path=name))
    source = ZipFile(file)
    members = [one for one in source.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    if len(members) != 1 or members[0].flag_bits & 1:
        raise FileError(Message("error_io.archive_of_several", path=name, files=len(members)))
    return source.open(members[0])


class _Joined(io.RawIOBase):
    """A file with the bytes put back that were read to recognize it; standard input cannot be rewound."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self.start, self.rest = start, rest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self.start:
            part, self.start = self.start, b""
            return part
        return self.rest.read(size) or b""


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


class _Encoder(codecs.IncrementalEncoder):
    """The mark once, then the text."""

    begun = False

    def encode(self, text: str, final: bool = False) -> bytes:
        """Some of the text."""
        mark = b"" if self.begun else codecs.BOM_UTF16_BE
        self.begun = True
        return mark + text.encode("utf-16-be", self.errors)


def _encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
    return codecs.BOM_UTF16_BE + text.encode("utf-16-be", errors), len(text)


def _known(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != BIG_ENDIAN:
        return None
    both = codecs.lookup("utf-16")  # by its mark, it reads either order
    return codecs.CodecInfo(
        _encode,
        both.decode,
        incrementalencoder=_Encoder,
        incrementaldecoder=both.incrementaldecoder,
        name=BIG_ENDIAN,
    )


codecs.register(_known)
