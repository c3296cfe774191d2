"""Very many rows, very many nodes, and every class on its own levels."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.algorithms.lattice_cases import LOSSES, Case, assert_equals_brute_force, best_of, cases, larger_case
from tests.drawing import picks

from oboro.algorithms.lattice import anytime, limits, local_recoding, search
from oboro.algorithms.lattice import problem as lattice_problem
from oboro.algorithms.lattice import sliced as lattice_sliced
from oboro.algorithms.lattice import status as lattice_status
from oboro.algorithms.lattice.anytime import SuppressionGuess
from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.kernels import dominance
from oboro.algorithms.lattice.losses import CellLoss, loss_of
from oboro.algorithms.lattice.nodes import Lattice
from oboro.algorithms.lattice.problem import Problem
from oboro.algorithms.lattice.sliced import SlicedChecker
from oboro.data.column import Column
from oboro.hierarchies.hierarchy import Hierarchy, Level
from oboro.hierarchies.spec import HierarchySpec
from oboro.verifier.table import verify


@pytest.fixture(params=[64, 0], ids=["counters", "hashed"])
def tiny_slices(request, monkeypatch):
    monkeypatch.setattr(lattice_problem, "MANY_ROWS", 0)
    monkeypatch.setattr(lattice_sliced, "SLICE_ROWS", 5)
    monkeypatch.setattr(lattice_sliced, "SPARSE", request.param)


def plain(case):
    return Case(case.columns, case.rows, case.secret, case.k, case.limit, [], case.loss, case.weights)


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(cases())
def test_slices_see_what_a_lens_sees(tiny_slices, case):
    problem = plain(case).problem()
    assume(isinstance(problem.loss, CellLoss))
    checker, sliced = NodeChecker.of(problem), SlicedChecker(problem)
    for levels in product(*(range(size) for size in problem.lattice.shape)):
        expected, node = checker.check(levels), sliced.check(levels)
        assert node.satisfying == expected.satisfying
        if expected.satisfying:
            assert node == expected
        if expected.feasible:
            assert (sliced.suppressed_rows(node) == checker.suppressed_rows(expected)).all()


@pytest.mark.usefixtures("tiny_slices")
@pytest.mark.parametrize("loss", LOSSES)
def test_search_by_slices_equals_brute_force(loss):
    case = larger_case(loss, rows=300, attributes=4)
    assert case.problem().sliced
    assert_equals_brute_force(case, {"minimal": True}, {"strategy": "depth_first", "minimal": True})


@pytest.mark.parametrize(
    ("fine", "rows", "kinds"),
    [(32, 200_000, [np.uint16, np.uint32]), (1, 5_000, [np.uint16])],
    ids=["coarser", "in slices"],
)
def test_a_wide_attribute_is_laid_out_coarser_and_where_needed_fully_or_slice_by_slice(monkeypatch, fine, rows, kinds):
    monkeypatch.setattr(lattice_sliced, "FINE", fine)
    monkeypatch.setattr(lattice_sliced, "SLICE_ROWS", rows)
    monkeypatch.setattr(lattice_sliced, "ENOUGH", 2)
    rng, wide = np.random.default_rng(4), 70_000
    codes = np.arange(wide)
    levels = [_level(codes), _level(codes // 7), _level(codes // 700), _level(codes // 7000)]
    address = Column(levels[0].labels, np.concatenate([codes, rng.integers(0, wide, 50_000)]).astype(np.uint32))
    job = Column.of(rng.integers(0, 5, len(address)).tolist())
    hierarchies = (Hierarchy("address", tuple(levels)), HierarchySpec().build("job", job))
    columns = (address, job)
    problem = Problem(columns, hierarchies, 3, 60_000, (), loss_of("loss", columns, hierarchies, [1.0, 2.0], 3))
    sliced, checker = SlicedChecker(problem), NodeChecker.of(problem)
    for node in [(3, 0), (2, 1), (1, 0), (1, 1), (0, 0), (0, 1)]:
        expected = checker.check(node)
        assert sliced.check(node).satisfying == expected.satisfying
        assert not expected.satisfying or sliced.check(node) == expected
        rows = not expected.satisfying or sliced.suppressed_rows(expected) == checker.suppressed_rows(expected)
        assert np.all(rows)
    assert [layout.codes.dtype for layout in sliced.layouts] == kinds


def _level(table):
    _, table = np.unique(table, return_inverse=True)
    under = np.bincount(table)
    labels = pa.array([str(label) for label in range(under.size)])
    return Level(labels, table.astype(np.uint32), np.where(under > 1, under / table.size, 0.0))


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(case=cases(), work=st.integers(0, 400))
def test_a_proof_over_boxes_equals_brute_force_and_cut_short_gives_an_honest_bound(case, work):
    with pytest.MonkeyPatch.context() as patch:
        climb(patch)
        problem, seen = assert_equals_brute_force(case, {"minimal": False, "prove": True})
        patch.setattr(anytime, "PROVING", work)
        found = search.search(problem)
    if (best := best_of(seen)) is None:
        assert found.best is None
        return
    least, _ = best
    if found.best is not None:
        assert found.best.loss >= least - 1e-9
        assert found.exact <= (abs(found.best.loss - least) < 1e-9)
    assert found.bound is None or found.bound <= least + 1e-9
    assert found.minimal is None


@pytest.mark.parametrize("loss", LOSSES)
def test_a_proof_cuts_many_boxes(climbing, loss):
    """Larger tables, deep first too: the same answer as where every node is listed."""
    case = larger_case(loss, rows=200, attributes=5)
    found = search.search(case.problem(), prove=True)
    climbing.setattr(anytime, "MOST", 3)
    deep = search.search(case.problem(), prove=True)
    climbing.setattr(search, "LISTED", 1 << 20)
    listed = search.search(case.problem(), minimal=False)
    climbing.setattr(search, "LISTED", 0)
    alone = search.search(case.problem(), minimal=False, prove=True, first=[listed.best.levels])
    assert found.exact
    assert alone.exact
    assert found.best == deep.best == listed.best == alone.best
    assert found.bound == deep.bound == listed.bound


@pytest.fixture
def climbing(monkeypatch):
    return climb(monkeypatch)


def climb(patch):
    """No lattice is listed."""
    patch.setattr(search, "LISTED", 0)
    patch.setattr(anytime, "BLOCK_NODES", 6)
    patch.setattr(anytime, "KICKS", 2)
    return patch


def test_a_climb_tries_single_coarser_steps_and_uses_its_time(monkeypatch):
    """Fourteen columns: never worse than without kicks, and where time is given more nodes are looked at."""
    monkeypatch.setattr(anytime, "KICKS", 40)
    case = larger_case("loss", rows=400, attributes=14)
    problem = case.problem()
    plain = anytime.HillClimb(problem, NodeChecker.of(problem), limits.SearchLimits())
    with ThreadPoolExecutor(2) as plain.pool:
        plain._start()
        plain._improve()
    whole = anytime.HillClimb(problem, NodeChecker.of(problem), limits.SearchLimits())
    whole.run()
    assert whole.best.loss <= plain.best.loss
    assert len(whole.nodes) > len(plain.nodes)
    parents = {node for node in problem.lattice.parents(whole.best.levels) if not whole._hopeless(node)}
    assert parents <= set(whole.nodes)  # every single coarser step from the answer was tried
    assert problem.loss.value(whole.best.levels, None) <= whole.best.loss


def test_a_bound_is_known_long_before_the_climb_rests(climbing):
    """The proof takes turns with the climb from the first hundreds of checks on."""
    problem = larger_case("loss", rows=300, attributes=9).problem()
    bounds: list[tuple[int, float]] = []
    asked = []
    found = anytime.HugeSearch(problem, NodeChecker.of(problem), limits.SearchLimits(cancelled=lambda: len(asked) > 40))
    found.boxes.run = lambda *given, run=found.boxes.run: (
        asked.append(1),
        run(*given),
        bounds.append((found.evaluated, found.bound)),
    )
    found.run()
    early = [bound for evaluated, bound in bounds if evaluated <= 2 * anytime.TURN]
    assert max(early) > 0.05


def test_what_is_guessed_of_suppression_follows_what_was_seen():
    """Where the logarithm is a sum over attributes, what suppresses too many comes last, and the rest by what it loses."""
    problem = larger_case("loss", rows=300, attributes=3).problem()
    every = np.array(list(product(range(3), repeat=3)))
    gone = np.expm1(2 * (2 - every) @ [0.3, 0.9, 0.6]).round().astype(int)
    top = NodeChecker.of(problem).check((2, 2, 2))
    guess = SuppressionGuess(problem, problem.loss)
    for _ in range(20):
        guess.learn([replace(top, levels=tuple(one), surely=int(few)) for one, few in zip(every, gone, strict=True)])
    outlook = guess.outlook(every)
    kept, lost = gone < 0.9 * problem.limit, gone > 1.4 * problem.limit
    assert kept.any()
    assert lost.any()
    assert outlook[kept].max() < outlook[lost].min()
    assert tuple(every[outlook.argmin()]) == min(map(tuple, every[kept]), key=lambda one: problem.loss.value(one, None))


def test_the_bound_of_a_block_does_not_ask_its_suppressed_to_be_safe(monkeypatch):
    """One rare value in each column: together the two suppressed records are a safe class, in each column alone not."""
    monkeypatch.setattr(anytime, "BLOCK_NODES", 2)
    columns = [["r", *"aaaaaaaaa"], ["b", "s", *"bbbbbbbb"]]
    ladders = [[["r", "*"], ["a", "*"]], [["s", "*"], ["b", "*"]]]
    problem = Case(columns, ladders, ["x"] * 10, 2, 2, [], "loss", [1.0, 1.0]).problem()
    assert search.search(problem).best.loss == pytest.approx(0.2)
    bounds = anytime.BlockBounds.of(problem, lambda: False)
    assert bounds.least((0, 0), (1, 1), 0) == pytest.approx(0.1)  # a tenth of each column, half a table each
    assert bounds.least((0, 0), (1, 1), 2) == pytest.approx(0.2)  # once two are known to go
    unknown = anytime.BlockBounds.of(problem, lambda: True)
    assert unknown.least((0, 0), (1, 1), 0) == 0


def test_when_time_is_up_the_best_so_far_is_taken_and_a_bound_is_given():
    case = larger_case("loss", rows=300, attributes=5)
    exact = search.search(case.problem())
    hurried = search.search(case.problem(), time_limit=1e-9)
    assert (hurried.evaluated, hurried.exact, hurried.minimal) == (1, False, None)
    assert hurried.best.levels == (2,) * 5
    assert hurried.bound <= exact.best.loss <= hurried.best.loss
    assert (exact.exact, exact.bound) == (True, exact.best.loss)
    assert search.search(case.problem(), time_limit=60).best == exact.best


@settings(max_examples=35)
@given(cases(), st.randoms(use_true_random=False))
def test_local_recoding_equals_plain_loops(case, random):
    problem, naive = case.problem(), case.naive()
    order = list(range(naive.n))
    random.shuffle(order)
    found, shuffled = local_recoding.recode(problem), local_recoding.recode(case.problem(order))
    assert (found is None) == (shuffled is None)
    if found is None:
        return
    assert [found.nodes[i] if i >= 0 else None for i in found.rows[order]] == [
        shuffled.nodes[i] if i >= 0 else None for i in shuffled.rows
    ]
    assert found.loss == pytest.approx(shuffled.loss, abs=1e-12)
    levels = [found.nodes[i] if i >= 0 else None for i in found.rows]
    groups: dict = {}
    for row, node in enumerate(levels):
        labels = None if node is None else tuple(naive.labels[a][level][row] for a, level in enumerate(node))
        groups.setdefault((node, labels), []).append(row)
    assert not any(naive.unsafe(members) for members in groups.values())
    assert found.suppressed <= case.limit
    first = released_first(problem, naive)
    late = [row for row, node in enumerate(levels) if node != first[row]]
    assert not late or (levels[late[0]] in (None, problem.lattice.top) and len(set(map(levels.__getitem__, late))) == 1)


def released_first(problem, naive):
    """The node at which the greedy rule releases each record: the first in order of loss where its class is safe."""
    left, first = list(range(naive.n)), {}
    for node in local_recoding._visits(problem):
        groups: dict = {}
        for row in left:
            groups.setdefault(tuple(naive.labels[a][level][row] for a, level in enumerate(node)), []).append(row)
        for members in groups.values():
            if not naive.unsafe(members):
                first.update(dict.fromkeys(members, node))
        left = [row for row in left if row not in first]
    return {row: first.get(row) for row in range(naive.n)}


def test_local_recoding_of_adult_keeps_more_than_arx(arx_adult, arx_table):
    """The tool's own local recoding on these data (k = 5, nothing suppressed): granularity 0.9377 in 4386 classes."""
    from oboro.techniques.k_anonymize import KAnonymize

    data = arx_table
    names = [name for name in data if name != "salary-class"]
    columns = tuple(data[name] for name in names)
    hierarchies = tuple(
        HierarchySpec(csv=f"adult_hierarchy_{name}.csv").build(name, data[name], arx_adult) for name in names
    )
    loss = loss_of("arx", columns, hierarchies, [1.0] * len(names), 5)
    problem = Problem(columns, hierarchies, 5, 0, (), CellLoss("granularity", loss.weights, loss.costs))
    found = local_recoding.recode(problem)
    assert found.suppressed == 0
    assert round(1 - found.loss, 3) == 0.950  # the page of guarantees says so
    assert 4550 < found.classes < 4590
    roles = {
        name: {"role": "quasi", "hierarchy": {"rows": hierarchy.to_rows()}}
        for name, hierarchy in zip(names, hierarchies, strict=True)
    }
    released = KAnonymize(k=5, recoding="local").apply(data.to_arrow(), attributes=roles)
    assert verify(released, quasi=names, k=5).holds


def test_local_recoding_of_a_lattice_that_cannot_be_listed(monkeypatch):
    """Sixteen columns with three levels: 43 million nodes. On a lattice that can be listed, chains lose hardly more."""
    problem = larger_case("loss", rows=300, attributes=16).problem()
    assert problem.lattice.size > local_recoding.ORDERED
    monkeypatch.setattr(local_recoding, "VISITS", 600)
    found = local_recoding.recode(problem)
    labels: dict = {}
    for row, node in enumerate(found.rows):
        chosen = zip(problem.columns, problem.hierarchies, found.nodes[node], strict=True)
        key = (node, *(int(hierarchy.levels[level].table[column.codes[row]]) for column, hierarchy, level in chosen))
        labels[key] = labels.get(key, 0) + 1
    assert min(labels.values()) >= 3
    assert found.loss < 0.9
    small = larger_case("loss", rows=300, attributes=5).problem()
    listed = local_recoding.recode(small)
    monkeypatch.setattr(local_recoding, "ORDERED", 1)
    assert local_recoding.recode(small).loss <= 1.1 * listed.loss


SHAPES = picks(range(1, 5), min_size=1, max_size=4)


@settings(max_examples=30)
@given(SHAPES, st.data())
def test_board_kernels_equal_plain_loops(shape, data):
    lattice = Lattice(tuple(size - 1 for size in shape))
    nodes = list(product(*map(range, shape)))
    marked = np.array(data.draw(picks([False, True], min_size=len(nodes), max_size=len(nodes))))
    below, above = np.empty(len(nodes), np.int32), np.empty(len(nodes), np.int32)
    dominance.count_below(marked, np.array(shape), below)
    dominance.count_above(marked, np.array(shape), above)
    for i, node in enumerate(nodes):
        finer = [all(x <= y for x, y in zip(other, node, strict=True)) for other in nodes]
        coarser = [all(x >= y for x, y in zip(other, node, strict=True)) for other in nodes]
        assert (below[i], above[i]) == ((marked & finer).sum(), (marked & coarser).sum())
    one, other = (np.array(data.draw(st.sampled_from(nodes))) for _ in range(2))
    first, last, out = np.minimum(one, other), np.maximum(one, other), np.zeros(len(nodes))
    dominance._raise_box.py_func(first, last, np.array(shape), 2.0, out)
    assert [value == 2.0 for value in out] == [
        bool((first <= n).all() and (n <= last).all()) for n in map(np.array, nodes)
    ]
    least = np.array(shape) - 1
    dominance.meet(marked, np.array(shape), least)
    expected = np.min([n for n, m in zip(nodes, marked, strict=True) if m], axis=0) if marked.any() else lattice.top
    assert tuple(least) == tuple(expected)


@pytest.fixture
def restless(monkeypatch):
    monkeypatch.setattr(search, "REFOCUS", 1)
    monkeypatch.setattr(search, "ALONE", 2)


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(cases())
def test_narrowing_the_view_at_every_step_changes_nothing(restless, case):
    """The minimal nodes first, then the optimum, which may be finer than everything that was waiting before."""
    assert_equals_brute_force(case, {"minimal": True}, {"minimal": False})


def test_a_narrowed_view_refuses_finer_nodes():
    checker = NodeChecker.of(larger_case("loss", rows=300, attributes=4).problem())
    coarse = checker.rebased((1, 1, 2, 1))
    assert coarse.can_check((1, 2, 2, 1))
    assert not coarse.can_check((0, 2, 2, 2))
    with pytest.raises(AssertionError):
        coarse.check((0, 2, 2, 2))


def interrupting(monkeypatch, after):
    """Ctrl-C when so many nodes were checked."""
    checked, check = [0], NodeChecker.check_together

    def counted(self, chosen, *arguments):
        checked[0] += len(chosen)
        if checked[0] - len(chosen) < after <= checked[0]:
            signal.raise_signal(signal.SIGINT)
        return check(self, chosen, *arguments)

    monkeypatch.setattr(NodeChecker, "check_together", counted)


@pytest.mark.parametrize("listed", [1 << 20, 0], ids=["listed", "climbed"])
def test_an_interrupt_keeps_the_best_so_far(monkeypatch, listed):
    case = larger_case("loss", rows=300, attributes=5)
    monkeypatch.setattr(search, "LISTED", listed)
    before = signal.getsignal(signal.SIGINT)
    exact = search.search(case.problem(), minimal=False)
    interrupting(monkeypatch, exact.evaluated // 2)
    found = search.search(case.problem(), minimal=False)
    assert (found.stopped, found.exact) == ("interrupt", False)
    assert found.best is not None
    assert found.bound <= exact.best.loss <= found.best.loss
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_before_anything_was_found_is_an_interrupt(monkeypatch):
    case = larger_case("loss", rows=60, attributes=3)
    case.limit = -1  # nothing can be released
    interrupting(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        search.search(case.problem())


def test_an_interrupt_does_not_release_a_table_of_stars(monkeypatch):
    """The first node that is looked at is the top: it can be released, and says nothing."""
    case = larger_case("loss", rows=300, attributes=5)
    assert all(len(hierarchy.levels[-1].labels) == 1 for hierarchy in case.problem().hierarchies)
    monkeypatch.setattr(search, "LISTED", 1 << 20)
    monkeypatch.setattr(search, "_settle", lambda *_: None)  # stopped before anything else was found
    interrupting(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        search.search(case.problem(), minimal=False)


def test_a_second_interrupt_is_answered_as_before(monkeypatch):
    case = larger_case("loss", rows=300, attributes=5)
    check = NodeChecker.check_together

    def twice(self, *arguments):
        signal.raise_signal(signal.SIGINT)
        return check(self, *arguments)

    monkeypatch.setattr(NodeChecker, "check_together", twice)
    monkeypatch.setattr(limits.SearchLimits, "over", lambda self: False)  # a check that does not end
    with pytest.raises(KeyboardInterrupt):
        search.search(case.problem())


def test_a_search_tells_how_far_it_is(monkeypatch):
    monkeypatch.setattr(limits, "EVERY", 0.0)
    told: list = []
    found = search.search(larger_case("loss", rows=300, attributes=5).problem(), tell=told.append)
    assert [one.evaluated for one in told] == sorted(one.evaluated for one in told)
    assert (told[-1].evaluated, told[-1].size, told[-1].loss) == (found.evaluated, found.size, found.best.loss)
    assert told[-1].settled == found.evaluated + found.tagged


def test_the_gap_that_is_told_only_closes(monkeypatch):
    monkeypatch.setattr(anytime, "TURN", 8)
    monkeypatch.setattr(limits, "EVERY", 0.0)
    monkeypatch.setattr(search, "LISTED", 0)
    monkeypatch.setattr(search, "LISTED_BY_SIZE", 0)
    told: list = []
    found = search.search(
        larger_case("loss", rows=300, attributes=5).problem(), minimal=False, prove=True, tell=told.append
    )
    losses, bounds = ([one[i] for one in told if one[i] is not None] for i in (3, 4))
    assert losses == sorted(losses, reverse=True)
    assert bounds == sorted(bounds)
    assert found.exact
    assert losses[-1] == found.best.loss >= bounds[-1]
    assert [one.bound for one in told[-len(bounds) :]] == bounds, "once a bound is known, it is told"


def test_an_answer_is_told_before_a_wide_lattice_is_laid_out(monkeypatch):
    told, before = [], []
    status = lattice_status.NodeStatus
    monkeypatch.setattr(search, "WIDE", 0)
    monkeypatch.setattr(search, "NodeStatus", lambda *given: before.extend(told) or status(*given))
    problem = larger_case("loss", rows=300, attributes=5).problem()
    found = search.search(problem, minimal=False, tell=told.append, first=iter([problem.lattice.top]))
    monkeypatch.undo()
    assert before[0].loss is not None
    assert found.best == search.search(problem, minimal=False).best


@pytest.mark.usefixtures("tiny_slices")
@pytest.mark.parametrize("threads", [1, 3])
def test_threads_do_not_change_what_is_found(threads, monkeypatch):
    case = larger_case("loss", rows=300, attributes=4)
    expected = search.search(plain(case).problem())
    monkeypatch.setattr(lattice_sliced, "THREADS", threads)
    monkeypatch.setattr(lattice_sliced, "THREADS", threads)
    found = search.search(plain(case).problem())
    assert (found.best.levels, found.best.loss, found.best.suppressed) == (
        expected.best.levels,
        expected.best.loss,
        expected.best.suppressed,
    )
