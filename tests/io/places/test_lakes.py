"""Tables of Delta and Iceberg by their names: what was deleted stays deleted, a new table is one commit, none is replaced."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.command_line import call

import oboro
from oboro.engines.run import open_place
from oboro.errors import FileError, UsageError
from oboro.io.read import read
from oboro.io.write import write_blocks

PEOPLE = pa.table({"age": [31, 38, 52, 57] * 5, "city": ["Kyoto", "Osaka"] * 10, "note": [None, "a", "b", "c"] * 5})
RECIPE = oboro.Recipe(
    attributes={
        "age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}},
        "city": {"role": "quasi"},
        "note": {"role": "other"},
    },
    steps=[{"k_anonymize": {"k": 3}}],
)


@pytest.fixture
def delta(tmp_path: Path) -> Callable[[str], str]:
    pytest.importorskip("deltalake", reason="oboro[delta] is not installed")
    return lambda name: f"delta:///{tmp_path}/{name}"


@pytest.fixture
def iceberg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """A catalog in a file of SQLite, as its own settings name it."""
    catalogs = pytest.importorskip("pyiceberg.catalog", reason="oboro[iceberg] is not installed")
    pytest.importorskip("sqlalchemy", reason="the catalog of the test needs it")
    monkeypatch.setenv("PYICEBERG_CATALOG__HERE__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__HERE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__HERE__WAREHOUSE", f"file://{tmp_path}/warehouse")
    monkeypatch.setattr(catalogs, "_ENV_CONFIG", pytest.importorskip("pyiceberg.utils.config").Config())
    catalogs.load_catalog("here").create_namespace("study")
    return lambda name: f"iceberg://here/study.{name}"


@pytest.fixture(params=["delta", "iceberg"])
def named(request: pytest.FixtureRequest) -> Callable[[str], str]:
    found: Callable[[str], str] = request.getfixturevalue(request.param)
    return found


def test_from_table_to_table(named: Callable[[str], str]) -> None:
    write_blocks([PEOPLE], named("people"))
    assert read(named("people")).data.to_arrow().to_pydict() == PEOPLE.to_pydict()
    release = RECIPE.run(named("people"))
    release.write(named("released"))
    found = read(named("released")).data
    assert sorted(map(str, found.to_arrow().to_pylist())) == sorted(map(str, RECIPE.run(PEOPLE).data.to_pylist()))
    assert oboro.verify(found, quasi=["age", "city"], k=3).holds


def test_none_is_replaced_and_a_failure_leaves_none(named: Callable[[str], str], tmp_path: Path) -> None:
    write_blocks([PEOPLE], named("people"))
    for force in (False, True):
        with pytest.raises(FileError, match="never replaced"):
            RECIPE.run(named("people")).write(named("people"), force=force)

    def failing() -> Iterator[pa.Table]:
        yield PEOPLE
        raise FileError("half of it")

    before = sorted(tmp_path.rglob("*.parquet"))
    with pytest.raises(FileError, match="half of it"):
        write_blocks(failing(), named("broken"))
    assert sorted(tmp_path.rglob("*.parquet")) == before
    with pytest.raises(FileError, match="nothing of that name"):
        read(named("broken"))


def test_deleted_rows_stay_deleted(delta: Callable[[str], str], tmp_path: Path) -> None:
    write_blocks([PEOPLE], delta("people"))
    pytest.importorskip("deltalake").DeltaTable(str(tmp_path / "people")).delete("age = 31")
    assert read(delta("people")).data.rows == 15
    for engine in ("spark", "duckdb"):
        with pytest.raises(FileError, match="delta:///"):
            open_place(str(tmp_path / "people"), engine)
        with pytest.raises(UsageError, match="reads files"):
            open_place(delta("people"), engine)


def test_commands_take_them(delta: Callable[[str], str], tmp_path: Path) -> None:
    write_blocks([PEOPLE], delta("people"))
    (tmp_path / "recipe.yaml").write_text(RECIPE.to_yaml())
    done = call("anonymize", "delta:///people", "--recipe", "recipe.yaml", "--output", "delta:///out", cwd=tmp_path)
    assert done.code == 0, done.err
    assert call("verify", "delta:///out", "--quasi", "age,city", "--k", "3", cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    ("place", "package", "extra"), [("delta:///a", "deltalake", "delta"), ("iceberg://a/b.c", "pyiceberg", "iceberg")]
)
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, place: str, package: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=rf"{package}.*oboro\[{extra}\]"):
        RECIPE.run(place)
