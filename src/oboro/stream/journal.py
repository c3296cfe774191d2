"""Journal of a stream: decisions logged before they are published, so that a crash leads to the same bytes."""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import BinaryIO, ClassVar, Generic, Protocol, Self, TypeVar

import msgspec
import numpy as np

from oboro.errors import FileError
from oboro.system.files import FileLock, is_transient, open_private, sweep, tell, why_unwritable
from oboro.system.process import mend_private
from oboro.text import Message

__all__ = ["Batch", "JournalEntry", "LogEntry", "StateFolder"]


# State folder ---------------------------------------------------------------------------------------------------------
# A folder that survives `kill -9`: a snapshot, and a log of everything since.
#
# Before anything is written to the output, the log has the lines, the decisions and the position at which the output
# will end. So after a crash at any moment: lines that are not in the log were not written, and lines in the log can be
# decided again the same way and written as far as they are missing. A torn last entry fails its checksum and counts as
# never written.
#
# `log.N` continues `snapshot.N`. A new snapshot is put in its place whole, then the next log begins, then the old two
# are deleted.


ENTRY = struct.Struct("<4sIIc")  # mark, length, checksum, kind
HEAD = struct.Struct("<dQQQ?I")
BATCH, DONE = b"B", b"D"
OWN_FILE = re.compile(r"lock|(log|snapshot)\.[0-9]+|\..+\.part", re.DOTALL)
MARKS_TRIED = 100  # after a torn entry: its records may hold marks too


class LogEntry(Protocol):
    """Log entry of a block, written before its output."""

    MARK: ClassVar[bytes]
    """Stands before each entry; its last digit is the version of the format."""

    def pack(self) -> bytes:
        """As bytes."""
        ...

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """The way back."""
        ...


E = TypeVar("E", bound=LogEntry)


@dataclass(frozen=True)
class Batch:
    """Lines that were taken together, and what was decided."""

    MARK: ClassVar[bytes] = b"obr2"  # 1 had no `last`

    lines: list[bytes]
    decisions: list[int]
    now: float
    taken: int  # bytes of input up to the end of this batch
    written: int  # bytes of output up to its end
    refused: int  # bytes of dead letters up to its end
    last: bool = False  # the input ended here, and what waited was released

    def pack(self) -> bytes:
        """As bytes, for the log."""
        text = b"\x1e".join(self.lines)
        if b"\x1b" in text or text.count(b"\x1e") >= max(1, len(self.lines)):  # hardly ever
            text = b"\x1e".join(line.replace(b"\x1b", b"\x1b1").replace(b"\x1e", b"\x1b2") for line in self.lines)
        decisions = np.array(self.decisions, dtype="<i8").tobytes()
        counts = struct.pack("<I", len(self.lines))
        head = HEAD.pack(self.now, self.taken, self.written, self.refused, self.last, len(self.decisions))
        return head + decisions + counts + text

    @classmethod
    def unpack(cls, data: bytes) -> Batch:
        """The way back."""
        now, taken, written, refused, last, count = HEAD.unpack_from(data)
        end = HEAD.size + 8 * count
        decisions = np.frombuffer(data[HEAD.size : end], dtype="<i8").tolist()
        (lines,) = struct.unpack_from("<I", data, end)
        parts = data[end + 4 :].split(b"\x1e") if lines else []
        restored = [part.replace(b"\x1b2", b"\x1e").replace(b"\x1b1", b"\x1b") for part in parts]
        return Batch(restored, decisions, now, taken, written, refused, last)


class StateFolder(Generic[E]):
    """The state of one stream on disk. Only one process may use it."""

    def __init__(self, path: Path, entry: type[E], fsync: bool = False) -> None:
        self.path = path
        self.entry = entry
        self.fsync = fsync
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            _make_private(path)
            self._lock = FileLock(path / "lock")
        except BlockingIOError:
            raise FileError(Message("error_stream.state_in_use", path=path), transient=True) from None
        except OSError as error:
            raise _unwritable(path, error) from None
        sweep(path)  # a snapshot that was not finished holds raw values
        self.number = max(self._numbers("snapshot"), default=0)
        self._log: FileIO | None = None

    @property
    def snapshot(self) -> Path:
        """The newest snapshot; there may be none yet."""
        return self.path / f"snapshot.{self.number}"

    def entries(self) -> Iterator[E | int]:
        """The log since the snapshot: batches, and positions up to which the output is known to be written.

        A last entry that was not written to its end was never acted upon, and is cut off. Any other damage is an error: what
        the log says of records that were released would be forgotten, and they would be released again.
        """
        self._forget_older()
        path = self.path / f"log.{self.number}"
        good = 0
        if path.exists():
            with path.open("rb") as file:
                while (entry := _read(file, self.entry)) is not None:
                    yield entry
                    good = file.tell()
                _check_torn(file, good, self.entry)
        self._log = _opened(path, os.O_RDWR | os.O_CREAT)
        self._log.truncate(good)
        self._log.seek(good)

    def _forget_older(self) -> None:
        """What went before the newest snapshot stays where a process was killed right after making that; it holds raw values."""
        for kind in ("log", "snapshot"):
            for number in self._numbers(kind):
                if number < self.number:
                    (self.path / f"{kind}.{number}").unlink(missing_ok=True)

    def _numbers(self, kind: str) -> list[int]:
        return [int(one.suffix[1:]) for one in self.path.glob(f"{kind}.*") if one.suffix[1:].isdigit()]

    def log(self, batch: E) -> None:
        """Note a batch, before any of its output is written."""
        self._append(BATCH, batch.pack())

    def done(self, written: int) -> None:
        """Note that the output is written up to a position."""
        self._append(DONE, struct.pack("<Q", written))

    def _append(self, kind: bytes, payload: bytes) -> None:
        assert self._log is not None, "entries() comes first"
        data = memoryview(ENTRY.pack(self.entry.MARK, len(payload), zlib.crc32(payload), kind) + payload)
        try:
            while data:
                data = data[self._log.write(data) :]
            if self.fsync:
                os.fsync(self._log.fileno())
        except OSError as error:
            raise _unwritable(self.path / f"log.{self.number}", error) from None

    @property
    def size(self) -> int:
        """Bytes in the log."""
        return self._log.tell() if self._log else 0

    def next(self) -> Path:
        """Where the next snapshot goes."""
        return self.path / f"snapshot.{self.number + 1}"

    def advance(self) -> None:
        """The next snapshot is in its place: begin its log, and let the old ones go."""
        if self._log:
            self._log.close()
        old = self.number
        self.number += 1
        self._log = _opened(self.path / f"log.{self.number}", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        for name in (f"log.{old}", f"snapshot.{old}"):
            (self.path / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Let others use the folder."""
        if self._log:
            self._log.close()
        self._lock.release()


def _make_private(path: Path) -> None:
    """Let nobody else enter the folder, which holds raw values; raises `FileError` where others may have put a state into it."""
    found = mend_private(path, lambda name: OWN_FILE.fullmatch(name) is not None)
    if found == "mended":
        tell(Message("error_system.made_private", path=path))
    elif found != "private":
        raise FileError(Message("error_stream.state_open", path=path, why=Message(f"error_stream.not_private.{found}")))


def _opened(path: Path, flags: int) -> FileIO:
    try:
        return FileIO(open_private(path, flags), "r+")
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> FileError:
    said = Message("error_stream.cannot_write", place=path, why=why_unwritable(error))
    return FileError(said, transient=is_transient(error))


def _check_torn(file: BinaryIO, good: int, kind: type[LogEntry]) -> None:
    """Raise unless what follows the last good entry is the beginning of one, or what a file system puts there: zeros."""
    file.seek(good)
    rest = file.read()
    if len(rest) < ENTRY.size or not rest.strip(b"\0"):
        return
    mark, length, *_ = ENTRY.unpack(rest[: ENTRY.size])
    if mark != kind.MARK or ENTRY.size + length <= len(rest) or _entry_within(file, good, rest, kind):
        raise FileError(Message("error_stream.damaged_log", path=file.name))


def _entry_within(file: BinaryIO, start: int, rest: bytes, kind: type[LogEntry]) -> bool:
    """Whether a whole entry follows, so that not the end is torn but a length is wrong.

    Records may hold any number of marks, so only some of them are tried.
    """
    place = 0
    for _ in range(MARKS_TRIED):
        place = rest.find(kind.MARK, place + 1)
        if place < 0:
            return False
        file.seek(start + place)
        if _read(file, kind) is not None:
            return True
    return False


def _read(file: BinaryIO, form: type[E]) -> E | int | None:
    head = file.read(ENTRY.size)
    if len(head) < ENTRY.size:
        return None
    mark, length, checksum, kind = ENTRY.unpack(head)
    if (
        mark != form.MARK and mark[:3] == form.MARK[:3]
    ):  # whole, so it was acted upon: cutting it off would lose records
        raise FileError(
            Message(
                "error_stream.other_log",
                path=file.name,
                form=mark[3:].decode(errors="replace"),
                expected=form.MARK[3:].decode(),
            )
        )
    if mark != form.MARK:
        return None
    payload = file.read(length)
    if len(payload) < length or zlib.crc32(payload) != checksum:
        return None
    if kind not in (BATCH, DONE) or (kind == DONE) != (length == struct.calcsize("<Q")):
        return None
    return form.unpack(payload) if kind == BATCH else int(struct.unpack("<Q", payload)[0])


# Journal --------------------------------------------------------------------------------------------------------------


class JournalEntry(msgspec.Struct, array_like=True, frozen=True):
    """A block: what came, what was decided, and the bytes that go out."""

    MARK: ClassVar[bytes] = b"obs1"

    bodies: list[bytes]
    moments: list[float]
    moment: float
    """When an empty block was due."""
    decisions: list[list[int]]
    position: str
    """Of the input, behind this block."""
    after: int
    """The number of the output before this block."""
    released: list[bytes]
    letters_after: int
    letters: list[bytes]
    last: bool = False
    run: str = ""
    """The process that publishes it first: its name is in the ids of records, which stay when others publish them again."""

    def pack(self) -> bytes:
        """As bytes, for the log."""
        return _encode(self)

    @classmethod
    def unpack(cls, data: bytes) -> JournalEntry:
        """The way back."""
        return _decode(data)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(JournalEntry).decode
