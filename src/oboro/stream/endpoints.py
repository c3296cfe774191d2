"""Endpoints of a stream: the sources and sinks of its records, as standard input and output, files, and sockets.

`-` is standard input or output; `tcp://HOST:PORT` and `unix:///PATH` connect to a listening program; `tcp-listen://…`
and `unix-listen://…` wait for connections, several at a time; everything else is a file. Reading and writing block: a
slow reader of the output stops the input, and no more than one block is kept.

Sockets are read and written by their own calls, and a request to stop arrives by a socket: Windows treats them unlike
other files, and waits for nothing else. There a request to stop is noticed when the next block of standard input or of
a pipe has arrived.
"""

from __future__ import annotations

import errno
import os
import selectors
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any, ClassVar, Protocol

from oboro.errors import ConflictError, FileError, UsageError
from oboro.stream.records import HUGE, LineBlocks, NdjsonCodec
from oboro.system.files import (
    LOCKS_LET_READ,
    file_marks,
    hold_output,
    is_named,
    is_transient,
    open_private,
    release_output,
    why_unwritable,
)
from oboro.text import Message
from oboro.text.language import os_reason

__all__ = [
    "FileSink",
    "Held",
    "Incoming",
    "Lease",
    "LineSource",
    "MissingOutput",
    "NoSink",
    "PipeSink",
    "Producers",
    "RecordSink",
    "RecordSource",
    "SilentSink",
    "StopRequest",
    "Store",
    "StreamInput",
    "StreamOutput",
    "check_apart",
    "paced",
]


# Producers ------------------------------------------------------------------------------------------------------------
# Several producers at one socket: their lines arrive one after the other, never one within another.
#
# On a request to stop, records that producers have sent already are still read, also from those that had only just
# connected: they cannot know that nothing is read any more.


LAST_CALL = 2.0  # seconds for which, after a wish to end, what was sent is taken


class Producers:
    """Those who are connected to a listening socket. Memory: at most one line of each."""

    def __init__(self, server: socket.socket, most: int) -> None:
        self._server, self._most = server, most
        self._open: dict[socket.socket, bytes] = {}
        self._long: set[socket.socket] = set()  # those in the midst of a line that is too long to keep
        self._waiting = selectors.DefaultSelector()
        self._until: float | None = None
        self.ends: Callable[[bytes], bool] = lambda text: True
        server.setblocking(False)
        self._waiting.register(server, selectors.EVENT_READ)

    def there(self, seconds: float | None, wake: socket.socket | None = None) -> list[socket.socket]:
        """Who has something to say within some time; `wake` interrupts the wait."""
        if wake is not None:
            self._waiting.register(wake, selectors.EVENT_READ)
        try:
            ready = self._waiting.select(seconds)
        finally:
            if wake is not None:
                self._waiting.unregister(wake)
        return [key.fileobj for key, _ in ready if key.fileobj is not wake and isinstance(key.fileobj, socket.socket)]

    def read(self, asked: Callable[[], bool], wake: socket.socket) -> bytes | None:
        """Whole lines of one producer; None if it is time to end and nothing is left."""
        while True:
            ending = asked()
            if ending and self._until is None:
                self._until = time.monotonic() + LAST_CALL
            ready = self.there(0.0 if ending else None, None if ending else wake)
            if ending and (not ready or time.monotonic() > (self._until or 0.0)):
                return None  # whoever is in the midst of a line has not sent it
            for one in ready:
                if one is self._server:
                    self._accept()
                elif lines := self._received(one):
                    return lines

    def _accept(self) -> None:
        try:
            connection, _ = self._server.accept()
        except OSError:  # gone again
            return
        connection.setblocking(False)
        self._open[connection] = b""
        self._waiting.register(connection, selectors.EVENT_READ)

    def _received(self, one: socket.socket) -> bytes:
        try:
            data = one.recv(CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        return self._lines(one, data) if data else self._gone(one)

    def _lines(self, one: socket.socket, data: bytes) -> bytes:
        """What is whole by now; the rest waits. Of a line that is too long only its length is told, by one that is too long."""
        if one in self._long:
            _, found, data = data.partition(b"\n")
            if not found:
                return b""
            self._long.discard(one)
            return b" " * (self._most + 1) + b"\n" + self._lines(one, data)
        data = self._open[one] + data
        cut = data.rfind(b"\n") + 1
        while cut and not self.ends(data[:cut]):
            cut = data.rfind(b"\n", 0, cut - 1) + 1
        self._open[one] = data[cut:]
        if len(data) - cut > self._most:
            self._open[one] = b""
            self._long.add(one)
        return data[:cut]

    def _gone(self, one: socket.socket) -> bytes:
        """The end of a connection; a last line without its end is a line."""
        self._waiting.unregister(one)
        one.close()
        rest = self._open.pop(one)
        if one in self._long:
            self._long.discard(one)
            rest = b" " * (self._most + 1)
        return rest + b"\n" if rest else b""

    def close(self) -> None:
        """Hang up."""
        for one in self._open:
            one.close()
        self._open.clear()
        self._waiting.close()


# Input and output -----------------------------------------------------------------------------------------------------


CHUNK = 1 << 16
LEAST_CHUNK = 1 << 10
LONG = 0.5  # seconds that a block may take before smaller ones are read
SOCKETS = ("tcp://", "tcp-listen://", "unix://", "unix-listen://")
WAITS_FOR_FILES = os.name != "nt"
HANG_UP = getattr(signal, "SIGHUP", None)  # Windows has none
ENDS = [one for one in (signal.SIGTERM, signal.SIGINT, HANG_UP) if one is not None]
GRACE = 5.0  # seconds that a reader who does not read has after somebody asked to stop


def paced(room: int | None, taken: int, seconds: float) -> int | None:
    """How many bytes to read at once after a block of `taken` took so long: half as many where it took long, so that nobody
    waits for the records of a whole block; twice as many where it did not. None: `CHUNK`.

    >>> paced(None, 65_536, 3.0), paced(32_768, 32_768, 0.3), paced(32_768, 32_768, 0.1)
    (32768, 32768, None)
    """
    if seconds > LONG and taken:
        return max(LEAST_CHUNK, taken // 2)
    wider = 2 * room if room is not None and 4 * seconds < LONG else room
    return None if wider is None or wider >= CHUNK else wider


def _standard_error() -> int:
    """The system's number of it; where somebody put something else in its place (a notebook), that of the process."""
    try:
        number: int = sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return 2
    return number


class StopRequest:
    """Request to stop the stream (SIGTERM, SIGINT, SIGHUP); wakes up waiting calls."""

    def __init__(self) -> None:
        self.asked = False
        self._reader, self._writer = socket.socketpair()

    def ask(self, *_: Any) -> None:
        """End after what is in hand."""
        self.asked = True
        with suppress(OSError):  # nobody waits any more
            self._writer.send(b".")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take SIGTERM, SIGINT and the end of a terminal (unless `nohup` keeps that away) as a wish to end, while this lasts."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before: dict[int, Any] = {}
        for asked in ENDS:
            if signal.getsignal(asked) is not signal.SIG_IGN or asked is not HANG_UP:
                before[asked] = signal.signal(asked, self._signal)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signal(self, number: int, frame: FrameType | None) -> None:
        self.ask()

    @property
    def waker(self) -> socket.socket:
        """Can be read once somebody has asked."""
        return self._reader

    def wait(self, handle: int | socket.socket, event: int, timeout: float | None = None) -> bool:
        """Until a file or a socket can be read or written, or somebody asks to stop; whether it is ready."""
        if isinstance(handle, int) and not WAITS_FOR_FILES:
            return True
        with selectors.DefaultSelector() as waiting:
            try:
                waiting.register(handle, event)
            except (PermissionError, ValueError):
                return True  # a plain file is always ready
            waiting.register(self._reader, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in waiting.select(timeout)]
                if handle in ready:
                    return True
                if not ready:
                    return False
                if not self.asked:
                    continue
                if event == selectors.EVENT_READ or timeout is not None:
                    return False
                waiting.unregister(self._reader)
                timeout = GRACE

    def close(self) -> None:
        """Release the sockets that wake up."""
        self._reader.close()
        self._writer.close()


class StreamInput:
    """Bytes from somewhere, a block at a time."""

    def __init__(self, place: str, stop: StopRequest, most: int = 1 << 20) -> None:
        self.place = place
        self.stop = stop
        self.listens = "-listen://" in place
        self.is_socket = place.startswith(SOCKETS)
        self._server = _listen(place) if self.listens else None
        self.producers = Producers(self._server, most) if self._server is not None else None
        self._connection = _connect(place) if self.is_socket and not self.listens else None
        self._file = -1 if self.is_socket else self._open()
        self.is_file = not self.is_socket and _is_plain(self._file)
        self._start = os.lseek(self._file, 0, os.SEEK_CUR) if self.is_file else 0

    def _open(self) -> int:
        if self.place == "-":
            return sys.stdin.fileno()
        try:
            return open_private(self.place, os.O_RDONLY)
        except OSError as error:
            raise FileError(Message("error_stream.cannot_read", place=self.place, why=os_reason(error))) from None

    def skip(self, count: int) -> None:
        """Go on behind bytes that were taken before."""
        if self.is_file:
            size = os.fstat(self._file).st_size
            if size < self._start + count:
                raise FileError(Message("error_stream.shorter_input", place=self.place, size=size, count=count))
            os.lseek(self._file, self._start + count, os.SEEK_SET)
            return
        while count:
            data = self.read(min(count, CHUNK))
            if not data:
                raise FileError(Message("error_stream.input_ended", place=self.place))
            count -= len(data)

    def seen(self, count: int) -> str:
        """A digest of the beginning of a file, and of what stands before its `count`-th byte."""
        parts = (0, min(count, CHUNK)), (max(0, count - CHUNK), count)
        found = (self._at(start, end - start) for start, end in parts)
        return blake2b(b"".join(found), digest_size=16).hexdigest() if count else ""

    def holds(self, place: int, data: bytes) -> bool:
        """Whether a file says this there."""
        return self._at(place, len(data)) == data

    def line_before(self, place: int, most: int) -> bytes | None:
        """The line of a file that ends at a place, with or without its end; None if it is longer than `most`."""
        start = max(0, place - most - 2)
        text = self._at(start, place - start).removesuffix(b"\n")
        begin = text.rfind(b"\n") + 1
        return text[begin:] if begin or not start else None

    def _at(self, place: int, count: int) -> bytes:
        before = os.lseek(self._file, 0, os.SEEK_CUR)  # Windows has no pread
        os.lseek(self._file, self._start + place, os.SEEK_SET)
        data = os.read(self._file, count)
        os.lseek(self._file, before, os.SEEK_SET)
        return data

    def read(self, most: int | None = None) -> bytes | None:
        """What there is, at once; empty at the end of one connection or of the input; None if it is time to stop."""
        if self.producers is not None:
            return self.producers.read(lambda: self.stop.asked, self.stop.waker)
        if not self.is_file and not self.stop.wait(self._connection or self._file, selectors.EVENT_READ):
            return None
        if self.stop.asked:
            return None
        try:
            return self._connection.recv(most or CHUNK) if self._connection else os.read(self._file, most or CHUNK)
        except ConnectionError:
            return b""

    def ready(self, seconds: float) -> bool:
        """Whether `read` has something to say within some time."""
        if self.is_file:
            return True
        if self.producers is not None:
            return bool(self.producers.there(seconds, self.stop.waker)) or self.stop.asked
        return self.stop.wait(self._connection or self._file, selectors.EVENT_READ, seconds)

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Let go of it."""
        self._hang_up()
        if self.producers is not None:
            self.producers.close()
        if self._server is not None:
            _unlisten(self._server, self.place)
        elif not self.is_socket and self.place != "-":
            os.close(self._file)


class StreamOutput:
    """Bytes to somewhere. A plain file can be asked how much of it is there; a pipe or a socket cannot."""

    def __init__(self, place: str, stop: StopRequest) -> None:
        self.place = place
        self.stop = stop
        self._server = _listen(place) if "-listen://" in place else None
        self._connection = self._connected()
        self._made = not os.path.lexists(place)
        self._file = -1 if self._connection else self._open()
        # Standard error is a log, also where it is a file: others write there too, this program's own messages among them.
        self.is_file = self._connection is None and place != "stderr" and _is_plain(self._file)
        self.start = os.fstat(self._file).st_size if self.is_file else 0
        self.written = 0

    def _connected(self) -> socket.socket | None:
        if self._server is not None:
            try:
                return self._accept(self._server)
            except BaseException:
                _unlisten(self._server, self.place)
                raise
        return _connect(self.place) if self.place.startswith(SOCKETS) else None

    def _open(self) -> int:
        if self.place == "-":
            if _is_plain(sys.stdout.fileno()):
                hold_output(sys.stdout.fileno())  # so that nobody replaces it; other programs may append to it as well
            return sys.stdout.fileno()
        if self.place == "stderr":
            return _standard_error()
        while True:
            try:
                opened = open_private(self.place, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            except OSError as error:
                raise self._unwritable(error) from None
            if not _is_plain(opened):
                return opened
            if not hold_output(opened):
                os.close(opened)
                raise FileError(Message("error_stream.output_in_use", place=self.place), transient=True)
            if not LOCKS_LET_READ or is_named(Path(os.path.realpath(self.place)), opened):
                return opened
            os.close(opened)  # another process replaced it in the moment before it was held

    def _accept(self, server: socket.socket) -> socket.socket:
        if not self.stop.wait(server, selectors.EVENT_READ):
            raise FileError(Message("error_stream.nobody", place=self.place))
        return server.accept()[0]

    def write(self, data: bytes) -> bool:
        """All of it; false if the reader did not take it and it is time to stop. Blocks while the reader is slow."""
        view = memoryview(data)
        while view:
            if not self.is_file and not self.stop.wait(self._connection or self._file, selectors.EVENT_WRITE):
                return False
            try:
                # A ready pipe takes 4 KiB without blocking, and so a wish to end is heard between two such pieces.
                some = view if self.is_file else view[:4096]
                count = self._connection.send(some) if self._connection else os.write(self._file, some)
            except (BrokenPipeError, ConnectionError):
                raise FileError(
                    Message("error_stream.reader_gone", place=self.place), transient=self._is_socket
                ) from None
            except OSError as error:
                raise self._unwritable(error) from None
            self.written += count
            view = view[count:]
        return True

    @property
    def _is_socket(self) -> bool:
        return self._connection is not None

    def _unwritable(self, error: OSError) -> FileError:
        said = Message("error_stream.cannot_write", place=self.place, why=why_unwritable(error))
        return FileError(said, transient=is_transient(error))

    def sync(self) -> None:
        """Wait until a file is on its disk."""
        if self.is_file:
            os.fsync(self._file)

    def withdraw(self) -> None:
        """Remove the file that this made, if nothing was ever written to it."""
        if self.is_file and self._made and self.place != "-" and os.fstat(self._file).st_size == 0:
            with suppress(OSError):  # a system may not remove what is open
                os.unlink(self.place)

    def close(self) -> None:
        """Let go of it."""
        if self._connection is not None:
            self._connection.close()
        elif self.place == "-":
            release_output(self._file)
        elif self.place != "stderr":
            os.close(self._file)
        if self._server is not None:
            _unlisten(self._server, self.place)


def _is_plain(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def _address(place: str) -> tuple[int, Any]:
    kind, _, rest = place.partition("://")
    if kind.startswith("unix"):
        if not hasattr(socket, "AF_UNIX"):
            raise UsageError(Message("error_stream.no_unix", place=place))
        return socket.AF_UNIX, rest
    host, _, port = rest.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or len(port) > 5 or int(port) > 65_535:
        raise UsageError(Message("error_stream.address", place=place, kind=kind))
    return (socket.AF_INET6 if ":" in host else socket.AF_INET), (host.strip("[]"), int(port))


def _connect(place: str) -> socket.socket:
    family, address = _address(place)
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.connect(address)
    except (OSError, ValueError, TypeError) as error:
        connection.close()
        if not isinstance(error, OSError):  # a name that no host and no file has
            raise UsageError(Message("error_stream.no_address", place=place)) from None
        said = Message("error_stream.cannot_connect", place=place, why=os_reason(error))
        raise FileError(said, transient=not isinstance(error, socket.gaierror)) from None
    return connection


def _listen(place: str) -> socket.socket:
    family, address = _address(place)
    server = socket.socket(family, socket.SOCK_STREAM)
    try:
        if place.startswith("unix"):
            _remove_socket(address)  # left over from a process that was killed
        elif os.name == "posix":  # elsewhere the option would let two listen at one address
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(address)
        server.listen(64)
    except (OSError, ValueError, TypeError) as error:
        server.close()
        if not isinstance(error, OSError):
            raise UsageError(Message("error_stream.no_address", place=place)) from None
        said = Message("error_stream.cannot_listen", place=place, why=os_reason(error))
        raise FileError(said, transient=error.errno == errno.EADDRINUSE) from None
    return server


def _remove_socket(path: str) -> None:
    if os.path.exists(path) and stat.S_ISSOCK(os.stat(path).st_mode):
        os.unlink(path)


def _unlisten(server: socket.socket, place: str) -> None:
    server.close()
    _, address = _address(place)
    if place.startswith("unix") and os.path.exists(address):
        os.unlink(address)


# Output files ---------------------------------------------------------------------------------------------------------
# The files that a stream writes: all different, and the part of them that is missing after a restart.


NONE: Mapping[str, Sequence[Path]] = MappingProxyType({})


class MissingOutput:
    """The end of the output that the log knows and the file lacks."""

    def __init__(self, target: StreamOutput, base: int) -> None:
        self.target = target
        self.base = base
        self.have = target.start - base
        self.parts: list[bytes] = []

    def between(self, least: int, most: int) -> None:
        """Raise unless the file holds all that was there when the snapshot was made, and no more than the log knows."""
        if self.target.is_file and self.have < least:
            raise FileError(Message("error_stream.shorter_output", place=self.target.place))
        if self.target.is_file and self.have > most:
            raise FileError(Message("error_stream.longer_output", place=self.target.place))

    def add(self, start: int, end: int, data: bytes) -> None:
        """One batch: its output takes the bytes from `start` to `end`."""
        if not self.target.is_file:
            return
        if end - start != len(data):
            raise FileError(Message("error_stream.not_repeatable", place=self.target.place))
        if end > self.have:
            self.parts.append(data[max(0, self.have - start) :])

    def write(self) -> None:
        """Write what is missing."""
        for part in self.parts:
            self.target.write(part)


def check_apart(
    source: str, target: str, dead: str | None, state: Path | None = None, others: Mapping[str, Sequence[Path]] = NONE
) -> None:
    """Raise where the same file would be read and written, or hold released records and raw lines.

    The `others` are read only, by what they are. Nothing else is written into the folder of the state.
    """
    held = {"--state": list(state.iterdir())} if state is not None and state.is_dir() else {}
    taken: dict[object, str] = {}
    for what, paths in (*others.items(), *held.items()):
        for one in paths:
            taken = dict.fromkeys(file_marks(one), what) | taken
    for option, place in (("--from", source), ("--to", target), ("--dead-letters", dead)):
        if place in (None, "-", "stderr") or "://" in str(place):
            continue
        path = os.path.realpath(str(place))
        before = next((taken[mark] for mark in file_marks(path) if mark in taken), None)
        if state is not None and Path(path).parent == Path(os.path.realpath(state)):
            before = "--state"
        if before is not None and not _is_special(path):
            raise UsageError(Message("error_stream.same_place", one=before, other=option, place=place))
        taken = dict.fromkeys(file_marks(path), option) | taken


def _is_special(path: str) -> bool:
    """A terminal or /dev/null: what is written there mixes with nothing."""
    return os.path.exists(path) and not os.path.isfile(path)


# Interface of sources, sinks and stores -------------------------------------------------------------------------------
# The interface between a service and its brokers. A broker is one file that implements it and states its own traits.
#
# A *position* is a place in the input in the broker's own terms: its number and the broker's moment. Only the source
# reads it. A *number* counts the records of the output, from 1. A *mark* accompanies each released record: the stream
# it belongs to, the process that published it, and the position of the input up to which everything was decided.
#
# A call that fails because the broker is away raises `BrokerError`: it may or may not have been executed, and the
# service reopens the connection and reads the state back.


Incoming = tuple[bytes, str, float]
"""A body, its position, and the moment at which the broker got it (seconds since 1970)."""
Held = tuple[int, str, bytes]
"""The last that an output holds: its number (0: none yet), its mark and its body."""


class RecordSource(Protocol):
    """Source of records, in an order that the broker or file keeps."""

    kind: ClassVar[str]
    """Whose positions these are."""
    repeats: ClassVar[bool]
    """Whether the place itself may hand over a record twice, so that records need ids."""

    @property
    def replays(self) -> bool:
        """True if the source can be read again from a position; one that cannot needs a journal."""
        ...

    def open(self, after: str | None) -> None:
        """Begin behind a position; raises `FileError` where the input is not the one in which that position was."""
        ...

    @property
    def whole(self) -> bool:
        """Whether the input still begins with the first record that ever was there."""
        ...

    def read(self, most: int, wait: float) -> list[Incoming] | None:
        """Read up to `most` available records; empty if none come within `wait` s, None once the input has ended."""
        ...

    def message_id(self, position: str) -> str | None:
        """Return the broker's id of an unconfirmed record, the same whenever it is handed over; None where it has none."""
        ...

    def confirm(self, position: str) -> None:
        """All up to here came out and is never asked for again."""
        ...

    def behind(self) -> int | None:
        """Number of records that wait in the input; None if the source cannot tell."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class RecordSink(Protocol):
    """Sink of released records."""

    compares: ClassVar[bool]
    """Whether publishing is compare-and-set, and the place can say what it holds: then every record is there once."""

    def open(self) -> None:
        """Connect."""
        ...

    def last(self) -> Held:
        """Return the last content of the sink; number 0 where it cannot report any."""
        ...

    def bodies(self, first: int, count: int) -> list[bytes | None]:
        """Return the bodies of some numbers, from `first` on; None for those that are not kept any more."""
        ...

    def units(self, body: bytes) -> int:
        """By how much a body moves the number on: 1, or in a file its bytes."""
        ...

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """Publish if the output is exactly at `after` (else `ConflictError`); return once the sink has stored it."""
        ...

    def tend(self) -> None:
        """Keep the connection alive while nothing is published."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class SilentSink:
    """What a place is that cannot say what it holds and need not be opened; a sink says the rest."""

    compares: ClassVar[bool] = False

    def open(self) -> None:
        """It is open."""

    def last(self) -> Held:
        """It cannot say."""
        return 0, "", b""

    def bodies(self, first: int, count: int) -> list[bytes | None]:
        """It cannot say."""
        return [None] * count

    def units(self, body: bytes) -> int:
        """Records are counted."""
        return 1

    def tend(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to close."""


class Store(Protocol):
    """Snapshots outside of this machine."""

    def get(self) -> bytes | None:
        """The newest one."""
        ...

    def put(self, data: bytes) -> None:
        """A newer one; whole or not at all."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Lease(Protocol):
    """The right to lead for some seconds. It makes a fail-over quick; that nothing comes out twice never depends on it."""

    seconds: float

    def held(self) -> bool:
        """Take it or prolong it; whether this process leads now. Cheap: it asks the broker now and then only."""
        ...

    def release(self) -> None:
        """Let another lead at once."""
        ...


# Plain sources and sinks ----------------------------------------------------------------------------------------------
# Files, pipes and sockets as source or sink of a service whose other side is a broker; one record per line.


PIPE_CHUNK = 1 << 20


class LineSource:
    """Lines of a file, of standard input or of a socket. A position is the byte behind a line."""

    kind: ClassVar[str] = "lines"
    repeats: ClassVar[bool] = False

    def __init__(self, place: str, stop: StopRequest, most: int) -> None:
        self.place = place
        self._input = StreamInput(place, stop, most)
        self._blocks = LineBlocks(NdjsonCodec(), most)
        self._lines: list[bytes] = []
        self._at = 0
        self._ended = False
        self.whole = True

    @property
    def replays(self) -> bool:
        """A file does; what came through a pipe or a socket is gone."""
        return self._input.is_file

    @property
    def takes(self) -> bool:
        """Whether a look takes records from those who wait for them: producers at a socket cannot send again."""
        return self._input.is_socket

    def open(self, after: str | None) -> None:
        """Behind so many bytes of a file; a pipe or a socket goes on."""
        self._at = int(after or 0)
        if after is not None and self._input.is_file:
            self._input.skip(self._at)

    def read(self, most: int, wait: float) -> list[Incoming] | None:
        """Lines that are there. An empty one is no record."""
        found: list[Incoming] = []
        while not found:
            while not self._lines and not self._ended:
                if not self._input.is_file and not self._input.ready(wait):
                    return []
                data = self._input.read()
                if data is None:
                    return []
                self._lines, _ = self._blocks.add(data) if data else self._blocks.end()
                self._ended = not data
            if not self._lines:
                return None
            taken, self._lines = self._lines[:most], self._lines[most:]
            found = list(self._placed(taken, time.time()))
        return found

    def _placed(self, lines: Sequence[bytes], now: float) -> Iterator[Incoming]:
        end = 0 if self._ended else 1  # what stands last in a file may have no end yet
        for line in lines:
            self._at += end + (int(line[len(HUGE) :]) if line.startswith(HUGE) else len(line))
            if line and (line.startswith(HUGE) or not line.isspace()):
                yield line, str(self._at), now

    def reread(self, position: str) -> bytes | None:
        """The line that ends at a position of a file; None where nobody can say, or it is too long to keep."""
        end = int(position)
        return self._input.line_before(end, self._blocks.most) if self._input.is_file and end else None

    def message_id(self, position: str) -> str | None:
        """Return the place of a line in its file; what came through a pipe or a socket has none that stays."""
        return position if self._input.is_file else None

    def confirm(self, position: str) -> None:
        """Nobody waits for it."""

    def behind(self) -> int | None:
        """Unknown."""
        return None

    def close(self) -> None:
        """Let go of it."""
        self._input.close()


class FileSink(SilentSink):
    """A file that grows by one line for each record; its number is its length in bytes."""

    compares: ClassVar[bool] = True

    def __init__(self, place: str, stop: StopRequest) -> None:
        self._output = StreamOutput(place, stop)
        if not self._output.is_file:
            self._output.close()
            raise UsageError(Message("error_service.not_a_file", place=place))
        self.place = place

    def last(self) -> Held:
        """Its whole lines, and the last of them."""
        size = self._size()
        at, tail = size, b""
        while at and tail.count(b"\n") < 2:
            start = max(0, at - PIPE_CHUNK)
            tail = self._at(start, at - start) + tail
            at = start
        whole = tail.rfind(b"\n") + 1
        line = tail[:whole].rstrip(b"\n").rpartition(b"\n")[2]
        return size - (len(tail) - whole), "", line

    def _size(self) -> int:
        """Somebody may have moved it away."""
        try:
            return os.path.getsize(self.place)
        except OSError as error:
            raise FileError(Message("error_stream.cannot_read", place=self.place, why=os_reason(error))) from None

    def _at(self, start: int, count: int) -> bytes:
        with open(self.place, "rb") as file:
            file.seek(start)
            return file.read(count)

    def units(self, body: bytes) -> int:
        """Bytes with the line's end."""
        return len(body) + 1

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """Append; a line that was half written when a process was killed is finished."""
        data = b"".join(body + b"\n" for body in bodies)
        if self._size() < after or not data.startswith(there := self._at(after, len(data) + 1)):
            raise ConflictError(Message("error_service.other_leader", place=self.place))
        if not self._output.write(data[len(there) :]):
            raise FileError(Message("error_stream.cannot_write", place=self.place, why="stopped"))

    def sync(self) -> None:
        """Wait until it is on its disk."""
        self._output.sync()

    def close(self) -> None:
        """Let go of it."""
        self._output.close()


class PipeSink(SilentSink):
    """Standard output, a pipe or a socket: it cannot say what was read, so after a crash some records come again, in one form."""

    def __init__(self, place: str, stop: StopRequest) -> None:
        self._output = StreamOutput(place, stop)
        self.place = place

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """One line each."""
        if not self._output.write(b"".join(body + b"\n" for body in bodies)):
            raise FileError(Message("error_stream.reader_gone", place=self.place), transient=True)

    def close(self) -> None:
        """Let go of it."""
        self._output.close()


class NoSink(SilentSink):
    """Nowhere: a dry run decides and publishes nothing."""

    compares: ClassVar[bool] = True

    def __init__(self) -> None:
        self._number = 0

    def last(self) -> Held:
        """Nothing is there."""
        return self._number, "", b""

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """Forget them."""
        self._number = after + len(bodies)
