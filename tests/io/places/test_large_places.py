"""Tables that are not held: columns that no step touches go from one place to another, and every row keeps its own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oboro
from oboro.io import external_shuffle
from oboro.io.write import write_blocks

ROWS = 60_000
RECIPE = oboro.Recipe(
    attributes={"age": {"role": "quasi"}, **{name: {"role": "other"} for name in ("row", "note", "visits")}},
    steps=[{"k_anonymize": {"k": 5}}],
    accept={"unique_on": ["row", "note", "visits"], "because": "made up, to see that rows stay together"},
    unnamed="drop",
)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rows = np.arange(ROWS)
    texts = pa.array(rows).cast(pa.string())
    visits = pa.ListArray.from_arrays(pa.array(np.arange(ROWS + 1, dtype=np.int32)), pa.array(rows))
    return pa.table({"age": rows % 50, "row": rows, "note": texts, "visits": visits, "left_out": texts})


@pytest.mark.parametrize("held", [1 << 29, 1 << 16], ids=["in memory", "in a file"])
@pytest.mark.parametrize("kind", ["folder", "reader", "duckdb"])
def test_rows_stay_together(kind, held, table, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(external_shuffle, "HELD", held)
    if kind == "folder":
        (tmp_path / "in").mkdir()
        for number in range(6):
            pq.write_table(table.slice(number * ROWS // 6, ROWS // 6), tmp_path / "in" / f"{number}.parquet")
        source: object = f"{tmp_path}/in/"
    elif kind == "duckdb":
        write_blocks([table], f"duckdb:///{tmp_path}/in.db?table=people")
        source = f"duckdb:///{tmp_path}/in.db?table=people"
    else:
        source = table.to_reader(max_chunksize=7_001)
    release = RECIPE.run(source)
    release.write(f"{tmp_path}/out/")
    found = pq.read_table(tmp_path / "out")
    rows = found["row"].to_numpy()
    assert found.column_names == ["age", "row", "note", "visits"]
    assert np.array_equal(np.sort(rows), np.arange(ROWS))
    assert not np.array_equal(rows, np.arange(ROWS))
    assert np.array_equal(found["age"].to_numpy(), rows % 50)
    assert found["note"].to_pylist() == [str(row) for row in rows]
    assert found["visits"].to_pylist() == [[row] for row in rows]
