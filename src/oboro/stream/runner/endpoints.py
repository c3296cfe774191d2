"""Where records come from and go to: standard input and output, files, and sockets.

`-` is standard input or output; `tcp://HOST:PORT` and `unix:///PATH` connect to somebody who listens; `tcp-listen://…` and
`unix-listen://…` wait for those who connect, several at a time; everything else is a file. Reading and writing block: a slow reader
of the output stops the input, and no more than one block is held.

Sockets are read and written by their own calls, and a wish to end comes by a socket: Windows knows them as no other files, and
waits for nothing else. There a wish to end is heard when the next block of standard input or of a pipe has come.
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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from types import FrameType
from typing import Any

from oboro.errors import FileError, UsageError
from oboro.stream.runner.producers import Producers
from oboro.system.atomic_file import is_transient, why_unwritable
from oboro.system.drafts import is_named
from oboro.system.private_file import LOCKS_LET_READ, hold_output, open_private, release_output
from oboro.text import Message
from oboro.text.os_reasons import os_reason

__all__ = ["StopRequest", "StreamInput", "StreamOutput", "paced"]

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
    """Whether somebody asked the stream to end (SIGTERM, SIGINT, SIGHUP); wakes up whoever waits."""

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
