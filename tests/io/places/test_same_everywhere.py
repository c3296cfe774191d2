"""The same table through every place: the same classes, the same suppressed rows, the same release."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import oboro
from oboro.io.places.place import as_place
from oboro.io.write import write_blocks

ROW = st.tuples(st.integers(20, 60), st.sampled_from(["東京", "Kyōto", "", None]), st.sampled_from([0.5, 1.5, None]))
RECIPE = oboro.Recipe(
    attributes={
        "age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}},
        "city": {"role": "quasi"},
        "x": {"role": "other"},
    },
    steps=[{"k_anonymize": {"k": 2, "suppress": 1}}],
    accept={"unique_on": ["x"], "because": "made up"},
    seed=7,
)


def halves(table: pa.Table, path: Path, write: Callable[[pa.Table, str], object]) -> str:
    """The table in two files of a folder, in its order."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    for name, part in (("a", table.slice(0, len(table) // 2)), ("b", table.slice(len(table) // 2))):
        write(part, f"{path}/{name}")
    return f"{path}/"


def written(table: pa.Table, name: str) -> str:
    """A place after the table was written there."""
    from dataclasses import replace

    write_blocks([table], replace(as_place(name), force=True))
    return name


def places(table: pa.Table, folder: Path, postgres: str | None) -> dict[str, Any]:
    """The table in every place that keeps its types."""
    found = {
        "frame": table,
        "parquet folder": halves(table, folder / "p", lambda part, name: pq.write_table(part, f"{name}.parquet")),
        "arrow folder": halves(table, folder / "a", lambda part, name: write_blocks([part], f"{name}.arrow")),
        "pattern": f"{folder}/p/*.parquet",
        "s3": written(table, "s3://people/same.parquet"),
        "s3 folder": written(table, "s3://people/same/"),
        "memory": written(table, "memory://same.parquet"),
        "sqlite": written(table, f"sqlite:///{folder}/a.db?table=people"),
        "duckdb": written(table, f"duckdb:///{folder}/a.duckdb?table=people"),
        "query": f"duckdb:///{folder}/a.duckdb?query=SELECT * FROM people",
        "dataset": ds.dataset(folder / "p"),
        "reader": table.to_reader(max_chunksize=3),
        "lazy": pl.LazyFrame(pl.from_arrow(table)),
        "relation": duckdb.from_arrow(table),
        "records": table.to_pylist(),
        "bytes": _bytes(table),
    }
    if postgres is not None:
        found["postgresql"] = written(table, f"{postgres}?table=same")
    return found


def _bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def arrow(released: Any) -> pa.Table:
    if isinstance(released, pl.LazyFrame):
        released = released.collect().to_arrow()
    return pa.Table.from_pylist(released) if isinstance(released, list) else released


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROW, min_size=4, max_size=30))
def test_the_same_release_from_every_place(rows, tmp_path, s3, postgres) -> None:
    ages, cities, others = zip(*rows, strict=True)
    types = {"age": pa.int64(), "city": pa.string(), "x": pa.float64()}
    table = pa.table({"age": ages, "city": cities, "x": others}, pa.schema(list(types.items())))
    expected = RECIPE.run(table)
    outs = cycle(["s3://people/out.parquet", f"{tmp_path}/out/", f"duckdb:///{tmp_path}/out.duckdb?table=out"])
    for (name, place), out in zip(places(table, tmp_path, postgres).items(), outs, strict=False):
        release = RECIPE.run(place)
        assert arrow(release.data).to_pydict() == expected.data.to_pydict(), name
        assert release.verification.as_dict() == expected.verification.as_dict(), name
        assert release.steps[0].facts["suppressed"] == expected.steps[0].facts["suppressed"], name
        release.write(out, force=True)
        assert oboro.read(out).data.to_arrow().to_pydict() == expected.data.to_pydict(), (name, out)
    fsspec.filesystem("memory").store.clear()


def test_text_places_give_the_same_release_as_a_csv_file(tmp_path, s3) -> None:
    lines = [f"{20 + number % 30},{'ab'[number % 2]},{number % 3}" for number in range(40)]
    whole = tmp_path / "people.csv"
    whole.write_text("\n".join(["age,city,x", *lines]) + "\n")
    (tmp_path / "parts").mkdir()
    for number in range(4):
        part = ["age,city,x", *lines[10 * number : 10 * number + 10]]
        (tmp_path / "parts" / f"{number}.csv").write_text("\n".join(part) + "\n")
    expected = RECIPE.run(str(whole)).data.to_pydict()
    assert RECIPE.run(f"{tmp_path}/parts/").data.to_pydict() == expected
    assert RECIPE.run(f"{tmp_path}/parts/?.csv").data.to_pydict() == expected
    assert RECIPE.run(whole.read_bytes()).data.to_pydict() == expected
    RECIPE.run(f"{tmp_path}/parts/").write("s3://people/out.csv", force=True)
    RECIPE.run(str(whole)).write(tmp_path / "out.csv")
    assert oboro.read("s3://people/out.csv").data.to_arrow() == oboro.read(tmp_path / "out.csv").data.to_arrow()
