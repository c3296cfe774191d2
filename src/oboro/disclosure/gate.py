"""Release check: the facts that checks ask for, the findings that they return, and the checks in their order.

A check judges a `ReleaseCandidate` and returns `Findings`, or raises a `PromiseError` where the release must not be written.
Where it cannot answer without rows that are not loaded it raises `NeedsRows`: the engine then loads these columns, or refuses.
Every engine runs all of `CHECKS`; none of them may be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
import pyarrow as pa

from oboro.data.column import Column, NestedColumn, UnreadColumn
from oboro.data.dataset import Dataset, unread_columns
from oboro.errors import UsageError
from oboro.schema import Schema, Traits
from oboro.text import Message, Words
from oboro.verifier.promises import Promise
from oboro.verifier.verdict import Verdict, Verification

if TYPE_CHECKING:
    from oboro.attacks.series import SeriesRisk
    from oboro.disclosure.accept import Accept
    from oboro.disclosure.uncovered_columns import LastLook

__all__ = [
    "CHECKS",
    "ColumnStore",
    "Findings",
    "Fingerprints",
    "NeedsRows",
    "ReleaseCandidate",
    "ReleaseCheck",
    "StepRecord",
    "check_release",
    "perturbed_columns",
    "pseudonymized_columns",
]


# Records of steps -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StepRecord:
    """One step as plain facts: its changes to columns. Checks do not need to know the technique."""

    name: str
    """The step as a recipe calls it."""
    plan: Words
    """What it was going to do."""
    traits: Traits
    facts: Mapping[str, Any]
    seconds: float
    rows_before: int
    rows_after: int
    changed: Mapping[str, int] | None = None
    """Cells that hold another value than before, by column."""
    warnings: tuple[Message, ...] = ()
    moved_together: tuple[str, ...] = ()
    """Columns whose values were moved between records in one piece: within a piece each record is as before."""
    left_in_place: tuple[str, ...] = ()
    """Columns in which half of the values or more stayed in their records, though chance moved them."""
    k: float | None = None
    """The k that the step asked for, where it has one."""

    @property
    def touched(self) -> set[str]:
        """Columns that it changed, or that it was asked to change."""
        return {*(self.changed or ()), *(self.facts.get("attributes") or ())}

    def as_dict(self) -> dict[str, Any]:
        """For reports."""
        return {
            "name": self.name,
            "plan": self.plan,
            "facts": dict(self.facts),
            "seconds": self.seconds,
            "rows_before": self.rows_before,
            "rows_after": self.rows_after,
            "changed": None if self.changed is None else dict(self.changed),
            "warnings": list(self.warnings),
            "traits": {**vars(self.traits), "spends": [dict(vars(one)) for one in self.traits.spends]},
        }


def perturbed_columns(steps: Sequence[StepRecord], beside: Collection[str] | None = None) -> set[str]:
    """Return the perturbed columns: their values were drawn or moved by chance, so no attacker knows them of their records.

    Columns in which most values stayed are not among them, nor columns that were moved together: within a piece each record is as
    before. With `beside` only pieces that hold one of these columns count as moved together.
    """
    found: set[str] = set()
    for step in steps:
        if step.traits.random:
            piece = step.moved_together
            whole = piece if beside is None or not set(beside).isdisjoint(piece) else ()
            found |= step.touched.difference(whole, step.left_in_place)
    return found


def pseudonymized_columns(steps: Sequence[StepRecord]) -> set[str]:
    """Return the columns that were replaced by pseudonyms."""
    return {name for step in steps if step.traits.opinion == "pseudonymisation" for name in step.touched}


# Release candidate and column stores ----------------------------------------------------------------------------------


class NeedsRows(UsageError):
    """A check needs all rows of some columns that are not loaded: an engine loads them and checks again, or refuses."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(Message("error_exposure.needs_rows", columns=list(columns)))
        self.columns = tuple(columns)


@dataclass(frozen=True)
class Fingerprints:
    """One number for each released record, equal where some columns that are not loaded are equal."""

    names: tuple[str, ...]
    numbers: Callable[[], np.ndarray]
    """Makes a new array, 8 bytes a record."""


class ColumnStore:
    """Columns of a release that are not loaded, wherever they are. This one has none: everything is loaded."""

    @property
    def large(self) -> bool:
        """Whether these columns are too large to be read for a heuristic, which then says that it did not look at them."""
        return False

    @property
    def counted(self) -> Collection[str]:
        """Columns of which the values and their counts are loaded, but no rows."""
        return ()

    def first_rows(self, names: Sequence[str], beside: Sequence[str] = ()) -> Mapping[str, pa.Array]:
        """Return the first rows of these columns, and of columns `beside` them where those are not the first of the table."""
        return {}

    def read(self, data: Dataset, names: Sequence[str]) -> Dataset:
        """Return these columns of `data`, all rows of them; raise `NeedsRows` where that is the engine's decision."""
        return data.select(names)

    def fingerprints(self, released: Dataset) -> Fingerprints | None:
        """Return numbers that stand for columns that are not loaded, if some were kept."""
        return None

    def unique(self, names: Sequence[str]) -> int | None:
        """Return how many released records are unique by these columns, where the store counts that itself."""
        return None

    def distinct(self, name: str) -> int | None:
        """Return how many values a column of the original has, missing as one, where the store counts that itself."""
        return None


@dataclass(frozen=True, eq=False)
class ReleaseCandidate:
    """A release that is about to be written, and everything that a check may ask about it."""

    original: Dataset
    released: Dataset
    given: Schema
    """Roles before the first step."""
    schema: Schema
    """Roles after the last step."""
    guarantees: tuple[Promise, ...] = ()
    steps: tuple[StepRecord, ...] = ()
    person: Column | None = None
    """The person of each released record; None where each record counts as another person."""
    accept: tuple[Accept, ...] = ()
    together: bool = False
    """Whether all guarantees must be satisfied over all their columns together."""
    verification: Verification | None = None
    earlier: tuple[Dataset, ...] = ()
    """Earlier releases of the same people, oldest first."""
    store: ColumnStore = field(default_factory=ColumnStore)

    @property
    def perturbed(self) -> set[str]:
        """Columns whose values chance drew or moved."""
        return perturbed_columns(self.steps)

    @property
    def pseudonyms(self) -> set[str]:
        """Columns that were replaced by pseudonyms."""
        return pseudonymized_columns(self.steps)

    @property
    def uncovered(self) -> list[str]:
        """Released columns that an attacker may know and that no guarantee covers.

        A sensitive attribute is not known, a perturbed one not of its record, and a pseudonym not without its key.
        """
        covered = {*self.schema.sensitive, *self.perturbed, *self.pseudonyms}
        for one in self.guarantees:
            if one.covers:
                covered.update(one.quasi)
        return [name for name in self.released if name not in covered]

    def because(self, kind: str, column: str) -> str:
        """Return why the recipe accepts something of a column (`rows_of` or `identifiers`); empty where it does not."""
        return next((one.because for one in self.accept if column in getattr(one, kind)), "")

    def first_rows(self, names: Sequence[str], beside: Sequence[str] = ()) -> Mapping[str, pa.Array]:
        """Return the first rows of columns that are not loaded."""
        return self.store.first_rows(names, beside) if names else {}

    def require_rows(self, names: Sequence[str]) -> None:
        """Raise `NeedsRows` where of one of these columns only values and their counts are loaded."""
        if not set(self.store.counted).isdisjoint(names):
            raise NeedsRows(names)

    def distinct(self, name: str) -> int | None:
        """Return how many values a column of the original has, missing as one; None where that is unknown without its rows."""
        column = self.original.columns.get(name, UnreadColumn(0))
        if isinstance(column, NestedColumn):
            return None
        return len(column.values) if column.loaded else self.store.distinct(name)

    def loaded(self, data: Dataset, names: Sequence[str]) -> Dataset:
        """Return these columns, read where they are not loaded; without those that are too large to be read."""
        self.require_rows(names)
        unread = set(unread_columns(data)).intersection(names)
        if unread and self.store.large:
            return data.select([name for name in names if name not in unread])
        return self.store.read(data, names) if unread else data.select(names)


# Findings and the order of checks -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Findings:
    """Findings of a check that do not stop the release."""

    cautions: tuple[Message, ...] = ()
    joint: tuple[Verdict, ...] = ()
    """Verdicts over the columns of several steps."""
    look: LastLook | None = None
    """Who is unique by columns that no guarantee covers."""
    identifiers: tuple[Message, ...] = ()
    """Identifiers among other values of a column."""
    series: SeriesRisk | None = None
    """What the release discloses together with earlier ones."""

    def merged(self, other: Findings) -> Findings:
        """Return both; of one fact there is one check."""
        return Findings(
            cautions=(*self.cautions, *other.cautions),
            joint=(*self.joint, *other.joint),
            look=other.look or self.look,
            identifiers=(*self.identifiers, *other.identifiers),
            series=other.series or self.series,
        )

    def added_to(self, verification: Verification) -> Verification:
        """Return a verification with the joint verdicts of the checks."""
        return replace(verification, joint=(*verification.joint, *self.joint)) if self.joint else verification


class ReleaseCheck(Protocol):
    """One check. It stands as `check` in a module of its own, which `CHECKS` names."""

    def __call__(self, candidate: ReleaseCandidate, /) -> Findings:
        """Return what was found; raise a `PromiseError` where the release must not be written, `NeedsRows` where it cannot tell."""


class Checks(Sequence[ReleaseCheck]):
    """Checks in their order. Each module of this package that has a `check` is named once, and loaded when it is first run."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, place: int) -> ReleaseCheck: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ReleaseCheck]: ...
    def __getitem__(self, place: int | slice) -> ReleaseCheck | Sequence[ReleaseCheck]:
        if isinstance(place, slice):
            return Checks(*self.names[place])
        check: ReleaseCheck = import_module(f"{__package__}.{self.names[place]}").check
        return check

    def __iter__(self) -> Iterator[ReleaseCheck]:
        return (self[place] for place in range(len(self)))


CHECKS = Checks(
    "joint_randomization",
    "uncovered_columns",
    "earlier_releases",
    "identifiers",
    "counted_people",
    "weak_noise",
    "dependent_columns",
    "linked_rows",
)
"""Refusals come first: of several reasons not to write a release the user reads the first."""


def check_release(candidate: ReleaseCandidate) -> Findings:
    """Run all checks; return everything that they found. Raises what they raise."""
    found = Findings()
    for check in CHECKS:
        found = found.merged(check(candidate))
    return found
