"""Verification of the promised guarantees of a release, each and jointly, on the released table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import attrgetter

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.folding import Fold, merged_missing
from oboro.data.grouping import clean
from oboro.data.parameters import at_the_door
from oboro.errors import PromiseError
from oboro.text import Message
from oboro.verifier.attribute import (
    RecursiveLDiversity,
    TCloseness,
)
from oboro.verifier.classes import Classes, secret_spread
from oboro.verifier.identity import DistinctLDiversity, KAnonymity, Model, SensitiveModel
from oboro.verifier.readings import judge_strictly, secret_readings, spelling_warnings
from oboro.verifier.verdict import COUNTS_CANDIDATES, Verdict, Verification

__all__ = [
    "Promise",
    "attained",
    "attained_of",
    "joint_columns",
    "joint_promise",
    "joint_verdicts",
    "judge_together",
    "verify_promises",
]


# Attained parameters --------------------------------------------------------------------------------------------------
# The largest k that a table satisfies, and for sensitive attributes the largest l and the smallest t.


def attained(classes: Classes, sensitive: Sequence[str] = ()) -> list[Verdict]:
    """The verdicts of the strongest k-anonymity, distinct l-diversity and t-closeness (equal distance) that hold. O(rows) each.

    Secrets are read as the strictest reader could take them; so are the classes, where whoever made them asked for that.

    Only rows that are nobody's can keep every k from holding: then 1-anonymity is broken, and its verdict says so.
    """
    k = _largest(KAnonymity(k=1).judge(classes), KAnonymity(k=1), "k").naming(classes.quasi)
    return [k, *(one for name in sensitive for one in attained_of(classes, name))]


def attained_of(classes: Classes, name: str) -> list[Verdict]:
    """The same of one sensitive column: the largest l and the smallest t, each by the strictest reading of it."""
    merged, *finer = (_attained_of(one, name) for one in secret_readings(classes, name))
    return [merged[0], max((merged[1], *(one[1] for one in finer)), key=lambda found: found.achieved or 0.0)]


def _attained_of(classes: Classes, name: str) -> list[Verdict]:
    diversity, closeness = DistinctLDiversity(l=1, sensitive=name), TCloseness(t=1, sensitive=name)
    if classes.person is None and not classes.exempt and classes.data.rows:
        found = secret_spread(classes, clean(classes.data[name]))
        l, t = (  # noqa: E741
            _satisfied_verdict(diversity, classes, found.fewest),
            _satisfied_verdict(closeness, classes, found.farthest),
        )
    else:
        l, t = diversity.judge(classes), closeness.judge(classes)  # noqa: E741  (the field's own names)
    return [one.naming(classes.quasi) for one in (_largest(l, diversity, "l"), _smallest(t, closeness))]


def _satisfied_verdict(model: Model, classes: Classes, achieved: float) -> Verdict:
    """The verdict of a model that every class keeps."""
    return Verdict(True, model.describe(), model.required, float(achieved), len(classes.groups), 0, 0, ())


def _largest(least: Verdict, model: Model, symbol: str) -> Verdict:
    """The verdict of a model that must have at least something, at the most that every class has."""
    if least.achieved is None or not least.holds:
        return least
    limit = int(least.achieved)
    return _found(least, model.model_copy(update={symbol: limit}), symbol, limit)


def _smallest(most: Verdict, model: Model) -> Verdict:
    if most.achieved is None:
        return most
    return _found(most, model.model_copy(update={"t": min(most.achieved, 1.0)}), "t", most.achieved)


def _found(verdict: Verdict, model: Model, symbol: str, limit: float) -> Verdict:
    """The same judgement with the limit that was found."""
    note = Message(f"verdict.attained.{symbol}", limit=limit, groups=verdict.groups)
    return replace(verdict, model=model.describe(), required=float(limit), note=note)


# Verification of guarantees -------------------------------------------------------------------------------------------
# Each guarantee of each step, verified on the released table as its strictest reader sees it.


@dataclass(frozen=True)
class Promise:
    """What a step promises of the released table: models over its quasi-identifiers."""

    step: str
    quasi: tuple[str, ...]
    models: tuple[Model, ...]
    exempt: bool = False
    """Whether the suppressed records (`*` in every column) are asked for nothing; the verification then says so."""

    @property
    def covers(self) -> bool:
        """Whether nobody may stand alone by its columns for all that it says; `k: 1` promises nothing of who a record is."""
        return any(model.limits_classes for model in self.models)

    @at_the_door
    def verify(self, data: Dataset, person: Column | None = None, *, strict: bool = False) -> Verification:
        """Judge the released table as it is now; people are counted where it is known whose each row is (`person`).

        `strict`: as the strictest reader of its file could take it, which is for a release that somebody else wrote.

        A quasi-identifier that is no longer released no longer counts: classes over fewer columns are unions of the
        promised ones. A model of a sensitive column that is no longer released holds vacuously, and its verdict says
        so.
        """
        quasi = list(filter(data.__contains__, self.quasi))
        classes = Classes.of(data, quasi, person, finest=strict, exempt=self.exempt)
        found = Verification.of(list(map(partial(_judge, classes=classes, strict=strict), self.models)), quasi)
        return (
            replace(found, warnings=(self._exempted(classes),)) if self.exempt and classes.suppressed.any() else found
        )

    def _exempted(self, classes: Classes) -> Message:
        """How many records nothing is promised of."""
        return Message("verdict.exempt", step=self.step, records=int(classes.records[classes.suppressed].sum()))


def _judge(model: Model, classes: Classes, strict: bool) -> Verdict:
    if isinstance(model, SensitiveModel) and model.sensitive not in classes.data:
        return model.vacuous(Message("verdict.column_not_released", column=model.sensitive))
    if not strict:
        return model.judge(classes)

    return judge_strictly(model, classes)


def verify_promises(
    data: Dataset,
    promises: Sequence[Promise],
    steps: Sequence[str],
    person: Column | None = None,
    secret: Collection[str] = (),
) -> Verification:
    """Verify what `steps`, done in this order, promised; raise a `PromiseError` where a promise does not hold.

    `person` says whose each row is, where that is known: then people are counted. It stands beside the table and need not be
    released. Where promises are over different columns, `Verification.joint` has what holds over all of them together. Columns that
    are `secret` no attacker knows: a promise over nothing else is left out of that.
    """
    several = len(set(map(frozenset, map(attrgetter("quasi"), promises)))) > 1
    verdicts: list[Verdict] = []
    exempt: list[Message] = []
    quasi: dict[str, None] = {}
    for promise in promises:
        found = _verification_of_readings(data, promise, steps, person)
        verdicts += [one.naming(found.quasi) for one in found.verdicts] if several else found.verdicts
        exempt += found.warnings
        quasi |= dict.fromkeys(found.quasi)
    joint: tuple[Verdict, ...] = ()
    if several:
        known = [promise for promise in promises if not set(promise.quasi) <= set(secret)]
        joint = judge_together(data, known, person)
    found = Verification.of(verdicts, list(quasi), joint)
    said = spelling_warnings(data, chain.from_iterable(map(attrgetter("models"), promises)), person)
    return replace(found, warnings=(*exempt, *said))


def judge_together(
    data: Dataset, promises: Sequence[Promise], person: Column | None = None, *, strict: bool = False
) -> tuple[Verdict, ...]:
    """Judge models over the columns of all promises, if no promise covers them, on the worst reading."""

    joint = joint_promise(data, promises)
    if joint is None:
        return ()
    readings = [data] if strict else []
    found = [joint_verdicts(reading, promises, person, strict=True) for reading in readings]
    results = found + [joint_verdicts(reading, promises, person) for reading in _readings(data, joint)]
    return next((found for found in results if not all(one.holds for one in found)), results[0])


def _verification_of_readings(
    data: Dataset, promise: Promise, steps: Sequence[str], person: Column | None
) -> Verification:
    """The verification of one promise on the table as released, if it holds there and on every other reading."""
    results = []
    for reading in _readings(data, promise):
        result = promise.verify(reading, person)
        if not result.holds:
            said = [*result.messages(), *_only_stars(promise, reading, person)]
            raise PromiseError(_broken(promise, said, steps))
        results.append(result)
    return results[0]


def _only_stars(promise: Promise, data: Dataset, person: Column | None) -> Iterator[Message]:
    """Where nothing but the records of stars breaks it: who they are, and the way out."""
    if not promise.exempt and replace(promise, exempt=True).verify(data, person).holds:
        yield Message("error_verifier.only_stars")


def _readings(data: Dataset, promise: Promise) -> Iterator[Dataset]:
    """Yield what a promise speaks of, as released and, where it differs, as readers of CSV merge it.

    There, empty text is missing, and so are `NA`, `null` and the like to `pandas.read_csv`.
    """
    names, folds = set(promise.quasi), dict[str, Sequence[Fold]]()
    for model in promise.models:
        names |= set(data) if model.every_column else {getattr(model, "sensitive", "")}
        if isinstance(model, SensitiveModel):
            folds[model.sensitive] = model.fold
    tidy = {name: column.tidy() for name, column in data.columns.items() if name in names}
    yield replace(data, columns=tidy)
    merged = {name: merged_missing(column, folds.get(name, ())) for name, column in tidy.items()}
    if any(merged[name] is not column for name, column in tidy.items()):
        yield replace(data, columns=merged)


def _broken(promise: Promise, said: Sequence[Message], steps: Sequence[str]) -> Message:
    """Message on a violated guarantee, with the later steps that must have violated it, if there are any."""
    later = list(steps[steps.index(promise.step) + 1 :]) if promise.step in steps else []
    if not later:
        return Message("error_verifier.broken", step=promise.step, verdicts=said)
    return Message("error_verifier.broken_later", step=promise.step, verdicts=said, later=later)


# Joint verification ---------------------------------------------------------------------------------------------------
# Guarantees over different columns, judged over all of these columns together.
#
# An attacker who knows the columns of two guarantees knows all of them. Records that are equal in the columns of one
# guarantee may differ in those of the other. So k over x and k over y imply nothing for x and y: the classes over both
# must be counted.
#
# A guarantee over all the columns covers its own models (k-anonymity, the diversity of one sensitive attribute). Every
# other model is judged here, with the strictest of the promised parameters.


WHO = ("model.k_anonymity", *COUNTS_CANDIDATES)


def joint_columns(data: Dataset, promises: Sequence[Promise]) -> tuple[str, ...]:
    """The released columns of all promises; none where all promises are over the same."""
    sets = [tuple(name for name in promise.quasi if name in data) for promise in promises]
    several = len({frozenset(one) for one in sets if one}) > 1
    return tuple(dict.fromkeys(name for one in sets for name in one)) if several else ()


def joint_promise(data: Dataset, promises: Sequence[Promise]) -> Promise | None:
    """Guarantee that every promise needs over all columns; None where the promises state it themselves."""
    together = joint_columns(data, promises)
    if not together:
        return None
    whole = [one for one in promises if set(together) <= set(one.quasi)]
    said = {_subject(model) for promise in whole for model in promise.models}
    left = [model for promise in promises for model in promise.models if _subject(model) not in said]
    exempt = any(one.exempt for one in promises)
    return Promise("together", together, tuple(_strictest(left)), exempt) if left else None


def joint_verdicts(
    data: Dataset, promises: Sequence[Promise], person: Column | None = None, *, strict: bool = False
) -> tuple[Verdict, ...]:
    """The verdicts over all promised columns together; none where the promises say it themselves. O(rows · columns).

    `strict`: by the classes that the strictest reader of somebody else's release sees.
    """
    promise = joint_promise(data, promises)
    if promise is None:
        return ()
    classes = Classes.of(data, promise.quasi, person, finest=strict, exempt=promise.exempt)
    conceals = any(model.message in COUNTS_CANDIDATES for one in promises for model in one.models)
    return tuple(_judged(model, classes, conceals).jointly(promise.quasi) for model in promise.models)


def _judged(model: Model, classes: Classes, conceals: bool) -> Verdict:
    sensitive = getattr(model, "sensitive", None)
    if sensitive is not None and sensitive not in classes.data:
        return model.vacuous(Message("verdict.column_not_released", column=sensitive))
    if hasattr(model, "population"):  # it knows what the labels of its own columns stand for, not those of the others
        note = Message("verdict.population_apart")
        return Verdict(False, model.describe(), model.required, None, len(classes.groups), 0, 0, (), note)
    found = model.judge(classes)
    if conceals and isinstance(model, KAnonymity) and not found.holds:
        return replace(found, note=Message("verdict.alike_at_least", least=found.achieved))
    return found


def _subject(model: Model) -> tuple[object, ...]:
    """What a model speaks of: who a record is, or how one secret is spread."""
    if model.message in WHO:
        return WHO
    rank = getattr(model, "l", None) if isinstance(model, RecursiveLDiversity) else None
    return (model.message, rank, *(getattr(model, name, None) for name in ("sensitive", "value", "distance")))


def _strictest(models: Sequence[Model]) -> list[Model]:
    """Of the models that speak of the same the one with the strictest limit."""
    found: dict[tuple[object, ...], Model] = {}
    for model in map(_by_classes, models):
        before = found.get(_subject(model))
        if before is None or (model.required < before.required if model.most else model.required > before.required):
            found[_subject(model)] = model
    return list(found.values())


def _by_classes(model: Model) -> Model:
    """Records that look alike can be exchanged for each other: whoever is a candidate of one is a candidate of all.

    So k records that look alike have k candidates, and a class counts at least as many as it holds.
    """
    return KAnonymity(k=int(model.required)) if model.message in COUNTS_CANDIDATES else model
