"""Explored table: encoded once, with everything that sessions on it share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, count, pairwise
from math import floor, log10
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from oboro.algorithms.lattice.cache import LookMemory
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.explorer.answers import SessionAnswer, plain
from oboro.io.places.place import names_a_place
from oboro.io.read import Source, read
from oboro.measures.exposure import PAIRED, Counted, UniqueBy
from oboro.notations.kinds import Kind, kind_of
from oboro.recipe.roles import Roles, guess_roles
from oboro.schema import Role
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.explorer.session import Session

__all__ = [
    "NUMBERS",
    "ColumnTable",
    "ExploredColumn",
    "ExploredTable",
    "Histogram",
    "column_table",
    "histogram",
    "in_parts",
]


# Table of columns -----------------------------------------------------------------------------------------------------
# Each column with its role, the reasons, and the people whom it singles out.


WORST = 5  # pairs that are told of


@dataclass(frozen=True)
class ExploredColumn:
    """One column of the table."""

    name: str
    role: Role
    confirmed: bool
    """Whether somebody gave it the role; otherwise it is a guess."""
    proposed: Role
    reasons: tuple[Message, ...]
    """Why that role was proposed."""
    kind: str
    distinct: int
    missing: int
    levels: int
    """How many levels its values can be generalized by; 0 where it is no quasi-identifier."""
    unique_alone: int
    """People whom the column singles out alone."""
    unique_with: int | None
    """People whom it singles out together with all quasi-identifiers (None: it is an identifier)."""
    unique_without: int | None
    """People whom the other quasi-identifiers single out without it."""
    worst_pairs: tuple[UniqueBy, ...]
    """The pairs with another quasi-identifier that single out most people."""


@dataclass(frozen=True)
class ColumnTable(SessionAnswer):
    """All columns of the table, in its order. In a notebook it shows itself."""

    columns: Mapping[str, ExploredColumn]
    people: int
    """How many people there are: records, unless a column says whose they are."""
    person: str | None
    unique: int
    """People whom all quasi-identifiers together single out."""

    def __getitem__(self, name: str) -> ExploredColumn:
        return self.columns[name]

    def __iter__(self) -> Iterator[ExploredColumn]:
        return iter(self.columns.values())

    def __len__(self) -> int:
        return len(self.columns)

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {**super().as_dict(), "columns": [plain(one) for one in self]}

    def _repr_html_(self) -> str:
        from oboro.explorer.session import column_html
        from oboro.text.language import system_language

        return column_html(self, system_language())


def column_table(session: Session) -> ColumnTable:
    """Return every column's role and figures; counts are exact, over all rows, and taken once for each set of columns."""
    table, person = session.table, session.person
    quasi = [name for name in session.plan.schema_given.quasi if name in table.data]
    pairs = _pairs(session, quasi)
    columns = {name: _facts(session, name, quasi, pairs) for name in table.data}
    people = table.counted(person).everybody
    return ColumnTable(session.version, columns, people, person, table.unique(quasi, person))


def _pairs(session: Session, quasi: list[str]) -> list[UniqueBy]:
    """Pairs of quasi-identifiers by how many people they single out; not counted where these are very many."""
    if not 2 <= len(quasi) <= PAIRED:
        return []
    found = session.table.unique_by_pairs(list(combinations(quasi, 2)), session.person)
    ranked = sorted(found.items(), key=lambda one: -one[1])
    return [UniqueBy(pair, people) for pair, people in ranked if people]


def _facts(session: Session, name: str, quasi: list[str], pairs: list[UniqueBy]) -> ExploredColumn:
    table, person = session.table, session.person
    guess, role = table.guesses.columns[name], session.role(name)
    known = role is not Role.IDENTIFIER and name != person
    others = [one for one in quasi if one != name]
    return ExploredColumn(
        name=name,
        role=role,
        confirmed=name in session.confirmed,
        proposed=guess.role,
        reasons=guess.reasons,
        kind=guess.kind.value,
        distinct=guess.exposure.distinct,
        missing=guess.missing,
        levels=session.hierarchy(name).height if role is Role.QUASI else 0,
        unique_alone=table.counted(person).everybody if name == person else table.unique([name], person),
        unique_with=table.unique([*others, name], person) if known else None,
        unique_without=table.unique(others, person) if known else None,
        worst_pairs=tuple(pair for pair in pairs if name in pair.columns)[:WORST],
    )


# Counts of column values ----------------------------------------------------------------------------------------------
# For a histogram, and for a tree of generalized values.


NUMBERS = (Kind.INTEGER, Kind.NUMBER)
PARTS = 40


@dataclass(frozen=True)
class Histogram:
    """Equal parts of the range of a column of numbers, and how many records lie in each."""

    low: float
    high: float
    counts: tuple[int, ...]
    missing: int
    """Records without a number."""
    whole: bool
    """Whether there are only whole numbers."""


def histogram(column: Column, parts: int = PARTS) -> Histogram | None:
    """Count the histogram of a column of numbers; None for any other column."""
    if kind_of(column.values) not in NUMBERS:
        return None
    numbers, rows = column.numbers(), column.counts
    known = np.isfinite(numbers) & (rows > 0)
    if not known.any():
        return None
    counts, edges = np.histogram(numbers[known], bins=parts, weights=rows[known])
    only_whole = kind_of(column.values) is Kind.INTEGER
    held = tuple(int(one) for one in np.rint(counts))
    return Histogram(float(edges[0]), float(edges[-1]), held, int(rows[~known].sum()), only_whole)


def in_parts(column: Column, parts: int) -> tuple[list[str | None], np.ndarray]:
    """Divide numbers of many values into equal parts: their labels, and the part of each record; missing ones come last."""
    numbers = column.numbers()
    known = np.isfinite(numbers)
    edges = np.linspace(numbers[known].min(), numbers[known].max(), parts + 1)
    places = np.where(known, np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, parts - 1), parts)
    digits = max(0, 1 - floor(log10(edges[1] - edges[0] or 1)))  # two that differ from part to part
    labels: list[str | None] = [f"{low:,.{digits}f} – {high:,.{digits}f}" for low, high in pairwise(edges)]
    return [*labels, None], places[column.codes]


# Explored table -------------------------------------------------------------------------------------------------------


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
        """Input of a recipe: the table, already encoded."""
        return self.frame if self.source is None else self.source

    @property
    def guesses(self) -> Roles:
        """Probable role of each column."""
        if self._guesses is None:
            self._guesses = guess_roles(self.data)
        return self._guesses

    @guesses.setter
    def guesses(self, found: Roles) -> None:
        self._guesses = found

    def kept(self, kind: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return a result that was made before with the same key, or make it now; the latest few of each kind are kept."""
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
        """Count the people who are unique by some columns together; computed once."""
        key = (frozenset(names), person)
        return self.kept("exposure", key, lambda: self.counted(person).unique(list(names)) if names else 0)

    def unique_by_pairs(self, pairs: Sequence[tuple[str, str]], person: str | None) -> dict[tuple[str, str], int]:
        """Count the people who are unique by pairs of columns."""
        new = [pair for pair in pairs if (frozenset(pair), person) not in self._kept.get("exposure", {})]
        for pair, people in self.counted(person).unique_by_pairs(new).items() if new else ():
            self.kept("exposure", (frozenset(pair), person), lambda people=people: people)  # type: ignore[misc]
        return {pair: self.unique(pair, person) for pair in pairs}

    def counted(self, person: str | None) -> Counted:
        """The table as it is counted: in records, or in people."""
        if person not in self._counted:
            self._counted[person] = Counted.of(self.data, person)
        return self._counted[person]
