"""Attacks on a release: their results, the scenario in which records are compared, and the interface of one method.

An attack guesses many times and is judged by the original table. Its control says how often the same guesses are right about
people whose record cannot have helped: people outside the release where there are any, otherwise the same people without
their own record, otherwise a guess without the release. Only the success beyond the control comes from being in the release.

Each method is one file of this package with an object `ATTACK`. It states its own traits; `ATTACKS` finds it by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from math import sqrt
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from oboro.attacks.attacker_view import AttackerView, KnownPeople, ReleasedClasses
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.parameters import names_shown
from oboro.data.row_order import RowShuffle, same_rows
from oboro.errors import ColumnError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.measures.base import Noted
from oboro.text import Message
from oboro.verifier.verdict import Verdict, Verification

__all__ = [
    "ATTACKS",
    "CHANCE",
    "OWN",
    "AddedRisk",
    "Attack",
    "AttackKind",
    "AttackMethod",
    "AttackScenario",
    "AttackTarget",
    "Attacks",
    "Judgement",
    "Need",
    "Neighbours",
    "Rate",
    "ReleaseFacts",
    "people_table",
    "prepare",
]


# Success rates --------------------------------------------------------------------------------------------------------
# Success rate of an attack with its error, against the rate without the victim's record.
#
# Rates and their errors are those of Giomi et al., *A Unified Framework for Quantifying Privacy Risk in Synthetic Data*
# (PETS 2023; the package anonymeter): Wilson's interval for each rate, and (attack − control) / (1 − control) for the
# risk that comes from being in the release.


Z = 1.959963984540054  # 95 %
FEW = 20  # attempts that say nothing about a rate


@dataclass(frozen=True)
class Rate:
    """Right guesses out of all guesses.

    >>> [round(end, 4) for end in Rate(10, 100).interval]
    [0.0552, 0.1744]
    """

    right: int
    tried: int
    told: tuple[float, float, float] | None = None  # the share and its interval, where they are told rounded

    @property
    def share(self) -> float | None:
        """The part that was right; None where nothing was tried."""
        if self.told is not None:
            return self.told[0]
        return self.right / self.tried if self.tried else None

    @property
    def middle(self) -> float:
        """The centre of Wilson's interval."""
        return (self.right + Z * Z / 2) / (self.tried + Z * Z)

    @property
    def error(self) -> float:
        """Half the width of Wilson's interval."""
        spread = self.right * (self.tried - self.right) / self.tried if self.tried else 0.0
        return Z / (self.tried + Z * Z) * sqrt(spread + Z * Z / 4)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval."""
        if self.told is not None:
            return self.told[1:]
        return max(0.0, self.middle - self.error), min(1.0, self.middle + self.error)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.interval[1]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {name: getattr(self, name) for name in ("right", "tried", "share", "low", "high")}

    @staticmethod
    def read(data: Mapping[str, Any]) -> Rate:
        """A rate from its plain data.

        >>> Rate.read(Rate(10, 100).as_dict()) == Rate(10, 100)
        True
        """
        exact = Rate(data["right"], data["tried"])
        told = data["share"], data["low"], data["high"]
        return exact if (exact.share, *exact.interval) == told else Rate(exact.right, exact.tried, told)


class AddedRisk(NamedTuple):
    """Risk that a release adds to the control, with its 95 % interval."""

    value: float
    low: float
    high: float


class Judgement(NamedTuple):
    """Result of an attack and its control."""

    risk: AddedRisk | None
    better: bool


@dataclass(frozen=True)
class Attack(Noted):
    """One attack: what was tried, how often it was right, and how often the control was."""

    kind: str  # which attack: "linkability"
    question: str  # of WP216: singling out, linkability, inference
    columns: tuple[str, ...]  # what the attacker knows, or what descriptions use
    found: Rate
    control: Rate
    control_is: Message | None  # None: not told
    secret: str | None = None  # the column that is inferred
    notes: tuple[Message, ...] = ()
    means: Message | None = None  # a meaning with values of its own
    allowed: bool = False  # not right more often than the model that holds allows
    limit: float | None = None  # how often it may be right where that model holds; None: the model does not say
    limited_by: Message | None = None  # that model
    told: Judgement | None = None  # where rates are told rounded: what the exact ones said

    @property
    def name(self) -> str:
        """The kind, with the column that is inferred."""
        return f"{self.kind}_{self.secret}" if self.secret else self.kind

    @property
    def title(self) -> Message:
        """The name for people."""
        return self._words("title_of" if self.secret else "title")

    @property
    def short(self) -> Message:
        """The name in a picture."""
        return self._words("short_of" if self.secret else "short")

    def _words(self, what: str) -> Message:
        named = {"column": self.secret} if self.secret else {}
        return Message(f"attack.{self.kind}.{what}", **named)

    @property
    def meaning(self) -> Message:
        """What counts as right."""
        return self.means or Message(f"attack.{self.kind}.meaning")

    @property
    def risk(self) -> AddedRisk | None:
        """What the release adds to the control, with its 95 % interval; None where hardly anything could be tried."""
        if self.told is not None:
            return self.told.risk
        if min(self.found.tried, self.control.tried) < FEW:
            return None
        a, c = self.found.middle, self.control.middle
        error = sqrt((self.found.error / (1 - c)) ** 2 + (self.control.error * (a - 1) / (1 - c) ** 2) ** 2)
        value = (a - c) / (1 - c)
        return AddedRisk(*(min(1.0, max(0.0, end)) for end in (value, value - error, value + error)))

    @property
    def few(self) -> bool:
        """Whether it guessed too rarely to judge a rate by; what it found is counted all the same."""
        return self.found.tried > 0 and self.risk is None and not self.better

    @property
    def better(self) -> bool:
        """Whether the attack does better than the control, beyond the error of both."""
        return self.told.better if self.told is not None else self.found.low > self.control.high

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; texts are English, and ids, values and `notes` are for programs."""
        return {
            "name": self.name,
            "kind": self.kind,
            "question": self.question,
            "meaning": str(self.meaning),
            "means": self.means and self.means.as_dict(),
            "columns": list(self.columns),
            "secret": self.secret,
            "attack": self.found.as_dict(),
            "control": self.control.as_dict(),
            "control_is": str(self.control_is or ""),
            "compared_with": self.control_is and self.control_is.as_dict(),
            "risk": self.risk and self.risk._asdict(),
            "better_than_control": self.better,
            "allowed": self.allowed,
            "limit": self.limit,
            "limited_by": self.limited_by and self.limited_by.as_dict(),
            "note": self.note,
            "notes": [note.as_dict() for note in self.notes],
        }

    @staticmethod
    def read(data: Mapping[str, Any]) -> Attack:
        """An attack from its plain data."""
        exact = Attack(
            kind=data["kind"],
            question=data["question"],
            columns=tuple(data["columns"]),
            found=Rate.read(data["attack"]),
            control=Rate.read(data["control"]),
            control_is=data["compared_with"] and Message.read(data["compared_with"]),
            secret=data["secret"],
            notes=tuple(map(Message.read, data["notes"])),
            means=data["means"] and Message.read(data["means"]),
            allowed=data["allowed"],
            limit=data["limit"],
            limited_by=data["limited_by"] and Message.read(data["limited_by"]),
        )
        told = Judgement(data["risk"] and AddedRisk(**data["risk"]), data["better_than_control"])
        rounded = exact.found.told is not None or (exact.risk, exact.better) != told
        return replace(exact, told=told) if rounded else exact


# Attack scenario ------------------------------------------------------------------------------------------------------


MOST_CLASSES = 200_000  # of more, those of as many random records are searched for the nearest one
BUDGET = 200_000_000  # cells looked at by one search for the nearest records: a fraction of a second
PILOT = 32  # people tell how many cells are looked at for each
FEWEST = 200  # attempts; the 95 % interval of a share is then at most ± 7 points wide, of 2,000 ± 2.2
ENOUGH = 200  # people make a control group
MOST_COLUMNS = 20

OWN = Message("attack.control.own_record")
EASIER = Message("attack.note.easier")
ONCE = Message("attack.note.once")


@dataclass(frozen=True, eq=False)
class AttackScenario:
    """Both tables as an attacker sees them. Released record i is that of person `owners[i]`, if that is known."""

    view: AttackerView
    classes: ReleasedClasses
    """The released records by their quasi-identifiers; of very many classes a part, those of the targets among them."""
    owners: np.ndarray | None
    targets: np.ndarray
    """Who is attacked by looking for the nearest record: released rows where owners are known, else original rows."""
    searched: np.ndarray | None
    """Released rows whose classes are searched where there are too many; None: all are, however many."""
    gone: np.ndarray | None
    """Which people of the original have no record in the release; None where it is not known, or nobody is gone."""
    outside: KnownPeople | None
    outside_table: Dataset | None
    outside_is: Message
    attempts: int
    rng: np.random.Generator
    strange: tuple[Message, ...]
    """Which labels are not understood, if any."""
    notes: tuple[Message, ...]
    whose: np.ndarray | None = None
    """For each original row a number, equal for rows of one person; None: each row is a person."""

    @property
    def linking_notes(self) -> tuple[Message, ...]:
        """The notes on attacks that look for one record; what can be inferred from fewer may be more or less."""
        return (*self.notes, EASIER) if len(self.classes) < len(self.classes.groups) else self.notes

    @cached_property
    def inside(self) -> KnownPeople:
        """People who are in the release (all, where it is not known)."""
        return self.view.people if self.gone is None else self.view.people.take(np.flatnonzero(~self.gone))

    def understood(self, names: Sequence[str]) -> list[str]:
        """Those of some columns that descriptions can be made of: in which not every label is strange."""
        return [name for name in names if _strange_part(self.view, name) < 1]

    @cached_property
    def control_rows(self) -> np.ndarray:
        """Rows of the control group that attacks ask about, the same in every attack."""
        count = 0 if self.outside is None else len(self.outside)
        return self.rng.permutation(count)[: self.targets.size]

    def alike(self, names: Sequence[str]) -> ReleasedClasses:
        """The released records by some columns."""
        return self.view.select(names).classes(self.searched, MOST_CLASSES)

    def draw(self, count: int, attempts: int) -> np.ndarray:
        """Which of `count` things are tried."""
        return np.sort(self.rng.choice(count, min(count, attempts), replace=False))

    def same_people(self, one: np.ndarray, other: np.ndarray) -> Rate:
        """Count how often two released rows are the same or, where owners are known, of the same person; −1 is no row."""
        same = one == other
        if self.whose is not None and self.owners is not None:
            theirs = self.whose[self.owners]
            same = theirs[one] == theirs[other]
        return Rate(int((same & (one >= 0) & (other >= 0)).sum()), int(one.size))


def prepare(
    original: Dataset,
    released: Dataset,
    quasi: Sequence[str],
    others: Sequence[str],
    hierarchies: Mapping[str, Hierarchy] | None,
    control: Dataset | None,
    paired: bool,
    attempts: int,
    rng: np.random.Generator,
    whose: np.ndarray | None = None,
) -> AttackScenario:
    """Find the control group, and what part of the release is searched for the nearest record."""
    owners = _owners(original, released) if paired else None
    names = list(dict.fromkeys([*quasi, *others]))
    view = AttackerView.of(original, released, names, hierarchies, owners, quasi)
    gone = _gone(original, released, owners)
    outside, table, is_ = _outside(view, gone, control)
    asked = view.select(list(quasi) or names[:1])  # without quasi-identifiers nobody asks for the nearest
    count = original.rows if owners is None else released.rows
    drawn = rng.choice(count, min(count, attempts), replace=False)
    if whose is not None:
        drawn = _one_of_each(whose if owners is None else whose[owners], rng)[:attempts]
    # Without owners a person's own record need not be in the part, and the attack would look weaker than it is.
    searched = None if owners is None else np.append(drawn, rng.choice(count, min(count, MOST_CLASSES), replace=False))
    classes = asked.classes(searched, MOST_CLASSES)
    pilot = drawn[:PILOT] if owners is None else owners[drawn[:PILOT]]
    effort = asked.effort(view.people.at(pilot, view.at(asked.names)), classes, rng)
    targets = np.sort(drawn[: int(np.clip(BUDGET // effort, min(FEWEST, attempts), attempts))])
    strange = _strange(view, quasi)
    once = () if whose is None else (ONCE,)
    part = Message("attack.note.sampled", part=len(classes), whole=len(classes.groups))
    notes = (*strange, *once, *((part,) if len(classes) < len(classes.groups) else ()))
    return AttackScenario(
        view, classes, owners, targets, searched, gone, outside, table, is_, attempts, rng, strange, notes, whose
    )


def _one_of_each(whose: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One row of everybody, by chance, in no order."""
    mixed = rng.permutation(whose.size)
    _, first = np.unique(whose[mixed], return_index=True)
    return mixed[np.sort(first)]


def _strange(view: AttackerView, quasi: Sequence[str]) -> tuple[Message, ...]:
    """Which columns hold labels that nothing explains, and in how many of the released records."""
    parts = {name: _strange_part(view, name) for name in quasi}
    found = [f"{name} ({part:.2%})" for name, part in parts.items() if part]
    return (Message("attack.note.strange", columns=found),) if found else ()


def _strange_part(view: AttackerView, name: str) -> float:
    counts = view.released[name].counts
    return float(counts[view.comparisons[view.names.index(name)].nobody].sum() / max(1, counts.sum()))


def _owners(original: Dataset, released: Dataset) -> np.ndarray | None:
    rows = same_rows(original, released)
    return np.arange(released.rows, dtype=np.uint32) if isinstance(rows, slice) else rows


def _gone(original: Dataset, released: Dataset, owners: np.ndarray | None) -> np.ndarray | None:
    if owners is None or (released.origin is None and released.rows == original.rows):
        return None
    out = np.ones(original.rows, dtype=bool)
    out[owners] = False
    return out if out.any() else None


Outside = tuple[KnownPeople | None, Dataset | None, Message]


def _outside(view: AttackerView, gone: np.ndarray | None, control: Dataset | None) -> Outside:
    if control is not None:
        if lacking := [name for name in view.names if name not in control]:
            raise ColumnError(
                Message("error_attack.control_column", lacking=lacking, columns=names_shown(control, view.names))
            )
        return view.others(control), control, Message("attack.control.given", people=control.rows)
    # A sample leaves out people like those it takes. A few that were dropped are likely to have been unusual.
    if gone is None or gone.sum() < max(ENOUGH, view.released.rows / 2):
        return None, None, OWN
    rows = np.flatnonzero(gone)
    return view.people.take(rows), view.original.take(rows), Message("attack.control.left_out", people=int(rows.size))


# Nearest records ------------------------------------------------------------------------------------------------------


CHANCE = Message("attack.control.random_record")


@dataclass(frozen=True, eq=False)
class Neighbours:
    """For each person attacked the class of released records most like them; for the control the same."""

    view: AttackerView
    classes: ReleasedClasses
    people: np.ndarray  # original rows that are attacked
    own: np.ndarray  # their released rows, −1 where not known
    found: np.ndarray  # classes
    control_people: np.ndarray | None  # rows of the control group
    control: np.ndarray | None
    control_is: Message

    @staticmethod
    def of(scenario: AttackScenario, names: Sequence[str], classes: ReleasedClasses | None = None) -> Neighbours:
        """Search the nearest class of each target and of the control, by some columns."""
        view, at = scenario.view.select(names), scenario.view.at(names)
        classes = scenario.alike(names) if classes is None else classes
        people = scenario.targets if scenario.owners is None else scenario.owners[scenario.targets]
        own = np.full(people.size, -1) if scenario.owners is None else scenario.targets
        nobody = np.full(people.size, -1)
        places = scenario.view.people.at(people, at)
        found = view.nearest(places, classes, nobody, scenario.rng)
        there = Neighbours(view, classes, people, own, found, None, None, CHANCE)
        if scenario.outside is not None:
            rows = scenario.control_rows
            nearest = view.nearest(scenario.outside.at(rows, at), classes, np.full(rows.size, -1), scenario.rng)
            return replace(there, control_people=rows, control=nearest, control_is=scenario.outside_is)
        if scenario.owners is not None and scenario.whose is None:  # else other rows of theirs would help the control
            without = view.nearest(places, classes, classes.groups.labels[own].astype(np.int64), scenario.rng)
            return replace(there, control=without, control_is=OWN)
        return there

    def draw(self, scenario: AttackScenario, chosen: np.ndarray, without: np.ndarray) -> np.ndarray:
        """Draw one released row of each chosen class, never the row `without`; −1 where there is no class."""
        labels, sizes = self.classes.groups.labels, self.classes.groups.sizes[chosen]
        mine = (without >= 0) & (labels[np.maximum(without, 0)] == chosen)
        number = (scenario.rng.random(chosen.size) * (sizes - mine)).astype(np.int64)
        both = np.tile(np.maximum(chosen, 0), 2), np.concatenate([number, sizes - 1])
        picked, last = self.classes.members(*both).reshape(2, -1)
        # Among all but the last, a person who meets their own record takes the last instead: all others are equally likely.
        return np.where(chosen < 0, -1, np.where(mine & (picked == without), last, picked))


# Attack methods -------------------------------------------------------------------------------------------------------


Question = Literal["singling out", "linkability", "inference"]
Success = Literal["identity", "attribute", "membership"]
Need = Literal["records", "quasi", "two_quasi", "sensitive", "owners", "verification", "sampling", "window"]
"""What an attack cannot do without:

- `records`: released columns that can be compared with original ones;
- `quasi`, `two_quasi`, `sensitive`: one quasi-identifier, two of them, a sensitive attribute;
- `owners`: the original row of each released record is known, so that a link can be judged;
- `verification`: guarantees were verified;
- `sampling`: the release is differentially private by sampling;
- `window`: records were released by a window of a stream.
"""


@dataclass(frozen=True)
class AttackKind:
    """The traits of one attack, by its id: its words are those of `attack.<id>`."""

    id: str
    question: Question
    """The question of WP216 that it answers."""
    success: Success
    """The kind of disclosure that a right guess is."""
    limit_by_link: Callable[[float], float] | None = None
    """The highest rate of right guesses if a record is a given person's with at most this probability; None: not bounded."""
    limit_by_share: bool = False
    """Whether it is bounded by the highest share of one sensitive value in a class."""
    figure: bool = False
    """Whether its rate is among the main figures where classes do not say how exposed people are."""

    def attack(self, columns: Sequence[str], found: Rate, control: Rate, control_is: Message, **more: Any) -> Attack:
        """Return the result of this attack."""
        return Attack(self.id, self.question, tuple(columns), found, control, control_is, **more)


@dataclass(frozen=True, eq=False)
class ReleaseFacts:
    """Facts on how a release was made, as its report knows them; nothing of them is known of a table from elsewhere."""

    verification: Verification | None = None
    k: int | None = None
    """The k that was promised."""
    people: Column | None = None
    """The person of each original row, where people are counted."""
    private: Verdict | None = None
    """The differential privacy that holds."""
    window: bool = False
    """Whether the records were released by a window of a stream."""
    loaded_late: tuple[Dataset, Dataset] | None = None
    """Both tables with the columns that pass through and were not loaded."""


@dataclass(frozen=True, eq=False)
class AttackTarget:
    """A release under attack: both tables, what the attacker knows, and everything that several attacks share."""

    original: Dataset
    released: Dataset
    quasi: Sequence[str]
    sensitive: Sequence[str] = ()
    hierarchies: Mapping[str, Hierarchy] | None = None
    control: Dataset | None = None
    paired: bool = True
    whose: np.ndarray | None = None
    """For each original row a number, equal for rows of one person; None: each row is a person."""
    order: RowShuffle | None = None
    attempts: int = 2000
    seed: int = 0
    made: ReleaseFacts = field(default_factory=ReleaseFacts)

    @cached_property
    def rng(self) -> np.random.Generator:
        """The random numbers of all attacks, in the order in which they run."""
        return np.random.default_rng(self.seed)

    @cached_property
    def others(self) -> list[str]:
        """Columns for descriptions beside the quasi-identifiers: sensitive ones, then those with the most values."""
        secret = [name for name in self.sensitive if name not in self.quasi]
        both = [name for name in self.released if name in self.original]
        rest = [name for name in both if name not in (*self.quasi, *secret)]
        most = max(0, MOST_COLUMNS - len(self.quasi) - len(secret))
        telling = sorted(rest, key=lambda name: -len(self.released[name].values))[:most]
        return [*secret, *(name for name in rest if name in telling)]

    @cached_property
    def scenario(self) -> AttackScenario:
        """Both tables, as records are compared."""
        known = self.quasi, self.others, self.hierarchies, self.control, self.paired, self.attempts
        return prepare(self.original, self.released, *known, self.rng, self.whose)

    @cached_property
    def nearest(self) -> Neighbours | None:
        """The nearest class of each person by all quasi-identifiers; None where there are none."""
        return Neighbours.of(self.scenario, list(self.quasi), self.scenario.classes) if self.quasi else None

    def has(self, need: Need) -> bool:
        """Return whether an attack that cannot do without this can be run."""
        if need in ("quasi", "two_quasi"):
            return len(self.quasi) >= (1 if need == "quasi" else 2)
        if need == "sensitive":
            return bool(self.sensitive)
        if need == "owners":
            return self.scenario.owners is not None
        if need == "records":
            return bool(self.quasi or self.others)
        if need == "sampling":
            return self.made.private is not None
        return self.made.window if need == "window" else self.made.verification is not None

    def constant(self) -> AttackTarget:
        """Return the same target with one value in every released column, in random order: nothing can be learned from it."""
        columns = {name: Column.of(["*"] * self.released.rows) for name in self.released}
        order = np.random.default_rng(self.seed).permutation(self.released.rows)
        return replace(self, released=replace(self.released, columns=columns).take(order))


class AttackMethod:
    """One method of attack. A subclass states its traits, makes the guesses in `run`, and is found as `ATTACK` of its file.

    A new method is a file in this package, its name in `ORDER`, its words in `text/*/attack.toml`, a row in `docs/report.md`
    and a test; `oboro.attacks.checks` finds it there.
    """

    kinds: ClassVar[tuple[AttackKind, ...]]
    """The attacks that it may report."""
    knows: ClassVar[str]
    """The background knowledge of its attacker."""
    needs: ClassVar[tuple[Need, ...]] = ()
    """Conditions without which it is not run."""
    draws_first: ClassVar[bool] = False
    """Whether its random numbers are drawn before those of the methods that compare records."""

    def run(self, target: AttackTarget) -> list[Attack]:
        """Attack the release; nothing where there is nothing to guess."""
        raise NotImplementedError

    def comment(self, found: list[Attack], target: AttackTarget) -> list[Attack]:
        """Return the results of the methods before this one, with a remark where this one has something to add."""
        return found

    def example(self) -> AttackTarget:
        """A release on which at least one of its attacks must be better than its control."""
        table = people_table()
        return AttackTarget(table, table, quasi=["age", "town", "sex"], sensitive=["illness"])


def people_table(rows: int = 200, seed: int = 0) -> Dataset:
    """Make up a table on which attacks are tried: three quasi-identifiers, a sensitive attribute, a number.

    >>> list(people_table(2))
    ['age', 'town', 'sex', 'illness', 'income']
    """
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.permutation(rows) + 18,
        "town": rng.choice(["Aki", "Beppu", "Chiba", "Date"], rows),
        "sex": rng.choice(["F", "M"], rows),
        "illness": rng.choice(["asthma", "cold", "flu", "ulcer"], rows),
        "income": rng.integers(1000, 9000, rows),
    }
    return Dataset({name: Column.of(values.tolist()) for name, values in columns.items()}, rows)


# Registry -------------------------------------------------------------------------------------------------------------


ORDER = (
    "singling_out",
    "linkability",
    "inference",
    "record_linkage",
    "plain_hashes",
    "row_order",
    "nearest_record",
    "membership",
    "minimality",
    "window_owner",
)
"""The methods in the order of a report, each the name of its file; they run in this order too, but for `draws_first`."""


class Attacks(Mapping[str, AttackMethod]):
    """All methods of attack by their names, in order. The file of a method is loaded when it is asked for."""

    def __init__(self, order: Sequence[str]) -> None:
        self.order = tuple(order)
        self._added: dict[str, AttackMethod] = {}

    def __getitem__(self, name: str) -> AttackMethod:
        if name in self._added:
            return self._added[name]
        if name not in self.order:
            raise KeyError(name)
        found: AttackMethod = import_module(f"oboro.attacks.{name}").ATTACK
        return found

    def __iter__(self) -> Iterator[str]:
        return iter((*self.order, *self._added))

    def __len__(self) -> int:
        return len(self.order) + len(self._added)

    def register(self, name: str, method: AttackMethod) -> None:
        """Add a method of your own, after the others."""
        if name in self:
            raise UsageError(Message("error_attack.same_name", name=name))
        self._added[name] = method

    def kind(self, one: Attack) -> AttackKind:
        """Return the traits of an attack that was run; an unknown one, read from a file of another version, has none."""
        every = (kind for method in self.values() for kind in method.kinds)
        unknown = AttackKind(one.kind, one.question, "identity")  # type: ignore[arg-type]
        return next((kind for kind in every if kind.id == one.kind), unknown)


ATTACKS = Attacks(ORDER)
