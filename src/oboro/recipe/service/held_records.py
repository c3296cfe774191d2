"""What a stream of a broker holds, as a file of lines: for commands that read files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from oboro.errors import InputError, UsageError
from oboro.io.brokers.brokers import broker_of, open_place
from oboro.stream.service.bodies import JsonBody
from oboro.stream.service.ends import RecordSource
from oboro.text import Message

__all__ = ["as_lines"]

BLOCK, WAIT = 1000, 1.0


@contextmanager
def as_lines(place: str, side: str) -> Iterator[tuple[str, int]]:
    """A place itself; for an address in a broker, a file for a while with all that is there now. `side`: whose secrets are used.

    An input may hold what is no record, which a service names in dead letters. It is left out, and counted.
    """
    if broker_of(place) is None:
        yield place, 0
        return
    source: RecordSource = open_place(place, "source", side)
    if not source.replays:
        raise UsageError(Message("error_service.not_read_again", place=place))
    left_out = 0
    with TemporaryDirectory() as folder:
        path = Path(folder, "records.ndjson")
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            for bodies in _held(source):
                records = _records(bodies) if side == "FROM" else bodies
                left_out += len(bodies) - len(records)
                file.writelines(body.replace(b"\n", b" ") + b"\n" for body in records)
        yield str(path), left_out


def _held(source: RecordSource) -> Iterator[list[bytes]]:
    try:
        source.open(None)
        while source.behind():
            yield [body for body, _, _ in source.read(BLOCK, WAIT) or ()]
    finally:
        source.close()


def _records(bodies: list[bytes]) -> list[bytes]:
    """Those that are one, as a service tells them."""
    form, found = JsonBody(), []
    if form.decode_all(bodies) is not None:
        return bodies
    for body in bodies:
        try:
            form.decode(body)
            found.append(body)
        except InputError:
            pass
    return found
