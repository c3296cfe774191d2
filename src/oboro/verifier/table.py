"""Verification of privacy models on a released table alone, made with any tool."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from oboro.data.dataset import Dataset
from oboro.data.folding import FOLDS, Fold, as_folded, folded
from oboro.data.frames import Frame
from oboro.data.matching import Value, absent, near_values, shown
from oboro.data.parameters import Names, at_the_door, named_columns
from oboro.errors import ColumnError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.spec import HierarchySpec
from oboro.privacy.base import MODELS, Keyword, PrivacyModel, keywords_of
from oboro.privacy.risk import ESTIMATOR, FRACTION
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.identity import Model
from oboro.verifier.judges import judge_of
from oboro.verifier.promises import attained
from oboro.verifier.readings import fewest_people, judge_strictly, spelling_warnings, told_apart
from oboro.verifier.verdict import Verification

__all__ = ["asked_by_keywords", "verify"]

F = TypeVar("F", bound=Callable[..., Any])
ANNOTATED = (Hierarchy, HierarchySpec, Value)  # the annotations of keywords name these


def asked_by_keywords() -> list[type[PrivacyModel]]:
    """Return the models that keywords ask for, in the order of verdicts: of classes, of a population, of sensitive attributes."""
    found = [one for one in MODELS.values() if one.keywords]
    return sorted(found, key=lambda one: (one.scope == "attribute", one.scope == "population"))


def _with_keywords(function: F) -> F:
    """Show the keywords of all models in the signature, before the names that every model shares."""
    own = inspect.signature(function).parameters
    keywords = keywords_of(asked_by_keywords()).values()
    shown = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.kind)
        for one in keywords
    ]
    named = [one for one in own.values() if one.kind is not one.VAR_KEYWORD]
    signature = inspect.Signature([*named[:2], *shown, *named[2:]], return_annotation="Verification")
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


@at_the_door
@_with_keywords
def verify(
    frame: Any,
    *,
    quasi: Names,
    sensitive: Names = None,
    population: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    person: str | None = None,
    fold: Sequence[str] = (),
    **models: Any,
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
    declared = asked_by_keywords()
    given = {name: keyword.default for name, keyword in keywords_of(declared).items()}
    if unknown := [name for name in models if name not in given]:
        raise TypeError(f"verify() got an unexpected keyword argument {unknown[0]!r}")
    given |= models
    asked = [one for one in declared if given[one.keywords[0].name] is not None]
    _require(columns, names, declared, asked, given)
    _require_person(person, columns, names)
    _require_population(population, asked, hierarchies)
    _require_fraction(asked, given)
    about: dict[str, Any] = {}
    if population is not None:
        about = {"population": Frame.read(population).data, "hierarchies": hierarchies or {}}
    judges = [_build(one, given, about) for one in asked if one.scope != "attribute"]
    of_attributes = [one for one in asked if one.scope == "attribute"]
    judges += [_build(one, given, {"sensitive": name}) for name in names for one in of_attributes]
    data = Frame.read(frame).data
    data.select(names)  # a misspelt sensitive column must not pass for a checked one
    folds = _folds(fold)
    _require_value(data, names, given["value"], folds)
    judges = [judge.folding(folds) for judge in judges]
    whose = None if person is None else fewest_people(folded(data[person], folds))
    classes = Classes.of(data, columns, whose, finest=True)
    verdicts = [judge_strictly(judge, classes) for judge in judges] if judges else attained(classes, names)
    said = [] if not any(data[name].finer for name in columns) else told_apart(Classes.of(data, columns), classes)
    said += spelling_warnings(data, judges, whose)
    return replace(Verification.of(verdicts, columns), warnings=tuple(said))


def _build(declared: type[PrivacyModel], given: Mapping[str, Any], about: Mapping[str, Any]) -> Model:
    """Return the judge of a model as the keywords ask for it."""
    parameters: dict[str, Any] = {}
    for keyword in declared.keywords:
        value = given[keyword.name]
        if value is not None:
            parameters |= _parameters(keyword, value)
    whom = about if declared.scope in ("attribute", "population") else {}
    return judge_of(declared.key)(**parameters, **whom)


def _parameters(keyword: Keyword, value: Any) -> dict[str, Any]:
    if len(keyword.parameters) == 1:
        return {keyword.parameters[0]: value}
    if keyword.wrong and (not isinstance(value, tuple | list) or len(value) != len(keyword.parameters)):
        raise UsageError(Message(keyword.wrong))
    return {name: value[place] for place, name in enumerate(keyword.parameters)}


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


def _require(
    quasi: list[str],
    sensitive: list[str],
    declared: Sequence[type[PrivacyModel]],
    asked: Sequence[type[PrivacyModel]],
    given: Mapping[str, Any],
) -> None:
    """Raise a `UsageError` for questions that make no sense."""
    if not quasi:
        raise UsageError(Message("error_verifier.no_quasi"))
    if not sensitive and (needs := [one.keywords[0].name for one in asked if one.scope == "attribute"]):
        raise UsageError(Message("error_verifier.needs_sensitive", needs=needs))
    if both := [name for name in sensitive if name in quasi]:
        raise UsageError(Message("error_verifier.quasi_and_sensitive", both=both))
    for one in declared:
        if (wrong := one.wrong_keywords(given)) is not None:
            raise UsageError(wrong)
    for name, partner in _idle(declared, given):
        raise UsageError(Message("error_verifier.partner", name=name, partner=partner))


def _idle(declared: Sequence[type[PrivacyModel]], given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each keyword of a model of an attribute that was given without the one that asks for the model."""
    for one in declared:
        first, *others = one.keywords
        if one.scope == "attribute" and given[first.name] is None:
            yield from ((other.name, first.name) for other in others if given[other.name] != other.default)


def _require_person(person: str | None, quasi: Sequence[str], sensitive: Sequence[str]) -> None:
    if person is not None and person in (*quasi, *sensitive):
        role = "quasi" if person in quasi else "sensitive"
        raise UsageError(Message("error_verifier.person_has_a_role", column=person, role=role))


def _require_population(population: Any, asked: Sequence[type[PrivacyModel]], hierarchies: Any) -> None:
    names = [one.keywords[0].name for one in asked if one.scope == "population"]
    if names and population is None:
        raise UsageError(Message("error_verifier.needs_population", asked=names))
    if population is not None and not names:
        raise UsageError(Message("error_verifier.population_idle"))
    if hierarchies and population is None:
        raise UsageError(Message("error_verifier.hierarchies_idle"))


def _require_fraction(asked: Sequence[type[PrivacyModel]], given: Mapping[str, Any]) -> None:
    names = [one.keywords[0].name for one in asked if FRACTION in one.keywords]
    if names and given[FRACTION.name] is None:
        raise UsageError(Message("error_verifier.needs_fraction", asked=names))
    if not names and (idle := [one.name for one in (FRACTION, ESTIMATOR) if given[one.name] is not None]):
        raise UsageError(Message("error_verifier.fraction_idle", idle=idle))
