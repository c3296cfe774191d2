"""Local recoding that may suppress everybody: it does so where nothing else keeps the promise, and says so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks

import oboro

AGES = {"role": "quasi", "hierarchy": {"intervals": [10], "star": False}}


def _run(ages: list[int], k: int, **more: object) -> oboro.Release:
    step = {"k_anonymize": {"k": k, "recoding": "local", "suppress": 1.0, **more}}
    return oboro.Recipe(attributes={"age": AGES}, steps=[step], order="kept").run({"age": ages})


def test_everybody_is_suppressed() -> None:
    release = _run([11, 21, 31, 41], k=2)
    assert release.data == {"age": ["*"] * 4}
    assert release.steps[0].facts["suppressed"]["records"] == 4
    assert release.verification.holds
    assert "4" in release.summary(figures=True)
    assert release.report  # which ended in an internal error


@pytest.mark.parametrize("loss", ["loss", "precision", "entropy", "discernibility", "average_class_size", "arx"])
def test_every_loss_can_be_told(loss: str) -> None:
    assert _run([11, 21, 31], k=3, loss=loss).data == {"age": ["*"] * 3}


@settings(max_examples=25)
@given(picks([11, 12, 21, 22, 31], min_size=2, max_size=7), st.integers(2, 4))
def test_whatever_comes_out_keeps_k(ages: list[int], k: int) -> None:
    if k > len(ages):
        return
    released = _run(ages, k).data["age"]
    assert all(released.count(one) >= k for one in released)
    for age, one in zip(ages, released, strict=True):
        assert str(one) in (str(age), f"{age // 10 * 10}–{age // 10 * 10 + 9}", "*")
