"""Settings of a service, from the command line or a file; checked before anything is connected."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Self

import numpy as np
from pydantic import Field, ValidationError, model_validator

from oboro.data.parameters import Parameters
from oboro.errors import FileError, InputError, UsageError
from oboro.recipe.stream import StreamOptions, anonymizer
from oboro.recipe.text import content_of, text_of
from oboro.service.base import broker_of, open_place
from oboro.stream.endpoints import RecordSource
from oboro.stream.engine import LIVE_WITHIN, ServicePlan
from oboro.stream.records import JsonBody, LineBlocks, Partition, RecordIds, codec
from oboro.text import Message
from oboro.text.language import os_reason
from oboro.text.pydantic import complaint, no_such_key

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

__all__ = ["ServiceSettings", "as_lines", "check_key", "expected_price", "measured_price"]


PLACE = "{partition}"
GATHERED = "options that decide"  # nobody writes them under a name of their own
DECIDING = {one.name for one in fields(StreamOptions)} - {"background"}  # a service decides in its own thread
SHARED = {
    "recipe",
    "source",
    "target",
    "dead_letters",
    "state",
    "form",
    "output_form",
    "longest_line",
    "fsync",
    "decide",
}
FILE_ONLY = {"patience", "partitions"}  # options that only a file has
Bodies = Literal["ndjson", "msgpack", "avro"]


class PartitionSettings(Parameters):
    """One part of a stream that several processes share."""

    by: str | list[str]
    """The field whose value says where a record belongs, or several: the person, or all quasi-identifiers."""
    count: int = Field(ge=2, le=4096)
    """How many parts there are."""
    serve: int | None = Field(default=None, ge=0)
    """Which of them this process serves, from 0; without it `OBORO_PARTITION` says it."""

    def part(self) -> Partition:
        """As a service knows it."""
        given = os.environ.get("OBORO_PARTITION", "") if self.serve is None else str(self.serve)
        if not given.isdigit() or int(given) >= self.count:
            raise UsageError(Message("error_service.partition_serve", count=self.count, given=given))
        by = [self.by] if isinstance(self.by, str) else self.by
        return Partition(tuple(by), self.count, int(given))


class ServiceSettings(Parameters):
    """Everything about a service but its recipe."""

    recipe: Path
    """The recipe; beside the file that names it."""
    source: str = Field(default="-", alias="from")
    """Where records come from: an address in a broker, a file, `-`, or a socket."""
    target: str = Field(default="-", alias="to")
    """Where released records go."""
    dead_letters: str | None = None
    """Where refused records are named, with reason and position."""
    raw_letters: bool = False
    """Whether dead letters hold what was refused."""
    state: Path | None = None
    """A folder for snapshots and the journal."""
    snapshots: str | None = None
    """In place of a folder: where in a broker snapshots are kept, so that the service may restart elsewhere."""
    lease: float | None = Field(default=None, gt=0.2, le=3600)
    """Seconds for which a process leads; another one with the same settings stands by."""
    batch: int = Field(default=256, ge=1, le=100_000)
    """The most records that are taken at a time."""
    rate: float | None = Field(default=None, gt=0)
    """The most records a second."""
    once: bool = False
    """End when the input holds nothing more."""
    id: str | None = None
    """The field that tells records apart; repeats are passed over."""
    id_horizon: int = Field(default=100_000, ge=1)
    """How many of the latest ids are remembered."""
    form: Bodies = Field(default="ndjson", alias="format")
    """How bodies are written: ndjson (one JSON object), msgpack, avro."""
    output_form: Bodies | None = Field(default=None, alias="output_format")
    """The same for the output; as the input if not given."""
    avro: Path | None = Field(default=None, alias="schema")
    """The Avro schema of the input."""
    fsync: bool = False
    """Wait for the disk before anything is published."""
    longest_line: int = Field(900_000, ge=1)
    """Records of more bytes are refused. Most brokers take a million, and what is released may be a little longer."""
    patience: float = Field(default=300.0, gt=0)
    """Seconds for which a broker may be away."""
    partitions: PartitionSettings | None = None
    """Which part of the stream this process serves; `{partition}` in places stands for its number."""
    listen: str | None = None
    """HOST:PORT for /metrics, /health/live and /health/ready."""
    live_within: float = Field(default=LIVE_WITHIN, gt=0)
    """Seconds in which the loop must turn once; otherwise /health/live fails."""
    log: Literal["text", "json"] = "text"
    """How the log is written."""
    decide: StreamOptions = Field(default=StreamOptions(), alias=GATHERED)
    """How records are decided; in a file these options stand beside the others."""

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, content: Any) -> Any:
        own = {name: one for name, one in content.items() if name not in DECIDING}
        return own | {GATHERED: {name: one for name, one in content.items() if name in DECIDING}}

    @classmethod
    def load(cls, path: Path | None, given: dict[str, Any]) -> Self:
        """From a file, if there is one, and from what was given beside it, which counts more."""
        content = content_of(text_of(path, "error_service.unreadable"), str(path)) if path is not None else {}
        if path is not None and isinstance(content.get("recipe"), str):
            content["recipe"] = path.parent / content["recipe"]
        try:
            return cls.model_validate({**content, **given})
        except ValidationError as error:
            raise UsageError(_wrong(error.errors(include_url=False)[0])) from None

    @property
    def part(self) -> Partition | None:
        """The part that is served; None for the whole stream."""
        return None if self.partitions is None else self.partitions.part()

    def placed(self) -> Self:
        """With the number of the part in all places."""
        part = self.part
        if part is None:
            return self
        for place in (self.target, self.dead_letters, self.snapshots):
            if place not in (None, "-", "stderr") and PLACE not in str(place):
                raise UsageError(Message("error_service.partition_place", place=place))
        names = ("source", "target", "dead_letters", "snapshots", "state")
        known = {name: value for name in names if (value := getattr(self, name)) is not None}
        filled = {name: type(value)(str(value).replace(PLACE, str(part.serve))) for name, value in known.items()}
        return self.model_copy(update=filled)

    def plan(self, lang: str, change: Any) -> ServicePlan:
        """What is told to the loop."""
        names = [
            "state",
            "batch",
            "once",
            "rate",
            "id",
            "id_horizon",
            "raw_letters",
            "fsync",
            "patience",
            "longest_line",
        ]
        placed, part = self.placed(), self.part
        if PLACE in self.source:
            part = None  # its broker divides the input
        known = {name: getattr(placed, name) for name in names}
        return ServicePlan(lang=lang, change=change, part=part, options=self._own_options(), **known)

    def _own_options(self) -> list[str]:
        """Return the given options that a stream between files does not know, as they are written."""
        brokers = {"--from": broker_of(self.source), "--to": broker_of(self.target)}
        found = [f"{option} {kind}://…" for option, kind in brokers.items() if kind is not None]
        for name, one in type(self).model_fields.items():
            if name in self.model_fields_set and name not in SHARED:
                option = (one.alias or name).replace("_", "-")
                found.append(option if name in FILE_ONLY else f"--{option}")
        return found or ["--config"]


def _wrong(found: Any) -> Message:
    """What is wrong with the settings. What came under a name that nobody knows may be a password, and is not repeated."""
    place = [str(one) for one in found["loc"] if one != GATHERED]
    where, what = ".".join(place), complaint(found)
    if found["type"] == "extra_forbidden":
        model = PartitionSettings if len(place) > 1 else ServiceSettings
        names = [one.alias or name for name, one in model.model_fields.items() if one.alias != GATHERED]
        known = names if len(place) > 1 else sorted([*names, *DECIDING])
        return no_such_key(".".join(place[:-1]), place[-1], known)
    if found["type"] == "missing":
        return Message("error_value.at", where=where, what=what)
    return Message("error_value.at_with", where=where, what=what, got=found["input"])


# Records of a broker as lines -----------------------------------------------------------------------------------------
# The records of a broker's stream as a file of lines, for commands that read files.


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


# Cost of partitioning -------------------------------------------------------------------------------------------------
# Each part of a stream keeps its own guarantee, so fewer records match and more cells are suppressed.


PARTS = (1, 2, 4, 8, 16)
# Suppressed cells on Adult at k = 5, as benchmarks/partitions.py measures them.
BY_PERSON, BY_QUASI = (1.0, 1.45, 2.04, 2.83, 3.89), (1.0, 1.14, 1.31, 1.53, 1.77)


def check_key(part: Partition, person: str | None, fields: Sequence[str]) -> None:
    """Raise where one person's records could be in two parts: there they would protect each other."""
    if person is not None and part.by != (person,):
        raise UsageError(Message("error_service.partition_person", person=person, by=list(part.by)))
    if unknown := [name for name in part.by if name not in fields]:
        raise UsageError(Message("error_service.partition_field", unknown=unknown, known=list(fields)))


def expected_price(part: Partition, quasi: Sequence[str]) -> Message:
    """Message before a part starts: the factor of suppressed cells, measured on a table that everybody knows."""
    table = BY_QUASI if set(part.by) == set(quasi) else BY_PERSON
    times = float(np.interp(np.log2(part.count), np.log2(PARTS), table))
    return Message("service.partition", number=part.serve, count=part.count, by=list(part.by), times=round(times, 2))


def measured_price(
    recipe: Recipe, options: StreamOptions, part: Partition, records: Sequence[Mapping[str, Any]]
) -> Message:
    """The same on a sample of the input: cells suppressed by all parts together, and by one stream."""
    together, parts = anonymizer(recipe, options), [anonymizer(recipe, options) for _ in range(part.count)]
    together.take(records, 0.0)
    for number, one in enumerate(parts):
        own = Partition(part.by, part.count, number)
        one.take([record for record in records if own.mine(record)], 0.0)
    whole = int(together.stats().get("suppressed_cells", 0))
    split = sum(int(one.stats().get("suppressed_cells", 0)) for one in parts)
    for one in (together, *parts):
        one.close()
    return Message("service.partition_price", records=len(records), count=part.count, whole=whole, split=split)
