"""Folders and objects appear whole or not at all, are replaced only when asked, and are never where the table was read."""

from __future__ import annotations

import bz2
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileSelector
from tests.io.places.test_databases import kill_while_writing

import oboro
from oboro.errors import ColumnError, FileError, UsageError
from oboro.io import write
from oboro.io.formats import parquet
from oboro.io.places.files import file_system
from oboro.io.places.place import as_place
from oboro.io.read import read
from oboro.io.write import write_blocks

TABLE = pa.table({"age": [31, None, 33] * 4, "city": ["東京", "Kyōto", None] * 4})
RECIPE = oboro.Recipe(
    attributes={"age": {"role": "quasi"}, "city": {"role": "quasi"}}, steps=[{"k_anonymize": {"k": 2}}], seed=1
)


@pytest.fixture(params=["local", "s3", "memory"])
def base(request, tmp_path) -> Iterator[str]:
    """A place with nothing in it."""
    if request.param == "local":
        yield str(tmp_path / "base")
        return
    if request.param == "s3":
        request.getfixturevalue("s3")
    yield f"{request.param}://people/base"
    system, path = file_system(as_place(f"{request.param}://people/"))
    system.delete_dir_contents(path.rstrip("/"), missing_dir_ok=True)
    fsspec.filesystem("memory").store.clear()


def names(base: str) -> list[str]:
    """All files below a place, by their names; also those that nobody reads."""
    system, path = file_system(as_place(f"{base}/"))
    found = system.get_file_info(FileSelector(path.rstrip("/"), recursive=True, allow_not_found=True))
    return sorted(one.base_name for one in found if one.is_file)


def folders(base: str) -> set[str]:
    """All folders below a place; in a store such an empty one is an object of its own."""
    system, path = file_system(as_place(f"{base}/"))
    found = system.get_file_info(FileSelector(path.rstrip("/"), recursive=True, allow_not_found=True))
    return {one.path.removeprefix(path) for one in found if not one.is_file}


def stopping() -> Iterator[pa.Table]:
    yield TABLE
    raise FileError("the rows stopped")


def test_a_folder_in_parts_comes_back_as_it_was(base, monkeypatch) -> None:
    monkeypatch.setattr(write, "PART", 20)
    write_blocks([TABLE] * 5, f"{base}/out/")
    marks = [] if "://" not in base else ["_SUCCESS"]
    assert names(base) == [*marks, "part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert read(f"{base}/out/").data.to_arrow().to_pydict() == pa.concat_tables([TABLE] * 5).to_pydict()
    for ending in ("csv", "ndjson.gz", "arrow"):
        write_blocks([TABLE] * 5, f"{base}/{ending}/*.{ending}")
        assert read(f"{base}/{ending}/").data.rows == 60


def test_a_folder_is_replaced_only_when_asked(base) -> None:
    release = RECIPE.run(TABLE)
    release.write(f"{base}/out/")
    with pytest.raises(FileError, match="is there already"):
        release.write(f"{base}/out/")
    release.write(f"{base}/out/", force=True)
    assert read(f"{base}/out/").data.rows == 12
    write_blocks([TABLE], f"{base}/out/mine.csv")
    with pytest.raises(FileError, match=r"holds more than a table \('mine.csv'\)"):
        release.write(f"{base}/out/", force=True)


def test_a_folder_that_a_killed_writer_began_goes_with_the_next_release(base: str) -> None:
    if "://" not in base:
        pytest.skip("on this machine the folder of a killed writer is beside its place, and swept at the next start")
    system, path = file_system(as_place(f"{base}/out/"))
    for name in ("_writing", "part-00000.parquet"):
        system.create_dir(f"{path}_oboro-0123456789abcdef")
        with system.open_output_stream(f"{path}_oboro-0123456789abcdef/{name}") as file:
            file.write(b"x")
    RECIPE.run(TABLE).write(f"{base}/out/", force=True)
    assert names(base) == ["_SUCCESS", "part-00000.parquet"]
    assert folders(base) == {"out"}


def test_a_writer_that_fails_leaves_the_earlier_release_complete(base: str, monkeypatch) -> None:
    monkeypatch.setattr(write, "PART", 1)  # the first part of the new release is complete when its rows stop coming
    release = RECIPE.run(TABLE)
    release.write(f"{base}/out/")
    before = names(base)
    with pytest.raises(FileError, match="the rows stopped"):
        write_blocks(stopping(), as_forced(f"{base}/out/"))
    assert names(base) == before
    assert read(f"{base}/out/").data.rows == 12


def test_one_file_is_replaced_only_when_asked(base) -> None:
    release = RECIPE.run(TABLE)
    if "://" not in base:
        Path(base).mkdir()
    for name in ("a.csv", "a.parquet", "a.csv.zst", "a.ndjson"):
        release.write(f"{base}/{name}")
        with pytest.raises(FileError, match="is there already"):
            release.write(f"{base}/{name}")
        release.write(f"{base}/{name}", force=True)
        assert read(f"{base}/{name}").data.rows == 12
    assert names(base) == ["a.csv", "a.csv.zst", "a.ndjson", "a.parquet"]


def test_nothing_is_left_when_rows_stop_coming(base) -> None:
    if "://" not in base:
        Path(base).mkdir()
    for name in ("out/", "out/*.csv", "a.parquet", "a.csv.gz"):
        with pytest.raises(FileError, match="the rows stopped"):
            write_blocks(stopping(), f"{base}/{name}")
        assert names(base) == []
        assert folders(base) == set()
    assert "://" in base or not list(Path(base).iterdir())


def test_a_writer_that_was_killed_leaves_nothing_under_the_name(base, monkeypatch) -> None:
    if base.startswith("memory"):
        pytest.skip("the memory of a process goes with it")
    monkeypatch.setattr(write, "PART", 1)
    for name in ("out/", "a.parquet"):
        if "://" not in base:
            os.makedirs(base, exist_ok=True)
        kill_while_writing(f"{base}/{name}")
        with pytest.raises(FileError, match="is not complete|nothing of that name|no data file|no such file"):
            read(f"{base}/{name}")
        write_blocks([TABLE], as_forced(f"{base}/{name}"))
        assert read(f"{base}/{name}").data.rows == 12
    left = [one for one in names(base) if "oboro" in one or "part-0" not in one]
    assert [one for one in left if one not in ("_SUCCESS", "a.parquet")] == []
    assert "://" in base or all("oboro" not in name for name in os.listdir(base))


def as_forced(name: str):
    from dataclasses import replace

    return replace(as_place(name), force=True)


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch) -> None:
    class Full:
        def __init__(self, *_: object, **__: object) -> None:
            raise OSError(28, os.strerror(28))

    monkeypatch.setattr(parquet.pq, "ParquetWriter", Full)
    with pytest.raises(FileError, match="the disk is full; nothing was left there"):
        write_blocks([TABLE], f"{tmp_path}/out/")
    assert not list(tmp_path.iterdir())


def test_what_was_read_is_not_written_to(base, tmp_path) -> None:
    write_blocks([TABLE], f"{base}/in/")
    release = RECIPE.run(f"{base}/in/")
    for name in ("in/", "in/more/", "in/*.csv", "in/out.csv", "/"):
        with pytest.raises(UsageError, match="is where the table was read"):
            release.write(f"{base}/{name}", force=True)
    with pytest.raises(UsageError, match="is where the table was read"):
        RECIPE.run(f"{base}/in/*.parquet").write(f"{base}/in/x.csv", force=True)
    release.write(f"{base}/in2/")
    assert read(f"{base}/in/").data.to_arrow().to_pydict() == TABLE.to_pydict()
    if "://" not in base:  # by another name too
        (tmp_path / "link").symlink_to(Path(base) / "in")
        with pytest.raises(UsageError, match="is where the table was read"):
            release.write(f"{tmp_path}/link/", force=True)


def test_partitions_are_not_kept_in_the_names_of_a_release(tmp_path) -> None:
    for city in ("a", "b"):
        (tmp_path / "in" / f"city={city}").mkdir(parents=True)
        pq.write_table(pa.table({"age": [31, 32] * 3}), tmp_path / "in" / f"city={city}" / "p.parquet")
    release = RECIPE.run(f"{tmp_path}/in/")
    release.write(f"{tmp_path}/out/")
    assert os.listdir(tmp_path / "out") == ["part-00000.parquet"]
    assert sorted(pq.read_table(tmp_path / "out" / "part-00000.parquet")["city"].to_pylist()) == ["a"] * 6 + ["b"] * 6


def test_json_lines_keep_kinds_of_values(tmp_path) -> None:
    table = pa.table({"a": [1, None], "b": ['x "q"\n', "東京"], "c": [1.5, -0.0], "d": [True, None]})
    write_blocks([table], tmp_path / "a.ndjson")
    lines = (tmp_path / "a.ndjson").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == table.to_pylist()
    assert read(tmp_path / "a.ndjson").data.to_arrow().to_pydict() == table.to_pydict()


def test_packed_files_are_real_ones(tmp_path) -> None:
    for ending, unpack in (("gz", gzip.open), ("bz2", bz2.open)):
        write_blocks([TABLE], tmp_path / f"a.csv.{ending}")
        with unpack(tmp_path / f"a.csv.{ending}") as file:
            assert file.readline() == b"age,city\n"
        assert read(tmp_path / f"a.csv.{ending}").data.rows == 12
    write_blocks([TABLE], tmp_path / "a.csv.lz4")
    assert read(tmp_path / "a.csv.lz4").data.rows == 12


def test_strange_folders_are_refused_before_any_work(tmp_path) -> None:
    for name in ("out/*.xlsx", "out/*/x.csv", "out/part-?.csv", "out/*.orc"):
        with pytest.raises(UsageError, match="a folder is written as"):
            write.check_output(f"{tmp_path}/{name}")
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="is there already"):
        write.check_output(f"{tmp_path}/file/")


def test_lists_and_structures_pass_through_and_are_looked_at(tmp_path) -> None:
    nested = {
        "visits": [[1, 2], None, [], [3]],
        "who": [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 1, "b": "x"}],
    }
    table = pa.table({"age": [31, 32] * 10, **{name: values * 5 for name, values in nested.items()}})
    pq.write_table(table, tmp_path / "in.parquet")
    others = {name: {"role": "other"} for name in nested}
    recipe = oboro.Recipe(attributes={"age": {"role": "quasi"}, **others}, steps=[{"k_anonymize": {"k": 2}}])
    release = recipe.run(str(tmp_path / "in.parquet"))
    for name in ("out.parquet", "out/", "out.arrow"):
        release.write(f"{tmp_path}/{name}")
        found = (
            pa.parquet.read_table(tmp_path / name)
            if "arrow" not in name
            else pa.ipc.open_file(tmp_path / name).read_all()
        )
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, table.to_pylist()))
    with pytest.raises(ColumnError, match="'visits' holds list"):
        release.write(f"{tmp_path}/out.csv")
    assert not (tmp_path / "out.csv").exists()
    alone = table.set_column(1, "visits", pa.array([[number] for number in range(20)]))
    pq.write_table(alone, tmp_path / "alone.parquet")
    with pytest.raises(oboro.errors.SingledOutError, match="visits"):
        recipe.run(str(tmp_path / "alone.parquet"))
    touched = oboro.Recipe(
        attributes={"age": {"role": "quasi"}, "visits": {"role": "quasi"}, "who": {"role": "other"}},
        steps=[{"k_anonymize": {"k": 2}}],
    )
    with pytest.raises(ColumnError, match="not single values"):
        touched.run(str(tmp_path / "in.parquet"))
