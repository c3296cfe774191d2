"""Interface between a running stream and its anonymizers: `DelayFree` decides at once, a window with a delay.

The runner passes blocks of records and logs what it received, so that after `kill -9` everything can be done again:
`take` with the same records, moments and decisions must release the same records. Records are released in the order of
arrival, each accepted one exactly once, `flush` included.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from pydantic import ValidationError

from oboro.data.parameters import Parameters
from oboro.errors import FileError, InputError, OboroError, UsageError
from oboro.system.files import atomic
from oboro.text import Message
from oboro.text.language import os_reason
from oboro.text.pydantic import complaint

__all__ = [
    "KIND",
    "Anonymizer",
    "BlockResult",
    "Closing",
    "JsonBlock",
    "Record",
    "StreamSettings",
    "from_json",
    "moment",
    "read_snapshot",
    "require",
    "restoring",
    "same_form",
    "to_json",
    "within",
    "write_snapshot",
]


Record = Mapping[str, Any]


class Closing:
    """What is closed at the end of a `with`."""

    def close(self) -> None:
        """End what runs in the background."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class BlockResult:
    """Result of a block of records."""

    released: list[dict[str, Any]] = field(default_factory=list)
    """Released now: of these records or of earlier ones that had to wait."""
    decisions: list[int] = field(default_factory=list)
    """What cannot be found again by repeating the block (empty where repeating is enough); handed over in a replay."""
    refused: dict[int, InputError] = field(default_factory=dict)
    """The places in the block of records that were not taken, and why, without any value."""


class JsonBlock(NamedTuple):
    """Result of a block of JSON in which every record was accepted: bodies and decisions."""

    bodies: list[bytes]
    decisions: list[int]


class Anonymizer(Protocol):
    """One stream's memory and decisions. Not safe for use from several threads at once."""

    holds: ClassVar[bool]
    """Whether records may wait: then what a block releases may belong to earlier blocks."""
    records: int
    """How many were taken so far."""
    extra: dict[str, Any]
    """What `save` was given along with the state that this was restored from."""

    @property
    def repeatable(self) -> bool:
        """True if the same records in blocks of other sizes give the same decisions, also in another process."""
        ...

    @property
    def timed(self) -> bool:
        """True if the moments of arrival change the released records."""
        ...

    @property
    def fields(self) -> Sequence[str]:
        """The fields of a released record, in order."""
        ...

    @property
    def due(self) -> float | None:
        """The moment (seconds since 1970) at which `take` wants to be called even if no record came; None: never."""
        ...

    def fingerprint(self) -> str:
        """Equal for two anonymizers that would decide alike: a state goes on only under the settings it began with."""
        ...

    def take(self, records: Sequence[Record], now: float, decisions: Sequence[int] | None = None) -> BlockResult:
        """Take a block, possibly empty; `decisions` are those of the first time, if it is repeated."""
        ...

    def take_json(
        self, bodies: Sequence[bytes], now: float, decisions: Sequence[int] | None = None
    ) -> JsonBlock | None:
        """`take` from JSON objects to the same bytes as by way of records; None, and nothing taken, where that is not possible."""
        ...

    def warm(self) -> None:
        """Compile what taking records needs, so that the first one does not wait for it."""
        ...

    def flush(self, now: float | None = None) -> list[dict[str, Any]]:
        """The input has ended: release all that waits, with the promise kept."""
        ...

    def withheld(self) -> list[dict[str, Any]]:
        """Records that waited and can never be released with the promise kept, since this was last asked."""
        ...

    def save(self, path: str | Path, extra: Mapping[str, Any] | None = None) -> None:
        """Write everything to one file, atomically."""
        ...

    @classmethod
    def restore(cls, path: str | Path) -> Self:
        """Go on from a saved state."""
        ...

    def stats(self) -> dict[str, Any]:
        """Counts for people to look at: `records`, `suppressed_cells` or a loss, and so on."""
        ...

    @property
    def smallest_crowd(self) -> int | None:
        """The fewest records, or people, that were counted behind a release when it was decided; None before there was one."""
        ...

    def glance(self) -> dict[str, int | None]:
        """Of `stats` what costs nothing and may be asked at any moment, from any thread."""
        ...

    def close(self) -> None:
        """End what runs in the background."""
        ...


# Snapshot -------------------------------------------------------------------------------------------------------------
# One state in one file: arrays and plain data, written so that the file is either the old one or the new one, whole.


META = "meta"
KIND = "service"  # stands in the position of a service, and in that of no stream between files
MARKED: tuple[AbstractSet[str], ...] = ({"datetime"}, {"date"}, {"mapping"})  # keys of what stands for something else


def to_json(value: Any) -> str:
    """Plain data as JSON, in ASCII: a value may hold half a surrogate pair, which UTF-8 cannot carry. Dates are marked."""
    return json.dumps(_marked(value))


def _marked(value: Any) -> Any:
    """Dates as mappings with one key; a mapping that could be taken for one, within another."""
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, Mapping):
        inner = {key: _marked(one) for key, one in value.items()}
        return {"mapping": inner} if inner.keys() in MARKED else inner
    return [_marked(one) for one in value] if isinstance(value, list | tuple) else value


def from_json(text: str | bytes) -> Any:
    """The way back from `to_json`."""
    return _unmarked(json.loads(text))


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"datetime"}:
        return datetime.fromisoformat(value["datetime"])
    if value.keys() == {"date"}:
        return date.fromisoformat(value["date"])
    inner = value["mapping"] if value.keys() == {"mapping"} else value
    return {key: _unmarked(one) for key, one in inner.items()}


def write_snapshot(path: Path, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a state; readable by its owner only, for it holds what was not released."""
    buffer = io.BytesIO()
    text = np.frombuffer(to_json(dict(meta)).encode(), dtype=np.uint8)
    np.savez(buffer, allow_pickle=False, **{META: text}, **dict(arrays))
    with atomic(path, private=True, lasting=True) as file:
        file.write(buffer.getbuffer())


@contextmanager
def restoring(path: Path) -> Iterator[None]:
    """What is made of a state in here may hold anything: whatever does not fit is a refusal of that state."""
    try:
        yield
    except OboroError:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError):
        raise FileError(Message("error_stream.not_a_state", path=path)) from None


def require(holds: object) -> None:
    """Raise what `restoring` catches, unless it holds."""
    if not holds:
        raise ValueError("a state that cannot be")


def same_form(array: np.ndarray, like: np.ndarray) -> np.ndarray:
    """An array of a state if it has the shape and the type that it must have: kernels trust both."""
    require(array.shape == like.shape and array.dtype == like.dtype)
    return array


def moment(seconds: float) -> float:
    """Seconds since 1970, if they can be."""
    require(0.0 <= seconds < 1e18)
    return float(seconds)


def within(numbers: np.ndarray, least: int, below: int | np.ndarray) -> bool:
    """Test if all numbers are at least `least` and below `below`."""
    return bool(np.all(numbers >= least) and np.all(numbers < below))


# What NumPy and zipfile raise where a file was damaged: also for a packing, a password or a size that was never there.
DAMAGED = (ValueError, KeyError, EOFError, RuntimeError, OverflowError, MemoryError, zipfile.BadZipFile, zlib.error)


def read_snapshot(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a snapshot written by `write_snapshot`."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = from_json(arrays.pop(META).tobytes())
    except OSError as error:
        raise FileError(Message("error_stream.unreadable_state", path=path, why=os_reason(error))) from None
    except DAMAGED:
        raise FileError(Message("error_stream.not_a_state", path=path)) from None
    return meta, arrays


# Settings of all streams ----------------------------------------------------------------------------------------------
# Parameters of every stream: checked once, written into every snapshot.


class StreamSettings(Parameters):
    """Parameters of a stream; what is wrong with them is said in one sentence."""

    if TYPE_CHECKING:  # declared by each kind of stream, in the order that its fingerprint is made of
        attributes: list[str]
        l_diversity: dict[str, int]
        keep: list[str]
        drop: list[str]
        person: str | None

    @classmethod
    def of(cls, given: dict[str, Any]) -> Self:
        """Checked parameters, or a `UsageError` that says what is wrong."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where, what = ".".join(map(str, first["loc"])), complaint(first)
            if not where:
                raise UsageError(what) from None
            raise UsageError(Message("error_value.at_with", where=where, what=what, got=first["input"])) from None

    @property
    def released(self) -> list[str]:
        """The fields of a released record, in order."""
        return [*self.attributes, *self.l_diversity, *self.keep]

    @property
    def fields(self) -> list[str]:
        """The fields of an incoming record."""
        return [*self.released, *self.drop, *([self.person] if self.person is not None else [])]

    def require_named_once(self) -> None:
        """Raise a `ValueError` where a field stands in two places."""
        if twice := sorted({name for name in self.fields if self.fields.count(name) > 1}):
            raise ValueError(Message("error_stream.field_once", twice=twice))
