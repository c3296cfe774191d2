"""Facts of a report as data: the content of its JSON, from which every section is built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, computed_field

from oboro.attacks.base import Attack
from oboro.attacks.series import SeriesRisk
from oboro.data.column import Column
from oboro.data.dataset import Dataset, unread_columns
from oboro.data.parameters import Documented
from oboro.data.row_order import RowShuffle, released_person
from oboro.disclosure.uncovered_columns import Acceptance, LastLook, LookedAt, uncovered
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.labels import is_star
from oboro.measures.base import Measure
from oboro.measures.exposure import (
    CertainSecrets,
    RareValues,
    UniqueBy,
    UniquePeople,
    certain_secrets,
    exposure,
    rare_values,
    unique_people,
)
from oboro.measures.risk import suppressed_records
from oboro.privacy.differential import DifferentialPrivacy
from oboro.report.distributions import Distribution, compare
from oboro.text import Message, Words, say
from oboro.text.language import Progress, silent
from oboro.verifier.verdict import Verdict, Verification

if TYPE_CHECKING:
    from oboro.report.make import Subject

__all__ = [
    "AttackFacts",
    "CheckItem",
    "CheckState",
    "Checklist",
    "ColumnFacts",
    "ExposedPeople",
    "Facts",
    "Loose",
    "MeasureFacts",
    "PairFacts",
    "Provenance",
    "Scope",
    "Signature",
    "TableFacts",
    "Tables",
    "VerificationFacts",
    "column_facts",
    "exposed_people",
    "measured",
    "only_read",
    "plain",
    "table_facts",
    "touched",
    "trait",
]


def plain(value: Any) -> Any:
    """The same as JSON knows it: numpy's numbers become Python's, tuples lists, what is not finite null."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | np.ndarray):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if isinstance(value, Message | str | int | bool | None.__class__) else str(value)


def _written(value: Any) -> Any:
    """Plain data with messages in it, for JSON."""
    if isinstance(value, Message):
        return value.as_dict()
    if isinstance(value, Mapping):
        return {name: _written(inner) for name, inner in value.items()}
    return [_written(inner) for inner in value] if isinstance(value, list) else value


def _read(value: Any) -> Any:
    """What `_written` wrote, or what was never written."""
    if isinstance(value, Mapping):
        message = value.keys() == {"id", "values", "text"}
        return Message.read(value) if message else {name: _read(inner) for name, inner in value.items()}
    return [_read(inner) for inner in value] if isinstance(value, list) else value


def measured(measure: Measure) -> Measure:
    """The same with no value where it is not finite."""
    value, error = (None if one is None or not isfinite(one) else float(one) for one in (measure.value, measure.error))
    return replace(measure, value=value, error=error)


def trait(step: Mapping[str, Any], name: str) -> Any:
    """Return a trait of the technique of a step (`oboro.schema`); None where it is not known."""
    return (step.get("traits") or {}).get(name)


T = TypeVar("T", Attack, Measure, Verification)


def _from(kind: type[T]) -> BeforeValidator:
    """Reads it from its plain data."""
    return BeforeValidator(lambda value: kind.read(value) if isinstance(value, Mapping) else value)


_AS_DICT = PlainSerializer(lambda value: plain(value.as_dict()), return_type=dict[str, Any], when_used="json")
AttackFacts = Annotated[Attack, _from(Attack), _AS_DICT]
MeasureFacts = Annotated[Measure, _from(Measure), _AS_DICT]
VerificationFacts = Annotated[Verification, _from(Verification), _AS_DICT]
"""What others measured and found, as plain objects in JSON."""
Loose = Annotated[
    dict[str, Any], BeforeValidator(_read), PlainSerializer(_written, return_type=dict[str, Any], when_used="json")
]
"""Facts of any shape, with messages among them."""


CheckState = Literal["evidence", "open", "stated", "none"]
"""evidence: the software knows; open: something speaks against it; stated: people must say; none: does not apply."""


class Facts(Documented):
    """Plain data that never changes."""


class Signature(Facts):
    """Who answers for a report; empty where nothing was said."""

    made_on: str = Field(default_factory=lambda: date.today().isoformat())
    """The date, as in 2026-11-16."""
    made_by: str = ""
    made_for: str = ""
    """Who receives the release."""
    purpose: str = ""


class TableFacts(Facts):
    """Both tables, counted."""

    rows_before: int
    rows_after: int
    columns_before: int
    columns_after: int
    dropped: list[str]
    """Columns that are not released."""
    added: list[str]
    """Columns that the original does not have."""
    passed: list[str] = Field([])
    """Columns that were released as they stand and not looked at: no figure speaks of them."""
    rows_suppressed: int
    """Released rows with `*` in every quasi-identifier."""
    bytes_before: int | None
    bytes_after: int | None
    """What the tables take in memory: codes and dictionaries."""


class ColumnFacts(Facts):
    """One column before and after; None where it does not exist."""

    name: str
    role: str
    kind: str
    """What it holds now, or held if it is gone."""
    distinct_before: int | None
    distinct_after: int | None
    missing_before: int | None
    missing_after: int | None
    suppressed_after: int | None
    """Rows with `*`."""
    bytes_before: int | None
    bytes_after: int | None
    distribution: Distribution | None
    """Only of released columns; small cells are merged."""


class PairFacts(Facts):
    """Cramér's V of pairs of columns before and after, to four digits."""

    columns: list[str]
    before: list[list[float]]
    after: list[list[float]]
    lost: list[list[float]] = Field([])
    """The part of the released records that have `*` in one of the two columns, and so say nothing of the pair."""
    sampled: int
    """Rows of each table that were drawn; 0 where all were counted."""
    error: float = 0.0
    """The greatest half width of a 95 % interval of these numbers; 0 where all rows were counted."""


def _in_words(name: str, what: str, lang: str) -> Any:
    """A field of words beside the message that it says."""

    def said(facts: Any) -> str:
        return str(say(getattr(facts, name) or "", lang))

    said.__doc__ = f"{what}, in {'English' if lang == 'en' else 'Japanese'}."
    return computed_field(property(said))


class CheckItem(Facts):
    """One point of a checklist."""

    key: str
    point: Words
    """What is asked for."""
    state: CheckState
    known: Words
    """What the software knows of it, or what people must say."""
    public: bool = False
    """Whether the public version of a report shows it."""

    title: ClassVar[Any] = _in_words("point", "What is asked for", "en")
    title_ja: ClassVar[Any] = _in_words("point", "What is asked for", "ja")
    evidence: ClassVar[Any] = _in_words("known", "What is known", "en")
    evidence_ja: ClassVar[Any] = _in_words("known", "What is known", "ja")


class Checklist(Facts):
    """What a law, an opinion or a standard asks for."""

    key: str
    heading: Message
    about: Message
    items: list[CheckItem]
    notice: Message | None = None
    """Text that is ready to edit and publish."""

    @property
    def name(self) -> Message:
        """What it is called in short."""
        return Message(f"checklist_{self.key}.name")

    title: ClassVar[Any] = _in_words("heading", "The heading", "en")
    title_ja: ClassVar[Any] = _in_words("heading", "The heading", "ja")
    lead: ClassVar[Any] = _in_words("about", "What it is about", "en")
    lead_ja: ClassVar[Any] = _in_words("about", "What it is about", "ja")
    text: ClassVar[Any] = _in_words("notice", "The text to edit", "en")
    text_ja: ClassVar[Any] = _in_words("notice", "The text to edit", "ja")


# Inputs of a report ---------------------------------------------------------------------------------------------------
# The two tables, the known facts of how the release was made, and the scope of the measurements.


@dataclass(frozen=True, eq=False)
class Tables:
    """The original and the released table, and what their columns are."""

    original: Dataset
    released: Dataset
    quasi: Sequence[str]
    sensitive: Sequence[str] = ()
    identifiers: Sequence[str] = ()  # of the original: columns that name a person
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)  # bound to the original columns
    paired: bool = True  # whether it is known which released row was made from which original one
    person: str | None = None  # the column that says whose a record is, released or not
    foreign: bool = (
        False  # whether anybody may have written the release: then people are counted as its strictest reader could
    )
    order: RowShuffle | None = None  # in which the rows are released, where `released` is not in it yet

    @cached_property
    def people(self) -> tuple[Column, Column] | None:
        """Whose each original and each released row is, where that is known."""
        found = released_person(self.original, self.released, self.person, self.paired)
        return None if found is None or self.person is None else (self.original[self.person], found)


@dataclass(frozen=True, eq=False)
class Provenance:
    """What is known of how the release was made, and what was found out about it before."""

    verification: Verification | None = None
    steps: Sequence[Mapping[str, Any]] = ()  # each with `name`, `plan`, `facts` and `seconds`
    recipe_text: str = ""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # `path`, `bytes`, `sha256`, by role ("input")
    stream: Sequence[Mapping[str, Any]] = ()  # the metrics of a stream, one after the other
    last_look: LastLook | None = None  # who is unique by columns that no promise covers
    accepted: Sequence[
        tuple[Sequence[str], str]
    ] = ()  # without such a look: columns by which people may be unique, and why
    hidden: Sequence[str] = ()  # without steps: columns that are known to be random or pseudonyms
    warnings: Sequence[Message] = ()
    series: SeriesRisk | None = None  # what it tells together with the releases before it
    linkage: Sequence[Measure] = ()  # what attacks on a release without classes found

    @property
    def private(self) -> Verdict | None:
        """That the release is differentially private, where it is."""
        verdicts = () if self.verification is None else self.verification.verdicts
        return next((one for one in verdicts if one.model.id in DifferentialPrivacy.words and one.holds), None)


@dataclass(frozen=True, eq=False)
class Scope:
    """What to measure, and how much of it."""

    smallest_cell: int | None = None  # labels that fewer rows hold are not shown; by default the promised k, at least 5
    fraction: float = 1.0  # the part of the population that the table holds
    control: Dataset | None = None  # people who are in neither table, for the attacks
    attempts: int = 2000  # guesses that each attack makes at most; 0: none is run
    target: str | None = None  # a column that models learn to predict
    statistics: bool = True  # also what takes a second: models, and estimates of densities
    progress: Progress = silent  # told how many attacks and measures are done


# Exposed people -------------------------------------------------------------------------------------------------------
# The people exposed by a release: the exact counts that page, summary, checklists and exit code share.


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


# Facts of tables ------------------------------------------------------------------------------------------------------
# Both tables and their columns, counted.


def only_read(data: Dataset) -> Dataset:
    """The columns that were read; those that pass by from file to file are in no figure."""
    return data.select([name for name in data if name not in unread_columns(data)])


def table_facts(original: Dataset, released: Dataset, quasi: list[str]) -> TableFacts:
    """Rows, columns and memory of both."""
    return TableFacts(
        rows_before=original.rows,
        rows_after=released.rows,
        columns_before=len(original.columns),
        columns_after=len(released.columns),
        dropped=[name for name in original if name not in released],
        added=[name for name in released if name not in original],
        passed=unread_columns(released),
        rows_suppressed=suppressed_records(released, quasi),
        bytes_before=sum(original.memory().values()),
        bytes_after=sum(released.memory().values()),
    )


def column_facts(tables: Tables, smallest: int) -> list[ColumnFacts]:
    """Every column that was read in both tables, those of the original first."""
    original, released = tables.original, tables.released
    names = [*original, *(name for name in released if name not in original)]
    passed = {*unread_columns(original), *unread_columns(released)}
    roles = _roles(tables)
    return [
        _column(name, roles.get(name, "other"), tables, tables.hierarchies.get(name), smallest)
        for name in names
        if name not in passed
    ]


def _roles(tables: Tables) -> Mapping[str, str]:
    return {**dict.fromkeys(tables.quasi, "quasi"), **dict.fromkeys(tables.sensitive, "sensitive")}


def _column(name: str, role: str, tables: Tables, hierarchy: Hierarchy | None, smallest: int) -> ColumnFacts:
    before, after = tables.original.columns.get(name), tables.released.columns.get(name)
    now = after if after is not None else before
    return ColumnFacts(
        name=name,
        role=role if after is not None else "dropped",
        kind="" if now is None else now.kind.value,
        distinct_before=None if before is None else len(before.values),
        distinct_after=None if after is None else len(after.values),
        missing_before=_missing(before),
        missing_after=_missing(after),
        suppressed_after=None if after is None else int(after.counts[is_star(after)].sum()),
        bytes_before=None if before is None else before.nbytes,
        bytes_after=None if after is None else after.nbytes,
        distribution=None if after is None else compare(before, after, smallest=smallest, hierarchy=hierarchy),
    )


def _missing(column: Column | None) -> int | None:
    if column is None:
        return None
    return int(column.counts[column.missing]) if column.missing >= 0 else 0
