"""Everything that is told to a service at its start, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

from oboro.stream.service.letter_ids import new_key
from oboro.stream.service.partition import Partition
from oboro.stream.snapshot import KIND

__all__ = ["ServicePlan", "ServicePosition"]


@dataclass(frozen=True, kw_only=True)
class ServicePlan:
    """What the places and the anonymizer do not say themselves."""

    state: Path | None = None
    """A folder for snapshots and the journal. Without it, what was published is decided again at the start and compared."""
    batch: int = 256
    """The most records that are taken at a time; fewer are never waited for."""
    once: bool = False
    """End when the input holds nothing more."""
    rate: float | None = None
    """The most records a second."""
    id: str | None = None
    """The field that tells a record from all others; repeats of it are passed over."""
    id_horizon: int = 100_000
    """How many of the latest ids are remembered."""
    raw_letters: bool = False
    """Whether dead letters hold what was refused."""
    every: int = 1 << 26
    """Bytes of journal (or of input, for snapshots in a broker) after which a new snapshot is made."""
    longest_line: int = 900_000
    """Records of more bytes are refused."""
    fsync: bool = False
    lang: str = "en"
    options: Sequence[str] = ()
    """The options that a stream between files does not know, as they were given."""
    patience: float = 300.0
    """Seconds for which a broker may be away before the service gives up."""
    part: Partition | None = None
    """Which records are taken, where several processes share a stream; the others are passed over."""
    change: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Fields that are replaced before anything else sees them (pseudonyms), and by what."""

    @property
    def most(self) -> int:
        """How many records are read at once: with a rate those of a second at most, or a lease would run out in between."""
        return self.batch if self.rate is None else min(self.batch, max(1, int(self.rate)))


@dataclass
class ServicePosition:
    """How far a service is; kept in every snapshot."""

    kind: str = KIND
    stream: str = field(default_factory=lambda: token_hex(8))
    position: str | None = None
    published: int = 0
    last: str = ""
    """A digest of the last that was published."""
    letters: int = 0
    last_letter: str = ""
    now: float = 0.0
    lang: str = "en"
    ids: str = ""
    part: str = ""
    seen: str = ""
    """A digest of the last record that was read: by it a file is known again. It stays in the state, since it tells of a record."""
    input: str = ""
    """The kind of the input: positions in another one mean nothing."""
    id: str = ""
    """The field by which records are told apart."""
    renamed: str = ""
    """A digest of what pseudonyms look like: with another key, one person has two."""
    letters_elsewhere: int = 0
    """How many dead letters went to other places than the one where they go now."""
    letter_key: str = field(default_factory=new_key)
    """The key for the ids of dead letters."""
    options: list[str] = field(default_factory=list)
    """The options that a stream between files does not know: with them this state was made."""
