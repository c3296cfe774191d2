"""Limits on the sizes of all classes: records at risk and estimates, against brute force over levels and joined classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import cases
from tests.naive.lattice import TooMany

from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.search import search
from oboro.algorithms.lattice.suppression import SizeLimit
from oboro.verifier.risk import unique_share


def wavering(sizes):
    """An estimate that neither grows nor shrinks with coarser levels: an odd number of classes is one too many."""
    return len(sizes) % 2 == 1 and len(sizes) > 1


LIMITS = st.lists(
    st.one_of(st.tuples(st.integers(2, 5), st.sampled_from([0.0, 0.1, 0.25, 0.5])), st.just(wavering)),
    min_size=1,
    max_size=2,
)


@settings(max_examples=35, deadline=None)
@given(case=cases(), limits=LIMITS, strategy=st.sampled_from(["auto", "depth_first"]))
def test_search_equals_brute_force(case, limits, strategy):
    case = replace(case, k=min(case.k, 2))
    naive = case.naive()
    naive.sizes = limits
    try:
        _, best, seen = naive.solve()
    except TooMany:
        assume(False)
    given_ = tuple(SizeLimit(estimated=one) if callable(one) else SizeLimit(*one) for one in limits)
    problem = replace(case.problem(), class_sizes=given_)
    found = search(problem, strategy=strategy)
    if best is None:
        assert found.best is None
        return
    if found.best is None or found.best.loss > best[0] + 1e-9:
        assert not found.exact  # never a wrong word
        assert found.stopped == "joined"  # every node was looked at, not every set of classes
        assert any(callable(one) for one in limits)
        return
    assert found.best.loss == pytest.approx(best[0], abs=1e-9)
    rows = NodeChecker.of(problem).suppressed_rows(found.best)
    assert rows.sum() == found.best.suppressed + found.best.extra
    assert found.bound is None or found.bound <= best[0] + 1e-9
    assert seen[found.best.levels][3] == pytest.approx(found.best.loss, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(case=cases(), share=st.sampled_from([0.0, 0.05, 0.2, 0.5]), fraction=st.sampled_from([0.05, 0.5]))
def test_estimates_hold_on_what_is_found(case, share, fraction):
    """Whatever the search takes keeps the estimate, suppressed records as a class included."""
    limit = SizeLimit(estimated=lambda sizes: unique_share(sizes, fraction, "zayatz") > share)
    problem = replace(case.problem(), k=1, class_sizes=(limit,))
    found = search(problem)
    if found.best is None:
        return
    checker = NodeChecker.of(problem)
    gone = checker.suppressed_rows(found.best)
    labels = checker.classes(found.best.levels).labels
    rows = labels if checker.tuples.rows is None else labels[checker.tuples.rows]
    sizes = np.unique(rows[~gone], return_counts=True)[1]
    sizes = np.append(sizes, gone.sum()) if gone.any() else sizes
    assert unique_share(sizes, fraction, "zayatz") <= share


def test_very_many_small_classes_can_join():
    """3,000 unique records, of which none may stay: more than any search would join one by one."""
    from oboro.techniques.k_anonymize import KAnonymize

    people = {"x": [f"p{i}" for i in range(3000)] + ["a"] * 3000}
    roles = {"x": {"role": "quasi", "hierarchy": {"rows": [[f"p{i}"] for i in range(3000)] + [["a"]]}}}
    released = KAnonymize(k=1, suppress=0.6, sample_uniqueness=0.0).apply(people, attributes=roles)
    assert released["x"].count("*") == 3000
    some = KAnonymize(k=1, suppress=0.6, sample_uniqueness=0.1).apply(people, attributes=roles)
    assert some["x"].count("*") == 2400  # 600 of 6,000 may stand alone
    mean = KAnonymize(k=1, suppress=0.6, average_risk=0.1).apply(people, attributes=roles)
    assert mean["x"].count("*") == 2668  # of those kept: 333 classes of 3,332 records; with one less gone 334 of 3,333
