"""Made-up tables: the same seed makes the same table, and columns hang together as they do in life."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import yaml

from oboro.errors import UsageError
from oboro.hierarchies.spec import HierarchySpec
from oboro.samples.people import JOBS, PREFECTURES, hierarchy_csv, people, people_hierarchies, people_recipe
from oboro.samples.purchases import BLOCK, purchases, purchases_hierarchies, purchases_recipe

ROWS = 20_000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return people(ROWS, seed=7).to_arrow()


def values(table: pa.Table, name: str) -> list[object]:
    return list(table[name].to_pylist())


def test_the_same_seed_makes_the_same_people(table: pa.Table) -> None:
    assert people(ROWS, seed=7).to_arrow().equals(table)
    other = people(ROWS, seed=8).to_arrow()
    assert all(not other[name].equals(table[name]) for name in table.column_names)


def test_types(table: pa.Table) -> None:
    kinds = {name: str(table[name].type) for name in table.column_names}
    assert kinds["birthdate"] == kinds["last_purchase"] == "date32[day]"
    assert kinds["income"] == kinds["amount"] == "int64"
    assert kinds["name"] == kinds["address"] == "string"
    assert table.num_rows == ROWS


def test_identifiers_identify(table: pa.Table) -> None:
    assert len(pc.unique(table["customer_id"])) == ROWS
    assert len(pc.unique(table["name"])) > ROWS / 10
    assert all(text is None or len(str(text)) == 13 for text in values(table, "phone"))


def test_about_one_value_in_a_hundred_is_missing(table: pa.Table) -> None:
    for name in ("phone", "postal_code", "job", "income", "diagnosis", "amount"):
        assert 0.005 < table[name].null_count / ROWS < 0.016, name
    together = [table[name].is_null() for name in ("last_purchase", "category", "amount")]
    assert together[0].equals(together[1])
    assert together[0].equals(together[2])
    assert table["sex"].null_count == table["customer_id"].null_count == 0


def test_ages_follow_a_pyramid(table: pa.Table) -> None:
    years = (np.datetime64("2025-03-31") - table["birthdate"].drop_null().to_numpy()).astype(int) / 365.2425
    assert years.min() >= 17.99
    assert years.max() <= 100.01
    assert 48 < years.mean() < 58
    assert ((years > 45) & (years < 55)).mean() > 2 * (years > 90).mean()  # a bulge, then few


def test_students_are_young_and_pensioners_old(table: pa.Table) -> None:
    frame = table.to_pandas().dropna(subset=["birthdate", "job", "income"])
    age = (np.datetime64("2025-03-31") - frame.birthdate.to_numpy("datetime64[D]")).astype(int) / 365.2425
    assert age[frame.job == "student"].max() < 26
    assert age[frame.job == "pensioner"].min() > 57
    median = frame.groupby("job").income.median()
    assert median["physician"] > 2 * median["nurse"] > 4 * median["student"]
    assert (frame[frame.job == "nurse"].sex == "female").mean() > 0.8


def test_the_old_are_ill_more_often(table: pa.Table) -> None:
    frame = table.to_pandas().dropna(subset=["birthdate", "diagnosis"])
    old = frame.birthdate.to_numpy("datetime64[D]") < np.datetime64("1955-01-01")
    assert (frame[old].diagnosis == "hypertension").mean() > 2 * (frame[~old].diagnosis == "hypertension").mean()


def test_postal_codes_belong_to_the_prefecture(table: pa.Table) -> None:
    starts = {place.name: place.postal for place in PREFECTURES}
    prefecture = {row[0]: row[2] for row in people_hierarchies()["address"]}
    for address, code in zip(values(table, "address"), values(table, "postal_code"), strict=True):
        assert code is None or str(code).startswith(starts[prefecture[str(address)]])


def test_names_and_towns_are_lists_of_the_right_size() -> None:
    assert len(PREFECTURES) == 47
    assert len({place.name for place in PREFECTURES}) == 47
    assert all(len(place.cities) >= 4 and len(set(place.cities)) == len(place.cities) for place in PREFECTURES)
    assert len(JOBS) == len({job.name for job in JOBS}) == 24


def test_hierarchies_fit_the_people() -> None:
    data = people(2_000, seed=3)
    rows = people_hierarchies()
    address = HierarchySpec(rows=[list(row) for row in rows["address"]]).build("address", data["address"])
    job = HierarchySpec(rows=[list(row) for row in rows["job"]]).build("job", data["job"])
    assert (address.height, job.height) == (4, 3)
    assert set(address.generalize(data["address"], 2).texts) <= {place.name for place in PREFECTURES}
    assert len(address.generalize(data["address"], 3).values) == 8


def test_hierarchies_are_written_as_arx_reads_them() -> None:
    assert hierarchy_csv([("a;b", "x", "*"), ("c", "x", "*")]) == '"a;b";x;*\nc;x;*\n'


def test_the_recipe_names_every_column() -> None:
    recipe = yaml.safe_load(people_recipe("somewhere"))
    assert set(recipe["attributes"]) == set(people(10).columns)
    assert recipe["attributes"]["job"]["hierarchy"] == {"csv": "somewhere/job.csv"}
    assert len(recipe["steps"]) >= 6


@pytest.mark.parametrize("rows", [0, -1])
def test_a_table_has_rows(rows: int) -> None:
    with pytest.raises(UsageError, match="rows"):
        people(rows)
    with pytest.raises(UsageError, match="rows"):
        purchases(rows)


def test_purchases_are_those_of_the_paper() -> None:
    (block,) = purchases(1_000, seed=1)
    assert block.num_columns == 100
    assert block.column_names[:6] == ["job", "sex", "address", "birthdate", "name", "store_1"]
    assert block.column_names[-1] == "points_19"
    low_high = {name: (pc.min(block[name]).as_py(), pc.max(block[name]).as_py()) for name in block.column_names}
    assert low_high["job"] == (1, 24)
    assert low_high["store_3"] == ("A", "Z")
    assert 1_000 <= low_high["amount_7"][0] < low_high["amount_7"][1] <= 100_000
    assert 0 <= low_high["points_7"][0] < low_high["points_7"][1] <= 10_000
    assert low_high["birthdate"][0].year >= 1950
    assert set(values(block, "sex")) == {"女", "男"}


def test_purchases_come_in_blocks_and_columns_stand_alone() -> None:
    blocks = list(purchases(BLOCK + 10, seed=5, columns=6))
    assert [block.num_rows for block in blocks] == [BLOCK, 10]
    narrow = list(purchases(BLOCK + 10, seed=5, columns=4))
    assert narrow[1].equals(blocks[1].select(["job", "sex", "address", "birthdate"]))
    assert not narrow[0].slice(0, 10).equals(narrow[1])
    assert not next(purchases(10, seed=6, columns=4)).equals(narrow[1])


def test_purchases_need_their_quasi_identifiers() -> None:
    with pytest.raises(UsageError, match="columns"):
        purchases(10, columns=3)


@pytest.fixture(scope="module")
def purchase_rows() -> dict[str, list[tuple[str, ...]]]:
    return purchases_hierarchies()


def test_the_papers_lattice_has_72_nodes(purchase_rows: dict[str, list[tuple[str, ...]]]) -> None:
    block = next(purchases(500, columns=4))
    assert len(purchase_rows["address"]) == 5_000 * 5 * 20
    assert len({row[2] for row in purchase_rows["address"]}) == 5_000
    assert len({row[3] for row in purchase_rows["address"]}) == 47
    assert set(values(block, "address")) <= {row[0] for row in purchase_rows["address"]}
    attributes = yaml.safe_load(purchases_recipe(columns=4))["attributes"]
    dates = HierarchySpec.model_validate(attributes["birthdate"]["hierarchy"])
    from oboro.data.column import Column

    birth = dates.build("birthdate", Column.encode(block["birthdate"]))
    levels = [len(purchase_rows["job"][0]), 2, len(purchase_rows["address"][0]), birth.height + 1]
    assert levels == [3, 2, 4, 3]
    assert np.prod(levels) == 72


@pytest.mark.parametrize("columns", [4, 100])
def test_the_purchase_recipe_drops_the_name_where_there_is_one(columns: int) -> None:
    recipe = yaml.safe_load(purchases_recipe("h", columns))
    assert ("name" in recipe["attributes"]) == (columns > 4)
    assert recipe["steps"][-1] == {"k_anonymize": {"k": 3, "suppress": 0.1}}
    assert recipe["unnamed"] == "other"
    assert [next(iter(step)) for step in recipe["steps"]] == ["drop_columns"] * (columns > 4) + ["k_anonymize"]


def test_the_recipe_runs_on_the_people(tmp_path: Path) -> None:
    from oboro.recipe.recipe import Recipe

    for name, rows in people_hierarchies().items():
        (tmp_path / f"{name}.csv").write_text(hierarchy_csv(rows), encoding="utf-8")
    release = Recipe.parse(people_recipe("."), folder=tmp_path).run(table := people(3_000, seed=11).to_arrow())
    assert release.verification.holds
    assert not release.verification.apart  # one promise over everything that others may know
    assert release.data.num_rows == 3_000 - table["last_purchase"].null_count
    assert {"name", "phone", "postal_code"}.isdisjoint(release.data.column_names)
