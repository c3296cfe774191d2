"""A missing person protects nobody, however it is spelled and however records come in; missing secrets are one value."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oboro.stream import DelayFree, Window
from oboro.verifier.stream import verify_stream, verify_window

MISSING: list[Any] = [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, ""]
MODES = ["swap", "count", "paper", "sequential"]


def like(count: int, who: list[Any]) -> list[dict[str, Any]]:
    return [{"sex": "F", "who": who[i % len(who)], "s": i} for i in range(count)]


@pytest.mark.parametrize("way", ["push", "list", "frame"])
@pytest.mark.parametrize("mode", MODES)
def test_records_of_nobody_in_particular_protect_nobody(mode: str, way: str) -> None:
    stream = DelayFree(["sex"], 3, mode=mode, person="who", drop=["s"])
    records = like(12, [None, float("nan"), ""])
    if way == "push":
        released = [stream.push(one)["sex"] for one in records]
    elif way == "list":
        released = [one["sex"] for one in stream.push_many(records)]
    else:
        released = stream.push_many(pd.DataFrame(records))["sex"].tolist()
    assert set(released) == {"*"}


@pytest.mark.parametrize("nobody", MISSING, ids=repr)
def test_the_verifier_counts_no_missing_person(nobody: Any) -> None:
    stream = [{"x": 1.5, "who": nobody} for _ in range(4)]
    assert not verify_stream(stream, stream, attributes=["x"], k=2, person="who").holds
    assert not verify_window(stream, attributes=["x"], k=2, people=[nobody] * 4).holds
    assert verify_window(stream, attributes=["x"], k=2, people=["a", "b", nobody, nobody]).holds


def test_every_not_a_number_is_the_same_nobody() -> None:
    """Each of them is another object, and none equals itself: as keys they would be four people, and four secrets."""
    nobody = [float("nan") for _ in range(4)]
    stream = [{"x": 1.5, "who": one, "s": one} for one in nobody]
    assert not verify_window(stream, attributes=["x"], k=2, people=nobody).holds
    assert not verify_stream(stream, stream, attributes=["x"], k=2, person="who").holds
    assert not verify_window(stream, attributes=["x"], k=2, sensitive="s", l=2).holds
    assert not verify_stream(stream, stream, attributes=["x"], k=1, sensitive="s", l=2).holds


@pytest.mark.parametrize("secrets", [["", None, float("nan")], ["NA", "null", None]], ids=["empty", "words"])
@pytest.mark.parametrize("mode", [*MODES, "window"])
def test_empty_and_missing_secrets_are_one(mode: str, secrets: list[Any]) -> None:
    """CSV has one word for both, and pandas reads words as missing: a class with nothing else has one secret."""
    records = [{"x": 1, "s": one} for one in secrets * 4]
    if mode == "window":
        stream: Any = Window(["x"], 2, 5, l_diversity={"s": 2})
        assert stream.push_many(records) + stream.flush() == []
    else:
        stream = DelayFree(["x"], 2, mode=mode, l_diversity={"s": 2})
        assert {one["x"] for one in stream.push_many(records)} == {"*"}
    released = [{"x": 1, "s": one} for one in secrets[:2] * 6]
    assert not verify_window(released, attributes=["x"], k=2, sensitive="s", l=2).holds
    assert not verify_stream(records, records, attributes=["x"], k=1, sensitive="s", l=2).holds


def test_whoever_is_missing_may_be_one_of_the_others() -> None:
    """Two known people and the record of a third, unknown one: with k = 3 that one may be either of the two."""
    stream = [{"sex": "F", "who": who} for who in ("a", "b", None, "c")]
    released = [{"sex": cell} for cell in ("*", "*", "F", "F")]
    assert not verify_stream(stream, released, attributes=["sex"], k=3, person="who").holds
    released[2] = {"sex": "*"}
    assert verify_stream(stream, released, attributes=["sex"], k=3, person="who").holds
    assert [one["sex"] for one in DelayFree(["sex"], 3, mode="count", person="who").push_many(stream)] == [
        "*",
        "*",
        "*",
        "F",
    ]


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), mode=st.sampled_from(MODES), k=st.integers(2, 3), way=st.booleans())
def test_streams_with_missing_people_and_secrets_keep_the_promise(seed: int, mode: str, k: int, way: bool) -> None:
    rng = random.Random(seed)
    people = [0, 1, 2, 3, 4, None, float("nan"), ""]
    records = [
        {
            "a": rng.choice("xy"),
            "b": rng.choice("pq"),
            "s": rng.choice(["flu", None, float("nan"), ""]),
            "who": rng.choice(people),
        }
        for _ in range(25)
    ]
    stream = DelayFree(["a", "b"], k, mode=mode, person="who", l_diversity={"s": 2})
    released = stream.push_many(records) if way else [stream.push(one) for one in records]
    counted = verify_stream(records, released, attributes=["a", "b"], k=k, person="who", sensitive="s", l=2)
    assert counted.holds, counted.sentence()
    for i, one in enumerate(released):
        if one["a"] == one["b"] == "*":
            continue
        matches = [other for other in records[:i] if all(one[name] in ("*", other[name]) for name in ("a", "b"))]
        who = {other["who"] for other in matches if other["who"] in range(5)} - {records[i]["who"]}
        assert len(who) >= k - (records[i]["who"] in range(5))
        assert "flu" in {other["s"] for other in (*matches, records[i])}
        assert any(other["s"] != "flu" for other in (*matches, records[i]))


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6), index=st.sampled_from(["auto", "exhaustive"]), group=st.sampled_from(["grow", "paper"])
)
def test_windows_with_missing_people_keep_the_promise(seed: int, index: str, group: str) -> None:
    rng = random.Random(seed)
    people = [*range(8), None, float("nan")]
    records = [{"x": rng.gauss(0, 1), "who": rng.choice(people), "i": i} for i in range(60)]
    stream = Window(["x"], 3, 12, person="who", keep=["i"], index=index, group=group)
    out = stream.push_many(records) + stream.flush()
    by_value: dict[float, set[int]] = {}
    for one in out:
        who = records[one["i"]]["who"]
        by_value.setdefault(one["x"], set()).update({who} & set(range(8)))
    assert all(len(who) >= 3 for who in by_value.values())
    assert verify_window(out, attributes=["x"], k=3, people=[records[one["i"]]["who"] for one in out]).holds


def test_missing_secrets_are_one_value() -> None:
    records = [{"x": 1.0, "s": value} for value in (None, float("nan"), None, float("nan"))]
    assert DelayFree(["x"], 2, l_diversity={"s": 2}).push_many(records)[-1]["x"] == "*"
    stream = Window(["x"], 2, 3, l_diversity={"s": 2})
    assert stream.push_many(records) + stream.flush() == []
    released = [{"x": 1.0, "s": one["s"]} for one in records]
    assert not verify_stream(records, released, attributes=["x"], k=1, sensitive="s", l=2).holds
