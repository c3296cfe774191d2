"""What we write, others read as the same table: CSV, Parquet, Arrow, Excel."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pyarrow.feather as feather
import pyarrow.parquet as pq
from tests.fuzz.fuzzing import asked, refused, require

from oboro.io.read import Source

__all__ = ["check_written", "only_files"]


def check_written(source: Source, place: Path) -> None:
    """Write the table that was read, in several formats, and read it with somebody else's reader."""
    data = source.dataset
    expected = {name: data[name].decode().to_pylist() for name in data}
    _check_csv(source, place / "out.csv", expected)
    for ending, reader in ((".parquet", pq.read_table), (".arrow", feather.read_table)):
        path = place / f"out{ending}"
        done = asked(lambda path=path: source.write(data, path))
        require(not refused(done), f"not written as {ending}: {done}")
        found = reader(path).to_pydict()
        require(found == expected, f"{ending} holds another table")
        path.unlink()
    only_files(place, "in.csv")


def _check_csv(source: Source, path: Path, expected: dict[str, list[Any]]) -> None:
    dialect = source.dialect
    done = asked(lambda: source.write(source.dataset, path))
    require(not refused(done), f"not written as CSV: {done}")
    assert dialect is not None
    text = path.read_bytes().decode(dialect.encoding)
    marks: dict[str, Any] = {"delimiter": dialect.delimiter, "quotechar": dialect.quote}
    records = [
        [field or None for field in one] for one in csv.reader(io.StringIO(text, newline=""), strict=True, **marks)
    ]
    head = [list(expected)] if dialect.header else []
    rows = [list(row) for row in zip(*expected.values(), strict=True)]
    require(records == head + rows, f"CSV holds {records[:4]}, not {(head + rows)[:4]}")
    path.unlink()


def only_files(place: Path, *names: str) -> None:
    """Nothing is left in a folder but these."""
    left = sorted(one.name for one in place.iterdir() if one.name not in names)
    require(not left, f"left behind: {left}")
