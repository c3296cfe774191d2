"""Everything that is measured of a release, each once, several at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from oboro.attacks import Attack, attack
from oboro.attacks.few_attributes import UniqueByFew, special
from oboro.attacks.minimality import infer_by_minimality
from oboro.attacks.window_owner import guess_first_owners
from oboro.measure.identifiers import Finding, scan
from oboro.measure.metrics import Measure
from oboro.measure.statistics.associations import Pairs
from oboro.measure.statistics.learning import load
from oboro.report.attack_limits import limited
from oboro.report.exposed_people import ExposedPeople, exposed_people
from oboro.report.facts import ColumnFacts, trait
from oboro.report.inputs import Provenance, Scope, Tables
from oboro.report.table_facts import column_facts, only_read
from oboro.report.utility_measures import utility_measures
from oboro.system.extras import bring
from oboro.system.process import is_alone
from oboro.table.dataset import Dataset
from oboro.text import Message
from oboro.text.progress_parts import Parts
from oboro.verifier.classes import Classes, class_sizes
from oboro.verifier.strict_reading import read_strictly
from oboro.verifier.verdict import Verification

__all__ = ["SMALLEST_CELL", "Measured", "Subject", "measure_release"]

SMALLEST_CELL = 5
DISTINCT = "model.distinct_l_diversity"


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
    """What was measured."""

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
    if learns or not is_alone():
        bring("scipy.linalg")  # numba loads it with its first kernel; threads must not load parts of scipy at once
    with ThreadPoolExecutor(3) as pool:
        if learns:
            pool.submit(load)
        parts = Parts(scope.progress, Message("progress.measuring_release"), 5)
        classes = [pool.submit(_class_sizes, table, subject.quasi) for table in (before, shown)]
        attacks = pool.submit(_attacks, subject, provenance, replace(scope, progress=parts.inner()))
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
            attacks=_limited(attacks.result(), subject, provenance, counted.result()),
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


def _attacks(subject: Subject, provenance: Provenance, scope: Scope) -> list[Attack]:
    if not scope.attempts:
        return []
    known: dict[str, Any] = {"quasi": subject.quasi, "sensitive": subject.sensitive, "control": scope.control}
    known |= {"hierarchies": subject.tables.hierarchies, "attempts": scope.attempts}
    how: dict[str, Any] = {"paired": subject.tables.paired, "order": subject.tables.order, "progress": scope.progress}
    found = attack(subject.before, subject.after, **how, **known)
    found = _beside_no_chance(found, subject, provenance, known)
    return found + _by_method(subject, provenance) + _of_window(subject, provenance)


def _beside_no_chance(
    found: list[Attack], subject: Subject, provenance: Provenance, known: Mapping[str, Any]
) -> list[Attack]:
    """Where the release is differentially private: the same attacks on the same classes without chance, and who is there."""
    private = provenance.private
    if private is None or not subject.after.rows:
        return found
    from oboro.attacks.membership import WithoutChance, beside  # few releases need it

    classes = WithoutChance.of(subject.before, subject.after, subject.quasi, subject.tables.hierarchies)
    if classes is None:
        return found
    k = int(private.required)
    other = attack(subject.before, classes.released(k), **known)
    return beside(found, other, classes, subject.after, private.model, k)


def _of_window(subject: Subject, provenance: Provenance) -> list[Attack]:
    """Where records came through a window: whose record stands at the first place of a group."""
    if not provenance.stream or provenance.stream[-1].get("mode") != "window" or subject.k is None:
        return []
    found = guess_first_owners(subject.tables.original, subject.tables.released, subject.quasi, subject.k)
    return [] if found is None else [found]


def _by_method(subject: Subject, provenance: Provenance) -> list[Attack]:
    """Where demands on secrets were promised: what follows from who was suppressed, for whoever knows the method."""
    verification, tables = provenance.verification, subject.tables
    if verification is None or subject.k is None or not tables.paired:
        return []
    found: dict[tuple[str, tuple[str, ...]], Attack | None] = {}
    for one in verification.verdicts:
        secret, over = one.model.values.get("sensitive"), one.over or verification.quasi
        if secret in subject.sensitive and over and all(name in subject.before for name in over):
            k = next((other.k for other in verification.verdicts if other.k and other.over == one.over), subject.k)
            two = one.id == DISTINCT and one.model.values.get("l") == 2
            whose = None if tables.people is None else tables.people[0]
            options: dict[str, Any] = {"k": k, "homogeneous": two, "person": whose}
            made = infer_by_minimality(subject.before, subject.after, over, secret, tables.hierarchies, **options)
            found.setdefault((secret, over), made)
    return [one for one in found.values() if one is not None and one.found.tried]


def _limited(
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
