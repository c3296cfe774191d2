"""DuckDB does what one machine does: levels, suppressed rows, losses, verdicts, refusals, and the rows themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.engine_cases import BY_CHANCE, BY_VALUE, EMPTIED_CELLS, counted, facts, sparse, table
from tests.io.places.recipe_matrix import RECIPES

from oboro.engines.coded import speaking_for
from oboro.engines.run import anonymize_place
from oboro.errors import FileError, InputError, OboroError, UsageError
from oboro.io.read import read
from oboro.recipe.recipe import Recipe


def on_duckdb(recipe: Recipe, folder: Path, data: pa.Table) -> tuple[list[object], pa.Table] | tuple[str, None]:
    pq.write_table(data, folder / "in.parquet", row_group_size=7)
    try:
        release = anonymize_place(recipe, str(folder / "in.parquet"), str(folder / "out"), engine="duckdb", force=True)
    except OboroError as error:
        return str(error), None
    return facts(release), pq.read_table(folder / "out")


def on_one_machine(recipe: Recipe, data: pa.Table) -> tuple[list[object], pa.Table] | tuple[str, None]:
    try:
        release = recipe.run(data)
    except OboroError as error:
        return str(error), None
    return facts(release), release.data


@pytest.mark.parametrize("name", BY_VALUE)
@settings(max_examples=3)
@given(rows=st.integers(0, 60), seed=st.integers(0, 10**6))
def test_a_recipe_does_the_same(tmp_path_factory: pytest.TempPathFactory, name: str, rows: int, seed: int) -> None:
    data, folder = table(rows, seed), tmp_path_factory.mktemp("duckdb")
    told, released = on_duckdb(BY_VALUE[name], folder, data)
    expected, one = on_one_machine(BY_VALUE[name], data)
    assert told == expected
    if one is not None and released is not None:
        assert released.column_names == one.column_names
        assert counted(released) == counted(one)


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_that_every_place_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Draws fall on other rows than on one machine, which has the rows in another order: then the shape is compared."""
    monkeypatch.setenv("MATRIX_KEY", "a key for the tests of places, 40 letters")
    recipe, data = RECIPES[name].recipe(), RECIPES[name].table
    told, released = on_duckdb(recipe, tmp_path, data)
    expected, one = on_one_machine(recipe, data)
    if one is None or released is None or all(step.by_value for step in recipe.steps):
        assert told == expected
        assert (one is None) == (released is None)
        assert one is None or counted(released) == counted(one)
        return
    assert released.column_names == one.column_names
    assert released.num_rows == one.num_rows


@pytest.mark.parametrize("name", BY_CHANCE)
@settings(max_examples=2)
@given(rows=st.integers(0, 60), seed=st.integers(0, 10**6))
def test_chance_falls_on_the_same_rows_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, name: str, rows: int, seed: int
) -> None:
    data, folder = table(rows, seed), tmp_path_factory.mktemp("duckdb")
    upside_down = data.take(pa.array(range(rows)[::-1], pa.int64()))
    first, again = (on_duckdb(BY_CHANCE[name], folder, one) for one in (data, upside_down))
    assert first[0] == again[0]
    if first[1] is not None and again[1] is not None:
        assert counted(first[1]) == counted(again[1])


@settings(max_examples=3)
@given(rows=st.integers(1, 40), seed=st.integers(0, 10**6))
def test_draws_are_those_of_one_machine_on_the_sorted_table(
    tmp_path_factory: pytest.TempPathFactory, rows: int, seed: int
) -> None:
    data = table(rows, seed).select(["zip", "a.b"])
    recipe = Recipe(
        attributes={"zip": {"role": "sensitive"}, "a.b": {"role": "other"}},
        steps=[{"noise": {"attribute": "a.b", "scale": 9}}],
        seed=3,
    )
    told, released = on_duckdb(recipe, tmp_path_factory.mktemp("duckdb"), data)
    ordered = data.sort_by([("zip", "ascending"), ("a.b", "ascending")])
    expected, one = on_one_machine(recipe, ordered)
    assert told == expected
    assert one is None or released is None or counted(released) == counted(one)


@pytest.mark.parametrize("seed", [1, 6, 11, 16])
def test_the_same_cells_are_emptied(tmp_path: Path, seed: int) -> None:
    """Rows come to the driver in another order than one machine reads them."""
    data = sparse(60, seed)
    told, released = on_duckdb(EMPTIED_CELLS, tmp_path, data)
    expected, one = on_one_machine(EMPTIED_CELLS, data)
    assert told == expected
    assert released is not None
    assert one is not None
    assert counted(released) == counted(one)


@pytest.mark.parametrize("held_rows", [None, 0])
def test_a_column_of_lists_is_dropped(tmp_path: Path, held_rows: int | None) -> None:
    pq.write_table(pa.table({"age": [1, 2] * 6, "visits": [[n, 7] for n in range(12)]}), tmp_path / "in.parquet")
    roles = {"age": {"role": "quasi"}, "visits": {"role": "identifier"}}
    recipe = Recipe(attributes=roles, steps=[{"drop_columns": {"attributes": ["visits"]}}, {"k_anonymize": {"k": 2}}])
    places = str(tmp_path / "in.parquet"), str(tmp_path / "out")
    anonymize_place(recipe, *places, engine="duckdb", held_rows=held_rows)
    assert counted(pq.read_table(tmp_path / "out")) == counted(pa.table({"age": [1, 2] * 6}))


def test_a_sorted_release_is_sorted(tmp_path: Path) -> None:
    _, released = on_duckdb(BY_CHANCE["sort"], tmp_path, table(60, 1))
    _, one = on_one_machine(BY_CHANCE["sort"], table(60, 1))
    assert released is not None
    assert one is not None
    assert released["zip"].to_pylist() == one["zip"].to_pylist()


def test_what_one_machine_refuses_is_refused(tmp_path: Path) -> None:
    """Somebody is unique by a column that no promise covers and that never came to the driver."""
    data = table(50, 1).set_column(7, "paid", pa.array(range(50)))
    strict = BY_VALUE["k"].model_copy(update={"accept": []})
    told, _ = on_duckdb(strict, tmp_path, data)
    expected, _ = on_one_machine(strict, data)
    assert "paid" in told
    assert told == expected
    assert sorted(one.name for one in tmp_path.iterdir()) == ["in.parquet"]


def test_rows_come_out_in_another_order(tmp_path: Path) -> None:
    data = pa.table({"Sex": ["F"] * 2000, "n": pa.array([i // 2 for i in range(2000)])})
    recipe = Recipe(attributes={"Sex": {"role": "quasi"}, "n": {"role": "other"}}, steps=[{"k_anonymize": {"k": 2}}])
    _, released = on_duckdb(recipe, tmp_path, data)
    assert released is not None
    numbers = released["n"].to_pylist()
    assert numbers != sorted(numbers)
    assert sorted(numbers) == data["n"].to_pylist()
    _, kept = on_duckdb(recipe.model_copy(update={"order": "kept"}), tmp_path, data)
    assert kept is not None
    assert kept["n"].to_pylist() == data["n"].to_pylist()


def with_value(batch: pa.RecordBatch, name: str, row: int, value: object) -> pa.RecordBatch:
    place = batch.schema.get_field_index(name)
    values = batch.column(place).to_pylist()
    values[row] = value
    return batch.set_column(place, batch.schema.field(place), pa.array(values, batch.schema.field(place).type))


CHANGES: dict[str, Callable[[pa.RecordBatch], list[pa.RecordBatch]]] = {
    "a row is lost": lambda batch: [batch.slice(1)],
    "a row is doubled": lambda batch: [batch, batch.slice(0, 1)],
    "a row in place of another": lambda batch: [batch.slice(1), batch.slice(1, 1)],
    "an unseen value": lambda batch: [with_value(batch, "zip", 0, "99999")],
    "a seen value of another class": lambda batch: [with_value(batch, "Sex", 0, "M")],
    "a column that no step touches": lambda batch: [with_value(batch, "paid", 0, 5)],
    "two rows exchange such values": lambda batch: [with_value(with_value(batch, "paid", 0, 2), "paid", 1, 1)],
    "only the order": lambda batch: [batch.take(pa.array(range(batch.num_rows)[::-1], pa.int64()))],
}


PUBLISHED = 3  # the reading that is published: one to decide on, and the first rows of what stays come before it


@pytest.mark.parametrize(("change", "kind"), [*((one, "k") for one in CHANGES), ("a row is lost", "noise")])
def test_a_release_never_mixes_two_readings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, kind: str
) -> None:
    """Decided on one reading and published from another: what differs in any way is refused, what is released is the first one."""
    from oboro.engines import duckdb

    recipe, data = {**BY_VALUE, **BY_CHANCE}[kind], table(60, 3)
    for row, sex, paid in ((0, "F", 1), (1, "M", 2)):
        data = pa.Table.from_batches([with_value(data.combine_chunks().to_batches()[0], "Sex", row, sex)])
        data = pa.Table.from_batches([with_value(data.to_batches()[0], "paid", row, paid)])
    batches, readings = duckdb.DuckTable._batches, []

    def changing(self: duckdb.DuckTable, names: object = None) -> object:
        readings.append("name" in self.names)  # only the table as it came has it
        for batch in batches(self, names):  # type: ignore[arg-type]
            again = readings[-1] and sum(readings) == PUBLISHED
            yield from CHANGES[change](batch) if again else [batch]

    expected = on_duckdb(recipe, tmp_path, data)
    monkeypatch.setattr(duckdb.DuckTable, "_batches", changing)
    (tmp_path / "again").mkdir()
    told, released = on_duckdb(recipe, tmp_path / "again", data)
    assert sum(readings) == PUBLISHED
    if change == "only the order":
        assert released is not None
        assert expected[1] is not None
        assert counted(released) == counted(expected[1])
    else:
        assert "not what was verified" in str(told)
        assert sorted(one.name for one in (tmp_path / "again").iterdir()) == ["in.parquet"]


def test_what_an_engine_says_is_an_error_of_ours_without_rows(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(b'{"a": "Ann"')
    simple = Recipe(attributes={"a": {"role": "quasi"}, "b": {"role": "other"}}, steps=[{"k_anonymize": {"k": 2}}])
    for place in ("in.json", "absent.csv"):
        with pytest.raises(InputError, match="duckdb gave up: [A-Za-z]+Exception") as refused:
            anonymize_place(simple, str(tmp_path / place), str(tmp_path / "out"), engine="duckdb")
        assert "Ann" not in str(refused.value)
    assert [one.name for one in tmp_path.iterdir()] == ["in.json"]


def test_a_fault_is_named_without_passwords() -> None:
    from py4j.protocol import Py4JError

    said = "An error occurred while calling o1.csv.\n: java.io.IOException: s3a://me:secret@bucket/ is not there"
    for problem, fault in (
        (Py4JError(said), "IOException"),
        (Py4JError("[PATH_NOT_FOUND] //me:secret@b"), "PATH_NOT_FOUND"),
    ):
        with pytest.raises(InputError, match=fault) as refused, speaking_for("spark"):
            raise problem
        assert "secret" not in refused.value.show()
        assert "o1.csv" not in refused.value.show()
    with pytest.raises(InputError) as refused, speaking_for("spark"):
        raise Py4JError(said + "\n\tat a.b(C.java:1)\nCaused by: E: task 3\n\tat a.b\nCaused by: F: a row is too long")
    assert "is not there / F: a row is too long" in refused.value.show()
    with pytest.raises(InputError, match="ConnectionRefusedError"), speaking_for("spark"):
        raise ConnectionRefusedError(111, "refused")
    with pytest.raises(KeyError), speaking_for("spark"):
        raise KeyError("ours")


def test_before_any_work(tmp_path: Path) -> None:
    pq.write_table(table(5, 1), tmp_path / "in.parquet")
    place, out = str(tmp_path / "in.parquet"), str(tmp_path / "out")
    with pytest.raises(UsageError, match="no engine"):
        anonymize_place(BY_VALUE["k"], place, out, engine="abacus")
    with pytest.raises(UsageError, match="earlier"):
        anonymize_place(BY_VALUE["k"].model_copy(update={"earlier": ["x.csv"]}), place, out, engine="duckdb")
    with pytest.raises(UsageError, match="folder of Parquet"):
        anonymize_place(BY_VALUE["k"], place, str(tmp_path / "out.csv"), engine="duckdb")
    with pytest.raises(UsageError) as refused:
        anonymize_place(BY_VALUE["k"], place, "postgresql://me:secret@host/db?table=out", engine="duckdb")
    assert "secret" not in str(refused.value)
    (tmp_path / "out").mkdir()
    with pytest.raises(FileError, match="there already"):
        anonymize_place(BY_VALUE["k"], place, out, engine="duckdb")


def test_from_store_to_store(tmp_path: Path) -> None:
    """fsspec's file system in memory: objects in, objects out, nothing left of what is refused."""
    store = fsspec.filesystem("memory")
    data, one = table(60, 5), BY_VALUE["k"].run(table(60, 5))
    for part in range(2):
        store.pipe(f"/people/in/{part}.parquet", parquet(data.slice(30 * part, 30)))
    store.pipe("/people/in.csv", b"a,b\n1,2\n")
    release = anonymize_place(BY_VALUE["k"], "memory://people/in/", "memory://people/out", engine="duckdb")
    assert facts(release) == facts(one)
    assert counted(read("memory://people/out/").data.to_arrow()) == counted(one.data)
    assert counted(release.data.to_arrow_table()) == counted(one.data)
    release.write(tmp_path / "copy")
    assert counted(pq.read_table(tmp_path / "copy")) == counted(one.data)
    strict = BY_VALUE["k"].model_copy(update={"accept": []})
    for recipe, place, output, why in (
        (BY_VALUE["k"], "memory://people/in.csv", "memory://people/no", "no text"),
        (BY_VALUE["k"], "memory://people/in/", "memory://people/out", "there"),
        (BY_VALUE["k"], "memory://people/in/", "memory://people/in/more", "read"),
        (strict, "memory://people/in/", "memory://people/no", "unique"),
    ):
        with pytest.raises(OboroError, match=why):
            anonymize_place(recipe, place, output, engine="duckdb")
    assert sorted({Path(one).parent.name for one in store.find("/people/")}) == ["in", "out", "people"]
    store.store.clear()


def parquet(data: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(data, sink)
    return bytes(sink.getvalue())


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    from oboro.engines import base
    from oboro.system.files import draft_name

    left = tmp_path / draft_name("out")
    left.mkdir()
    with base.staged(str(tmp_path / "out")) as folder:
        assert not left.exists()
        assert Path(folder.made.folder).stat().st_mode & 0o077 == 0
        for name in ("told", "given-up"):
            (Path(folder.made.folder) / name).touch()
        folder.taken({"told": 0})
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["told"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out"]


@pytest.mark.parametrize("name", ["a[1].parquet", "a*.parquet", "a?.parquet"])
def test_a_file_whose_name_is_a_pattern_is_read_itself(tmp_path: Path, name: str) -> None:
    """A file `a[1].parquet` was taken for a pattern, and another table, `a1.parquet`, was anonymized."""
    pq.write_table(pa.table({"q": ["mine"] * 4}), tmp_path / name)
    pq.write_table(pa.table({"q": ["other"] * 9}), tmp_path / "a1.parquet")
    recipe = Recipe(attributes={"q": {"role": "quasi"}}, steps=[{"k_anonymize": {"k": 2}}])
    anonymize_place(recipe, str(tmp_path / name), str(tmp_path / "out"), engine="duckdb")
    assert pq.read_table(tmp_path / "out")["q"].to_pylist() == ["mine"] * 4


@pytest.mark.parametrize("step", [{"k_anonymize": {"k": 2}}, {"swap": {"attributes": ["q"], "method": "random"}}])
def test_not_a_number_is_missing_in_what_passes_by(tmp_path: Path, step: dict[str, Any]) -> None:
    """The one record with not-a-number beside missing ones is unique to Parquet's readers, and no look would have counted it."""
    other = pa.array([float("nan"), None, None, 1.0, 1.0], from_pandas=False)
    recipe = Recipe(attributes={"q": {"role": "quasi"}, "o": {"role": "other"}}, steps=[step], seed=1 << 70)
    told, released = on_duckdb(recipe, tmp_path, pa.table({"q": [7] * 5, "o": other}))
    assert released is not None, told
    assert sorted(map(str, released["o"].to_pylist())) == ["1.0", "1.0", "None", "None", "None"]


def test_a_column_that_follows_from_a_quasi_identifier_is_told_as_on_one_machine(tmp_path: Path) -> None:
    """It stays where it is; what stands beside it is asked for in the same rows, wherever these are in the table."""
    ages = [20 + n % 40 for n in range(200)]
    data = pa.table({"age": ages, "born": [2026 - age for age in ages], "seen": [n % 2 for n in range(200)]})
    recipe = Recipe.model_validate(
        {
            "attributes": {
                "age": {"role": "quasi", "hierarchy": {"intervals": [10]}},
                "born": {"role": "other"},
                "seen": {"role": "other"},
            },
            "steps": [{"k_anonymize": {"k": 10}}],
        }
    )
    pq.write_table(data, tmp_path / "in.parquet", row_group_size=31)
    found = anonymize_place(recipe, str(tmp_path / "in.parquet"), str(tmp_path / "out"), engine="duckdb")
    said = [one for one in found.cautions if one.id == "exposure.known_beside"]
    assert said == [one for one in recipe.run(data).cautions if one.id == "exposure.known_beside"] != []
