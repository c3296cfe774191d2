"""A little of every fuzzer, drawn anew in each run, and every case that was ever wrong; `make fuzz` runs for longer."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.fuzzers import FUZZERS
from tests.fuzz.fuzzing import Finding, drawn, from_text, to_text
from tests.fuzz.run import orders
from tests.fuzz.smaller import smaller

from oboro.kernels import jit

CORPUS = [
    (file.stem, entry["what"], json.dumps(entry["case"]))
    for file in sorted((Path(__file__).parent / "corpus").glob("*.json"))
    for entry in json.loads(file.read_text())
]
FEW = {
    "csv_table": 80, "csv_broken": 100, "json_lines": 100, "arrow": 60, "parquet": 30, "stream_record": 200, "recipe_text": 30,
    "recipe_objects": 40, "hierarchy": 40, "stream_state": 15, "stream_lines": 15,
    "arx_project": 60, "sdcmicro_script": 40, "formulas": 100, "nested_values": 30, "arrow_text": 20, "questions": 15, "names": 4,
    "page": 15, "sdcmicro_long": 3, "long_cells": 6,
}  # fmt: skip  # others: 10


@pytest.fixture(autouse=True, scope="module")
def _as_for_everybody() -> Iterator[None]:
    """Python does what is little work, as it does outside of tests."""
    before, jit._compile_all = jit._compile_all, False
    yield
    jit._compile_all = before


def judge(name: str, case: dict[str, Any], place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    FUZZERS[name].check(case, place)


@pytest.mark.parametrize("name", FUZZERS)
def test_a_few_cases_of_each(name: str, tmp_path: Path) -> None:
    @settings(max_examples=FEW.get(name, 10), suppress_health_check=list(HealthCheck), database=None)
    @given(st.integers(0, 10**9))
    def few(seed: int) -> None:
        judge(name, drawn(FUZZERS[name], seed, 0), tmp_path / "place")

    few()


@pytest.mark.parametrize(("name", "what", "case"), CORPUS, ids=[f"{name}: {what}" for name, what, _ in CORPUS])
def test_what_was_wrong_once(name: str, what: str, case: str, tmp_path: Path) -> None:
    judge(name, from_text(case), tmp_path / "place")


# The tools ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUZZERS)
def test_a_case_is_known_by_its_number_and_survives_a_file(name: str) -> None:
    case = drawn(FUZZERS[name], 3, 7)
    assert to_text(drawn(FUZZERS[name], 3, 7)) == to_text(case)
    assert to_text(from_text(to_text(case))) == to_text(case)


def test_a_failing_case_is_made_smaller() -> None:
    case = {"data": b"a,b\n1,2\n" * 20 + b'3,"', "rows": [[1, 2, 3], [4, 5]], "given": True}
    found = smaller(case, lambda one: b'"' in one["data"] and any(4 in row for row in one["rows"]))
    assert found == {"data": b'"', "rows": [[4]], "given": True}


@pytest.mark.parametrize("cases", [1, 10, 12_345])
def test_every_case_is_ordered_once(cases: int) -> None:
    shares = {"a": 700, "b": 299, "c": 1}
    found = list(orders(shares, cases, seed=1))
    for name, share in shares.items():
        numbers = [n for one, first, count in found if one == name for n in range(first, first + count)]
        assert sorted(numbers) == list(range(-(-cases * share // 1000)))


def test_a_fuzzer_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.fuzz.tables import csv_fuzzers

    def broken(*given: Any, **named: Any) -> Any:
        raise KeyError("age")

    case = drawn(FUZZERS["csv_table"], 1, 1)
    monkeypatch.setattr(csv_fuzzers, "read", broken)
    with pytest.raises(Finding, match="traceback: KeyError"):
        judge("csv_table", case, tmp_path / "place")


def test_a_silent_difference_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.fuzz.tables import csv_fuzzers

    rows = csv_fuzzers.rows_of
    monkeypatch.setattr(csv_fuzzers, "rows_of", lambda source: [*rows(source), rows(source)[0]])
    wrong = 0
    for seed in range(10):
        try:
            judge("csv_table", FUZZERS["csv_table"].draw(random.Random(seed)), tmp_path / "place")
        except Finding as finding:
            wrong += finding.kind == "difference"
    assert wrong > 5
