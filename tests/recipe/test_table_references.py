"""A further table that a recipe names: a file beside it, an address, or in Python a frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import yaml

import oboro
from oboro.data.dataset import Dataset
from oboro.errors import RecipeError, UsageError
from oboro.schema import TableReference
from oboro.techniques import TECHNIQUES

FRAME = {"age": [30, 30, 31]}


def not_read(place: str | Path) -> Dataset:
    raise AssertionError(place)


@pytest.mark.parametrize(
    "given", [FRAME, pd.DataFrame(FRAME), pa.table(FRAME), Dataset.of(FRAME)], ids=lambda one: type(one).__name__
)
def test_a_frame_is_the_table_itself(given: Any) -> None:
    one = TableReference.of(given)
    assert one.load(not_read, Path("x"))["age"].decode().to_pylist() == FRAME["age"]
    assert (one.name, one.file(Path("x")), str(one)) == (None, None, "(a table of 3 people)")
    assert "30" not in repr(one)


def test_a_path_starts_at_the_recipe_and_an_address_where_it_says() -> None:
    asked: list[str | Path] = []

    def read(place: str | Path) -> Dataset:
        asked.append(place)
        return Dataset.of(FRAME)

    for given in ("march.csv", Path("march.csv"), "/there/march.csv", "s3://bucket/march.csv"):
        TableReference.of(given).load(read, Path("/here"))
    assert asked == [Path("/here/march.csv")] * 2 + [Path("/there/march.csv"), "s3://bucket/march.csv"]
    assert TableReference.of("march.csv").file(Path("/here")) == Path("/here/march.csv")
    assert TableReference.of("s3://bucket/march.csv").file(Path("/here")) is None
    with pytest.raises(UsageError, match="password"):
        TableReference.of("postgresql://me:secret@there/t").file(Path("/here"))


def recipe(top: bool, earlier: list[Any]) -> oboro.Recipe:
    at = {"earlier": earlier}
    return oboro.Recipe(
        attributes={"age": {"role": "quasi"}},
        steps=[{"k_anonymize": {"k": 2} | ({} if top else at)}],
        **(at if top else {}),
    )


@pytest.mark.parametrize("top", [True, False], ids=["of the recipe", "of a step"])
def test_recipes_name_them_at_the_top_and_in_steps_alike(top: bool, tmp_path: Path) -> None:
    named = recipe(top, ["march.csv", pd.DataFrame(FRAME)])
    parameters = yaml.safe_load(named.to_yaml())
    assert (parameters if top else parameters["steps"][0]["k_anonymize"])["earlier"] == [
        "march.csv",
        "(a table of 3 people)",
    ]
    assert named.files == [Path("march.csv")]
    again = recipe(top, named.earlier or list(named.steps[0].earlier_releases))
    assert again.to_yaml() == named.to_yaml()
    with pytest.raises(RecipeError, match="earlier"):
        recipe(top, [7])


def test_the_schema_for_editors_names_a_file() -> None:
    fields = oboro.Recipe.json_schema()["properties"]["earlier"]
    assert fields["items"] == {"type": "string"}
    assert TECHNIQUES["k_anonymize"].model_json_schema()["properties"]["earlier"]["items"] == {"type": "string"}


def test_every_step_says_which_tables_it_compares_with() -> None:
    for technique in TECHNIQUES.values():
        step = technique.model_validate(technique.examples[0])
        assert (step.earlier_releases, step.populations) == ((), ())
    step = TECHNIQUES["k_anonymize"].model_validate({"k": 2, "k_map": 2, "population": "people.csv"})
    assert [str(one) for one in step.populations] == ["people.csv"] == list(step.files())
