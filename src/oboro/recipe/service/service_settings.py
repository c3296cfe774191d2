"""What is told to a service, on the command line or in a file; checked before anything is connected."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from oboro.errors import UsageError
from oboro.io.brokers.brokers import broker_of
from oboro.recipe.loading import content_of, text_of
from oboro.recipe.stream_plan import StreamOptions
from oboro.stream.service.partition import Partition
from oboro.stream.service.service_plan import ServicePlan
from oboro.stream.service.watching import LIVE_WITHIN
from oboro.table.parameters import Parameters
from oboro.text import Message
from oboro.text.pydantic_words import complaint, no_such_key

__all__ = ["ServiceSettings"]

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
