"""What somebody who knows everybody's tuples can tell from the places and the digits of a window's output."""

from __future__ import annotations

import functools
import itertools
import operator
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from oboro.stream import Window

INDEXES = {"auto": {}, "exhaustive": {}, "fdh": {"anchors": 3, "sets": 5}, "fdhq": {"anchors": 2, "sets": 5}}


def first_owner_guessed(points: np.ndarray, k: int, rule: str, **more: Any) -> tuple[int, float, int]:
    """How often the attacker names the owner of a centroid's first release: right guesses, expected by chance, centroids.

    The attacker is even told who is in the group, and guesses its outlier: under `grow` the farthest from the centroid, with
    `paper` whose greatest distance to the others is least (the head, whom the others are nearest to).
    """
    names = [f"a{i}" for i in range(points.shape[1])]
    records = [{**dict(zip(names, row, strict=True)), "who": i} for i, row in enumerate(points.tolist())]
    stream = Window(names, k, 200, group=rule, scaling="none", keep=["who"], cache=1, **more)
    groups: dict[tuple[float, ...], list[int]] = defaultdict(list)
    for one in stream.push_many(records) + stream.flush():
        groups[tuple(one[name] for name in names)].append(one["who"])
    right, chance, count = 0, 0.0, 0
    for centre, owners in groups.items():
        members = points[owners]
        if len(owners) > 2 * k - 1 or not np.allclose(members.mean(axis=0), centre):
            continue  # somebody joined later
        outlying = ((members - centre) ** 2).sum(axis=1)
        central = -((members[:, None] - members[None]) ** 2).sum(axis=2).max(axis=1)
        guess = int(np.argmax(outlying if rule == "grow" else central))
        right, chance, count = right + (guess == 0), chance + 1 / len(owners), count + 1
    return right, chance, count


@pytest.mark.parametrize("rule", ["grow", "paper"])
@pytest.mark.parametrize("index", INDEXES)
def test_the_owner_of_a_first_release_is_anybody_of_its_group(index: str, rule: str) -> None:
    points = np.random.default_rng(7).normal(size=(6000, 8))
    right, chance, count = first_owner_guessed(points, 5, rule, index=index, seed=2**100 + 3, **INDEXES[index])
    assert count > 300
    assert abs(right - chance) < 4 * np.sqrt(chance * (1 - chance / count)), "beyond noise, in one of 15,000 runs"


@pytest.mark.parametrize(("rule", "least"), [("grow", 2.0), ("paper", 1.5)])
def test_kept_places_tell_the_owner(rule: str, least: float) -> None:
    """What the exchange is for: without it the same guesses are right far more often."""
    points = np.random.default_rng(7).normal(size=(6000, 8))
    right, chance, _ = first_owner_guessed(points, 5, rule, order="kept")
    assert right > least * chance


def test_every_order_of_a_group_is_equally_likely() -> None:
    seen: dict[tuple[int, ...], int] = defaultdict(int)
    for seed in range(1200):
        stream = Window(["x"], 3, 5, keep=["who"], scaling="none", seed=seed)
        out = stream.push_many([{"x": float(i), "who": i} for i in range(3)]) + stream.flush()
        seen[tuple(one["who"] for one in out)] += 1
    assert set(seen) == set(itertools.permutations(range(3)))
    expected = 1200 / 6
    assert sum((found - expected) ** 2 / expected for found in seen.values()) < 20.5, "χ² with 5 degrees, 1 in 1,000"


def test_without_a_seed_the_places_cannot_be_known() -> None:
    def run() -> list[int]:
        stream = Window(["x"], 2, 50, keep=["who"])
        return [one["who"] for one in stream.push_many([{"x": i % 7, "who": i} for i in range(200)]) + stream.flush()]

    assert sorted(run()) == list(range(200))
    assert len({tuple(run()) for _ in range(3)}) == 3


def test_fields_leave_within_twice_the_window_and_none_is_lost() -> None:
    stream, left = Window(["x"], 3, 40, keep=["i"]), {}
    for i, x in enumerate(np.random.default_rng(0).normal(size=500).tolist()):
        for one in stream.push({"x": x, "i": i}):
            left[one["i"]] = i
    for one in stream.flush():
        left[one["i"]] = 500
    assert sorted(left) == list(range(500))
    assert max(now - i for i, now in left.items()) <= 2 * 39


@pytest.mark.parametrize("k", [3, 5])
def test_the_order_of_the_members_does_not_show_in_the_digits(k: int) -> None:
    """Added head first, the last bits of a mean tell who was first in a third to a half of the groups."""
    rng = np.random.default_rng(3)
    names, values = ["a", "b", "c", "d"], rng.normal(size=(k, 4)) * 10.0 ** rng.integers(-3, 4, size=4)
    records = [dict(zip(names, row, strict=True)) for row in values.tolist()]
    means = set()
    for order in itertools.permutations(records):
        stream = Window(names, k, 2 * k - 1, scaling="none")
        stream.push_many(list(order))
        means |= {tuple(one.values()) for one in stream.flush()}
    assert len(means) == 1
    assert means.pop() == pytest.approx(values.mean(axis=0).tolist(), rel=1e-12)


@pytest.mark.parametrize("values", [[1e16, 1.0, -1e16], [0.1, 0.2, -0.3], [-0.0, 0.0, -0.0], [9e149] * 3, [5e-324] * 3])
def test_numbers_that_cancel_keep_their_digits(values: list[float]) -> None:
    means = set()
    for order in itertools.permutations(values):
        stream = Window(["x"], 3, 5, scaling="none")
        stream.push_many([{"x": value} for value in order])
        means |= {one["x"] for one in stream.flush()}
    exact = float(sum(map(Fraction, values)) / 3)
    assert len(means) == 1
    assert means.pop() == pytest.approx(exact, rel=1e-15)


def test_zeros_of_both_signs_do_not_show_who_was_first() -> None:
    seen = set()
    for order in itertools.permutations([-0.0, 0.0, -0.0]):
        stream = Window(["x"], 3, 5, scaling="none")
        stream.push_many([{"x": value} for value in order])
        seen |= {str(one["x"]) for one in stream.flush()}
    assert len(seen) == 1


@pytest.mark.parametrize(("k", "least"), [(3, 0.45), (5, 0.4)])
def test_added_in_the_order_of_the_members_the_digits_would_tell_who_was_first(k: int, least: float) -> None:
    """The attack that adding by size closes: whoever, put first, gives the released doubles in some order may be the first."""
    rng, right = np.random.default_rng(11), 0.0
    for _ in range(300):
        values = rng.normal(size=(8, k))
        released = _added(values, range(k))
        fits = {order[0] for order in itertools.permutations(range(k)) if _added(values, order) == released}
        right += 1 / len(fits) / 300
    assert right > least


def _added(values: np.ndarray, order: Sequence[int]) -> tuple[float, ...]:
    return tuple(functools.reduce(operator.add, row[list(order)].tolist()) for row in values)
