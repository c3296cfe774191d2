"""The search where nobody may be suppressed, beside plain loops and beside the search that it stands in for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import DEMANDS, assert_finds, best_of, cases, larger_case, solved

from oboro.algorithms.lattice import evaluator
from oboro.algorithms.lattice import search as lattice_search
from oboro.algorithms.lattice.search import search

ASKED = st.builds(
    lambda case, demands, loss: replace(case, limit=0, demands=demands, loss=loss),
    cases(),
    st.lists(DEMANDS, min_size=1, max_size=2),
    st.sampled_from(["loss", "precision", "arx"]),
)


@pytest.fixture(autouse=True)
def every_table(monkeypatch):
    """However small a table is; and rows are joined again and again."""
    monkeypatch.setattr(evaluator, "ROLLED", 0)
    monkeypatch.setattr(lattice_search, "AT_A_TIME", 2)
    monkeypatch.setattr(lattice_search, "FEWER", 2.0)


def as_before(problem, monkeypatch, **options):
    """What the search finds that this one stands in for."""
    with monkeypatch.context() as context:
        context.setattr(lattice_search, "suits", lambda problem: False)
        return search(problem, **options)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(case=ASKED, joins=st.booleans(), alone=st.booleans(), first=st.integers(0, 3))
def test_every_search_equals_brute_force_and_the_other_search(monkeypatch, case, joins, alone, first):
    problem = case.problem()
    assume(lattice_search.suits(problem))
    monkeypatch.setattr(lattice_search, "KEY_SPACE", 1 << 62 if joins else 0)
    monkeypatch.setattr(lattice_search, "MOST_ALONE", 1 << 22 if alone else 0)
    minimal, best, seen = solved(case.naive())
    for options in ({"minimal": True}, {"minimal": False, "first": list(seen)[:: first + 1] if first else []}):
        found, before = search(problem, **options), as_before(problem, monkeypatch, **options)
        assert_finds(found, problem, minimal, best, seen)
        assert (found.best, found.minimal, found.exact, found.bound) == (
            before.best and replace(before.best, floor=found.best.floor, surely=0),
            before.minimal,
            before.exact,
            before.bound,
        )


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(case=ASKED, minimal=st.booleans(), later=st.integers(0, 12))
def test_ended_at_any_moment_it_gives_a_node_that_holds_and_an_honest_bound(case, minimal, later):
    problem, told = case.problem(), iter(range(later))
    assume(lattice_search.suits(problem))
    _, best, seen = solved(case.naive())
    assume(best is not None)
    found = search(problem, minimal=minimal, cancelled=lambda: next(told, None) is None)
    assert seen[found.best.levels][3] == pytest.approx(found.best.loss, abs=1e-9)
    assert found.bound <= best_of(seen)[0] + 1e-9 <= found.best.loss + 2e-9
    assert found.stopped == (None if found.exact else "interrupt")
    assert not found.exact or found.best.levels == best[1]


@pytest.mark.parametrize("demand", [("entropy", 2.5), ("recursive", 2.0, 3), ("ordered", 0.1), ("held", 1.0)], ids=str)
def test_larger_searches_equal_the_other_search(monkeypatch, demand):
    problem = replace(larger_case("loss", rows=600, attributes=5), limit=0, demands=[demand]).problem()
    for minimal in (True, False):
        found, before = (
            search(problem, minimal=minimal),
            as_before(problem, monkeypatch, minimal=minimal),
        )
        assert (found.best.levels, found.best.loss) == (before.best.levels, before.best.loss)
        assert (found.minimal, found.exact) == (before.minimal, True)


def repeated(demand, columns=12):
    """Forty different people, each four times with the secrets a, a, b and c; more combinations of values than keys of 31 bits."""
    case, rng = larger_case("loss", rows=4, attributes=columns), np.random.default_rng(0)
    people = [[f"v{i}" for i in rng.integers(0, 9, 40)] for _ in range(columns)]
    rows = [[[value, "*"] for value, *_ in ladder] for ladder in case.rows]
    held = [[value for value in column for _ in range(4)] for column in people]
    return replace(case, columns=held, rows=rows, secret=list("aabc" * 40), k=4, limit=0, demands=[demand])


CLOSE = 2 * np.sqrt(2.0)  # of a, a, b and c the entropy is log √8; the next number above and below it


@pytest.mark.parametrize("demand", [("distinct", 3), ("entropy", CLOSE), ("entropy", np.nextafter(CLOSE, 0))], ids=str)
def test_what_keys_or_logarithms_do_not_tell_is_judged_exactly(monkeypatch, demand):
    problem, looked = repeated(demand, 12 if demand[0] == "distinct" else 3).problem(), []
    closer = lattice_search.KeptSearch._look_closer
    counted = lambda self, place: looked.append(place) or closer(self, place)  # noqa: E731
    monkeypatch.setattr(lattice_search.KeptSearch, "_look_closer", counted)
    found, before = search(problem, minimal=False), as_before(problem, monkeypatch, minimal=False)
    assert looked
    assert (found.best and found.best.levels, found.exact) == (before.best and before.best.levels, True)
