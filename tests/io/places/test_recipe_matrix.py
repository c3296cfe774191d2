"""Every recipe makes of a table the same release, wherever the table comes from and wherever the release goes.

`make test` takes every pair of a recipe and a place, and of a recipe and an output; `make thorough` every combination of the three.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from tests.io.places.recipe_matrix import (
    OUTPUTS,
    PLACES,
    RECIPES,
    Exporter,
    Servers,
    columns_of,
    covering,
    outcome,
    report_facts,
)

from oboro.io.formats.base import FORMATS
from oboro.io.places.databases import DRIVERS
from oboro.io.read import read
from oboro.techniques import TECHNIQUES

THOROUGH = os.environ.get("OBORO_EXAMPLES") == "thorough"
COMBINATIONS = list(product(RECIPES, PLACES, OUTPUTS)) if THOROUGH else covering([*RECIPES], [*PLACES], [*OUTPUTS])
REPORTED = (
    [*PLACES]
    if THOROUGH
    else ["reader", "lazy polars", "relation", "sqlite", "parquet folder", "csv folder", "json lines"]
)


@pytest.fixture(scope="module", autouse=True)
def key() -> Iterator[None]:
    """The key of the pseudonyms."""
    os.environ["MATRIX_KEY"] = "a key for the tests of places, 40 letters"
    yield
    del os.environ["MATRIX_KEY"]
    fsspec.filesystem("memory").store.clear()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matrix")


@pytest.fixture(scope="module")
def iceberg(folder: Path) -> Iterator[str]:
    """The name of a catalog of Iceberg in a file of SQLite, as the environment of a user names it."""
    catalogs = pytest.importorskip("pyiceberg.catalog", reason="oboro[iceberg] is not installed")
    pytest.importorskip("sqlalchemy", reason="the catalog of the test needs it")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYICEBERG_CATALOG__MATRIX__TYPE", "sql")
        patch.setenv("PYICEBERG_CATALOG__MATRIX__URI", f"sqlite:///{folder}/catalog.db")
        patch.setenv("PYICEBERG_CATALOG__MATRIX__WAREHOUSE", f"file://{folder}/warehouse")
        patch.setattr(catalogs, "_ENV_CONFIG", pytest.importorskip("pyiceberg.utils.config").Config())
        catalogs.load_catalog("matrix").create_namespace("study")
        yield "matrix/study"
    gc.collect()


@pytest.fixture
def servers(request: pytest.FixtureRequest, folder: Path) -> Servers:
    """The servers that the place of a test and its output need, and no other."""
    wanted = {PLACES[request.node.callspec.params["place"]].needs}
    if output := request.node.callspec.params.get("output"):
        wanted.add(OUTPUTS[output].needs)
    if "delta" in wanted:
        pytest.importorskip("deltalake", reason="oboro[delta] is not installed")
    found = {name: request.getfixturevalue(name) for name in ("s3", "postgres", "iceberg") if name in wanted}
    return Servers(folder, **found)


@cache
def expected(recipe: str) -> dict[str, Any]:
    """What the recipe makes of the table in memory."""
    case = RECIPES[recipe]
    return outcome(case.recipe(), case.table)[0]


def _name(*parts: str) -> str:
    return "_".join("".join(filter(str.isalnum, part)).lower() for part in parts)


def source_of(recipe: str, place: str, servers: Servers) -> Any:
    """The table at its place, where it is put once; a source that can be read once only is made anew for each test."""
    made = SOURCES.get((recipe, place))
    if made is None or isinstance(made, ONCE):
        made = PLACES[place].put(RECIPES[recipe].table, servers, _name(recipe, place))
        SOURCES[recipe, place] = made
    return made


SOURCES: dict[tuple[str, str], Any] = {}
ONCE = (pa.RecordBatchReader, Exporter)


@pytest.mark.parametrize(("recipe", "place", "output"), COMBINATIONS)
def test_the_same_release_from_every_place(recipe: str, place: str, output: str, servers: Servers) -> None:
    found, release = outcome(RECIPES[recipe].recipe(), source_of(recipe, place, servers))
    assert found == expected(recipe)
    if release is None or not output:
        return
    out = OUTPUTS[output].place(servers, _name("out", recipe, place, output))
    release.write(out)
    assert columns_of(read(out).dataset.to_arrow()) == found["values"]


@pytest.mark.parametrize("place", REPORTED)
def test_the_same_report_from_every_place(place: str, servers: Servers) -> None:
    case = RECIPES["report"]
    release = case.recipe().run(source_of("report", place, servers))
    assert report_facts(release) == _expected_report()


@cache
def _expected_report() -> Any:
    case = RECIPES["report"]
    return report_facts(case.recipe().run(case.table))


@pytest.mark.parametrize("place", ["reader", "csv folder"])
def test_identifiers_of_a_large_table_are_not_kept_for_the_check_of_people(
    place: str, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The release says that they were not looked at."""
    for module in ("places.batches", "open", "column_store"):
        monkeypatch.setattr(f"oboro.io.{module}.SMALL", 0)
    release = RECIPES["identifier"].recipe().run(source_of("identifier", place, servers))
    assert "'card'" in str(next(one for one in release.cautions if one.id == "exposure.rows.unread"))
    assert not release.original["card"].loaded
    if place == "reader":
        assert "card" not in release.source.untouched.table.names


def test_every_technique_place_and_format_is_in_the_matrix() -> None:
    used = {name for case in RECIPES.values() for step in case.steps for name in step}
    assert {*PUBLIC} <= used
    covered = {place.covers for place in PLACES.values()}
    assert {*DRIVERS, *FORMATS, "delta", "iceberg", "s3", "fsspec"} <= covered


PUBLIC = [name for name in TECHNIQUES if TECHNIQUES[name].__module__.startswith("oboro.")]


def test_the_sample_has_every_pair() -> None:
    rows = covering([*RECIPES], [*PLACES], [*OUTPUTS])
    assert [(recipe, place) for recipe, place, _ in rows] == [*product(RECIPES, PLACES)]
    written = [(recipe, output) for recipe, _, output in rows if output]
    assert sorted(written) == sorted(product(RECIPES, OUTPUTS))
    assert all(len({output for _, one, output in rows if one == place and output}) > 4 for place in PLACES)
