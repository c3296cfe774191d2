"""Assessment of a released table without its original: its k, l and t, unique people, and disclosed sensitive values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from oboro.data.dataset import Dataset
from oboro.data.grouping import clean
from oboro.data.parameters import Names, at_the_door, named_columns
from oboro.disclosure.counted_people import ask_for_person
from oboro.disclosure.earlier_releases import attack_series
from oboro.disclosure.identifiers import WARNED, Finding, holds_ranges, scan
from oboro.errors import UsageError
from oboro.measures.exposure import CertainSecrets, Counted, Exposure, certain_secret, rare_values
from oboro.recipe.evaluate import dataset_of, tables_of
from oboro.recipe.roles import guess_roles
from oboro.report.assessment import Assessment, WorstClass
from oboro.schema import Role
from oboro.system.process import on_cores
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.promises import attained, attained_of
from oboro.verifier.readings import read_strictly
from oboro.verifier.verdict import Verdict, Verification

__all__ = ["assess"]


PAIRED = 12  # columns of which every pair is counted
WORST = 5  # classes that are described
FEW = 5  # people: a value that fewer have is rare


@at_the_door
def assess(
    frame: Any,
    quasi: Names = (),
    sensitive: Names = (),
    person: str | None = None,
    *,
    earlier: Any = (),
    k: int | None = None,
    lang: str = "en",
    reading: Mapping[str, Any] | None = None,
) -> Assessment:
    """Assess a released table alone: a frame, or a file (`reading` says how it is read). No original is needed.

    Every count is exact and over all rows; a missing value and `*` are values, and what some tool tells apart counts as different
    (`""` and an empty cell, not-a-number and missing), as in `verify`. With `person`, the column that says whose a record
    is, people are counted; without it, and where people seem to have several rows, the result asks for it. Where neither `quasi`
    nor `sensitive` is given, roles are guessed, and the result says so. All other columns count as known to an attacker too.
    `earlier` are releases of the same people that are out already, oldest first: who is told among fewer than `k`
    rows (without it: the table's own k) by all of them together is counted
    then.

    >>> found = assess({"sex": ["F", "F", "M", "M"], "job": ["cook", "judge", "cook", "cook"]}, quasi=["sex"])
    >>> found.k, found.together.unique, found.columns[0].columns
    (2, 2, ('job',))
    """
    data = dataset_of(frame, reading or {})
    known, secret = named_columns(quasi, "quasi"), named_columns(sensitive, "sensitive")
    guess = _guess(data, person) if not known and not secret else None
    if guess is not None:
        known, secret = guess.quasi, guess.sensitive
    _require(data, known, secret, person)
    other = [name for name in data if name not in (*known, *secret, person)]
    known = known or other
    other = [name for name in other if name not in known]
    if not known:
        raise UsageError(Message("error_exposure.nothing_to_assess"))
    shown = read_strictly(data, [*known, *other], secret, person)
    tasks: list[Callable[[], Any]] = [
        partial(_exposed, shown, [*known, *other], person),
        partial(_of_classes, shown, known, secret, person),
        partial(scan, data) if guess is None else lambda: guess.findings,
        partial(ask_for_person, data, person) if guess is None else lambda: guess.asked,
        partial(rare_values, data, [*known, *other], FEW, person),
    ]
    exposed, of_classes, findings, asked, rare = on_cores(lambda task: task(), tasks, rows=data.rows)
    return Assessment(
        rows=data.rows,
        person=person,
        quasi=tuple(known),
        sensitive=tuple(secret),
        other=tuple(other),
        guessed=guess is not None,
        ranges=tuple(name for name in secret if holds_ranges(data[name])),
        rare=rare,
        identifiers=tuple(one for one in findings if one.kind in WARNED),
        series=attack_series(
            data,
            [dataset_of(one, reading or {}) for one in tables_of(earlier)],
            quasi=known,
            sensitive=secret,
            k=k,
            person=person,
        ),
        asked=tuple(asked),
        lang=lang,
        **exposed,
        **of_classes,
    )


@dataclass(frozen=True)
class _Guess:
    """What the columns probably are, and what was found on the way."""

    quasi: list[str]
    sensitive: list[str]
    findings: Sequence[Finding]
    asked: Sequence[Message]


def _guess(data: Dataset, person: str | None) -> _Guess:
    findings = scan(data)
    roles = guess_roles(data, figures=False, findings=findings)
    asked = [] if roles.people is None or person is not None else [roles.people.question]
    known, secret = ([name for name in roles.named(role) if name != person] for role in (Role.QUASI, Role.SENSITIVE))
    return _Guess(known, secret, findings, asked)


def _of_classes(data: Dataset, known: Sequence[str], secret: Sequence[str], person: str | None) -> dict[str, Any]:
    """What the classes of records that agree on the quasi-identifiers say."""
    classes = Classes.of(data, known, person)
    classes.sizes  # noqa: B018  (once, and not in every thread)

    def of_secret(name: str) -> tuple[list[Verdict], CertainSecrets]:
        return attained_of(classes, name), certain_secret(classes, name)

    found = on_cores(of_secret, secret, rows=data.rows)
    verdicts = [*attained(classes), *(verdict for some, _ in found for verdict in some)]
    return {
        "verification": Verification.of(verdicts, known),
        "secrets": tuple(certain for _, certain in found),
        "worst": _worst(classes, known),
    }


def _require(data: Dataset, quasi: Sequence[str], sensitive: Sequence[str], person: str | None) -> None:
    data.select([*quasi, *sensitive, *([person] if person is not None else [])])  # names a column that is not there
    if both := [name for name in (*sensitive, person) if name in quasi]:
        raise UsageError(Message("error_exposure.two_roles", column=both[0]))


def _exposed(data: Dataset, names: Sequence[str], person: str | None) -> dict[str, Any]:
    """All columns together, each, and pairs of those that tell most records apart; the worst first."""
    counted = Counted.of(data, person)
    single = [counted.exposure([name]) for name in names]
    telling = sorted(single, key=lambda one: -one.told_apart)[:PAIRED]
    chosen = [name for name in names if any(one.columns == (name,) for one in telling)]
    pairs = counted.pair_exposures(list(combinations(chosen, 2)))
    return {"together": counted.exposure(names), "columns": _ranked(single), "pairs": _ranked(pairs)}


def _ranked(found: Sequence[Exposure]) -> tuple[Exposure, ...]:
    return tuple(sorted(found, key=lambda one: (-one.unique, one.smallest, -one.told_apart)))


def _worst(classes: Classes, quasi: Sequence[str]) -> tuple[WorstClass, ...]:
    """The smallest classes, without their values: a value that one person has would name that person."""
    smallest = np.argsort(classes.sizes, kind="stable")[:WORST]
    found = []
    for label in smallest:
        row = int(np.argmax(classes.groups.labels == label))
        held = {name: clean(classes.data[name]) for name in quasi}
        rare = tuple(name for name, column in held.items() if column.counts[column.codes[row]] < FEW)
        found.append(WorstClass(int(classes.sizes[label]), rare))
    return tuple(found)
