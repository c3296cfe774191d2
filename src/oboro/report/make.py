"""Making of a report: measure a release, run the attacks, judge, and collect the facts."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import yaml

from oboro._lazy import bring
from oboro.attacks.base import ATTACKS, Attack, AttackTarget, ReleaseFacts
from oboro.attacks.few_attributes import UniqueByFew, special
from oboro.attacks.inference import CATEGORY
from oboro.attacks.run import run_attacks
from oboro.data.dataset import Dataset, unread_columns
from oboro.disclosure.identifiers import WARNED, Finding, scan, unseen
from oboro.errors import UsageError
from oboro.measures.base import Measure
from oboro.measures.exposure import CertainSecrets
from oboro.measures.information_loss import utility
from oboro.measures.learning import load
from oboro.measures.risk import Risk, risk_of
from oboro.measures.statistics import Pairs, fidelity, pairs
from oboro.privacy.base import Bounds, PrivacyModel, model_named
from oboro.report.checklists.base import LAWS, KnownRelease
from oboro.report.facts import (
    ColumnFacts,
    ExposedPeople,
    PairFacts,
    Provenance,
    Scope,
    Tables,
    column_facts,
    exposed_people,
    measured,
    only_read,
    plain,
    table_facts,
    trait,
)
from oboro.report.report import Report
from oboro.text import Message
from oboro.text.language import Parts
from oboro.verifier.classes import Classes, class_sizes
from oboro.verifier.readings import read_strictly
from oboro.verifier.risk import Uniqueness, uniqueness
from oboro.verifier.verdict import Verdict, Verification

__all__ = [
    "SMALLEST_CELL",
    "Measured",
    "Subject",
    "limited",
    "make_report",
    "measure_release",
    "report_warnings",
    "utility_measures",
]


# Bounds on attacks ----------------------------------------------------------------------------------------------------
# Largest success rate of an attack where the guarantees are satisfied: success below it is no finding.
#
# k-anonymity links a person to a record with a probability of at most 1 / k (Sweeney 2002). Two halves of the known
# attributes lead to the same record with at most that probability too: each leads to a class of k or more. A sensitive
# value is guessed with at most the share that the models of its attribute leave it (`PrivacyModel.largest_share`);
# where none sets a bound, the control is all there is.


def limited(
    found: Sequence[Attack],
    k: int | None,
    k_is: Message | None,
    verdicts: Sequence[Verdict],
    secrets: Sequence[CertainSecrets],
    values: dict[str, int],
) -> list[Attack]:
    """Each attack with what the model that holds allows it. `values` counts the different values of each secret."""
    everywhere = {one.sensitive: one.everywhere for one in secrets}
    return [_with_limit(one, k, k_is, verdicts, everywhere, values) for one in found]


def _with_limit(
    one: Attack,
    k: int | None,
    k_is: Message | None,
    verdicts: Sequence[Verdict],
    everywhere: dict[str, float],
    values: dict[str, int],
) -> Attack:
    kind = ATTACKS.kind(one)
    if kind.limit_by_link is not None and k is not None and k > 1:
        return _judged(one, kind.limit_by_link(1 / k), k_is)
    if kind.limit_by_link is not None and k is None:
        linked = _limits(verdicts, attrgetter("linked"))
        limits = [(kind.limit_by_link(limit), words) for limit, words in linked]
        return _judged(one, *min(limits, key=itemgetter(0))) if limits else one
    if not kind.limit_by_share or one.secret is None or not _exact(one):
        return one
    about = [verdict for verdict in verdicts if verdict.model.values.get("sensitive") == one.secret]
    bounds = Bounds(everywhere.get(one.secret), values.get(one.secret, 1))
    limits = _limits(about, lambda model: model.largest_share(bounds))
    return _judged(one, *min(limits, key=itemgetter(0))) if limits else one


def _limits(verdicts: Sequence[Verdict], bound: Callable[[PrivacyModel], float | None]) -> list[tuple[float, Message]]:
    """Return the bound of each satisfied model that sets one, with the name of the model."""
    found = ((model_named(verdict.model), verdict.model) for verdict in verdicts if verdict.holds)
    limits = ((None if model is None else bound(model), words) for model, words in found)
    return [(limit, words) for limit, words in limits if limit is not None]


def _exact(one: Attack) -> bool:
    """Whether only the very value is right: of numbers also one near it is, which no model speaks of."""
    return one.means is not None and one.means.values.get("form") == CATEGORY


def _judged(one: Attack, limit: float, by: Message | None) -> Attack:
    """The attack with its limit; it is allowed unless it is right more often, beyond its error."""
    return replace(one, limit=limit, limited_by=by, allowed=one.found.low <= limit)


# Utility --------------------------------------------------------------------------------------------------------------
# Utility measured once: information loss, fidelity, associations, and prediction.


AVERAGED = ("total_variation", "kolmogorov_smirnov", "wasserstein")


def utility_measures(subject: Subject, scope: Scope, sizes: np.ndarray | None) -> tuple[list[Measure], Pairs | None]:
    """All measures and the pairs of columns; `sizes` are those of the equivalence classes of the release."""
    names = _compared(subject, scope.target)
    original, released = subject.before.select(names), subject.after.select(names)
    known: dict[str, Any] = {"hierarchies": subject.tables.hierarchies, "paired": subject.tables.paired}
    with ThreadPoolExecutor(1) as pool:
        estimating = None
        if scope.statistics and names:
            estimate = partial(fidelity, columns=names, target=scope.target, **known)
            estimating = pool.submit(estimate, original, released)
        pair = pairs(original, released, names)
        sure = subject.tables.order is not None
        measures = utility(original, released, quasi=subject.quasi, k=subject.k or 1, sizes=sizes, sure=sure, **known)
        measures += _averages(measures)
        measures += [] if pair is None else pair.measures()
        return measures + (estimating.result() if estimating else []), pair


def _compared(subject: Subject, target: str | None) -> list[str]:
    """The columns of both tables without pseudonyms, which say nothing of what was lost; quasi-identifiers first."""
    quasi, sensitive, identifiers = subject.quasi, subject.sensitive, subject.tables.identifiers
    hidden = [name for name in identifiers if name not in (*quasi, *sensitive, target)]
    both = [name for name in [*quasi, *sensitive, *subject.after] if name in subject.before and name in subject.after]
    return [name for name in dict.fromkeys(both) if name not in hidden]


def _averages(measures: Sequence[Measure]) -> list[Measure]:
    """Over all columns: the mean of what was measured of each."""
    out = []
    for name in AVERAGED:
        mine = [one for one in measures if one.name == name and one.value is not None]
        if mine:
            value = sum(one.value or 0.0 for one in mine) / len(mine)
            means = Message("measure.mean_over_columns", meaning=mine[0].meaning)
            out.append(replace(mine[0], value=value, column=None, means=means, notes=()))
    return out


# Measurements ---------------------------------------------------------------------------------------------------------


SMALLEST_CELL = 5


@dataclass(frozen=True, eq=False)
class Subject:
    """A release as it is measured: the columns that were read, and which measures apply to them."""

    tables: Tables
    before: Dataset
    after: Dataset
    quasi: list[str]  # in both tables
    sensitive: list[str]
    k: int | None  # that was promised
    keeps_k: bool
    least_candidates: int | None
    randomized: list[str]
    has_classes: bool
    """Whether the sizes of equivalence classes say how exposed people are."""

    @cached_property
    def counted(self) -> Dataset:
        """The release as people are counted in it: as its strictest reader sees it, if anybody may have written it."""
        if not self.tables.foreign:
            return self.after
        return read_strictly(self.after, [name for name in self.after if name not in self.sensitive], self.sensitive)

    @staticmethod
    def of(tables: Tables, provenance: Provenance) -> Subject:
        """What the promises and the steps say about both tables."""
        before, after = only_read(tables.original), only_read(tables.released)
        quasi, sensitive = (
            [name for name in names if name in before and name in after] for names in (tables.quasi, tables.sensitive)
        )
        verification = provenance.verification
        least = _least_candidates(verification, provenance.linkage)
        randomized = _randomized(provenance.steps, quasi)
        verified = verification is not None and bool(verification.verdicts)
        return Subject(
            tables=tables,
            before=before,
            after=after,
            quasi=quasi,
            sensitive=sensitive,
            k=_promised_k(provenance.steps, verification),
            keeps_k=_keeps_k(provenance),
            least_candidates=least,
            randomized=randomized,
            has_classes=least is None and (verified or not randomized),
        )


def _promised_k(steps: Sequence[Mapping[str, Any]], verification: Verification | None) -> int | None:
    """The k that steps speak of, or that was verified where no step is known."""
    found = [step.get("facts", {}).get("k") for step in steps]
    found += [] if verification is None else [one.k for one in verification.verdicts]
    return max((int(k + 1e-9) for k in found if isinstance(k, int | float)), default=None)  # Pk-anonymity: any number


def _keeps_k(provenance: Provenance) -> bool:
    held = provenance.verification is not None and provenance.verification.holds
    return held or any(trait(step, "bounds_linkage") for step in provenance.steps)


def _randomized(steps: Sequence[Mapping[str, Any]], quasi: Sequence[str]) -> list[str]:
    """The quasi-identifiers whose values were drawn, disturbed or moved to other records by chance."""
    touched = {
        name
        for step in steps
        if trait(step, "random")
        for name in (*(step.get("changed") or ()), *(step["facts"].get("attributes") or ()))
    }
    return [name for name in quasi if name in touched]


def _least_candidates(verification: Verification | None, linkage: Sequence[Measure]) -> int | None:
    """How many people the most exposed record of a concealed release or of a stream can be; None where classes say it."""
    verdicts = () if verification is None else verification.verdicts
    found = [one.achieved for one in verdicts if one.counts_candidates]
    found += [one.value for one in linkage if one.name == "least_candidates"]
    return None if not found else min((int(one) for one in found if one is not None), default=0)


@dataclass(frozen=True, eq=False)
class Measured:
    """Measurements of a release."""

    sizes: np.ndarray | None  # of the equivalence classes; None without quasi-identifiers
    sizes_before: np.ndarray | None
    attacks: list[Attack]
    special: UniqueByFew | None
    columns: list[ColumnFacts]
    findings: list[Finding]
    utility: list[Measure]
    pairs: Pairs | None
    exposed: ExposedPeople


def measure_release(subject: Subject, provenance: Provenance, scope: Scope, smallest: int) -> Measured:
    """All of it; compiled loops leave the interpreter free for each other."""
    before, after, shown = subject.before, subject.after, subject.counted
    learns = scope.statistics and scope.target is not None
    with nullcontext() if learns else suppress(UsageError):  # without the extra, numba compiles without scipy
        bring("scipy.linalg")  # numba loads it to compile a kernel; threads must not load parts of scipy at once
    with ThreadPoolExecutor(3) as pool:
        if learns:
            pool.submit(load)
        parts = Parts(scope.progress, Message("progress.measuring_release"), 5)
        classes = [pool.submit(_class_sizes, table, subject.quasi) for table in (before, shown)]
        attacks = pool.submit(_run_attacks, subject, provenance, replace(scope, progress=parts.inner()))
        sizes_before, sizes = (one.result() for one in classes)
        by_few = pool.submit(
            parts.do, special, before, after, subject.quasi if subject.has_classes else [], sizes_before, sizes
        )
        columns = pool.submit(parts.do, column_facts, subject.tables, smallest)
        findings = pool.submit(parts.do, scan, after, before)
        counted = pool.submit(parts.do, exposed_people, subject, provenance, smallest)
        utility, pairs = parts.do(utility_measures, subject, scope, sizes)
        return Measured(
            sizes=_people_sizes(subject, shown, 1, sizes),
            sizes_before=_people_sizes(subject, before, 0, sizes_before),
            attacks=_with_limits(attacks.result(), subject, provenance, counted.result()),
            special=by_few.result(),
            columns=columns.result(),
            findings=findings.result(),
            utility=utility,
            pairs=pairs,
            exposed=counted.result(),
        )


def _class_sizes(table: Dataset, quasi: Sequence[str]) -> np.ndarray | None:
    return class_sizes(table, quasi) if quasi else None


def _people_sizes(subject: Subject, table: Dataset, which: int, rows: np.ndarray | None) -> np.ndarray | None:
    """How many people each class holds, where it is known whose the rows are; a class of nobody's rows counts as one's."""
    if subject.tables.people is None or not subject.quasi:
        return rows
    return np.asarray(np.maximum(Classes.of(table, subject.quasi, subject.tables.people[which]).sizes, 1))


def _run_attacks(subject: Subject, provenance: Provenance, scope: Scope) -> list[Attack]:
    if not scope.attempts:
        return []
    tables = subject.tables
    target = AttackTarget(
        original=subject.before,
        released=subject.after,
        quasi=subject.quasi,
        sensitive=subject.sensitive,
        hierarchies=tables.hierarchies,
        control=scope.control,
        paired=tables.paired,
        order=tables.order,
        attempts=scope.attempts,
        made=ReleaseFacts(
            verification=provenance.verification,
            k=subject.k,
            people=None if tables.people is None else tables.people[0],
            private=provenance.private,
            window=bool(provenance.stream) and provenance.stream[-1].get("mode") == "window",
            loaded_late=(tables.original, tables.released),
        ),
    )
    return run_attacks(target, scope.progress)


def _with_limits(
    attacks: Sequence[Attack], subject: Subject, provenance: Provenance, exposed: ExposedPeople
) -> list[Attack]:
    """The attacks with what the promise that holds allows; where nothing was promised, the k that the release has."""
    verdicts = () if provenance.verification is None else provenance.verification.verdicts
    joint = None if provenance.verification is None else provenance.verification.joint_k
    k: int | None = joint
    if joint is not None:
        by = Message("attack.limit.joint_k", k=joint)
    elif subject.k is not None:
        k, by = (subject.k if subject.keeps_k else None), Message("attack.limit.promised_k", k=subject.k)
    else:
        k, by = (None if verdicts else exposed.k), Message("attack.limit.found_k", k=exposed.k)
    values = {name: len(subject.after[name].values) for name in subject.sensitive}
    return limited(attacks, k, by, verdicts, exposed.secrets, values)


# Warnings -------------------------------------------------------------------------------------------------------------
# Warnings for the reader who signs.


def _m(name: str, /, **values: Any) -> Message:
    return Message(f"report.warning.{name}", **values)


def report_warnings(
    tables: Tables, provenance: Provenance, findings: Sequence[Finding], attacks: Sequence[Attack]
) -> list[Message]:
    """Collect the warnings known before, those of steps, and those from findings and attacks."""
    return [
        *provenance.warnings,
        *_pairing(tables, provenance.steps),
        *_not_examined(tables),
        *_of_steps(provenance.steps),
        *_identifiers(findings),
        *_attack_warnings(attacks),
    ]


def _pairing(tables: Tables, steps: Sequence[Mapping[str, Any]]) -> list[Message]:
    original, released = tables.original, tables.released
    same = released.origin is None and original.rows == released.rows
    if not tables.paired or (released.origin is None and not same):
        return [_m("not_paired")]
    return [_m("same_order")] if same and not steps else []


def _not_examined(tables: Tables) -> list[Message]:
    passed = unread_columns(tables.released)
    return [_m("not_examined", columns=passed)] if passed else []


def _of_steps(steps: Sequence[Mapping[str, Any]]) -> list[Message]:
    return [_m("step", step=step["name"], said=said) for step in steps for said in step.get("warnings", ())]


def _identifiers(findings: Sequence[Finding]) -> list[Message]:
    told = [one for one in findings if one.kind in WARNED and not one.named]
    return [_m("looks_like_identifiers", column=one.column, kind=one.kind_name, records=one.records) for one in told]


def _attack_warnings(attacks: Sequence[Attack]) -> list[Message]:
    better = [one for one in attacks if one.better and not one.allowed]
    return [_m("attack_better", attack=one.title, right=one.found.share, control=one.control.share) for one in better]


# Report ---------------------------------------------------------------------------------------------------------------


PACKAGES = ("oboro", "numpy", "numba", "pyarrow", "scipy", "scikit-learn")


def make_report(tables: Tables, provenance: Provenance | None = None, scope: Scope | None = None) -> Report:
    """Measure a release and put everything that is known of it together."""
    provenance, scope = provenance or Provenance(), scope or Scope()
    provenance = replace(provenance, steps=[plain(step) for step in provenance.steps])
    subject = Subject.of(tables, provenance)
    smallest = scope.smallest_cell if scope.smallest_cell is not None else max(SMALLEST_CELL, subject.k or 0)
    found = measure_release(subject, provenance, scope, smallest)
    now, was = (_risk(sizes, subject.k) for sizes in (found.sizes, found.sizes_before))
    holds = _holds(provenance)
    return Report(
        holds=holds,
        table=table_facts(tables.original, tables.released, subject.quasi),
        quasi=list(tables.quasi),
        sensitive=list(tables.sensitive),
        verification=provenance.verification,
        risk=None if now is None else plain(now.as_dict()),
        risk_before=None if was is None else plain(was.as_dict()),
        risk_measures=[] if now is None else [_applied(one, subject) for one in now.measures()],
        risk_applies=subject.has_classes,
        least_candidates=subject.least_candidates,
        randomized=subject.randomized,
        exposed=found.exposed,
        last_look=provenance.last_look,
        attacks=found.attacks,
        linkage=[measured(one) for one in provenance.linkage],
        series=provenance.series,
        uniqueness=_uniqueness(found.sizes, scope.fraction) if subject.has_classes else None,
        special=found.special,
        utility=[measured(one) for one in found.utility],
        pairs=_pairs(found.pairs),
        columns=found.columns,
        steps=list(provenance.steps),
        recipe=provenance.recipe_text,
        seeded=_seeded(provenance.recipe_text),
        files={role: plain(facts) for role, facts in provenance.files.items()},
        versions=_versions(),
        smallest_cell=smallest,
        checklists=LAWS.fill(_known(subject, provenance, found, now)),
        stream=[plain(one) for one in provenance.stream],
        warnings=report_warnings(tables, provenance, found.findings, found.attacks),
    )


def _holds(provenance: Provenance) -> bool | None:
    found = provenance.verification
    return None if found is None or not found.verdicts else found.holds


def _risk(sizes: np.ndarray | None, k: int | None) -> Risk | None:
    return None if sizes is None else risk_of(sizes, k or SMALLEST_CELL)


def _applied(measure: Measure, subject: Subject) -> Measure:
    """A figure about classes says where classes are not what counts."""
    return measure if subject.has_classes else replace(measure, notes=(Message("measure.note.not_classes"),))


def _uniqueness(sizes: np.ndarray | None, fraction: float) -> Uniqueness | None:
    return None if sizes is None or not sizes.size else uniqueness(sizes, fraction)


def _pairs(found: Pairs | None) -> PairFacts | None:
    """The matrices, to four digits."""
    if found is None:
        return None
    sides = {side: np.round(getattr(found, side), 4).tolist() for side in ("before", "after", "lost")}
    return PairFacts(columns=list(found.columns), sampled=found.sampled, error=round(found.error, 4), **sides)


def _known(subject: Subject, provenance: Provenance, found: Measured, risk: Risk | None) -> KnownRelease:
    """What may serve as evidence in checklists."""
    released = subject.tables.released
    return KnownRelease(
        identifiers=subject.tables.identifiers,
        released=list(released),
        steps=provenance.steps,
        findings=found.findings,
        attacks=found.attacks,
        uniques=risk.uniques if risk is not None and subject.has_classes else None,
        least=subject.least_candidates,
        models=[] if provenance.verification is None else [one.model for one in provenance.verification.verdicts],
        holds=_holds(provenance),
        apart=provenance.verification is not None and bool(provenance.verification.apart),
        unseen=unseen(released),
        exposed=found.exposed,
    )


def _seeded(recipe_text: str) -> bool | None:
    try:
        recipe = yaml.safe_load(recipe_text)
    except yaml.YAMLError:
        return None
    if not isinstance(recipe, dict):
        return None
    return any(recipe.get(name) is not None for name in ("seed", "seed_env", "seed_file"))


def _versions() -> dict[str, str]:
    """Versions of the software that made the release, so that it can be made again."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a folder that was never installed
            continue
    return found
