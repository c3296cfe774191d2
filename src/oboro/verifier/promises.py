"""Does a released table keep its promise? Regroup it and look; never ask how it was made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any

from pydantic import ValidationError

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.folding import FOLDS, Fold, as_folded, folded, merged_missing
from oboro.data.frames import Frame
from oboro.data.grouping import clean
from oboro.data.matching import Value, absent, near_values, shown
from oboro.data.parameters import Names, at_the_door, named_columns
from oboro.errors import ColumnError, PromiseError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.spec import HierarchySpec
from oboro.text import Message
from oboro.text.pydantic import complaint
from oboro.verifier.attribute import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    EntropyLDiversity,
    RecursiveLDiversity,
    TCloseness,
)
from oboro.verifier.classes import Classes, secret_spread
from oboro.verifier.identity import DistinctLDiversity, KAnonymity, Model, SensitiveModel
from oboro.verifier.readings import fewest_people, judge_strictly, secret_readings, spelling_warnings, told_apart
from oboro.verifier.verdict import COUNTS_CANDIDATES, Verdict, Verification

__all__ = [
    "Promise",
    "attained",
    "attained_of",
    "joint_columns",
    "joint_promise",
    "joint_verdicts",
    "judge_together",
    "verify",
    "verify_promises",
]


# Attained -------------------------------------------------------------------------------------------------------------
# What holds of a table, where nobody says what should: the largest k, and of sensitive columns the largest l and
# smallest t.


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


# Promise check --------------------------------------------------------------------------------------------------------
# Every promise of every step, verified on the released table as whoever receives it reads it.


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
    from oboro.verifier.readings import judge_strictly

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
    """What holds over the columns of all promises together, where no promise covers them: on the worst reading."""

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
    """What does not hold, and the later steps that must have broken it, if there are any."""
    later = list(steps[steps.index(promise.step) + 1 :]) if promise.step in steps else []
    if not later:
        return Message("error_verifier.broken", step=promise.step, verdicts=said)
    return Message("error_verifier.broken_later", step=promise.step, verdicts=said, later=later)


# Joint promises -------------------------------------------------------------------------------------------------------
# Promises over different columns, judged over all of these columns together.
#
# An attacker who knows the columns of two promises knows all of them. Records that look alike by the columns of one
# promise may differ by those of the other. So k over x and k over y say nothing of x and y: the classes over both must
# be counted.
#
# A promise over all the columns covers its own models (k-anonymity, the diversity of one secret). Every other model is
# judged here, the strictest of those that were promised.


WHO = ("model.k_anonymity", *COUNTS_CANDIDATES)


def joint_columns(data: Dataset, promises: Sequence[Promise]) -> tuple[str, ...]:
    """The released columns of all promises; none where all promises are over the same."""
    sets = [tuple(name for name in promise.quasi if name in data) for promise in promises]
    several = len({frozenset(one) for one in sets if one}) > 1
    return tuple(dict.fromkeys(name for one in sets for name in one)) if several else ()


def joint_promise(data: Dataset, promises: Sequence[Promise]) -> Promise | None:
    """What must hold over all columns together for every promise to hold there; None where the promises say it themselves."""
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


# Table check ----------------------------------------------------------------------------------------------------------


KINDS = ("distinct", "entropy", "recursive")
PARTNERS = (
    *(("kind", "l"), ("distance", "t"), ("hierarchy", "t"), ("order", "t"), ("value", "alpha")),
    *(("disclosed", "delta"), ("likeness", "beta")),
)
USUAL = {"kind": "distinct", "distance": "equal", "disclosed": "all", "likeness": "enhanced"}


def verify(
    frame: Any,
    *,
    quasi: Names,
    k: int | None = None,
    sensitive: Names = None,
    l: float | None = None,  # noqa: E741  (the literature's letter, and what people type)
    kind: str = "distinct",
    c: float | None = None,
    t: float | None = None,
    distance: str = "equal",
    hierarchy: Hierarchy | HierarchySpec | Mapping[str, Any] | None = None,
    order: Sequence[str] | None = None,
    alpha: float | None = None,
    value: Value | None = None,
    delta: float | None = None,
    disclosed: str = "all",
    beta: float | None = None,
    likeness: str = "enhanced",
    maximum_risk: float | None = None,
    average_risk: float | None = None,
    records_at_risk: tuple[float, float] | None = None,
    sample_uniqueness: float | None = None,
    population_uniqueness: float | None = None,
    estimated_k_map: int | None = None,
    fraction: float | None = None,
    estimator: str | None = None,
    significance: float = 0.05,
    population: Any = None,
    k_map: int | None = None,
    presence: tuple[float, float] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    person: str | None = None,
    fold: Sequence[str] = (),
) -> Verification:
    """Check privacy models on a released table alone: a pandas, polars or pyarrow frame, or a `Dataset`.

    Records that agree on every `quasi` column form a class; a missing value and `*` are values like any other. An
    empty table holds vacuously. With several `sensitive` columns each is judged on its own. Where no model is asked for, the
    verdicts say what holds: the largest k, and for each sensitive column the largest l (distinct) and the smallest t (equal).

    - `person`: the column that says whose a record is, such as a pseudonym. Then everything below counts people, not records:
      someone with many records in a class is one, and records whose person is missing are nobody's.
    - `fold`: secrets and people that differ only in `space`, `case` or `unicode` (forms of a letter, invisible ones) count as one.
    - `k`: every class has at least k records.
    - `l` with `kind`: every class has l distinct sensitive values, entropy ≥ log l, or recursive (`c`, l)-diversity.
    - `t` with `distance`: the sensitive values of every class are distributed as in the whole table, up to t; `hierarchy`
      and `order` are for the distances of these names.
    - `alpha`: no sensitive value (or only not `value`) has more than this share of a class. `value` is compared by what it means in
      the column (1, "1" and 1.0 are one number); one that no record has is an error, because a typing error would hold.
    - `delta`: every sensitive value is less than 2^delta times as frequent in a class as in the table, and the other way round; a
      value that a class lacks breaks it, or is not asked (`disclosed="held"`).
    - `beta` with `likeness`: the share p of a value grows in a class by at most min(beta, −ln p) times itself (enhanced) or by beta
      times itself (basic).
    - `maximum_risk`, `average_risk`: the re-identification risk of any record, or on average, is at most this.
    - `records_at_risk`: a risk, and the greatest share of the records that may be above it; `sample_uniqueness`: the greatest share
      that may stand alone.
    - with `fraction`, the part of the population that the table is: `population_uniqueness`: the greatest share of the population
      that may be unique, by `estimator` (dankar, zayatz, pitman, snb); `estimated_k_map`: every class is so large that one which
      matches only that many people would be with probability `significance` at most (`estimator`: poisson, zero_truncated).
    - with `population`, the table of everybody (the same columns, not generalized; `hierarchies` say what labels stand for):
      `k_map`: every class matches at least this many people; `presence`: which share of them is in the table, at least and
      at most.

    >>> import pandas as pd
    >>> verify(pd.DataFrame({"sex": ["F", "F", "M"]}), quasi="sex", k=2).sentence()
    '2-anonymity is broken in 1 of 2 groups (1 record; required 2, achieved 1; sizes of the worst groups: 1).'
    >>> visits = {"patient": [1, 1, 2, 3], "sex": ["F", "F", "M", "M"]}
    >>> verify(visits, quasi=["sex"], k=2).holds, verify(visits, quasi=["sex"], k=2, person="patient").holds
    (True, False)
    """
    names, columns = named_columns(sensitive, "sensitive"), named_columns(quasi, "quasi")
    options = {"l": l, "kind": kind, "c": c, "t": t, "distance": distance, "hierarchy": hierarchy, "order": order}
    options |= {"delta": delta, "disclosed": disclosed, "beta": beta, "likeness": likeness}
    limits = {"maximum_risk": maximum_risk, "average_risk": average_risk, "k_map": k_map, "presence": presence}
    _require(columns, names, k=k, alpha=alpha, value=value, **options, **limits)
    _require_person(person, columns, names)
    _require_population(population, k_map=k_map, presence=presence, hierarchies=hierarchies)
    models: list[Model] = [] if k is None else [_build(KAnonymity, k=k)]
    models += _of_risk(maximum_risk, average_risk)
    models += _of_sample(
        {"records_at_risk": records_at_risk, "sample_uniqueness": sample_uniqueness},
        {"population_uniqueness": population_uniqueness, "estimated_k_map": estimated_k_map},
        {"fraction": fraction, "estimator": estimator},
        significance,
    )
    models += _of_population(population, hierarchies or {}, k_map, presence)
    for name in names:
        if l is not None:
            models.append(_diversity(name, kind, l, c))
        if t is not None:
            models.append(_build(TCloseness, sensitive=name, t=t, distance=distance, hierarchy=hierarchy, order=order))
        if alpha is not None:
            models.append(_build(AlphaK, sensitive=name, alpha=alpha, value=value))
        if delta is not None:
            models.append(_build(DeltaDisclosure, sensitive=name, delta=delta, values=disclosed))
        if beta is not None:
            models.append(_build(BetaLikeness, sensitive=name, beta=beta, kind=likeness))
    data = Frame.read(frame).data
    data.select(names)  # a misspelt sensitive column must not pass for a checked one
    folds = _folds(fold)
    _require_value(data, names, value, folds)
    models = [model.folding(folds) for model in models]
    whose = None if person is None else fewest_people(folded(data[person], folds))
    classes = Classes.of(data, columns, whose, finest=True)
    verdicts = [judge_strictly(model, classes) for model in models] if models else attained(classes, names)
    said = [] if not any(data[name].finer for name in columns) else told_apart(Classes.of(data, columns), classes)
    said += spelling_warnings(data, models, whose)
    return replace(Verification.of(verdicts, columns), warnings=tuple(said))


def _folds(given: Sequence[str]) -> list[Fold]:
    if not isinstance(given, Sequence):
        raise UsageError(Message("error_verifier.fold", known=list(FOLDS), got=given))
    if odd := [one for one in given if one not in FOLDS]:
        raise UsageError(Message("error_verifier.fold", known=list(FOLDS), got=odd[0]))
    return [one for one in FOLDS if one in given]


def _require_value(data: Dataset, names: Sequence[str], value: Value | None, folds: Sequence[Fold]) -> None:
    """A misspelt value must not pass for one that nobody has too often."""
    if value is None or not data.rows:
        return
    lacking = [name for name in names if absent(data[name], name, [as_folded(value, data[name], folds)])]
    if len(lacking) < len(names):
        return
    near = near_values(value, data[lacking[0]])
    id = "error_verifier.value_near" if near else "error_verifier.value_absent"
    raise ColumnError(Message(id, column=lacking[0], value=shown(value), near=near))


def _of_risk(maximum_risk: float | None, average_risk: float | None) -> list[Model]:
    from oboro.verifier.risk import AverageRisk, MaximumRisk

    limits = ((MaximumRisk, maximum_risk), (AverageRisk, average_risk))
    return [_build(model, risk=limit) for model, limit in limits if limit is not None]


def _of_sample(
    here: Mapping[str, Any], estimated: Mapping[str, Any], options: Mapping[str, Any], significance: float
) -> list[Model]:
    asked = [name for name, limit in estimated.items() if limit is not None]
    if asked and options["fraction"] is None:
        raise UsageError(Message("error_verifier.needs_fraction", asked=asked))
    idle = [name for name, given in options.items() if given is not None]
    if idle and not asked:
        raise UsageError(Message("error_verifier.fraction_idle", idle=idle))
    if not asked and all(limit is None for limit in here.values()):
        return []
    from oboro.verifier.risk import EstimatedKMap, PopulationUniqueness, RecordsAtRisk, SampleUniqueness

    given = {name: one for name, one in options.items() if one is not None}
    models = []
    if here["records_at_risk"] is not None:
        if not isinstance(here["records_at_risk"], tuple | list) or len(here["records_at_risk"]) != 2:
            raise UsageError(Message("error_verifier.records_at_risk"))
        risk, share = here["records_at_risk"]
        models.append(_build(RecordsAtRisk, risk=risk, share=share))
    if here["sample_uniqueness"] is not None:
        models.append(_build(SampleUniqueness, share=here["sample_uniqueness"]))
    if estimated["population_uniqueness"] is not None:
        models.append(_build(PopulationUniqueness, share=estimated["population_uniqueness"], **given))
    if estimated["estimated_k_map"] is not None:
        models.append(_build(EstimatedKMap, k=estimated["estimated_k_map"], significance=significance, **given))
    return models


def _of_population(
    population: Any, hierarchies: Mapping[str, Any], k_map: int | None, presence: tuple[float, float] | None
) -> list[Model]:
    if population is None:
        return []
    from oboro.verifier.identity import DeltaPresence, KMap

    everybody: dict[str, Any] = {"population": Frame.read(population).data, "hierarchies": hierarchies}
    models = [] if k_map is None else [_build(KMap, k=k_map, **everybody)]
    if presence is not None:
        models.append(_build(DeltaPresence, low=presence[0], high=presence[1], **everybody))
    return models


def _require_person(person: str | None, quasi: Sequence[str], sensitive: Sequence[str]) -> None:
    if person is not None and person in (*quasi, *sensitive):
        role = "quasi" if person in quasi else "sensitive"
        raise UsageError(Message("error_verifier.person_has_a_role", column=person, role=role))


def _require_population(population: Any, **given: Any) -> None:
    asked = [name for name in ("k_map", "presence") if given[name] is not None]
    if asked and population is None:
        raise UsageError(Message("error_verifier.needs_population", asked=asked))
    if population is not None and not asked:
        raise UsageError(Message("error_verifier.population_idle"))
    if given["hierarchies"] and population is None:
        raise UsageError(Message("error_verifier.hierarchies_idle"))


def _diversity(name: str, kind: str, l: float, c: float | None) -> Model:  # noqa: E741
    if kind == "distinct":
        return _build(DistinctLDiversity, sensitive=name, l=l)
    if kind == "entropy":
        return _build(EntropyLDiversity, sensitive=name, l=l)
    return _build(RecursiveLDiversity, sensitive=name, l=l, c=c)


def _build(model: Callable[..., Model], **parameters: Any) -> Model:
    try:
        return model(**parameters)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where, what = ".".join(map(str, first["loc"])), complaint(first)
        if where in parameters:
            raise UsageError(Message("error_value.at_with", where=where, what=what, got=first["input"])) from None
        raise UsageError(Message("error_verifier.parameter", where=where, what=what) if where else what) from None


def _require(quasi: list[str], sensitive: list[str], **given: Any) -> None:
    """Raise a `UsageError` for questions that make no sense."""
    if not quasi:
        raise UsageError(Message("error_verifier.no_quasi"))
    if not sensitive and (needs := [name for name in ("l", "t", "alpha", "delta", "beta") if given[name] is not None]):
        raise UsageError(Message("error_verifier.needs_sensitive", needs=needs))
    if both := [name for name in sensitive if name in quasi]:
        raise UsageError(Message("error_verifier.quasi_and_sensitive", both=both))
    if given["kind"] not in KINDS:
        raise UsageError(Message("error_verifier.kind", kinds=list(KINDS), got=given["kind"]))
    if (given["kind"] == "recursive") != (given["c"] is not None):
        raise UsageError(Message("error_verifier.recursive_c"))
    for name, partner in PARTNERS:
        if given[partner] is None and given[name] != USUAL.get(name):
            raise UsageError(Message("error_verifier.partner", name=name, partner=partner))
