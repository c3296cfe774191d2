"""Files out: CSV that other readers understand, and nothing under the output's name unless all of it is there."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.command_line import call

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import FileError, UsageError
from oboro.io.formats.csv.dialect import Dialect
from oboro.io.read import read
from oboro.io.write import check_output, write, write_blocks

texts = st.text(st.sampled_from('ab,;"\n\r\t é日'), max_size=6)
cells = st.one_of(st.none(), texts.filter(bool))


@st.composite
def tables(draw: st.DrawFn) -> Dataset:
    rows = draw(st.integers(0, 12))
    names = draw(st.lists(texts.filter(str.strip), min_size=1, max_size=4, unique=True))
    return Dataset(
        {
            name: Column.encode(pa.array(draw(st.lists(cells, min_size=rows, max_size=rows)), pa.string()))
            for name in names
        },
        rows,
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables(), st.sampled_from(",;\t|"))
def test_what_is_written_is_what_the_csv_module_reads(tmp_path: Path, data: Dataset, delimiter: str) -> None:
    path = tmp_path / "out.csv"
    write(data, path, Dialect(delimiter=delimiter))
    header, *records = list(
        csv.reader(io.StringIO(path.read_bytes().decode(), newline=""), delimiter=delimiter, strict=True)
    )
    assert header == list(data)
    expected = zip(*[[value or "" for value in data[name].decode().to_pylist()] for name in data], strict=True)
    assert [tuple(record) for record in records] == list(expected)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables().filter(lambda data: all(name == name.strip() for name in data)))
def test_what_is_written_is_what_oboro_reads(tmp_path: Path, data: Dataset) -> None:
    write(data, tmp_path / "out.csv")
    again = read(tmp_path / "out.csv", delimiter=",", quote='"').data
    assert again.to_arrow().to_pydict() == data.to_arrow().to_pydict()


def test_many_rows_keep_their_order(tmp_path: Path) -> None:
    numbers = np.arange(30_000)
    data = Dataset.from_arrow(pa.table({"n": numbers, "k": numbers % 300, "t": [f"row {n}, yes" for n in numbers]}))
    write(data, tmp_path / "out.csv")
    assert pl.read_csv(tmp_path / "out.csv").equals(pl.DataFrame(data.to_arrow().to_pydict()))


def test_blocks_are_one_table(tmp_path: Path) -> None:
    parts = [pa.table({"a": [1, 2]}), pa.table({"a": [3]})]
    for ending in ("csv", "parquet", "feather"):
        write_blocks(iter(parts), tmp_path / f"out.{ending}")
        assert read(tmp_path / f"out.{ending}").data["a"].texts == ["1", "2", "3"]


def test_compressed_and_marked(tmp_path: Path) -> None:
    data = Dataset.of({"a": ["x", "y"]})
    write(data, tmp_path / "out.csv.gz")
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == b"a\nx\ny\n"
    write(data, tmp_path / "out.csv.zst")
    assert read(tmp_path / "out.csv.zst").data.to_arrow().to_pydict() == {"a": ["x", "y"]}
    write(data, tmp_path / "bom.csv", Dialect(encoding="utf-8-sig"))
    assert (tmp_path / "bom.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    write(Dataset.of({"a": ["x"], "b": ["y"]}), tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text() == "a\tb\nx\ty\n"


@pytest.mark.parametrize("name", ["out.docx", "out.xls", "out", "out.parquet.gz"])
def test_an_ending_nobody_knows(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=".parquet"):
        check_output(tmp_path / name)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real disk of 256 kB, where the machine lets us make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=False)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather"])
def test_a_full_disk_is_a_clear_error_and_leaves_nothing(small_disk: Path, ending: str) -> None:
    rng = np.random.default_rng(0)
    data = Dataset.from_arrow(pa.table({"x": rng.random(100_000)}))
    with pytest.raises(FileError, match="disk is full"):
        write(data, small_disk / f"out.{ending}")
    assert list(small_disk.iterdir()) == []


def test_a_full_disk_on_the_command_line(small_disk: Path, tmp_path: Path) -> None:
    rows = "".join(f"{n},{n * 7919 % 10007}\n" for n in range(60_000))
    (tmp_path / "big.csv").write_text("a,b\n" + rows)
    (tmp_path / "r.yaml").write_text(
        "attributes: {a: {role: other}, b: {role: other}}\nsteps: []\naccept: {unique_on: [a, b], because: made up}\n"
    )
    done = call("anonymize", tmp_path / "big.csv", "-r", tmp_path / "r.yaml", "-o", small_disk / "out.csv")
    assert done.code == 2
    assert "disk is full" in done.err
    assert "Traceback" not in done.err
    assert list(small_disk.iterdir()) == []
