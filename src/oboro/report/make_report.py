"""Make the report on a release: measure, judge, and put the facts together."""

from __future__ import annotations

import platform
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import yaml

from oboro.measure.identifiers import unseen
from oboro.measure.metrics import Measure
from oboro.measure.risk import Risk, risk_of
from oboro.measure.statistics.associations import Pairs
from oboro.report.checklists.checklists import KnownRelease, checklists
from oboro.report.facts import PairFacts, measured, plain
from oboro.report.inputs import Provenance, Scope, Tables
from oboro.report.measured_release import SMALLEST_CELL, Measured, Subject, measure_release
from oboro.report.report import Report
from oboro.report.report_warnings import report_warnings
from oboro.report.table_facts import table_facts
from oboro.text import Message
from oboro.verifier.models.uniqueness_estimates import Uniqueness, uniqueness

__all__ = ["make_report"]

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
        checklists=checklists(_known(subject, provenance, found, now)),
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
    """What made the release, so that it can be made again."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a folder that was never installed
            continue
    return found
