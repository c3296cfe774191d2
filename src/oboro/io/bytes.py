"""Bytes of a file or standard input: decompressed and converted to UTF-8 from any compression and encoding.

Everything ends in `ByteStream.readinto`, so that the reader above fills its own buffers and knows nothing of files.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from oboro.errors import FileError, OboroError
from oboro.system.files import NoFileError
from oboro.text import Message, Words
from oboro.text.language import os_reason

__all__ = [
    "BIG_ENDIAN",
    "STDIN",
    "ByteStream",
    "Decoder",
    "EncodedFile",
    "FileState",
    "NotEncodable",
    "can_be_read_twice",
    "compression_of",
    "encoding_of",
    "head_of",
    "open_stream",
    "packed",
    "readable",
    "text_encoding",
    "unpacked",
]


STDIN = "-"
# Python counts these among the encodings of text, but a line's end becomes something else in them, or text cannot be put together.
NOT_FOR_LINES = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
NOT_WRITTEN = re.compile("[\x80\uf8f0-\uf8f3]")  # what cp932 makes of single bytes that are no letter of it
SAMPLE = 1 << 18  # bytes that the guesses about a file are made from
DELIMITER_NAMED = re.compile(rb"\Asep=[,;|\t]\r?\n")  # a line for Excel alone: the delimiter is found anyhow
LONGEST_HEADER = 1 << 24  # bytes
COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zX": "xz",
    b"PK\x03\x04": "zip",
}
UNREADABLE = {
    errno.ENOENT: Message("error_io.unreadable.enoent"),
    errno.EACCES: Message("error_io.unreadable.eacces"),
    errno.EPERM: Message("error_io.unreadable.eacces"),
    errno.EISDIR: Message("error_io.unreadable.eisdir"),
    errno.ENOTDIR: Message("error_io.unreadable.enotdir"),
}


@contextmanager
def readable(path: str | Path) -> Iterator[None]:
    """Turn an error of the system about an unreadable file into one clear message."""
    try:
        yield
    except FileError:
        raise
    except UnicodeEncodeError:  # of its name
        raise FileError(Message("error_io.cannot_be_read", path=str(path), why=Message("error_os.name"))) from None
    except _damaged() as problem:
        raise FileError(Message("error_io.cannot_be_read", path=path, why=_reason(problem))) from None
    except (OSError, pa.ArrowException, EOFError, ValueError) as problem:  # names of columns may be no text
        if isinstance(problem, OboroError) or (type(problem) is ValueError and "null byte" not in str(problem)):
            raise
        known = UNREADABLE.get(getattr(problem, "errno", None) or 0)
        raise FileError(Message("error_io.cannot_be_read", path=path, why=known or _reason(problem))) from None


def _damaged() -> tuple[type[Exception], ...]:
    """Return the errors that decompressors raise for invalid bytes, of loaded modules only."""
    names = (("lzma", "LZMAError"), ("zipfile", "BadZipFile"), ("zlib", "error"))
    return tuple(getattr(sys.modules[module], name) for module, name in names if module in sys.modules)


def _reason(problem: BaseException) -> Words:
    if isinstance(problem, OSError) and problem.strerror:
        return os_reason(problem)
    return (str(problem) or type(problem).__name__).splitlines()[0].rstrip(".")


@dataclass(frozen=True)
class FileState:
    """State of a file, to notice changes."""

    device: int
    inode: int
    size: int
    changed: int

    @staticmethod
    def of(path: str | Path) -> FileState:
        """The state of a file now."""
        with readable(path):
            status = os.stat(path)
        return FileState(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def can_be_read_twice(path: str | Path) -> bool:
    """Return whether a file can be read twice (standard input and pipes cannot)."""
    with readable(path):
        return str(path) != "-" and Path(path).is_file()


@dataclass
class ByteStream:
    """Bytes of UTF-8 text, and how far the file behind them has been read."""

    path: str
    file: BinaryIO
    total: int | None
    encoding: str
    ascii_so_far: bool
    _source: Any
    _start: bytes
    _decoder: Decoder | None
    _complete: bool = False  # whether `_start` is all there is

    def whole(self) -> str | None:
        """All of the text, where it is little; it stays to be read. None where there is more, or where some is no text."""
        encoding = "utf-8" if self._decoder is None else self.encoding
        try:
            return self._start.decode(encoding) if self._complete else None
        except UnicodeDecodeError:
            return None

    def sample(self) -> str:
        """The beginning of the text, its first line whole unless it is very long, to guess from; it stays to be read.

        A byte that is no text is half a surrogate pair: the last character may be cut in two, and a bad one is reported later.
        """
        while True:
            piece = self._decoder.peek(self._start) if self._decoder else self._start
            text = piece.decode("utf-8", "surrogateescape")
            if self._complete or len(self._start) >= LONGEST_HEADER or text.lstrip("\r\n").count("\n"):
                return text
            wanted = min(2 * len(self._start), LONGEST_HEADER)
            self._start += _read(self._source, wanted - len(self._start))
            self._complete = len(self._start) < wanted

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer from its beginning; returns the number of bytes, 0 at the end. Never short but at the end."""
        filled = 0
        with readable(self.path):
            while filled < len(buffer):
                count = self._some(buffer[filled:])
                if not count:
                    break
                filled += count
        return filled

    @property
    def plain(self) -> int | None:
        """Number of bytes of text, if known beforehand: the file is neither compressed nor recoded."""
        return self.total if self._source is self.file and self._decoder is None else None

    def done(self) -> int:
        """Return the number of bytes of the file read so far, for a progress bar."""
        try:
            return self.file.tell()
        except OSError:
            return 0

    def _some(self, buffer: memoryview) -> int:
        if self._decoder:
            return self._decoder.readinto(self._raw, buffer)
        return self._raw(buffer)

    def _raw(self, buffer: memoryview) -> int:
        if self._start:
            count = min(len(buffer), len(self._start))
            buffer[:count] = self._start[:count]
            self._start = self._start[count:]
            return count
        return self._source.readinto(buffer) or 0


def head_of(path: str | Path, size: int = 8) -> bytes:
    """The first bytes of a file, to know its format by; nothing for standard input."""
    if str(path) == STDIN:
        return b""
    with readable(path), open(path, "rb") as file:
        return file.read(size)


def compression_of(head: bytes) -> str | None:
    """Detect the compression of a file by its first bytes.

    >>> compression_of(b"\\x1f\\x8b\\x08"), compression_of(b"age,sex")
    ('gzip', None)
    """
    for magic, name in COMPRESSIONS.items():
        if head.startswith(magic):
            return name
    return None


@contextmanager
def open_stream(path: str | Path, encoding: str | None = None) -> Iterator[ByteStream]:
    """Open a file of text, packed or not; `encoding` is guessed from its beginning unless given."""
    name = str(path)
    with readable(name):
        file = sys.stdin.buffer if name == STDIN else open(name, "rb", buffering=0)  # noqa: SIM115
    try:
        with readable(name):
            yield _stream(name, file, encoding)
    finally:
        if name != STDIN:
            file.close()


def _stream(name: str, file: BinaryIO, encoding: str | None) -> ByteStream:
    status = os.fstat(file.fileno()) if name != STDIN else None
    if status and (stat.S_ISBLK(status.st_mode) or (stat.S_ISCHR(status.st_mode) and not file.isatty())):
        raise NoFileError(errno.EINVAL, "not a file", name)  # /dev/zero never ends
    total = status.st_size if status and stat.S_ISREG(status.st_mode) else None
    start = _read(file, 4)
    packed = compression_of(start)
    source: Any = file
    if packed:
        source, start = unpacked(name, start, file, packed), b""
    start += _read(source, SAMPLE - len(start))
    complete = len(start) < SAMPLE
    chosen = encoding_of(name, start) if encoding is None else _checked_encoding(encoding)
    if chosen == "utf-8-sig":
        start = start.removeprefix(codecs.BOM_UTF8)
    if start.startswith(b"sep="):
        start = DELIMITER_NAMED.sub(b"", start)
    decoder = None
    if chosen not in ("utf-8", "utf-8-sig"):
        decoder = Decoder(name, chosen)
    return ByteStream(name, file, total, chosen, start.isascii(), source, start, decoder, complete)


def _read(source: Any, size: int) -> bytes:
    parts = []
    while size > 0 and (part := source.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _checked_encoding(encoding: str) -> str:
    name = text_encoding(encoding)
    if name is None:
        raise FileError(Message("error_io.no_encoding", encoding=encoding))
    return name


def text_encoding(name: str) -> str | None:
    """The encoding of that name, as Python calls it; None if there is none, or if it is not for lines of text.

    >>> text_encoding("Shift-JIS"), text_encoding("rot13"), text_encoding("punycode")
    ('shift_jis', None, None)
    """

    try:
        found = codecs.lookup(name)
        holds = "a,1\n".encode(found.name).decode(found.name) == "a,1\n"
    except (ValueError, LookupError, AttributeError):
        return None
    return found.name if holds and found.name not in NOT_FOR_LINES else None


def encoding_of(path: str, start: bytes) -> str:
    """Guess the encoding of a file from its first bytes: a byte order mark, UTF-8, or a Japanese encoding.

    Chinese and Korean text often reads as EUC-JP too: where it may be that, nothing is guessed.

    >>> encoding_of("people.csv", "氏名,年齢".encode("cp932"))
    'cp932'
    """
    if start.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16" if start.startswith(codecs.BOM_UTF16_LE) else BIG_ENDIAN
    whole = len(start) < SAMPLE
    if _decodes(start, "utf-8", whole) is not None:
        return "utf-8"
    texts = {name: _decodes(start, name, whole) for name in ("cp932", "euc_jp")}
    texts = {name: None if text is None or NOT_WRITTEN.search(text) else text for name, text in texts.items()}
    # Read as the other one, Japanese text turns into halfwidth katakana, which real text has little of.
    fits = {name: len(re.findall("[\uff61-\uff9f]", text)) for name, text in texts.items() if text is not None}
    if not fits or not _many_together(start):
        raise FileError(Message("error_io.neither_encoding", path=path, line=_first_odd_line(start)))
    found = min(fits, key=lambda name: fits[name])
    if found == "euc_jp" and (other := _rather(texts[found] or "")) and _decodes(start, other, whole) is not None:
        raise FileError(Message("error_io.several_encodings", path=path, encodings=[found, other]))
    return found


def _first_odd_line(start: bytes) -> int:
    """The line of the first byte that is not UTF-8, from 1: a file put together from several may only there be odd."""
    try:
        start.decode()
    except UnicodeDecodeError as error:
        return start.count(b"\n", 0, error.start) + 1
    return 1


def _rather(text: str) -> str | None:
    """Return the other encoding that text read as EUC-JP may have, by the first bytes of its characters.

    Japanese text has kana, or kanji from the first of the standard's two lists, both halves of it. Korean syllables stand where
    its first half does; a fifth of Chinese text stands where the second list does, which Japanese text hardly uses.
    """
    if re.search("[ぁ-んァ-ヶ]", text):
        return None
    letters = re.sub(r"[\x00-\x7f]", "", text)[:10_000]
    leads = [lead for letter in letters if (lead := letter.encode("euc_jp")[0]) >= 0xB0]
    if leads and max(leads) <= 0xC8:
        return "euc_kr"
    return "gb18030" if 10 * sum(lead >= 0xD0 for lead in leads) > len(leads) else None


def _decodes(start: bytes, encoding: str, whole: bool) -> str | None:
    try:
        return codecs.getincrementaldecoder(encoding)("strict").decode(start, whole)
    except UnicodeDecodeError:
        return None


def _many_together(start: bytes) -> bool:
    """Return whether most bytes beyond ASCII stand next to another one, as in Japanese; the accents of latin-1 stand alone.

    A single pair may be two accents as well as one kanji: then nobody can tell.
    """
    runs = re.findall(rb"(?:\x81[\x40-\xfc]|[\x80-\xff])+", start)  # 0x81 is no letter of latin-1, but begins ～ and ≧
    together = 2 * sum(len(run) for run in runs if len(run) > 1) >= sum(map(len, runs))
    return together and sum(map(len, set(runs))) > 2


# Compression and encodings --------------------------------------------------------------------------------------------
# Bytes of a file that are not yet UTF-8 text: compressed, in another encoding, or both.
#
# One encoding is added to those that Python knows, once this module is imported: `utf-16-be-sig`, UTF-16 with the high
# byte first and a byte order mark. Python's own `utf-16` writes the low byte first.


BIG_ENDIAN = "utf-16-be-sig"
PIECE = 1 << 20


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
    """Return a stream of the decompressed bytes. Of an archive the one file in it."""
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
    """Return a file that compresses bytes into another file, which stays open: it is still to be synced and named."""
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


def _find_codec(name: str) -> codecs.CodecInfo | None:
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


codecs.register(_find_codec)
