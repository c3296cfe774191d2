"""A release keeps what it promises of sensitive values also for `pandas.read_csv`, which reads `NA` and `null` as missing."""

from __future__ import annotations

import io
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas._libs.parsers import STR_NA_VALUES
from tests.command_line import call
from tests.naive.lattice import breaks

import oboro
from oboro.errors import PromiseError
from oboro.notations.kinds import READ_AS_MISSING

SECRETS = ["flu", "cold", "NA", "null", "None", "nan", "N/A", "", None]
QUASI = ["a", "b", "c", "NA", "null"]
TABLES = 60 if os.environ.get("OBORO_EXAMPLES") == "thorough" else 3
DEMANDS = {
    "distinct": ({"l_diversity": {"s": 2}}, ("distinct", 2)),
    "three": ({"l_diversity": {"s": 3}}, ("distinct", 3)),
    "entropy": ({"l_diversity": {"s": {"l": 1.6, "kind": "entropy"}}}, ("entropy", 1.6)),
    "recursive": ({"l_diversity": {"s": {"l": 2, "c": 2.0, "kind": "recursive"}}}, ("recursive", 2.0, 2)),
    "alpha": ({"alpha": {"s": 0.6}}, ("alpha", 0.6, None)),
    "closeness": ({"t_closeness": {"s": 0.4}}, ("equal", 0.4)),
    "disclosure": ({"delta_disclosure": {"s": {"delta": 1.5, "values": "held"}}}, ("held", 1.5)),
    "likeness": ({"beta_likeness": {"s": {"beta": 1.5, "kind": "basic"}}}, ("basic", 1.5)),
}
WAYS: list[dict[str, Any]] = [{}, {"keep_default_na": False}]
STEPS = ["k_anonymize", "local", "local_recode"]


def test_the_words_are_those_of_pandas() -> None:
    assert set(READ_AS_MISSING) == set(STR_NA_VALUES)


def classes_of(text: str, **how: Any) -> tuple[list[list[str]], list[str]]:
    """The sensitive values of each class, and all of them, as pandas reads a file."""
    frame = pd.read_csv(io.StringIO(text), dtype=str, **how).fillna("(missing)")
    found = defaultdict(list)
    for x, y, s in zip(frame["x"], frame["y"], frame["s"], strict=True):
        found[x, y].append(s)
    return list(found.values()), frame["s"].tolist()


def holds(text: str, demand: tuple[Any, ...]) -> list[bool]:
    """Whether every class keeps a demand for the reader who merges, and for the one who does not."""
    readings = [classes_of(text, **how) for how in WAYS]
    return [not any(breaks(some, whole, demand) for some in classes) for classes, whole in readings]


def table(chance: np.random.Generator, rows: int = 10) -> dict[str, list[Any]]:
    secrets = [0, 1, *(2 + chance.choice(len(SECRETS) - 2, 3, replace=False))]
    return {
        "x": [QUASI[i] for i in chance.integers(len(QUASI), size=rows)],
        "y": chance.choice(["p", "q"], rows).tolist(),
        "s": [SECRETS[i] for i in chance.choice(secrets, rows)],
    }


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("demand", DEMANDS)
def test_a_release_keeps_it_for_whoever_reads_it_with_pandas(tmp_path: Path, demand: str, step: str) -> None:
    asked, naive = DEMANDS[demand]
    if step == "local_recode" and demand in ("alpha", "disclosure", "likeness"):
        return  # it has no such demand
    chance = np.random.default_rng([*demand.encode(), *step.encode()])
    more = {"suppress": 0.5} if step == "k_anonymize" else {"recoding": "local"} if step == "local" else {}
    released = 0
    for number in range(TABLES):
        recipe = oboro.Recipe(
            attributes={"x": {"role": "quasi"}, "y": {"role": "quasi"}, "s": {"role": "sensitive"}},
            steps=[{"local_recode" if step == "local_recode" else "k_anonymize": {"k": 2, **asked, **more}}],
            seed=1,
        )
        data = table(chance)
        try:
            release = recipe.run(data)
        except PromiseError:  # not even all records in one class keep it
            readings = [
                classes_of(pd.DataFrame({**data, "x": 1, "y": 1}).to_csv(index=False), **how)[1] for how in WAYS
            ]
            assert any(breaks(one, one, naive) for one in readings)
            continue
        released += 1
        path = tmp_path / f"{number}.csv"
        release.write(path)
        assert holds(path.read_text(), naive) == [True, True]
    assert released


@pytest.mark.parametrize("demand", ["distinct", "entropy", "recursive", "alpha", "closeness", "likeness"])
def test_what_is_verified_holds_for_whoever_reads_it_with_pandas(demand: str) -> None:
    options: dict[str, dict[str, Any]] = {
        "distinct": {"l": 2},
        "entropy": {"l": 1.6, "kind": "entropy"},
        "recursive": {"l": 2, "c": 2.0, "kind": "recursive"},
        "alpha": {"alpha": 0.6},
        "closeness": {"t": 0.4},
        "likeness": {"beta": 1.5, "likeness": "basic"},
    }
    chance, seen = np.random.default_rng([*demand.encode()]), set()
    for _ in range(40 * TABLES):
        data = {**table(chance, 8), "y": ["p"] * 8, "x": [QUASI[i] for i in 1 + chance.integers(3, size=8)]}
        data["x"] = data["x"] if chance.integers(2) else ["a"] * 8
        found = oboro.verify(data, quasi=["x", "y"], sensitive="s", **options[demand]).holds
        frame = pd.DataFrame(data)
        both = holds(frame.to_csv(index=False), DEMANDS[demand][1])
        seen.add(found)
        # Another reader, of JSON or Parquet, tells missing from empty text, so that the verdict may be stricter than both.
        assert all(both) or not found
        if demand in ("distinct", "entropy", "recursive", "alpha"):
            assert found == all(both)
    assert seen == {True, False}


def test_one_such_word_is_a_value_like_any_other() -> None:
    data = {"x": [1, 1, 2, 2], "s": ["NA", "flu", "NA", "flu"]}
    found = oboro.verify(data, quasi="x", sensitive="s", l=2)
    assert found.holds
    assert not found.warnings


def test_several_words_are_one_value_and_it_is_said() -> None:
    data = {"x": [1, 1, 2, 2], "s": ["NA", "null", "NA", "flu"]}
    found = oboro.verify(data, quasi="x", sensitive="s", l=2)
    assert not found.holds
    assert [one.id for one in found.warnings] == ["verdict.read_as_missing"]
    assert "`NA` and `null`" in str(found) or "'NA' and 'null'" in str(found)


def test_a_fold_makes_other_words_read_as_missing() -> None:
    data = {"x": [1, 1], "s": ["na", "null"]}
    assert oboro.verify(data, quasi="x", sensitive="s", l=2).holds
    assert not oboro.verify(data, quasi="x", sensitive="s", l=2, fold=["case"]).holds


def test_a_watched_word_counts_with_those_that_are_read_alike() -> None:
    """One of three is NA, another null: whoever reads both as missing sees two of three."""
    data = {"x": [1, 1, 1], "s": ["NA", "null", "flu"]}
    assert not oboro.verify(data, quasi="x", sensitive="s", alpha=0.5, value="NA").holds
    assert oboro.verify(data, quasi="x", sensitive="s", alpha=0.7, value="NA").holds
    assert oboro.verify(data, quasi="x", sensitive="s", alpha=0.5, value="flu").holds


@pytest.mark.parametrize(("value", "fold"), [("NA", []), ("na", ["case"])])
def test_a_step_watches_such_a_word_too(value: str, fold: list[str]) -> None:
    recipe = oboro.Recipe(
        attributes={"x": {"role": "quasi"}, "s": {"role": "sensitive", "fold": fold}},
        steps=[{"k_anonymize": {"k": 2, "alpha": {"s": {"alpha": 0.5, "value": value}}}}],
    )
    table = {"x": [1, 1, 1, 2, 2, 2], "s": [value, "null", "flu", "flu", "flu", "flu"]}
    assert recipe.run(table).steps[0].facts["levels"]["x"]["level"] == 1
    assert (
        recipe.run({**table, "s": [value, "flu", "flu", "flu", "flu", "null"]}).steps[0].facts["levels"]["x"]["level"]
        == 0
    )


def test_the_command_says_that_words_count_as_one(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,s\n1,NA\n1,null\n2,flu\n2,NA\n")
    (tmp_path / "r.yaml").write_text(
        "attributes: {x: {role: quasi}, s: {role: sensitive}}\nsteps: [{k_anonymize: {k: 2, l_diversity: {s: 2}}}]\n"
    )
    done = call("anonymize", "t.csv", "-r", "r.yaml", "-o", "out.csv", cwd=tmp_path)
    assert done.code == 0
    assert "pandas.read_csv" in done.out + done.err
    assert pd.read_csv(tmp_path / "out.csv")["x"].tolist() == ["*"] * 4
