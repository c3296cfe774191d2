"""Does a released table keep its promise? Regroup it and look; never ask how it was made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from oboro.errors import ColumnError, UsageError
from oboro.table.dataset import Dataset
from oboro.table.frames import Frame
from oboro.table.hierarchy import Hierarchy, HierarchySpec
from oboro.table.named_columns import Names, named_columns
from oboro.table.spelling.folding import FOLDS, Fold, as_folded, folded
from oboro.table.spelling.named_values import Value, absent, near_values, shown
from oboro.text import Message
from oboro.text.pydantic_words import complaint
from oboro.verifier.attained import attained
from oboro.verifier.classes import Classes
from oboro.verifier.models.class_models import DistinctLDiversity, KAnonymity, Model
from oboro.verifier.models.shares_compared import BetaLikeness, DeltaDisclosure
from oboro.verifier.models.spread_models import AlphaK, EntropyLDiversity, RecursiveLDiversity, TCloseness
from oboro.verifier.spelling_warnings import spelling_warnings
from oboro.verifier.strict_reading import fewest_people, judge_strictly, told_apart
from oboro.verifier.verdict import Verification

__all__ = ["verify"]

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
    from oboro.verifier.models.risk_limits import AverageRisk, MaximumRisk

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
    from oboro.verifier.models.sample_risk import EstimatedKMap, PopulationUniqueness, RecordsAtRisk, SampleUniqueness

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
    from oboro.verifier.models.population_models import DeltaPresence, KMap

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
