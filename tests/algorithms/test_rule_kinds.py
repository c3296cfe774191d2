"""What each kind of rule states of itself, beside every small class there is: all histograms of four values, joined and divided."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from tests.algorithms.lattice_cases import rule_of
from tests.naive.lattice import breaks as naive_breaks

from oboro.algorithms.lattice import evaluator
from oboro.algorithms.lattice.kernels import attributes
from oboro.algorithms.lattice.kernels.attributes import KINDS, fewest_gone, verdict
from oboro.algorithms.lattice.kernels.dense_attributes import least_removed
from oboro.algorithms.lattice.kernels.nodes import breaks
from oboro.data.column import Column

VALUES = "abcd"
WHOLE = (5, 6, 7, 9)
SMALL = [np.array(held) for held in product(range(3), repeat=4) if any(held)]
DEMANDS = {
    attributes.DISTINCT: [("distinct", 1), ("distinct", 2), ("distinct", 3)],
    attributes.ENTROPY: [("entropy", 1.5), ("entropy", 2.0), ("entropy", 2.5)],
    attributes.RECURSIVE: [("recursive", 1.0, 2), ("recursive", 2.0, 2), ("recursive", 3.0, 3)],
    attributes.T_ORDERED: [("ordered", 0.1), ("ordered", 0.2), ("ordered", 0.4)],
    attributes.T_TREE: [("equal", 0.25), ("equal", 0.5), ("hierarchical", 0.2), ("hierarchical", 0.4)],
    attributes.ALPHA: [("alpha", 0.3, None), ("alpha", 0.5, None), ("alpha", 0.75, None)],
    attributes.DISCLOSURE: [("disclosure", 1.0), ("disclosure", 2.0)],
    attributes.DISCLOSURE_OF_HELD: [("held", 0.5), ("held", 1.0), ("held", 2.0)],
    attributes.BASIC_LIKENESS: [("basic", 0.25), ("basic", 0.5), ("basic", 2.0)],
    attributes.ENHANCED_LIKENESS: [("enhanced", 0.5), ("enhanced", 2.0)],
}
EVERY = [(kind, demand) for kind, demands in DEMANDS.items() for demand in demands]
UNKNOWN = max(KINDS) + 1
every_rule = pytest.mark.parametrize(("kind", "demand"), EVERY, ids=str)
every_kind = pytest.mark.parametrize("kind", KINDS)


def spelled(held):
    return [value for value, times in zip(VALUES, held, strict=True) for _ in range(times)]


@cache
def rule(demand):
    return rule_of(Column.of(spelled(WHOLE)), demand)


@cache
def broken(demand):
    """By histogram, also of two small classes joined."""
    return {held: rule(demand).breaks(np.array(held)) for held in product(range(5), repeat=4) if any(held)}


def asked_of_some(one, held):
    """The verdict on one class by the values that it holds alone, and how many of it go in every finer node."""
    packed = evaluator.packed_rules([one], np.arange(one.whole.size)[np.newaxis])
    own = evaluator.RuleScratch(1, 1, 1, one.whole.size).room
    some = np.flatnonzero(held)
    kind, count = packed.kinds[0, :2].tolist()
    how = kind, count, float(packed.levels[0]), packed.whole[0], packed.tree[0]
    given = held, some, some.size, int(held.sum())
    found = verdict(*given, *how, packed.above[0], packed.caps[0], packed.bits, own.surplus)
    if found != 1:
        return found, 0
    return found, fewest_gone(*given, 1, *how, packed.above[0], packed.caps[0], own.surplus, own.spare, own.more)


def test_every_kind_is_tried():
    assert set(DEMANDS) == set(KINDS)
    assert all(rule(demand).kind == kind for kind, demand in EVERY)


@every_rule
def test_the_verdicts_are_those_of_plain_loops(kind, demand):
    whole = spelled(WHOLE)
    for held, verdict_on in broken(demand).items():
        if max(held) < 4:
            assert verdict_on == naive_breaks(spelled(held), whole, demand), held


@every_rule
def test_the_kernel_for_few_values_agrees(kind, demand):
    for held in SMALL:
        assert asked_of_some(rule(demand), held)[0] in (int(broken(demand)[tuple(held)]), 2)


@every_rule
def test_what_is_assumed_of_joined_classes_holds(kind, demand):
    verdicts, its = broken(demand), KINDS[kind]
    for one, other in product(SMALL, repeat=2):
        both = verdicts[tuple(one + other)]
        if its.monotone and not verdicts[tuple(one)]:
            assert not both, (one, other)
        if its.union_closed and not verdicts[tuple(one)] and not verdicts[tuple(other)]:
            assert not both, (one, other)


@every_kind
def test_what_is_not_assumed_of_joined_classes_does_not_hold(kind):
    """A kind that states less than is true makes a search look at more than it must."""
    strong = joinable = True
    for demand in DEMANDS[kind]:
        verdicts = broken(demand)
        for one, other in product(SMALL, repeat=2):
            kept = not verdicts[tuple(one)]
            lost = verdicts[tuple(one + other)]
            strong &= not (kept and lost)
            joinable &= not (kept and lost and not verdicts[tuple(other)])
    assert (strong, joinable) == (KINDS[kind].monotone, KINDS[kind].union_closed)


@every_kind
def test_codes_may_change_places_unless_their_order_counts(kind):
    same, places = True, np.array([2, 0, 3, 1])
    for demand in DEMANDS[kind]:
        plain = rule(demand)
        turned = replace(plain, whole=plain.whole[places], tree=np.ascontiguousarray(plain.tree[:, places]))
        same &= all(turned.breaks(held[places]) == plain.breaks(held) for held in SMALL)
    assert same != KINDS[kind].ordered_codes


def test_a_rule_about_one_value_names_its_code():
    named = rule(("alpha", 0.5, "a"))
    assert named.fixed_codes
    assert named.breaks(np.array([0, 3]))
    assert not named.breaks(np.array([3, 0]))
    assert not rule(("alpha", 0.5, None)).fixed_codes


@every_kind
def test_the_whole_table_counts_where_it_is_stated(kind):
    same = True
    for demand in DEMANDS[kind]:
        plain = rule(demand)
        whole = np.array([20, 3, 2, 2])
        other = replace(plain, whole=whole, count=int(whole.sum()) if KINDS[kind].by_share else plain.count)
        same &= all(other.breaks(held) == plain.breaks(held) for held in SMALL)
        assert not KINDS[kind].by_share or plain.count == sum(WHOLE)
    assert same != KINDS[kind].compared_with_whole
    assert KINDS[kind].compared_with_whole or not KINDS[kind].by_share


@every_rule
def test_values_that_a_class_lacks_may_be_left_out_where_it_is_stated(kind, demand):
    one = rule(demand)
    for held in SMALL if KINDS[kind].held_alone else ():
        short = held[held > 0]
        how = one.kind, one.count, one.level, one.whole, one.tree
        assert breaks(short, int(held.sum()), *how) == breaks(held, int(held.sum()), *how)


@every_rule
def test_no_part_that_keeps_the_rule_lacks_fewer_records(kind, demand):
    one, verdicts = rule(demand), broken(demand)
    for held in SMALL if one.joinable else ():
        if not verdicts[tuple(held)]:
            continue
        parts = [part for part in product(*(range(times + 1) for times in held)) if any(part)]
        most = int(held.sum()) - max((sum(part) for part in parts if not verdicts[part]), default=0)
        how = one.kind, one.count, one.level, one.whole, one.tree
        assert 0 <= least_removed(held, int(held.sum()), *how) <= most
        assert 0 <= asked_of_some(one, held)[1] <= most


@every_rule
def test_classes_that_mend_another_add_what_it_lacks(kind, demand):
    one, verdicts = rule(demand), broken(demand)
    each = np.array(SMALL)
    for held in SMALL[::3]:
        if not verdicts[tuple(held)]:
            continue
        gap, gains = one.lacking(held, each)
        mends = np.array([not verdicts[tuple(held + other)] for other in SMALL])
        assert (gains[mends] >= gap - 1e-9).all()
        assert gap > 0 or not KINDS[kind].strict


def test_kernels_refuse_a_kind_that_they_do_not_know():
    held, size, how = np.array([2, 1, 0, 0]), 3, (UNKNOWN, 2, 0.5, np.array(WHOLE), np.arange(4)[np.newaxis])
    for asked in (breaks, breaks.compiled, least_removed):
        with pytest.raises(ValueError, match="does not know"):
            asked(held, size, *how)
    unknown = replace(rule(("equal", 0.5)), kind=UNKNOWN)
    with pytest.raises(ValueError, match="does not know"):
        asked_of_some(unknown, held)
    some, own = np.flatnonzero(held), evaluator.RuleScratch(1, 1, 1, 4).room
    more = np.zeros((1, 5), np.int64), np.zeros(5)
    with pytest.raises(ValueError, match="does not know"):
        fewest_gone(held, some, some.size, size, 1, *how, *more, own.surplus, own.spare, own.more)
    with pytest.raises(KeyError):
        unknown.joinable  # noqa: B018
