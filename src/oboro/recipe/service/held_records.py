"""What a stream of a broker holds, as a file of lines: for commands that read files."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from oboro.errors import FileError, InputError, UsageError
from oboro.io.brokers.brokers import broker_of, open_place
from oboro.recipe.service.service_settings import ServiceSettings
from oboro.stream.service.bodies import JsonBody
from oboro.stream.service.ends import RecordSource
from oboro.stream.service.record_ids import RecordIds
from oboro.text import Message
from oboro.text.os_reasons import os_reason

__all__ = ["as_lines"]

BLOCK, WAIT = 1000, 1.0


@contextmanager
def as_lines(
    place: str, side: str, dead_letters: str | None = None, id: str | None = None
) -> Iterator[tuple[str, int]]:
    """A place itself; for an address in a broker, a file for a while with all that is there now. `side`: whose secrets are used.

    An input may hold what a service does not take: what is no record, what its dead letters name, and of records with the same
    `id` all but the first. It is left out, and counted.
    """
    if broker_of(place) is None and dead_letters is None and id is None:
        yield place, 0
        return
    letters = _positions(dead_letters) if dead_letters is not None else frozenset()
    ids = RecordIds(id, ServiceSettings.model_fields["id_horizon"].default) if id is not None else None
    left_out = 0
    with TemporaryDirectory() as folder:
        path = Path(folder, "records.ndjson")
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            for block in _held(place, side):
                records = [body for body in _taken(block, letters, ids) if body is not None]
                left_out += len(block) - len(records)
                if left_out and side == "TO":
                    raise UsageError(Message("error_service.not_json", place=place))
                file.writelines(body.replace(b"\n", b" ") + b"\n" for body in records)
        yield str(path), left_out


def _positions(place: str) -> frozenset[str]:
    """The positions of the records that dead letters say were refused."""
    with as_lines(place, "LETTERS") as (path, _), open(path, "rb") as file:
        found = (_position(line) for line in file)
        return frozenset(one for one in found if one is not None)


def _position(letter: bytes) -> str | None:
    try:
        return str(json.loads(letter)["position"])
    except (ValueError, KeyError, TypeError):
        return None  # it names no place


def _held(place: str, side: str) -> Iterator[list[tuple[bytes, str]]]:
    """Bodies and their positions, up to the end of what is there."""
    if broker_of(place) is None:
        yield from _of_file(place)
        return
    source: RecordSource = open_place(place, "source", side)
    if not source.replays:
        raise UsageError(Message("error_service.not_read_again", place=place))
    try:
        source.open(None)
        while source.behind():
            yield [(body, position) for body, position, _ in source.read(BLOCK, WAIT) or ()]
    finally:
        source.close()


def _of_file(place: str) -> Iterator[list[tuple[bytes, str]]]:
    """One line after the other; where it ends is its position, as for a service that reads it."""
    at = 0
    try:
        with open(place, "rb") as file:
            for line in file:
                at += len(line)
                if not line.isspace():
                    yield [(line.rstrip(b"\n"), str(at))]
    except OSError as error:
        raise FileError(Message("error_stream.cannot_read", place=place, why=os_reason(error))) from None


def _taken(block: list[tuple[bytes, str]], letters: Collection[str], ids: RecordIds | None) -> Iterator[bytes | None]:
    """The bodies that a service takes, None in place of every other."""
    form = JsonBody()
    plain = ids is None and form.decode_all([body for body, _ in block]) is not None
    for body, position in block:
        yield body if position not in letters and (plain or _is_new(body, form, ids)) else None


def _is_new(body: bytes, form: JsonBody, ids: RecordIds | None) -> bool:
    try:
        record = form.decode(body)
        return ids is None or record is None or ids.meet(record) == "new"
    except InputError:
        return False
