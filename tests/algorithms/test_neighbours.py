"""Indexes over a live set: regions and neighbours as plain loops find them, with points coming and going."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive import window as naive

from benchmarks.window_kernels import occupancy
from oboro.algorithms.neighbours.index import LiveIndex, SearchPlan, anchors_of
from oboro.errors import UsageError

SPLITS = [[25, 25, 25, 25], [22, 28, 28, 22], [10, 20, 70], [1, 1]]


def sets_of(index: LiveIndex) -> list[tuple[list[list[float]], list[list[float]]]]:
    anchors = index.anchors
    places, radii = anchors.places.T.tolist(), anchors.radii.T.tolist()
    cut = range(0, len(places), max(anchors.each, 1))
    return [(places[i : i + anchors.each], radii[i : i + anchors.each]) for i in cut]


def points_of(seed: int, count: int, width: int, whole: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, (count, width)).astype(float) if whole else rng.normal(size=(count, width))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    width=st.sampled_from([1, 2, 5, 17, 33]),
    whole=st.booleans(),
    kind=st.sampled_from(["fdh", "fdhq"]),
    split=st.sampled_from(SPLITS),
    anchors=st.integers(1, 3),
    sets=st.integers(1, 3),
    least=st.sampled_from([1, 4, 30]),
)
def test_regions_and_neighbours(
    seed: int, width: int, whole: bool, kind: str, split: list[float], anchors: int, sets: int, least: int
) -> None:
    points = points_of(seed, 60, width, whole)
    options = {"split": split} if kind == "fdhq" else {}
    index = LiveIndex(points, kind, room=60, seed=seed, anchors=anchors, sets=sets, least=least, **options)
    numbers = index.add(points[:50])
    here = dict(zip(numbers, points.tolist(), strict=False))
    for number in np.random.default_rng(seed).permutation(50)[:20].tolist():
        index.remove(number)
        del here[number]
    here |= dict(zip(index.add(points[50:]), points[50:].tolist(), strict=True))
    known = sets_of(index)
    for number, point in here.items():
        assert index.key(number) == [naive.key(point, *one) for one in known]
    for point in points[:8].tolist():
        candidates = naive.in_regions(point, here, known, least)
        expected = naive.nearest(point, {number: here[number] for number in candidates}, 6)
        assert_same(index.query(point, 6), expected)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    width=st.sampled_from([1, 3, 16, 40]),
    whole=st.booleans(),
    kind=st.sampled_from(["exhaustive", "auto"]),
    shift=st.sampled_from([0.0, 1e6, 1e20]),
    count=st.integers(1, 80),
)
def test_exact_indexes(seed: int, width: int, whole: bool, kind: str, shift: float, count: int) -> None:
    """Also where many are equally far, and where single precision cannot tell anybody apart."""
    points = points_of(seed, 70, width, whole) + shift
    index = LiveIndex(points[:20], kind, room=70)
    here = dict(zip(index.add(points[:60]), points.tolist(), strict=False))
    for number in range(0, 40, 3):
        index.remove(number)
        del here[number]
    here |= dict(zip(index.add(points[60:]), points[60:].tolist(), strict=True))
    for found, point in zip(index.query_many(points[:10], count), points.tolist(), strict=False):
        assert_same(found, naive.nearest(point, here, count))


@pytest.mark.parametrize("scale", [1e-25, 1e-12, 1.0, 1e12])
def test_exact_whatever_the_scale_and_the_outliers(scale: float) -> None:
    """Where single precision underflows, and where one record is so far away that it overflows: it spoils nobody's list."""
    points = points_of(5, 400, 6, False) * scale
    points[7] = 1e30 * scale
    points[8] = 1e6 * scale
    index = LiveIndex(points[10:], room=400)
    here = dict(zip(index.add(points), points.tolist(), strict=True))
    for found, point in zip(index.query_many(points[:20], 5), points.tolist(), strict=False):
        assert_same(found, naive.nearest(point, here, 5))


def assert_same(found: list[tuple[int, float]], expected: list[tuple[int, float]]) -> None:
    assert [number for number, _ in found] == [number for number, _ in expected]
    assert [distance for _, distance in found] == pytest.approx([distance for _, distance in expected], rel=1e-9)


def test_anchors_are_spread_out_and_radii_part_the_data() -> None:
    points = np.random.default_rng(3).uniform(-1, 1, (4000, 6))
    plan = SearchPlan.of("fdhq", anchors=3, sets=4, split=[22, 28, 28, 22])
    anchors = anchors_of(points, plan, np.random.default_rng(0))
    for i in range(12):
        distances = np.sqrt(((points - anchors.places[:, i]) ** 2).sum(axis=1))
        within = (distances[:, None] <= anchors.radii[:, i]).mean(axis=0)
        assert within == pytest.approx([0.22, 0.5, 0.78], abs=1e-3)
        assert (distances == 0).any(), "anchors are points of the data"
    rng = np.random.default_rng(1)
    typical = np.median([np.linalg.norm(points[rng.integers(4000)] - points[rng.integers(4000)]) for _ in range(99)])
    for one in range(4):
        first, second = anchors.places[:, 3 * one], anchors.places[:, 3 * one + 1]
        assert np.linalg.norm(first - second) > typical
    sizes = np.zeros((4, 64), dtype=np.int64)
    occupancy(anchors, points, sizes)
    assert (sizes.sum(axis=1) == 4000).all()


def test_radii_of_few_points_are_those_of_the_definition() -> None:
    """n odd: the ⌈n/2⌉-th distance; n even: the mean of the two in the middle (2.5)."""
    plan = SearchPlan.of("fdh", anchors=1, sets=1)
    odd = anchors_of(np.array([[0.0], [0.0], [0.0]]), plan, np.random.default_rng(0))
    assert odd.radii.tolist() == [[0.0]]
    even = anchors_of(np.array([[0.0], [4.0]]), plan, np.random.default_rng(0))
    assert even.radii.tolist() == [[2.0]]


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("auto", {"anchors": 3}, "anchors: has no effect"),
        ("fdh", {"split": [1, 1]}, "split: has no effect"),
        ("fdhq", {"split": [1, -1]}, "positive parts"),
        ("fdhq", {"anchors": 20}, "regions"),
        ("exhaustive", {"batch": 5}, "batch: has no effect"),
    ],
)
def test_what_makes_no_sense_is_said(kind: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        SearchPlan.of(kind, **options)  # type: ignore[arg-type]


def test_there_is_only_so_much_room() -> None:
    with pytest.raises(UsageError, match="room for 1 more"):
        LiveIndex([[0.0]], room=1).add([[0.0], [1.0]])
