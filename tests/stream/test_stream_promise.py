"""Stream k-anonymity by enumeration of all correspondences, in every mode, across restarts; and the least loss possible."""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks
from tests.naive import stream as naive

from oboro.stream import DelayFree
from oboro.verifier.stream import Pairing, _earlier, _people, candidates, verify_stream

MODES = ["swap", "count", "paper", "sequential", "fixed"]
NAMES = ["x", "y", "z"]
TIMES = int(os.environ.get("OBORO_STREAMS") or 1)  # as many times more streams, for a long look


@st.composite
def streams(draw, longest=6):
    """Attributes (plain or with a tree), k, and a few records."""
    deep = draw(picks([False, True], min_size=1, max_size=3))
    rows = draw(st.integers(1, longest))
    alphabet = draw(st.sampled_from(["ab", "abc", "abcde"]))
    cell = st.one_of(st.sampled_from(alphabet), st.sampled_from([*alphabet, None]))
    records = [tuple(draw(cell) for _ in deep) for _ in range(rows)]
    return deep, draw(st.integers(2, 3)), records


def make(deep: list[bool], k: int, mode: str, **options: Any) -> DelayFree:
    if mode == "paper":
        options["background"] = False
    if mode == "fixed":
        options["initial"] = 3
    hierarchies = {name: naive.TREE for name, is_deep in zip(NAMES, deep, strict=False) if is_deep}
    return DelayFree(NAMES[: len(deep)], k, mode=mode, hierarchies=hierarchies, **options)


def run(anonymizer: DelayFree, deep: list[bool], records: list[tuple[Any, ...]], **more: Any) -> list[tuple[Any, ...]]:
    names = NAMES[: len(deep)]
    extra = [{name: values[i] for name, values in more.items()} for i in range(len(records))]
    released = [
        anonymizer.push({**dict(zip(names, record, strict=True)), **rest})
        for record, rest in zip(records, extra, strict=True)
    ]
    return [tuple(one[name] for name in names) for one in released]


def verdict(deep, k, records, released, **more):
    names = NAMES[: len(deep)]
    hierarchies = {name: naive.TREE for name, is_deep in zip(names, deep, strict=True) if is_deep}
    originals = [
        {**dict(zip(names, one, strict=True)), **{name: values[i] for name, values in more.get("fields", {}).items()}}
        for i, one in enumerate(records)
    ]
    outputs = [dict(zip(names, one, strict=True)) for one in released]
    options = {name: value for name, value in more.items() if name != "fields"}
    return verify_stream(originals, outputs, attributes=names, k=k, hierarchies=hierarchies, **options)


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=25 * TIMES)
@given(stream=streams())
def test_every_prefix_is_anonymous(mode, stream):
    deep, k, records = stream
    anonymizer = make(deep, k, mode)
    released = run(anonymizer, deep, records)
    assert naive.stream_anonymous(released, records, deep, k)
    assert verdict(deep, k, records, released).holds
    assert_crowd(anonymizer, crowds(deep, records, released), exact=mode == "count" and None not in sum(records, ()))


def crowds(deep, records, released, people=None):
    """For each release that says something, what it may belong to: itself and the earlier ones that the verifier counts."""
    names = NAMES[: len(deep)]
    trees = {name: naive.TREE for name, is_deep in zip(names, deep, strict=True) if is_deep}
    both = ([dict(zip(names, one, strict=True)) for one in some] for some in (records, released))
    pairing = Pairing.of(*both, names, trees)
    who = np.arange(len(records)) if people is None else _people(people)
    others, _ = _earlier(pairing, who, np.zeros(len(records), dtype=np.int64))
    return (others + 1)[~pairing.suppressed()].tolist()


def assert_crowd(anonymizer, expected, exact):
    """What is told is never below k, and never above what the verifier counts; where nothing is left out, that."""
    told, k = anonymizer.stats()["smallest_crowd"], anonymizer.settings.k
    assert (told is None) == (not expected)
    if expected:
        assert k <= told <= min(expected)
        assert told == min(expected) or not exact


@settings(max_examples=35)
@given(stream=streams(5), data=st.data())
def test_the_verifier_agrees_with_the_definition(stream, data):
    """Whatever was released, good or bad."""
    deep, k, records = stream
    released = [
        tuple(data.draw(st.sampled_from(naive.path(v, d))) for v, d in zip(one, deep, strict=True)) for one in records
    ]
    assert verdict(deep, k, records, released).holds == naive.stream_anonymous(released, records, deep, k)


@settings(max_examples=25)
@given(stream=streams(6), data=st.data())
def test_candidates_are_those_of_some_correspondence(stream, data):
    deep, _, records = stream
    released = [
        tuple(data.draw(st.sampled_from(naive.path(v, d))) for v, d in zip(one, deep, strict=True)) for one in records
    ]
    names = NAMES[: len(deep)]
    hierarchies = {name: naive.TREE for name, is_deep in zip(names, deep, strict=True) if is_deep}
    pairing = Pairing.of(
        [dict(zip(names, one, strict=True)) for one in records],
        [dict(zip(names, one, strict=True)) for one in released],
        names,
        hierarchies,
    )
    known = data.draw(st.integers(0, len(records)))
    expected = [len(found) for found in naive.candidates(released, records, deep, known)]
    assert candidates(pairing, known).tolist() == expected


@pytest.mark.parametrize("mode", ["swap", "count"])
@settings(max_examples=25)
@given(stream=streams(12), data=st.data())
def test_no_pattern_would_have_lost_less(mode, stream, data):
    deep, k, records = stream
    people = data.draw(st.one_of(st.just([]), picks(range(4), min_size=12, max_size=12)))
    secrets = data.draw(st.one_of(st.just([]), picks("stu", min_size=12, max_size=12)))
    options: dict[str, Any] = {"person": "who"} if people else {}
    options |= {"l_diversity": {"secret": 2}} if secrets else {}
    fields = {**({"who": people} if people else {}), **({"secret": secrets} if secrets else {})}
    released = run(make(deep, k, mode, **options), deep, records, **fields)
    for i, record in enumerate(records):
        earlier = list(zip(records[:i], released[:i], strict=True))
        least = naive.least_loss(
            record,
            earlier,
            deep,
            k,
            mode == "swap",
            people[i] if people else -1,
            people[:i],
            secrets[i] if secrets else None,
            secrets[:i],
            2 if secrets else 1,
        )
        assert naive.loss(released[i], record, deep) == pytest.approx(least, abs=1e-4)


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=30 * TIMES)
@given(stream=streams(6), data=st.data())
def test_k_people_and_different_secrets(mode, stream, data):
    deep, k, records = stream
    people = data.draw(picks(range(4), min_size=len(records), max_size=len(records)))
    secrets = data.draw(picks("st", min_size=len(records), max_size=len(records)))
    anonymizer = make(deep, k, mode, person="who", l_diversity={"secret": 2})
    released = run(anonymizer, deep, records, who=people, secret=secrets)
    assert naive.stream_anonymous(released, records, deep, k, people)
    assert_crowd(anonymizer, crowds(deep, records, released, people), exact=False)
    fields = {"who": people, "secret": secrets}
    assert verdict(deep, k, records, released, person="who", sensitive="secret", l=2, fields=fields).holds


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=25 * TIMES)
@given(stream=streams(12), data=st.data())
def test_a_restart_changes_nothing(mode, stream, data, tmp_path_factory):
    deep, k, records = stream
    horizon = data.draw(st.sampled_from([None, 3])) if mode != "fixed" else None
    cut = data.draw(st.integers(0, len(records)))
    whole = make(deep, k, mode, horizon=horizon)
    expected = run(whole, deep, records)
    file = tmp_path_factory.mktemp("state") / "state"
    anonymizer = make(deep, k, mode, horizon=horizon)
    before = run(anonymizer, deep, records[:cut])
    anonymizer.save(file)
    again = DelayFree.restore(file)
    assert again.stats() == anonymizer.stats()
    assert before + run(again, deep, records[cut:]) == expected
    assert again.smallest_crowd == whole.smallest_crowd


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=25)
@given(stream=streams(12), data=st.data())
def test_a_batch_is_as_good_as_its_records(mode, stream, data):
    deep, k, records = stream
    names = NAMES[: len(deep)]
    cut = data.draw(st.integers(0, len(records)))
    people = data.draw(picks(range(4), min_size=12, max_size=12))
    options: dict[str, Any] = data.draw(st.sampled_from([{}, {"person": "who"}]))
    rows = [
        {**dict(zip(names, one, strict=True)), **({"who": people[i]} if options else {})}
        for i, one in enumerate(records)
    ]
    single = make(deep, k, mode, **options)
    one_by_one = [single.push(row) for row in rows]
    batches = make(deep, k, mode, **options)
    assert batches.push_many(rows[:cut]) + batches.push_many(rows[cut:]) == one_by_one
    assert batches.stats() == single.stats()


@pytest.mark.parametrize("mode", ["swap", "count"])
@settings(max_examples=25)
@given(stream=streams(14), data=st.data())
def test_a_block_decides_like_its_records_also_in_a_replay(mode, stream, data):
    deep, k, records = stream
    people = data.draw(picks(range(4), min_size=14, max_size=14))
    options: dict[str, Any] = data.draw(
        st.sampled_from([{}, {"person": "who"}, {"keep": ["who"]}, {"l_diversity": {"who": 2}}, {"horizon": 4}])
    )
    named = options and "horizon" not in options
    rows = [
        {**dict(zip(NAMES, one, strict=False)), **({"who": people[i]} if named else {})}
        for i, one in enumerate(records)
    ]
    for place in data.draw(st.sets(st.integers(0, len(rows)), max_size=2)):
        rows.insert(place, data.draw(st.sampled_from([{}, {**rows[0], NAMES[0]: [1]}, {**rows[0], "more": 1}])))
    single, blocks, again = (make(deep, k, mode, **options) for _ in range(3))
    expected = [single.take([row], 0.0) for row in rows]
    cut = data.draw(st.integers(0, len(rows)))
    for part, wanted in ((rows[:cut], expected[:cut]), (rows[cut:], expected[cut:])):
        taken = blocks.take(part, 0.0)
        assert taken.released == [one for each in wanted for one in each.released]
        assert taken.decisions == [one for each in wanted for one in each.decisions]
        assert list(taken.refused) == [i for i, each in enumerate(wanted) if each.refused]
        repeated = again.take(part, 0.0, taken.decisions)
        assert (repeated.released, repeated.decisions) == (taken.released, taken.decisions)
    assert blocks.stats() == single.stats() == again.stats()


@pytest.mark.parametrize("mode", ["swap", "count"])
@settings(max_examples=30)
@given(stream=streams(14), data=st.data())
def test_what_is_forgotten_protects_nobody(mode, stream, data):
    """Only the last `horizon` records count, with people and without."""
    deep, k, records = stream
    horizon = data.draw(st.integers(1, 4))
    people = data.draw(st.one_of(st.just([]), picks(range(4), min_size=14, max_size=14)))
    options: dict[str, Any] = {"person": "who"} if people else {}
    released = run(
        make(deep, k, mode, horizon=horizon, **options), deep, records, **({"who": people} if people else {})
    )
    for i, record in enumerate(records):
        first = max(0, i - horizon)
        earlier = list(zip(records[first:i], released[first:i], strict=True))
        least = naive.least_loss(
            record, earlier, deep, k, mode == "swap", people[i] if people else -1, people[first:i] if people else ()
        )
        assert naive.loss(released[i], record, deep) == pytest.approx(least, abs=1e-4)


def test_time_is_a_horizon_too():
    anonymizer = DelayFree(["x"], 2, horizon_seconds=10)
    seen = [anonymizer.push({"x": "a"}, now=now)["x"] for now in (0, 5, 14, 30, 31)]
    assert seen == ["*", "a", "a", "*", "a"]


def test_memory_is_bounded_by_the_horizon():
    anonymizer = DelayFree(["x", "y"], 2, horizon=100)
    rng = np.random.default_rng(1)
    for _ in range(5):
        anonymizer.push_many([{"x": int(a), "y": int(b)} for a, b in rng.integers(0, 1000, (2000, 2))])
    assert anonymizer.stats()["distinct"] <= 101  # the last hundred and the new one
    assert anonymizer.stats()["entries"] <= 1024
    assert max(len(attribute.leaves) for attribute in anonymizer._coder.attributes) < 2000


def test_somebody_who_knows_owners_learns_less_from_swap():
    """Under `swap` every release can change places with k − 1 earlier ones, one pair at a time."""
    rng = np.random.default_rng(3)
    names = ["x", "y", "z"]
    rows = [dict(zip(names, map(int, one), strict=True)) for one in rng.zipf(1.6, (600, 3)).clip(1, 6)]
    left = {}
    for mode in ("swap", "count"):
        anonymizer = DelayFree(names, 3, mode=mode)
        pairing = Pairing.of(rows, [anonymizer.push(row) for row in rows], names)
        assert (candidates(pairing) >= 3).all()
        left[mode] = int((candidates(pairing, 30)[30:] < 3).sum())
    assert left["swap"] < left["count"]


@pytest.mark.parametrize("mode", ["swap", "count"])
def test_order_and_method_together_tell_more_and_no_promise_speaks_of_them(mode: str) -> None:
    """The limit that the page states: of all orders of a, a and b one alone releases *, a, *, so whose each is is certain."""
    told: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for order in itertools.permutations("aab"):
        stream = DelayFree(["x"], 2, mode=mode)
        told.setdefault(tuple(stream.push({"x": one})["x"] for one in order), set()).add(order)
    assert told["*", "a", "*"] == {("a", "a", "b")}
