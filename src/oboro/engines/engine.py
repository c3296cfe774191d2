"""What an engine must be able to do. The rest is the same for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from oboro.engines.coded.checked_rows import Checked
from oboro.engines.coded.packed_rows import Packer
from oboro.engines.coded.plan import ByValue, Places
from oboro.engines.coded.value_numbers import RowNumbers
from oboro.engines.staging import Staged

__all__ = ["Buckets", "EngineTable", "Published"]


class EngineTable(Protocol):
    """A table that an engine holds or can read."""

    @property
    def engine(self) -> str:
        """The engine's name."""

    @property
    def near(self) -> bool:
        """Whether its rows are where the driver is, so that what the driver holds need not be looked up once more."""

    @property
    def shown(self) -> str:
        """What a report calls the table: never with a password."""

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        """The columns in their order, and what they hold."""

    @property
    def native(self) -> Any:
        """The engine's own frame."""

    def count(self) -> int:
        """How many rows there are."""

    def told(
        self, names: Sequence[str], made: Callable[[Iterator[pa.RecordBatch]], Iterator[bytes]], job: str
    ) -> Iterable[Any]:
        """What is made of the rows of some columns where they are."""

    def bucketed(
        self,
        names: Sequence[str],
        scatter: Callable[[Iterator[pa.RecordBatch]], Iterator[tuple[int, bytes]]],
        parts: int,
    ) -> Buckets:
        """Blocks that are made of the rows of some columns, each at the part that it names."""

    def gather(self, packer: Packer) -> Iterable[pa.Buffer | bytes]:
        """Codes of all rows, packed where the data is."""

    def published(self, plan: ByValue | Places, types: Mapping[str, pa.DataType], order: str) -> Published:
        """What the plan makes of the rows; `order` is kept, random or placed. Nothing need be computed yet."""

    def lent(self, rows: Iterator[pa.Table], types: Mapping[str, pa.DataType]) -> Published:
        """Rows that the driver makes one after the other, where it is `near`."""

    def uploaded(self, table: pa.Table) -> Published:
        """A table of the driver's, given to the engine."""

    def settled(self, folder: Staged | None) -> EngineTable:
        """The same rows, written to a folder, or held by the engine: whoever reads them later reads these and computes nothing."""

    def checked(self, numbers: RowNumbers, groups: Sequence[Sequence[str]] = ()) -> Checked:
        """How many rows there are, one number for all of them in any order, and how often combinations of columns occur."""


class Buckets(Protocol):
    """Blocks that wait where the data is, all blocks of a part in one place."""

    def told(self, look: Callable[[int, list[Any]], bytes], job: str) -> Iterable[bytes]:
        """What is made of each part that has blocks."""

    def done(self) -> None:
        """Nobody will ask again."""


class Published(Protocol):
    """Rows that are about to be made."""

    def settled(self, folder: Staged | None) -> EngineTable:
        """Make them, in a folder, or held by the engine."""
