"""A table that is explored: encoded once, with everything that sessions on it share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from oboro.decide.lattice.memory.look_memory import LookMemory
from oboro.io.files import Source, read
from oboro.io.places.place_names import names_a_place
from oboro.measure.exposure.separation import Counted
from oboro.recipe.roles.guess_roles import Roles, guess_roles
from oboro.table.dataset import Column, Dataset
from oboro.table.frames import Frame

__all__ = ["ExploredTable"]

T = TypeVar("T")
KEPT = 16  # results of each kind that are kept


@dataclass(eq=False)
class ExploredTable:
    """The encoded table and what is remembered of it. Sessions with other roles or hierarchies share it; threads may too."""

    frame: Frame
    source: Source | None = None
    """The file that it came from."""
    looks: LookMemory = field(default_factory=LookMemory)
    built: dict[str, Any] = field(default_factory=dict)
    """Hierarchies by column, as `Schema` keeps them."""
    preparing: threading.Lock = field(default_factory=threading.Lock)
    """Held by the one question that is being made ready."""
    versions: Any = field(default_factory=lambda: count(1))
    _kept: dict[str, dict[Hashable, Any]] = field(default_factory=dict)
    _columns: dict[tuple[Any, ...], Column] = field(default_factory=dict)
    _counted: dict[str | None, Counted] = field(default_factory=dict)
    _guesses: Roles | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @staticmethod
    def of(source: Any, reading: Mapping[str, Any] | None = None) -> ExploredTable:
        """Read and encode anything that a recipe can run on."""
        if names_a_place(source):
            source = read(source, **(reading or {}))
        if isinstance(source, Source):
            return ExploredTable(Frame.read(source.dataset), source)
        return ExploredTable(Frame.read(source))

    @property
    def data(self) -> Dataset:
        """The table as it came."""
        return self.frame.data

    @property
    def again(self) -> Any:
        """What a recipe runs on: the table, already encoded."""
        return self.frame if self.source is None else self.source

    @property
    def guesses(self) -> Roles:
        """What each column probably is."""
        if self._guesses is None:
            self._guesses = guess_roles(self.data)
        return self._guesses

    @guesses.setter
    def guesses(self, found: Roles) -> None:
        self._guesses = found

    def kept(self, kind: str, key: Hashable, make: Callable[[], T]) -> T:
        """Something that was made before with the same key, or is made now; the latest few of each kind are kept."""
        with self._lock:
            held = self._kept.setdefault(kind, {})
            if key in held:
                held[key] = held.pop(key)
                found: T = held[key]
                return found
        made = make()
        with self._lock:
            held[key] = made
            while len(held) > (KEPT if kind != "exposure" else 50 * KEPT):
                del held[next(iter(held))]
        return made

    def same(self, data: Dataset) -> Dataset:
        """The table with columns that were met before in place of equal ones: what is remembered of them holds."""
        own = {id(column) for column in self.data.columns.values()}
        return data.with_columns(
            {name: self._same(column) for name, column in data.columns.items() if id(column) not in own}
        )

    def _same(self, column: Column) -> Column:
        key = (len(column), len(column.values), str(column.values.type), self.looks.digest(column.codes))
        known = self._columns.setdefault(key, column)
        return known if known.values.equals(column.values) else column

    def unique(self, names: Sequence[str], person: str | None) -> int:
        """How many people are unique by some columns together; counted once."""
        key = (frozenset(names), person)
        return self.kept("exposure", key, lambda: self.counted(person).unique(list(names)) if names else 0)

    def unique_by_pairs(self, pairs: Sequence[tuple[str, str]], person: str | None) -> dict[tuple[str, str], int]:
        """The same of pairs."""
        new = [pair for pair in pairs if (frozenset(pair), person) not in self._kept.get("exposure", {})]
        for pair, people in self.counted(person).unique_by_pairs(new).items() if new else ():
            self.kept("exposure", (frozenset(pair), person), lambda people=people: people)  # type: ignore[misc]
        return {pair: self.unique(pair, person) for pair in pairs}

    def counted(self, person: str | None) -> Counted:
        """The table as it is counted: in records, or in people."""
        if person not in self._counted:
            self._counted[person] = Counted.of(self.data, person)
        return self._counted[person]
