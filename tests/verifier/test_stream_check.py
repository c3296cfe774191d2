"""Values of a stream are read as each is by itself: the anonymizer knew no others."""

from __future__ import annotations

import random
from typing import Any

import pytest

from oboro.stream import DelayFree
from oboro.verifier.stream import verify_stream


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ({"mask": {"side": "right", "steps": [1, 2, 4]}}, ["1", "12", "123", "1234", "12345", "1235"]),
        ({"intervals": [10, 40]}, [1, 1.5, 1.0, 12, 12.5, 31, "31.5", 38.5]),
        ({"dates": ["month", "year"]}, ["2020-01-02", "2020-01-03", "2020-01-02T10:00:00", "2021-01-01T00:00:00"]),
        ({}, [1, 1.0, "1", True, 2]),
    ],
)
def test_values_of_several_forms(spec: dict[str, Any], values: list[Any]) -> None:
    """They were refused as not covering their originals, since labels were made for all of them together."""
    rng = random.Random(3)
    rows = [{"place": rng.choice(values), "sex": rng.choice("FM")} for _ in range(60)]
    stream = DelayFree(["place", "sex"], 3, hierarchies={"place": spec})
    released = [stream.push(row) for row in rows]
    asked: dict[str, Any] = {"attributes": ["place", "sex"], "k": 3, "hierarchies": {"place": spec}}
    assert verify_stream(rows, released, **asked).holds
    assert not verify_stream(rows[::-1], rows[::-1], **asked).holds
