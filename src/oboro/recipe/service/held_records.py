"""What a stream of a broker holds, as a file of lines: for commands that read files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from oboro.errors import UsageError
from oboro.io.brokers.brokers import broker_of, open_place
from oboro.stream.service.ends import RecordSource
from oboro.text import Message

__all__ = ["as_lines"]

BLOCK, WAIT = 1000, 1.0


@contextmanager
def as_lines(place: str, side: str) -> Iterator[str]:
    """A place itself; for an address in a broker, a file for a while with all that is there now. `side`: whose secrets are used."""
    if broker_of(place) is None:
        yield place
        return
    source: RecordSource = open_place(place, "source", side)
    if not source.replays:
        raise UsageError(Message("error_service.not_read_again", place=place))
    with TemporaryDirectory() as folder:
        path = Path(folder, "records.ndjson")
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            for body in _held(source):
                file.write(body.replace(b"\n", b" ") + b"\n")
        yield str(path)


def _held(source: RecordSource) -> Iterator[bytes]:
    try:
        source.open(None)
        while source.behind():
            yield from (body for body, _, _ in source.read(BLOCK, WAIT) or ())
    finally:
        source.close()
