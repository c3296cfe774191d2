"""Who is exposed by a release as it stands: the exact counts that page, summary, checklists and exit code share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oboro.measure.exposure.last_look import Acceptance, UniqueBy, uncovered
from oboro.measure.exposure.looked_at import LookedAt
from oboro.measure.exposure.secret_certainty import CertainSecrets, certain_secrets
from oboro.measure.exposure.separation import exposure
from oboro.measure.exposure.unique_by_columns import UniquePeople, unique_people
from oboro.measure.exposure.value_rarity import RareValues, rare_values
from oboro.report.facts import trait
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.measure.exposure.last_look import LastLook
    from oboro.report.inputs import Provenance
    from oboro.report.measured_release import Subject
    from oboro.table.dataset import Dataset

__all__ = ["ExposedPeople", "exposed_people", "touched"]

PERSON = "\0person"  # no column's name


@dataclass(frozen=True)
class AcceptedColumns:
    """Columns by which people may be unique, why, and how many are."""

    columns: tuple[str, ...]
    because: str
    people: int | None
    """None: the public is not told."""


@dataclass(frozen=True)
class ExposedPeople:
    """Exact counts on all released records: people where it is known whose the records are, else records."""

    people: int
    """How many there are."""
    counts_people: bool
    k: int | None
    """How many share their quasi-identifiers at least: the k that the release has. None where classes say nothing."""
    by_quasi: int | None
    """How many are unique by the quasi-identifiers."""
    unprotected: tuple[str, ...]
    """Released columns that no promise covers and that are neither secret, random nor pseudonyms. Quasi-identifiers are among
    them where nothing was promised and somebody is unique by them."""
    together: int
    """How many are unique by all of these columns together."""
    refused: int
    """Those of them whom nobody accepted in plain words."""
    accepted: tuple[AcceptedColumns, ...]
    single: tuple[UniqueBy, ...]
    """How many are unique by each of these columns, the worst first."""
    pairs: tuple[UniqueBy, ...]
    """The same by each two of them."""
    with_quasi: int
    """How many are unique by the quasi-identifiers and these columns together."""
    secrets: tuple[CertainSecrets, ...]
    """Of each sensitive column: for how many its value is certain from their class."""
    rare: tuple[RareValues, ...]
    """Columns with values that few hold; of all released ones but random ones and pseudonyms."""
    households: bool = False
    """Whether those who are counted are households."""

    @property
    def certain(self) -> tuple[CertainSecrets, ...]:
        """The secrets that are certain for somebody, and not for everybody without a look."""
        return tuple(one for one in self.secrets if one.certain and one.everywhere < 1)

    @property
    def taken(self) -> int:
        """How many are unique by columns that were accepted."""
        return self.together - self.refused

    @property
    def worst(self) -> UniqueBy:
        """The fewest columns that single out the most: what a headline names."""
        found = sorted((*self.single, *self.pairs), key=lambda one: (-one.people, len(one.columns)))
        return found[0] if found else UniqueBy(self.unprotected, self.together)

    def told(self, people: int) -> Message:
        """So many people, households or records."""
        counted = "households" if self.households else "people" if self.counts_people else "records"
        return Message(f"exposed.{counted}", number=people)


def exposed_people(subject: Subject, provenance: Provenance, rare_below: int) -> ExposedPeople:
    """Count them. O(rows · columns), and for each pair of a dozen columns the same where somebody is unique by all."""
    data, person = _whose(subject)
    hidden = {*touched(provenance.steps, subject.after), *subject.randomized, *provenance.hidden}
    here = [name for name in subject.quasi if name in data] if subject.has_classes else []
    found = exposure(data, here, person) if here and data.rows else None
    promised = provenance.verification is not None and bool(provenance.verification.verdicts)
    covered = {*subject.quasi} if promised or found is None or found.smallest > 1 else set()
    if provenance.verification is not None:
        covered |= {name for verdict in provenance.verification.verdicts for name in verdict.over}
    look, spoken_for = provenance.last_look, {*covered, *hidden, *subject.sensitive, subject.tables.person}
    left = [name for name in subject.after if (name not in spoken_for if look is None else name in look.columns)]
    ranked = unique_people(data, left, person)
    accepted, refused = _accepted(data, ranked, person, provenance.accepted) if look is None else _as_seen(look)
    known = list(dict.fromkeys([*here, *left]))
    return ExposedPeople(
        people=ranked.people,
        counts_people=person is not None,
        k=None if found is None else found.smallest,
        by_quasi=None if found is None else found.unique,
        unprotected=ranked.columns if look is None else look.columns,
        together=ranked.together if look is None else look.unique,
        refused=refused,
        accepted=accepted,
        single=ranked.single,
        pairs=ranked.pairs,
        with_quasi=exposure(data, known, person).unique if known and data.rows else 0,
        secrets=certain_secrets(data, here, subject.sensitive, person) if here and subject.sensitive else (),
        rare=rare_values(
            subject.after if person is None else subject.after.with_columns({PERSON: data[person]}),
            [name for name in subject.after if name not in hidden],
            rare_below,
            person,
        ),
        households=any(one.id == "report.warning.in_households" for one in provenance.warnings),
    )


def touched(steps: Sequence[Mapping[str, Any]], names: Iterable[str]) -> set[str]:
    """The columns whose values steps made random, or pseudonyms: who knows the original value does not know these."""
    by = [step for step in steps if trait(step, "random") or trait(step, "opinion") == "pseudonymisation"]
    found = {name for step in by for name in (*(step.get("changed") or ()), *(step["facts"].get("attributes") or ()))}
    return found.intersection(names)


def _whose(subject: Subject) -> tuple[Dataset, str | None]:
    """The released table with the column that says whose each record is, where that is known."""
    people = subject.tables.people
    return (subject.counted, None) if people is None else (subject.counted.with_columns({PERSON: people[1]}), PERSON)


def _as_seen(look: LastLook) -> tuple[tuple[AcceptedColumns, ...], int]:
    """As the last look before writing found it; it saw the columns that stayed in the file too."""
    return tuple(AcceptedColumns(one.columns, one.because, one.people) for one in look.accepted), look.refused


def _accepted(
    data: Dataset, ranked: UniquePeople, person: str | None, accept: Sequence[tuple[Sequence[str], str]]
) -> tuple[tuple[AcceptedColumns, ...], int]:
    """Who is covered by what was accepted, and how many are left: an acceptance covers whoever is unique by its columns."""
    if not ranked.together:
        return (), 0
    release = LookedAt(data, data.select, person=None if person is None else data[person])
    wanted = [Acceptance(tuple(columns), because) for columns, because in accept]
    refused, taken = uncovered(release, ranked.columns, ranked.together, wanted)
    return tuple(AcceptedColumns(one.columns, one.because, one.people) for one in taken if one.people), refused
