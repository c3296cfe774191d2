"""Collect the facts about a release: everything that is measured is measured here, once."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  (numba loads it with its first kernel; threads must not load parts of scipy at once)
import yaml

from oboro.attacks import Attack, attack
from oboro.attacks.few_attributes import special
from oboro.measure.identifiers import WARNED, Finding, scan, unseen
from oboro.measure.metrics import Measure
from oboro.measure.population_uniqueness import uniqueness
from oboro.measure.risk import risk_of
from oboro.measure.statistics.learning import load
from oboro.measure.utility import suppressed_records
from oboro.report.checklists.checklists import Material, checklists
from oboro.report.distributions import compare
from oboro.report.facts import (
    AttackFacts,
    ColumnFacts,
    RateFacts,
    RiskInterval,
    TableFacts,
    UniquenessFacts,
    measured,
    plain,
)
from oboro.report.report import Report
from oboro.report.usefulness import pair_facts, usefulness
from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.table.labels.starred_values import is_star
from oboro.table.unencoded_columns import UnreadColumn
from oboro.text import Message, few, percent
from oboro.verifier.classes import class_sizes
from oboro.verifier.verdict import Verification

__all__ = ["build", "plain"]

SMALLEST_CELL = 5
PACKAGES = ("oboro", "numpy", "numba", "pyarrow", "scipy", "scikit-learn")


def build(
    original: Dataset,
    released: Dataset,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    identifiers: Sequence[str] = (),
    verification: Verification | None = None,
    steps: Iterable[Mapping[str, Any]] = (),
    recipe_text: str = "",
    files: Mapping[str, Mapping[str, Any]] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    smallest_cell: int | None = None,
    paired: bool = True,
    fraction: float = 1.0,
    control: Dataset | None = None,
    attempts: int = 2000,
    stream: Sequence[Mapping[str, Any]] = (),
    warnings: Sequence[str] = (),
    linkage: Sequence[Measure] = (),
    target: str | None = None,
    statistics: bool = True,
) -> Report:
    """Collect the facts about a release.

    `steps` have `name`, `plan`, `facts` and `seconds`; `files` says for each role ("input", "output") what is known of
    the file (`path`, `bytes`, `sha256`); `hierarchies` are bound to the original columns. Labels held by fewer rows
    than `smallest_cell` (by default the promised k, at least 5) are not shown. `paired=False` says that released rows
    do not stand in the order of the original, and measures of loss that need to know are not taken. `fraction` is the
    part of the population that the table holds, `control` a table of people who are in neither (for the attacks, of
    which each makes at most `attempts` guesses; 0: none is run), `stream` the metrics of a stream, one after the other,
    `linkage` what attacks on a release without groups found. With a `target` column a model of it is trained on the
    release; `statistics=False` leaves out what takes a second: models, and estimates of densities.
    """
    done = [plain(step) for step in steps]
    k = _promised_k(done, verification)
    before, after = _held(original), _held(released)
    both = [name for name in quasi if name in before and name in after]
    secret = [name for name in sensitive if name in before and name in after]
    known = hierarchies or {}
    least = _least_candidates(verification, linkage)
    randomized = _randomized(done, both)
    verified = verification is not None and bool(verification.verdicts)
    classes = least is None and (verified or not randomized)  # whether class sizes say how exposed people are
    smallest = smallest_cell if smallest_cell is not None else max(SMALLEST_CELL, k or 0)
    roles = {**dict.fromkeys(quasi, "quasi"), **dict.fromkeys(sensitive, "sensitive")}
    with ThreadPoolExecutor(3) as pool:  # compiled loops leave the interpreter free for each other
        if statistics:
            pool.submit(load)
        sizes, sizes_before = pool.map(partial(_class_sizes, quasi=both), (after, before))
        attacking = pool.submit(_attacks, before, after, both, secret, known, control, paired, attempts)
        alone = pool.submit(special, before, after, both if classes else [], sizes_before, sizes)
        columns = pool.submit(_columns, original, released, roles, known, smallest)
        scanning = pool.submit(scan, after, before)
        useful, pair = usefulness(
            before,
            after,
            quasi=both,
            sensitive=secret,
            identifiers=identifiers,
            hierarchies=known,
            k=k or 1,
            paired=paired,
            sizes=sizes,
            target=target,
            statistics=statistics,
        )
    now, was = (None if one is None else risk_of(one, k or SMALLEST_CELL) for one in (sizes, sizes_before))
    keeps_k = (verification is not None and verification.holds) or any(step["name"] == "pk_anonymize" for step in done)
    attacks = [_judged(one, k if keeps_k else None) for one in attacking.result()]
    found = scanning.result()
    holds = verification.holds if verification is not None and verified else None
    material = Material(
        identifiers=identifiers,
        dropped=[name for name in original if name not in released],
        released=list(released),
        steps=done,
        findings=found,
        attacks=attacks,
        uniques=now.uniques if now is not None and classes else None,
        least=least,
        models=[] if verification is None else [one.model for one in verification.verdicts],
        holds=holds,
        quasi=both,
        unseen=unseen(released),
    )
    return Report(
        holds=holds,
        table=_table(original, released, both),
        quasi=list(quasi),
        sensitive=list(sensitive),
        verification=None if verification is None else plain(verification.as_dict()),
        risk=None if now is None else plain(now.as_dict()),
        risk_before=None if was is None else plain(was.as_dict()),
        risk_measures=[] if now is None else [_risk_measure(one, classes) for one in now.measures()],
        risk_applies=classes,
        least_candidates=least,
        randomized=randomized,
        attacks=attacks,
        linkage=[measured(one) for one in linkage],
        uniqueness=_uniqueness(sizes, fraction) if sizes is not None and sizes.size and classes else None,
        special=alone.result(),
        utility=[measured(one) for one in useful],
        pairs=pair_facts(pair),
        columns=columns.result(),
        steps=done,
        recipe=recipe_text,
        seeded=_seeded(recipe_text),
        files={role: plain(facts) for role, facts in (files or {}).items()},
        versions=_versions(),
        smallest_cell=smallest,
        checklists=checklists(material),
        stream=[plain(one) for one in stream],
        warnings=_warnings(original, done, found, attacks, paired, released, warnings),
    )


def _held(data: Dataset) -> Dataset:
    """The columns that were read; those that pass by from file to file are in no figure."""
    return data.select([name for name, column in data.columns.items() if not isinstance(column, UnreadColumn)])


def _promised_k(steps: Iterable[Mapping[str, Any]], verification: Verification | None) -> int | None:
    """The k that steps speak of, or that was verified where no step is known."""
    found = [step.get("facts", {}).get("k") for step in steps]
    verdicts = () if verification is None else verification.verdicts
    found += [one.k for one in verdicts]
    return max((int(k + 1e-9) for k in found if isinstance(k, int | float)), default=None)  # Pk-anonymity: any number


def _seeded(recipe_text: str) -> bool | None:
    try:
        recipe = yaml.safe_load(recipe_text)
    except yaml.YAMLError:
        return None
    return recipe.get("seed") is not None if isinstance(recipe, dict) else None


# Risk -----------------------------------------------------------------------------------------------------------------


def _attacks(
    original: Dataset,
    released: Dataset,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    control: Dataset | None,
    paired: bool,
    attempts: int,
) -> list[AttackFacts]:
    if not attempts:
        return []
    found = attack(
        original,
        released,
        quasi=quasi,
        sensitive=sensitive,
        hierarchies=hierarchies,
        control=control,
        paired=paired,
        attempts=attempts,
    )
    return [_attack(one) for one in found]


def _attack(one: Attack) -> AttackFacts:
    """As a report holds it."""
    return AttackFacts(
        name=one.name,
        kind=one.kind,
        question=one.question,
        means=one.means,
        columns=list(one.columns),
        secret=one.secret,
        attack=RateFacts.model_validate(one.found.as_dict()),
        control=RateFacts.model_validate(one.control.as_dict()),
        compared_with=one.control_is,
        risk=None if one.risk is None else RiskInterval(value=one.risk[0], low=one.risk[1], high=one.risk[2]),
        better_than_control=one.better,
        notes=list(one.notes),
    )


def _judged(one: AttackFacts, k: int | None) -> AttackFacts:
    """Linking by distance may be right as often as 1/k where k-anonymity holds, or Pk-anonymity by construction."""
    within = one.kind == "record_linkage" and k is not None and one.attack.low <= 1 / k
    return one.model_copy(update={"allowed": within})


def _class_sizes(table: Dataset, quasi: Sequence[str]) -> np.ndarray | None:
    return class_sizes(table, quasi) if quasi else None


def _uniqueness(sizes: np.ndarray, fraction: float) -> UniquenessFacts:
    return UniquenessFacts.model_validate(uniqueness(sizes, fraction).as_dict())


NOT_CLASSES = Message("measure.note.not_classes")
RANDOM = ("noise", "pk_anonymize", "shuffle", "swap", "synthesize")


def _randomized(steps: Sequence[Mapping[str, Any]], quasi: Sequence[str]) -> list[str]:
    """The quasi-identifiers whose values were drawn, disturbed or moved to other records by chance."""
    touched = {
        name
        for step in steps
        if step["name"] in RANDOM
        for name in (*(step.get("changed") or ()), *(step["facts"].get("attributes") or ()))
    }
    return [name for name in quasi if name in touched]


def _least_candidates(verification: Verification | None, linkage: Sequence[Measure]) -> int | None:
    """How many people the most exposed record of a concealed release or of a stream can be; None where classes say it."""
    verdicts = () if verification is None else verification.verdicts
    found = [one.achieved for one in verdicts if one.counts_candidates]
    found += [one.value for one in linkage if one.name == "least_candidates"]
    return None if not found else min((int(one) for one in found if one is not None), default=0)


def _risk_measure(measure: Measure, classes: bool) -> Measure:
    return measure if classes else replace(measure, notes=(NOT_CLASSES,))


# Tables and columns ---------------------------------------------------------------------------------------------------


def _table(original: Dataset, released: Dataset, quasi: Sequence[str]) -> TableFacts:
    return TableFacts(
        rows_before=original.rows,
        rows_after=released.rows,
        columns_before=len(original.columns),
        columns_after=len(released.columns),
        dropped=[name for name in original if name not in released],
        added=[name for name in released if name not in original],
        passed=[name for name, column in released.columns.items() if isinstance(column, UnreadColumn)],
        rows_suppressed=suppressed_records(released, quasi),
        bytes_before=sum(original.memory().values()),
        bytes_after=sum(released.memory().values()),
    )


def _columns(
    original: Dataset, released: Dataset, roles: Mapping[str, str], hierarchies: Mapping[str, Hierarchy], smallest: int
) -> list[ColumnFacts]:
    names = [*original, *(name for name in released if name not in original)]
    seen = [
        name for name in names if not any(isinstance(t.columns.get(name), UnreadColumn) for t in (original, released))
    ]
    return [
        _column(
            name,
            roles.get(name, "other"),
            original.columns.get(name),
            released.columns.get(name),
            hierarchies.get(name),
            smallest,
        )
        for name in seen
    ]


def _column(
    name: str, role: str, before: Column | None, after: Column | None, hierarchy: Hierarchy | None, smallest: int
) -> ColumnFacts:
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


# Evidence -------------------------------------------------------------------------------------------------------------

ASSUMED = "It is taken for granted that the n-th released record was made from the n-th original one."
UNPAIRED = "It is not known which released record was made from which original one: what needs it was not measured."
PASSED = "Released as they stand and not looked at, so that no figure speaks of them: {columns}."
LOOKS = "Released values of {column} look like identifiers ({kind}): {count} records."
BEATEN = "The attack “{name}” does better than its control: right in {right} of its guesses, the control in {control}."
STEP = "Step {step}: {said}."


def _warnings(
    original: Dataset,
    steps: Sequence[Mapping[str, Any]],
    findings: Sequence[Finding],
    attacks: Sequence[AttackFacts],
    paired: bool,
    released: Dataset,
    given: Sequence[str],
) -> list[str]:
    said = list(given)
    same = released.origin is None and original.rows == released.rows
    if not paired or (released.origin is None and not same):
        said.append(UNPAIRED)
    elif same and not steps:
        said.append(ASSUMED)
    passed = [name for name, column in released.columns.items() if isinstance(column, UnreadColumn)]
    if passed:
        said.append(PASSED.format(columns=few(passed)))
    said += [STEP.format(step=step["name"], said=warning) for step in steps for warning in step.get("warnings", ())]
    told = [one for one in findings if one.kind in WARNED and not one.named]
    said += [LOOKS.format(column=one.column, kind=one.kind_name, count=f"{one.records:,}") for one in told]
    beaten = [one for one in attacks if one.better_than_control and not one.allowed]
    return said + [
        BEATEN.format(name=one.title, right=percent(one.attack.share), control=percent(one.control.share))
        for one in beaten
    ]


def _versions() -> dict[str, str]:
    """What made the release, so that it can be made again."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a folder that was never installed
            continue
    return found
