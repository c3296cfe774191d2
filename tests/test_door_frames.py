"""Every public function takes every kind of frame, and one name where a list of one is meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import oboro
from oboro.data.parameters import named_columns
from oboro.errors import UsageError

COLUMNS = {
    "age": [31, 38, 35, 52, 57, 59, 33, 51],
    "sex": ["F", "F", "M", "M", "M", "F", "F", "M"],
    "income": [30, 41, 30, 52, 30, 41, 52, 30],
}
KINDS: dict[str, Callable[[Any], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "dict": dict,
    "Dataset": oboro.Dataset.of,
}
ASKED: dict[str, Callable[[Any], Any]] = {
    "evaluate": lambda it: oboro.evaluate(it, it, quasi="age", sensitive="income", attempts=0).risk,
    "fidelity": lambda it: [one.as_dict() for one in oboro.fidelity(it, it, columns="age")],
    "attack": lambda it: [one.as_dict() for one in oboro.attack(it, it, quasi="age", sensitive="income", control=it)],
    "special_uniques": lambda it: oboro.special_uniques(it, "age").sizes.tolist(),
    "special_uniques of all": lambda it: oboro.special_uniques(it).sizes.tolist(),
    "risk": lambda it: oboro.risk(it, quasi="sex", population=it).as_dict(),
    "verify": lambda it: oboro.verify(it, quasi="sex", k=2, sensitive="income", l=2).as_dict(),
    "reconstruct": lambda it: oboro.reconstruct(it, attributes="sex", rho=0.5).as_dict(),
    "pk_evidence": lambda it: oboro.pk_evidence(it, it, attributes="sex", rho=0.5),
    "Outliers": lambda it: oboro.Outliers(method="rare", attributes="sex").find(it).tolist(),
    "Outliers' bounds": lambda it: oboro.Outliers(method="iqr").bounds(it, "age"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", ASKED)
def test_every_kind_of_frame_gives_the_same_answer(asked: str, kind: str) -> None:
    ask = ASKED[asked]
    assert ask(KINDS[kind](COLUMNS)) == ask(oboro.Dataset.of(COLUMNS))


def test_one_name_is_a_list_of_one() -> None:
    frame = pd.DataFrame(COLUMNS)
    one, many = (oboro.attack(frame, frame, quasi=["age"], sensitive=given) for given in ("income", ["income"]))
    assert [found.as_dict() for found in one] == [found.as_dict() for found in many]
    assert oboro.special_uniques(frame, "age").attributes == ("age",)


def test_names_as_people_write_them() -> None:
    assert named_columns("age", "quasi") == named_columns(["age"], "quasi") == named_columns(("age",), "quasi")
    assert named_columns(7, "quasi") == ["7"]
    assert named_columns(pd.Index(["a", 1]), "quasi") == ["a", "1"]
    assert named_columns({"b", "a"}, "quasi") == ["a", "b"]
    assert named_columns(iter("ab"), "quasi") == ["a", "b"]
    assert named_columns(None, "quasi") == []
    with pytest.raises(UsageError, match="quasi: a column is named twice: age"):
        named_columns(["age", "sex", "age"], "quasi")


def test_a_file_that_was_read_and_a_release_are_tables(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex,note\nF,a\nF,b\nM,c\nM,d\n")
    assert oboro.verify(oboro.read(path), quasi="sex", k=2).holds
    assert oboro.verify(oboro.read(path, held=["sex"]), quasi=["sex", "note"], k=1).holds  # a column still in the file
    recipe = oboro.Recipe(
        attributes={"sex": {"role": "quasi"}, "note": {"role": "sensitive"}}, steps=[{"k_anonymize": {"k": 2}}]
    )
    release = recipe.run(path)
    assert oboro.verify(release, quasi="sex", k=2).holds
    assert oboro.risk(release, quasi="sex").uniques == 0
