"""`Window` as it is used, and against a transcription of the paper."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive import window as naive

from oboro.errors import ColumnError, FileError, UsageError
from oboro.stream import Window
from oboro.verifier.stream import verify_window

SMALL = {"fdh": {"anchors": 2, "sets": 3}, "fdhq": {"anchors": 2, "sets": 3, "split": [22, 28, 28, 22]}}
INDEXES = ["auto", "exhaustive", "fdh", "fdhq"]


def made(index: str, **more: Any) -> Window:
    return Window(**{"attributes": ["x", "y"], "k": 3, "window": 40, "index": index, **SMALL.get(index, {}), **more})


def walk(count: int, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [{"x": x, "y": y} for x, y in rng.normal(size=(count, 2)).tolist()]


def mixed(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Numbers of different sizes, some missing, categories, a secret, a person and something to keep."""
    rng = random.Random(seed)
    return [
        {
            "x": None if rng.random() < 0.1 else rng.gauss(0, 1),
            "y": rng.randrange(0, 100_000),
            "sex": rng.choice(["F", "M", None]),
            "town": rng.choice("abcdefgh"),
            "illness": rng.choice(["flu", "flu", "flu", "cold", "ulcer"]),
            "who": rng.randrange(60),
            "number": i,
        }
        for i in range(count)
    ]


MIXED: dict[str, Any] = {
    "attributes": ["x", "sex", "y", "town"],
    "categories": ["sex", "town"],
    "l_diversity": {"illness": 2},
    "person": "who",
    "keep": ["number"],
}


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(0, 60),
    width=st.sampled_from([1, 2, 5, 20]),
    k=st.integers(2, 5),
    more=st.integers(0, 20),
    rule=st.sampled_from(["paper", "grow"]),
    index=st.sampled_from(["auto", "exhaustive"]),
    pieces=st.sampled_from([1, 7, 100]),
)
def test_exact_indexes_release_what_the_paper_says(
    seed: int, count: int, width: int, k: int, more: int, rule: str, index: str, pieces: int
) -> None:
    window = 2 * k - 1 + more
    points = np.random.default_rng(seed).normal(size=(count, width)).tolist()
    names = [f"a{i}" for i in range(width)]
    stream = Window(names, k, window, group=rule, index=index, scaling="none", cache=1000)
    released: list[dict[str, Any]] = []
    records = [dict(zip(names, point, strict=True)) for point in points]
    for start in range(0, count, pieces):
        released += stream.push_many(records[start : start + pieces])
    released += stream.flush()
    expected = [one for one in naive.stream(points, k, window, rule) if one is not None]
    assert len(released) == len(expected)
    for one, other in zip(released, expected, strict=True):
        assert list(one.values()) == pytest.approx(other, rel=1e-9, abs=1e-12)
    assert verify_window(released, attributes=names, k=k, window=window).holds
    assert len(stream.withheld()) == count - len(released) == (count if count < k else 0)


@pytest.mark.parametrize("index", INDEXES)
def test_order_delay_and_promise(index: str) -> None:
    stream = made(index, keep=["i"], order="kept")
    out = []
    for i, record in enumerate(walk(300)):
        out += stream.push({**record, "i": i})
        assert len(out) >= i + 1 - 39, "at most W − 1 records of delay"
    assert 0 < 300 - len(out) < 40
    out += stream.flush()
    assert [one["i"] for one in out] == list(range(300))
    assert verify_window(out, attributes=["x", "y"], k=3, window=40).holds
    assert stream.flush() == [] == stream.withheld()
    again = stream.push_many([{**record, "i": i} for i, record in enumerate(walk(5, 1))]) + stream.flush()
    assert len(again) == 5
    assert verify_window(out + again, attributes=["x", "y"], k=3, window=40).holds


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(0, 120),
    k=st.integers(2, 4),
    window=st.sampled_from([9, 20, 60]),
    index=st.sampled_from(INDEXES),
    group=st.sampled_from(["paper", "grow"]),
    cache=st.sampled_from([None, 1, 5]),
    order=st.sampled_from(["exchanged", "kept"]),
)
def test_everything_together_keeps_the_promise(
    seed: int, count: int, k: int, window: int, index: str, group: str, cache: int | None, order: str
) -> None:
    records = mixed(count, seed)
    more = {"cache": cache, "order": order, **SMALL.get(index, {})}
    stream = Window(**MIXED, k=k, window=window, index=index, group=group, **more)
    out = stream.push_many(records) + stream.flush()
    withheld = stream.withheld()
    assert sorted([one["number"] for one in out + withheld]) == list(range(count))
    if order == "kept":
        assert [one["number"] for one in out] == sorted(one["number"] for one in out)
    people = [records[one["number"]]["who"] for one in out]
    verdict = verify_window(
        out, attributes=MIXED["attributes"], k=k, window=window, sensitive="illness", l=2, people=people
    )
    assert verdict.holds, verdict.sentence()
    assert (stream.smallest_crowd is None) == (not out)
    assert not out or k <= stream.smallest_crowd <= verdict.verdicts[0].achieved
    assert all(one["illness"] == records[one["number"]]["illness"] for one in out)
    for one in withheld:
        original = records[one["number"]]
        assert one == pytest.approx({name: original[name] for name in one})


def test_auto_is_exhaustive_with_everything() -> None:
    """Categories, missing numbers, secrets and people; also where a batch is one head."""
    records = mixed(600)
    found = {}
    for index, more in (("exhaustive", {}), ("auto", {}), ("auto", {"batch": 1})):
        stream = Window(**MIXED, k=3, window=100, index=index, seed=1, **more)
        found[index, *more] = stream.push_many(records) + stream.flush()
        stats = stream.stats()
        assert stats["batches"] > 0 if index == "auto" else stats["batches"] == 0
    assert found["exhaustive",] == found["auto",] == found["auto", "batch"]


@pytest.mark.parametrize("group", ["paper", "grow"])
@pytest.mark.parametrize("away", [0.0, 1e6, 1e20])
def test_auto_notices_whoever_comes_after_its_lists_were_made(group: str, away: float) -> None:
    """In crowds of about the size that a list has room for; at first all have one secret, so that heads ask in vain and wait on."""
    rng = random.Random(7)
    records = [
        {
            "x": rng.randrange(12) + away,
            "y": rng.gauss(0, 1 + away / 1e4),
            "illness": rng.choice("ab") if i > 300 else "a",
        }
        for i in range(700)
    ]
    first = records[0]  # its best group comes while it waits
    records[298:302] = [first] * 3 + [{**first, "y": first["y"] + (1 + away / 1e4) / 100, "illness": "b"}]
    found = {}
    for index in ("auto", "exhaustive"):
        stream = made(
            index, window=400, group=group, l_diversity={"illness": 2}, max_delay=250, order="kept", scaling="none"
        )
        found[index] = [one for i, record in enumerate(records) for one in stream.push(record, now=i)]
        bound = stream.engine.state.lists.bound.min()
        assert index == "exhaustive" or away == 1e20 or 0 < bound < np.inf, "there is something to notice"
        found[index] += stream.flush()
    assert len(found["auto"]) == 700
    assert found["auto"] == found["exhaustive"]


def test_batch_is_how_many_heads_are_searched_at_once() -> None:
    counts = []
    for batch in (1, 4):
        stream = made("auto", window=100, batch=batch)
        stream.push_many(walk(400))
        counts.append(stream.stats()["batches"])
    assert counts[0] > 3 * counts[1] > 0


def test_growing_loses_less() -> None:
    points = np.random.default_rng(2).uniform(-1, 1, (3000, 8))
    names = [f"a{i}" for i in range(8)]
    losses = {}
    for rule in ("paper", "grow"):
        stream = Window(names, 3, 500, group=rule, scaling="none")
        stream.push_many([dict(zip(names, row, strict=True)) for row in points.tolist()])
        losses[rule] = stream.stats()["loss"]
    assert losses["grow"] < 0.95 * losses["paper"]


def test_what_is_not_released_says_so() -> None:
    stream = Window(["x"], 3, 10, l_diversity={"s": 2})
    assert stream.push_many([{"x": i, "s": "same"} for i in range(30)]) == []
    assert stream.flush() == [] == stream.flush()
    assert [one["x"] for one in stream.withheld()] == list(range(20, 30)), "at most the window's last ones are kept"
    assert stream.stats()["withheld"] == 30
    few = Window(["x"], 3, 10)
    few.push_many([{"x": 1}, {"x": None}])
    assert few.flush() == []
    assert few.withheld() == [{"x": 1.0}, {"x": None}]


def test_a_secret_in_the_minority_is_looked_for() -> None:
    """The nearest are all alike; the one who differs is far away, and is taken nevertheless."""
    records = [{"x": i / 100, "s": "a"} for i in range(8)] + [{"x": 50.0, "s": "b"}]
    stream = Window(["x"], 2, 9, l_diversity={"s": 2}, scaling="none")
    out = stream.push_many(records) + stream.flush()
    assert verify_window(out, attributes=["x"], k=2, window=9, sensitive="s", l=2).holds
    assert len(out) == 9
    assert out[0]["x"] == out[8]["x"] == 25.0
    assert {out[0]["s"], out[8]["s"]} == {"a", "b"}


def test_the_smallest_crowd_is_the_smallest_group() -> None:
    """Where nobody joins a group later, it is what the verifier counts; in records, or in people."""
    records = [{"x": 100.0 * (i // 4) + i % 4 / 10, "s": "abbc"[i % 4]} for i in range(16)]
    for more, people in (({"l_diversity": {"s": 3}}, None), ({"person": "s"}, [one["s"] for one in records])):
        stream = Window(["x"], 3, 8, scaling="none", order="kept", **more)
        out = stream.push_many(records) + stream.flush()
        assert stream.stats()["joins"] == 0
        achieved = verify_window(out, attributes=["x"], k=3, people=people).verdicts[0].achieved
        assert stream.smallest_crowd == achieved == (3 if people else 4)


def test_one_person_is_not_a_crowd() -> None:
    records = [{"x": float(i // 4), "who": i // 4} for i in range(40)]
    out = Window(["x"], 3, 12).push_many([{"x": one["x"]} for one in records])
    assert not verify_window(out, attributes=["x"], k=3, people=[one["who"] for one in records[: len(out)]]).holds
    stream = Window(["x"], 3, 12, person="who")
    out = stream.push_many(records) + stream.flush()
    assert verify_window(out, attributes=["x"], k=3, window=12, people=[one["who"] for one in records]).holds


def test_missing_values_and_categories() -> None:
    stream = Window(["x", "c"], 3, 5, categories=["c"], scaling="none", group="paper")
    records = [
        {"x": 1, "c": "p"},
        {"x": None, "c": "p"},
        {"x": 2, "c": "q"},
        {"x": None, "c": None},
        {"x": None, "c": None},
    ]
    out = stream.push_many([*records, {"x": None, "c": None}]) + stream.flush()
    assert out[:3] == [{"x": 1.5, "c": "p"}] * 3, "most have a number, and most have p"
    assert out[3:] == [{"x": None, "c": None}] * 3


def test_weights_and_scaling() -> None:
    """Who is nearest depends on what counts: y is large, x small."""
    records = [{"x": 0.0, "y": 0.0}, {"x": 0.1, "y": 900.0}, {"x": 3.0, "y": 1.0}, {"x": 3.1, "y": 901.0}]

    def first(**more: Any) -> dict[str, float]:
        return Window(["x", "y"], 2, 4, **more).push_many(records)[0]

    assert first(scaling="none") == {"x": 1.5, "y": 0.5}
    assert first(scaling={"x": 0.001, "y": 1000}) == {"x": 0.05, "y": 450.0}
    assert first(weights={"x": 100}) == {"x": 0.05, "y": 450.0}
    assert first(weights={"y": 100}) == {"x": 1.5, "y": 0.5}


def test_scaling_follows_the_stream() -> None:
    """First y varies little, later a thousand times as much: then it must not drown x."""
    rng = np.random.default_rng(0)
    stream = Window(["x", "y"], 2, 50)
    stream.push_many([{"x": x, "y": y} for x, y in rng.normal(size=(200, 2)).tolist()])
    before = stream.engine.state.factor.copy()
    stream.push_many([{"x": x, "y": 1000 * y} for x, y in rng.normal(size=(200, 2)).tolist()])
    after = stream.engine.state.factor
    assert before == pytest.approx([1, 1], rel=0.5)
    assert after == pytest.approx([1, 0.001], rel=0.5)


def test_max_delay() -> None:
    stream = Window(["x"], 2, 100, max_delay=10)
    assert stream.due is None
    assert stream.push({"x": 1}, now=100) == []
    assert stream.due == 110
    assert stream.take([], 109.0).released == []
    assert stream.take([], 110.0).released == [], "nobody to stand with: it goes on waiting"
    assert stream.due is None
    assert len(stream.push({"x": 2}, now=120)) == 2
    assert stream.due is None
    assert stream.push({"x": 7}, now=130) == []
    assert stream.due == 140
    assert stream.take([], 140.0).released == [{"x": 1.5}], "alone, but what was published protects it"
    assert stream.stats()["held"] == 0


@pytest.mark.parametrize(("order", "times"), [("kept", 1), ("exchanged", 2)])
@pytest.mark.parametrize("index", INDEXES)
def test_max_delay_keeps_the_promise(index: str, order: str, times: int) -> None:
    rng = random.Random(4)
    stream, out, now = made(index, max_delay=5.0, keep=["at"], order=order), [], 0.0
    for record in walk(200):
        now += rng.expovariate(1)
        while stream.due is not None and stream.due < now:
            due = stream.due
            out += [(one, due) for one in stream.take([], due).released]
        out += [(one, now) for one in stream.push({**record, "at": now}, now=now)]
    late = [moment - one["at"] for one, moment in out[3:]]
    assert max(late) <= times * 5.0 + 1e-9
    rest = stream.flush(now)
    assert verify_window([one for one, _ in out] + rest, attributes=["x", "y"], k=3, window=40).holds


@pytest.mark.parametrize("index", INDEXES)
def test_a_restart_changes_nothing(index: str, tmp_path: Path) -> None:
    records = mixed(400)
    options = {**MIXED, "k": 3, "window": 60, "index": index, "seed": 5, **SMALL.get(index, {})}
    whole = Window(**options)
    expected = whole.push_many(records) + whole.flush()
    stream, out = Window(**options), []
    for start in range(0, 400, 37):
        out += stream.push_many(records[start : start + 37])
        stream.save(tmp_path / "state", extra={"at": start})
        stream = Window.restore(tmp_path / "state")
        assert stream.extra == {"at": start}
    out += stream.flush()
    assert out == expected
    ours, theirs = stream.stats(), whole.stats()
    for each in (ours, theirs):  # lists are made anew after a restart; what they lead to is the same
        del each["batches"], each["searched_again"]
    assert ours == theirs
    assert oct((tmp_path / "state").stat().st_mode & 0o777) == "0o600"


def test_a_state_of_something_else(tmp_path: Path) -> None:
    from oboro.stream import DelayFree

    DelayFree(["x"], 2).save(tmp_path / "state")
    with pytest.raises(FileError, match="not the state of a window"):
        Window.restore(tmp_path / "state")


def test_memory_is_bounded_by_window_and_cache() -> None:
    """Arrays never change their size, and values that nobody has any more are forgotten."""
    stream = Window(["x", "c"], 2, 50, categories=["c"], cache=20, person="who", keep=["note"], index="exhaustive")

    def size() -> int:
        return sum(array.nbytes for array in stream.engine.dump().values())

    start, most = size(), 0
    for i in range(0, 20_000, 500):
        stream.push_many([{"x": j % 7, "c": f"c{j}", "who": j, "note": j} for j in range(i, i + 500)])
        most = max(most, len(stream._categories[0]), len(stream._demands[0]))
    assert size() == start
    assert most <= 2 * 70 + 8192 + 500
    assert len(stream._waiting) < 50
    assert stream.engine.state.count.size == 20


def test_a_small_cache_forgets() -> None:
    """Only centroids that are remembered can be joined."""
    records = [{"x": one["x"]} for one in walk(400)]
    joins = {}
    for cache in (1, 400):
        stream = Window(["x"], 2, 5, cache=cache, scaling="none", group="paper")
        out = stream.push_many(records) + stream.flush()
        assert verify_window(out, attributes=["x"], k=2, window=5).holds
        joins[cache] = stream.stats()["joins"]
    assert joins[1] < joins[400]


def test_frames_and_text() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 10.0, 11.0]})
    stream = Window("x", 2, 3, scaling="none")
    assert stream.push_many(frame) + stream.flush() == [{"x": 1.5}, {"x": 1.5}, {"x": 10.5}, {"x": 10.5}]
    texts = Window("x", 2, 3)
    assert texts.push_many([{"x": "1"}, {"x": "1.5"}]) + texts.flush() == [{"x": 1.25}] * 2


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"x": 1}, "'y' is missing"),
        ({"x": 1, "y": 2, "z": 3}, "'z' is not known"),
        ({"x": "abc", "y": 2}, "x: must be a finite number"),
        ({"x": float("inf"), "y": 2}, "x: must be a finite number"),
        ({"x": 10**400, "y": 2}, "x: must be a finite number"),
        ({"x": True, "y": 2}, "x: must be a finite number"),
        ({"x": [1], "y": 2}, "x: must be a finite number"),
        ([1, 2], "this is a list"),
    ],
)
def test_records_that_are_refused_leave_no_trace(record: Any, words: str) -> None:
    stream = made("auto")
    before = stream.stats()
    with pytest.raises(ColumnError, match=words):
        stream.push(record)
    with pytest.raises(ColumnError, match=words):
        stream.push_many([{"x": 1, "y": 2}, record])
    assert stream.stats() == before
    taken = stream.take([{"x": 1, "y": 2}, record], 0.0)
    assert list(taken.refused) == [1]
    assert words in str(taken.refused[1])
    assert stream.records == 1


def test_a_list_is_no_category() -> None:
    stream = Window(["c"], 2, 3, categories=["c"])
    with pytest.raises(ColumnError, match="a single value"):
        stream.push({"c": ["a"]})
    stream.push_many([{"c": "a"}, {"c": "a"}])
    assert stream.flush() == [{"c": "a"}, {"c": "a"}]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"k": 1}, "k: "),
        ({"window": 4}, "2k − 1"),
        ({"categories": ["z"]}, "'z' is not among"),
        ({"scaling": {"x": 0}}, "positive"),
        ({"weights": {"x": -1}}, "positive"),
        ({"l_diversity": {"s": 4}}, "at most k"),
        ({"keep": ["x"]}, "name each field once"),
        ({"p": 3}, "no effect"),
        ({"index": "hnsw"}, "index"),
        ({"max_delay": 0}, "max_delay"),
        ({"colour": 1}, "colour"),
    ],
)
def test_parameters_that_make_no_sense(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        made(**{"index": "auto", **given})


def test_p_asks_for_more_candidates() -> None:
    """With one set of many small regions, more candidates mean more regions and less loss."""
    losses = {}
    for p in (1, 8):
        stream = made("fdhq", window=200, anchors=3, sets=1, p=p, scaling="none", split=None)
        stream.push_many(walk(1500))
        losses[p] = stream.stats()["loss"]
    assert losses[8] < losses[1]


def test_the_verifier_finds_what_is_wrong() -> None:
    records = [{"x": 1.0, "s": "a"}, {"x": 2.0, "s": "a"}, {"x": 1.0, "s": "b"}, {"x": 2.0, "s": "a"}]
    assert verify_window(records, attributes=["x"], k=2).holds
    assert verify_window(records, attributes=["x"], k=2, window=3).holds
    assert not verify_window(records, attributes=["x"], k=2, window=2).holds
    assert not verify_window(records, attributes=["x"], k=3).holds
    assert not verify_window(records, attributes=["x"], k=2, sensitive="s", l=2).holds
    assert not verify_window(records, attributes=["x"], k=2, people=[1, 2, 3, 2]).holds
    assert verify_window(records, attributes=["x"], k=2, people=[1, 2, 3, 4]).holds
    assert verify_window([], attributes=["x"], k=2).holds
    assert verify_window([{"x": None}, {"x": None}], attributes=["x"], k=2).holds
    assert not verify_window([{"x": None}, {"x": 0.0}], attributes=["x"], k=2).holds
    with pytest.raises(ColumnError, match="lacks 'z'"):
        verify_window(records, attributes=["z"], k=2)
    with pytest.raises(UsageError, match="one for each"):
        verify_window(records, attributes=["x"], k=2, people=[1])
    with pytest.raises(UsageError, match="1 or more"):
        verify_window(records, attributes=["x"], k=0)
