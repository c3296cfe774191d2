"""A search that remembers what other searches saw finds what a search without memory finds, and looks at each node once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import LOSSES, Case, cases, larger_case
from tests.algorithms.test_lattice_people import shared
from tests.drawing import picks

from oboro.algorithms.lattice import problem as lattice_problem
from oboro.algorithms.lattice.cache import Look, LookMemory
from oboro.algorithms.lattice.losses import ClassLoss, ClassPayments, loss_of
from oboro.algorithms.lattice.search import search

MOVES = st.lists(st.tuples(st.integers(1, 5), st.floats(0, 0.7)), min_size=2, max_size=6)


def moved(problem, k, share, loss=None):
    whole = problem.people if problem.whole_people else problem.rows
    held = problem.loss if loss is None else loss_of(loss, problem.columns, problem.hierarchies, [1.0] * 9, k)
    return replace(problem, k=k, limit=int(share * whole), loss=replace(held, k=k) if hasattr(held, "k") else held)


def assert_same(problem, memory, **options):
    fresh, found = search(problem, **options), search(problem, memory.checker(problem), **options)
    assert (found.best is None) == (fresh.best is None)
    assert found.minimal == fresh.minimal
    if found.best is not None:
        for part in ("levels", "loss", "suppressed", "extra"):
            assert getattr(found.best, part) == getattr(fresh.best, part)
    return found


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(cases(), MOVES)
def test_moves_of_k_and_of_the_limit_equal_searches_without_memory(case, moves):
    problem, memory = case.problem(), LookMemory()
    for k, share in moves:
        assert_same(moved(problem, k, share), memory)


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(st.booleans().flatmap(lambda whole: shared(whole=whole)), MOVES)
def test_the_same_of_people(case, moves):
    problem, memory = case.problem(), LookMemory()
    for k, share in moves:
        assert_same(moved(problem, k, share), memory)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(cases(), MOVES, st.sampled_from([64, 0]), st.sampled_from([(3, 1 << 15, 4096), (3, 0, 1), (1 << 20, 0, 1)]))
def test_the_same_of_slices(case, moves, sparse, layout):
    """Several slices or one, counted by a key or by a hash; columns fused into one digit or each in its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice_problem, "MANY_ROWS", 1)
        for name, value in zip(("SLICE_ROWS", "FEW_KEYS", "FUSED"), layout, strict=True):
            patch.setattr(f"oboro.algorithms.lattice.sliced.{name}", value)
        patch.setattr("oboro.algorithms.lattice.cache.TOGETHER", 2)
        patch.setattr("oboro.algorithms.lattice.cache.SPARSE", sparse)
        problem, memory = replace(case.problem(), rules=()), LookMemory()
        for k, share in moves:
            assert_same(moved(problem, k, share), memory, minimal=False)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_look_is_taken_once_for_every_k_and_every_loss(loss):
    problem, memory = larger_case(loss).problem(), LookMemory()
    for k in (2, 3, 5, 8):
        for share in (0.0, 0.05, 0.2):
            assert_same(moved(problem, k, share), memory, minimal=False)
    looks, asked, fresh = len(memory.looks), 0, 0
    for k in (2, 3, 5, 8):
        for share in (0.2, 0.05, 0.0):
            asked += assert_same(moved(problem, k, share), memory, minimal=False).evaluated
            fresh += search(moved(problem, k, share), minimal=False).evaluated
    assert len(memory.looks) <= 1.15 * looks  # what is remembered changes the order, and with it a few looks
    assert isinstance(problem.loss, ClassLoss) or asked < fresh / 2


def test_columns_that_stand_on_a_star_do_not_matter_to_a_look():
    problem, memory = larger_case("loss").problem(), LookMemory()
    search(problem, memory.checker(problem), minimal=True)
    looks = set(memory.looks)
    fewer = replace(problem, columns=problem.columns[1:], hierarchies=problem.hierarchies[1:])
    loss = loss_of("loss", fewer.columns, fewer.hierarchies, [1.0] * 5, fewer.k)
    fewer = replace(fewer, loss=loss)
    checker = memory.checker(fewer)
    assert checker.division.of(fewer.lattice.top) in looks
    assert_same(fewer, memory)


@settings(max_examples=30)
@given(picks(range(1, 13), min_size=1, max_size=30), st.integers(1, 14))
def test_records_of_small_classes_are_counted(sizes, k):
    sizes = np.array(sizes)
    look = Look.of(sizes, sizes, classes=sizes.size, squares=0)
    assert look.small(k) == sizes[sizes < k].sum()
    histogram = np.bincount(np.minimum(sizes, 8), minlength=9)
    few = Look.of_histogram(histogram, 8, int(sizes.sum()))
    assert few.answers(k) == (k <= 8)
    if few.answers(k):
        assert few.small(k) == sizes[sizes < k].sum()


def test_whoever_may_cancel_a_search_ends_it_and_gets_the_best_so_far():
    problem = larger_case("loss").problem()
    asked = []

    def cancelled():
        asked.append(1)
        return len(asked) > 12

    found = search(problem, minimal=False, cancelled=cancelled)
    assert found.stopped == "interrupt"
    assert found.evaluated < 12
    assert not found.exact
    assert found.best is not None
    assert found.bound <= found.best.loss


@pytest.mark.parametrize("calls", [1, 3, 9, 20, 60])
def test_a_look_at_very_many_rows_is_given_up_and_not_remembered(calls, monkeypatch):
    monkeypatch.setattr(lattice_problem, "MANY_ROWS", 1)
    monkeypatch.setattr("oboro.algorithms.lattice.sliced.SLICE_ROWS", 3)
    problem, memory, asked = larger_case("loss").problem(), LookMemory(), []

    def cancelled():
        asked.append(1)
        return len(asked) > calls

    found = search(problem, memory.checker(problem), minimal=False, cancelled=cancelled)
    assert found.stopped == "interrupt"
    assert not found.exact
    assert len(asked) < calls + 40
    assert_same(problem, memory, minimal=False)


def test_a_node_that_is_checked_first_changes_nothing():
    problem = larger_case("loss").problem()
    plain = search(problem, minimal=False)
    for first in ([plain.best.levels], [problem.lattice.bottom], [problem.lattice.top]):
        found = search(problem, minimal=False, first=first)
        assert (found.best.levels, found.best.loss) == (plain.best.levels, plain.best.loss)


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(cases(), MOVES, st.sampled_from(["discernibility", "average_class_size", "ambiguity", "kl"]))
@example(
    Case(  # a missing value is a value of its own: where `*` covers it too, it covers one value more
        columns=[["v0"] * 7, ["v0"] * 7, ["v0"] * 6 + ["v1"], [*["v0"] * 6, None]],
        rows=[[["v0", "*"]], [["v0", "*"]], [["v0", "*"], ["v1", "*"]], [["v0", "*"]]],
        secret=["a"] * 7, k=1, limit=0, demands=[], loss="loss", weights=[0.5] * 4,
        others=None, crowd=(1, 0.0, 1.0), most=None, risk=None,
    ),
    [(1, 0.0), (2, 0.0)],
    "kl",
)  # fmt: skip
def test_bounds_of_losses_over_classes_hold_for_the_next_question(case, moves, loss):
    problem, memory = case.problem(), LookMemory()
    for k, share in moves:
        asked = moved(problem, k, share)
        held = (
            ClassPayments.of(loss, problem.columns, problem.hierarchies)
            if loss in ("ambiguity", "kl")
            else loss_of(loss, problem.columns, problem.hierarchies, [1.0] * 9, k)
        )
        assert_same(replace(asked, loss=held), memory, minimal=False)
