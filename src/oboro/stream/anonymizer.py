"""What a running stream needs of an anonymizer: `DelayFree` answers at once, a window holds records back for a while.

The runner hands over blocks of records and writes down what it was told, so that after `kill -9` everything can be done
again: `take` with the same records, moments and decisions must release the same records. Records come out in the order in
which they went in, each that was not refused exactly once, `flush` included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from oboro.errors import InputError

__all__ = ["Anonymizer", "BlockResult", "Closing", "JsonBlock", "Record"]

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
    """What came of a block of records."""

    released: list[dict[str, Any]] = field(default_factory=list)
    """Released now: of these records or of earlier ones that had to wait."""
    decisions: list[int] = field(default_factory=list)
    """What cannot be found again by repeating the block (empty where repeating is enough); handed over in a replay."""
    refused: dict[int, InputError] = field(default_factory=dict)
    """The places in the block of records that were not taken, and why, without any value."""


class JsonBlock(NamedTuple):
    """What came of a block that was taken as JSON, every record of it: bodies and decisions."""

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
        """Whether the same records in blocks of other sizes are decided alike, so that another process releases the same."""
        ...

    @property
    def timed(self) -> bool:
        """Whether the moments at which records come change what is released."""
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
