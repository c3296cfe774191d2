"""What a stream of a broker holds, as a file of lines: for commands that read files."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from oboro.errors import FileError, InputError, UsageError
from oboro.io.brokers.brokers import broker_of, open_place
from oboro.recipe.service.service_settings import ServiceSettings
from oboro.stream.runner.codecs import codec
from oboro.stream.runner.line_blocks import LineBlocks
from oboro.stream.service.bodies import JsonBody
from oboro.stream.service.ends import RecordSource
from oboro.stream.service.record_ids import RecordIds
from oboro.text import Message
from oboro.text.os_reasons import os_reason

__all__ = ["as_lines"]

BLOCK, WAIT = 1000, 1.0
LONGEST = 1 << 20  # bytes of a line, as a stream takes them


@contextmanager
def as_lines(
    place: str, side: str, dead_letters: str | None = None, id: str | None = None
) -> Iterator[tuple[str, int]]:
    """A place itself; for an address in a broker, a file for a while with all that is there now. `side`: whose secrets are used.

    An input may hold what a service does not take: what is no record, what its dead letters name, and of records with the same
    `id` all but the first. It is left out, and counted. So is what the dead letters of a stream number by line.
    """
    if broker_of(place) is None and dead_letters is None and id is None:
        yield place, 0
        return
    letters = _named(dead_letters, "position") if dead_letters is not None else frozenset()
    lines = _named(dead_letters, "line") if dead_letters is not None and broker_of(place) is None else frozenset()
    if lines:
        with _without_lines(place, lines) as found:
            yield found
        return
    ids = RecordIds(id, ServiceSettings.model_fields["id_horizon"].default) if id is not None else None
    left_out = 0
    with TemporaryDirectory() as folder:
        path = Path(folder, "records.ndjson")
        with open(path, "wb", opener=_private) as file:
            for block in _held(place, side):
                records = [body for body in _taken(block, letters, ids) if body is not None]
                left_out += len(block) - len(records)
                if left_out and side == "TO":
                    raise UsageError(Message("error_service.not_json", place=place))
                file.writelines(body.replace(b"\n", b" ") + b"\n" for body in records)
        yield str(path), left_out


@contextmanager
def _without_lines(place: str, numbers: Collection[str]) -> Iterator[tuple[str, int]]:
    """A file without the lines that dead letters number, cut as a stream cuts them: a quoted cell may go over several."""
    blocks = LineBlocks(codec("csv" if place.lower().endswith(".csv") else "ndjson"), LONGEST)
    number = left_out = 0
    with TemporaryDirectory() as folder:
        path = Path(folder, Path(place).name)
        with open(path, "wb", opener=_private) as file, _opened(place) as source:
            parts = chain(map(blocks.add, iter(partial(source.read, LONGEST), b"")), map(LineBlocks.end, [blocks]))
            for line in chain.from_iterable(lines for lines, _ in parts):
                number += 1
                gone = str(number) in numbers
                left_out += gone
                file.write(b"" if gone else line + b"\n")
        yield str(path), left_out


def _named(place: str, key: str) -> frozenset[str]:
    """The positions, or the numbers of lines, of the records that dead letters say were refused."""
    with as_lines(place, "LETTERS") as (path, _), open(path, "rb") as file:
        found = (_named_by(line, key) for line in file)
        return frozenset(one for one in found if one is not None)


def _named_by(letter: bytes, key: str) -> str | None:
    try:
        return str(json.loads(letter)[key])
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
    with _opened(place) as file:
        for line in file:
            at += len(line)
            if not line.isspace():
                yield [(line.rstrip(b"\n"), str(at))]


@contextmanager
def _opened(place: str) -> Iterator[BinaryIO]:
    try:
        with open(place, "rb") as file:
            yield file
    except OSError as error:
        raise FileError(Message("error_stream.cannot_read", place=place, why=os_reason(error))) from None


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


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
