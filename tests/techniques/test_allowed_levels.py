"""Limits on levels: the best of what is allowed, as found by trying every allowed choice of levels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks
from tests.techniques.test_k_anonymize import released, run

from oboro.errors import ColumnError, PromiseError, UsageError
from oboro.techniques.k_anonymize import KAnonymize

LADDER = [[f"v{i}", f"g{i // 2}", f"h{i // 4}", "*"] for i in range(8)]
ROLES = {"a": {"role": "quasi", "hierarchy": {"rows": LADDER}}, "b": {"role": "quasi", "hierarchy": {"rows": LADDER}}}


def table(seed, rows):
    rng = np.random.default_rng(seed)
    return {name: [f"v{i}" for i in rng.integers(0, 8, rows).tolist()] for name in "ab"}


def best_of(step, columns, allowed):
    """The least loss over all allowed levels, each tried by itself; None where nothing can be released."""
    found = []
    for levels in product(*allowed):
        try:
            facts = run(KAnonymize(**step, levels=dict(zip("ab", levels, strict=True))), columns, ROLES).facts
        except PromiseError:
            continue
        found.append((round(facts["loss"]["value"], 10), levels))
    return min(found, default=None)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    rows=st.integers(2, 30),
    ends=picks(product(range(4), range(4)), min_size=2, max_size=2),
    loss=st.sampled_from(["loss", "precision", "entropy", "arx", "discernibility"]),
    suppress=st.sampled_from([0.0, 0.3]),
)
def test_the_best_of_what_is_allowed(seed, rows, ends, loss, suppress):
    ends = [tuple(sorted(pair)) for pair in ends]
    limits = {name: {"least": low, "greatest": high} for name, (low, high) in zip("ab", ends, strict=True)}
    step = {"k": 2, "suppress": suppress, "loss": loss}
    columns = table(seed, rows)
    expected = best_of(step, columns, [range(low, high + 1) for low, high in ends])
    try:
        facts = run(KAnonymize(**step, limits=limits), columns, ROLES).facts
    except PromiseError:
        assert expected is None
        return
    levels = tuple(facts["levels"][name]["level"] for name in "ab")
    assert (round(facts["loss"]["value"], 10), levels) == expected
    assert facts["levels"]["a"]["of"] == 3
    assert all(low <= level <= high for node in facts["minimal"] for level, (low, high) in zip(node, ends, strict=True))


@pytest.mark.parametrize("recoding", ["global", "local"])
def test_nothing_finer_than_the_least_level_is_released(recoding):
    outcome = run(KAnonymize(k=1, recoding=recoding, limits={"a": {"least": 1}}), table(1, 20), ROLES)
    assert set(released(outcome)["a"]) <= {"g0", "g1", "g2", "g3"}


def test_forbidden_labels_and_required_values():
    columns = {"a": ["v0", "v0", "v1", "v1"], "b": ["v2"] * 4}
    outcome = run(KAnonymize(k=1, limits={"a": {"forbidden": ["v0", "g0"]}}), columns, ROLES)
    assert released(outcome)["a"] == ["h0"] * 4
    outcome = run(KAnonymize(k=1, limits={"a": {"forbidden": ["g0"]}}), columns, ROLES)  # only level 1 is excluded
    assert released(outcome)["a"] == columns["a"]
    with pytest.raises(PromiseError, match="no choice of levels"):
        run(KAnonymize(k=3, limits={"a": {"required": ["v0"]}}), columns, ROLES)
    outcome = run(KAnonymize(k=2, limits={"a": {"required": ["v0"]}}), columns, ROLES)
    assert released(outcome)["a"] == columns["a"]


def test_a_star_that_is_forbidden_is_not_released_by_suppression():
    columns, limits = {"a": ["v0", "v0", "v1", "v7"], "b": ["v2"] * 4}, {"a": {"forbidden": ["*"]}}
    for how in ("class", "exempt"):
        with pytest.raises(ValueError, match=r"limits forbid `\*`, which stands in every suppressed record"):
            KAnonymize(k=3, suppress=0.3, suppressed=how, limits=limits)
    outcome = run(KAnonymize(k=3, suppress=0.3, suppressed="drop", limits=limits), columns, ROLES)
    assert released(outcome)["a"] == ["g0"] * 3
    with pytest.raises(PromiseError):
        run(KAnonymize(k=3, limits=limits), columns, ROLES)


def test_errors_teach():
    columns = table(1, 20)
    with pytest.raises(PromiseError, match="no level of 'a' keeps its limits"):
        run(KAnonymize(k=1, limits={"a": {"least": 2, "greatest": 1}}), columns, ROLES)
    with pytest.raises(UsageError, match="'c'|c; they are for"):
        run(KAnonymize(k=1, limits={"c": {"least": 1}}), columns, ROLES)
    with pytest.raises(ColumnError, match="required"):
        run(KAnonymize(k=1, limits={"a": {"required": ["nobody"]}}), columns, ROLES)
    with pytest.raises(UsageError, match="'a' has levels 0 to 3, and its limits name level 7"):
        run(KAnonymize(k=1, limits={"a": {"least": 7}}), columns, ROLES)
    with pytest.raises(PromiseError, match=r"raise suppress, allow coarser levels of 'a' \(`limits`\), lower k"):
        run(KAnonymize(k=20, limits={"a": {"greatest": 1}}), columns, ROLES)
    with pytest.raises(UsageError, match="limits exclude it"):
        run(KAnonymize(k=1, limits={"a": {"least": 1}}, levels={"a": 0, "b": 0}), columns, ROLES)


def test_given_levels_are_those_of_the_hierarchy():
    outcome = run(KAnonymize(k=1, limits={"a": {"least": 1}}, levels={"a": 2, "b": 0}), table(1, 20), ROLES)
    assert set(released(outcome)["a"]) <= {"h0", "h1"}
    assert pa.array(released(outcome)["b"]).to_pylist() == table(1, 20)["b"]
