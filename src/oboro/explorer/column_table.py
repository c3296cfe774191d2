"""What could others know? Each column with its role, why, and whom it singles out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from oboro.explorer.answers import SessionAnswer, plain
from oboro.measure.exposure.last_look import UniqueBy
from oboro.measure.exposure.unique_by_columns import PAIRED
from oboro.table.schema import Role
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.explorer.session import Session

__all__ = ["ColumnTable", "ExploredColumn", "column_table"]

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
        from oboro.explorer.notebook import column_html
        from oboro.text.language import system_language

        return column_html(self, system_language())


def column_table(session: Session) -> ColumnTable:
    """Every column's role and figures; counts are exact, over all rows, and taken once for each set of columns."""
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
