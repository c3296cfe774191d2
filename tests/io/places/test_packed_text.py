"""Text that is packed as xz or zip, in and out; what is damaged or no single file is one clear error."""

from __future__ import annotations

import lzma
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from oboro.errors import FileError
from oboro.io.read import read
from oboro.recipe.recipe import Recipe

TEXT = b"age,name\n31,\xe3\x81\x82\n32,b\n"
ROWS = {"age": ["31", "32"], "name": ["あ", "b"]}


def zipped(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name in names:
            out.writestr(name, TEXT)
    return path


def test_packed_text_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv.xz").write_bytes(lzma.compress(TEXT))
    (tmp_path / "a.ndjson.xz").write_bytes(lzma.compress(b'{"age": 31}\n'))
    assert read(tmp_path / "a.csv.xz").data.to_arrow().to_pydict() == ROWS
    assert read(tmp_path / "a.csv.xz", held=["age"]).dataset.to_arrow().to_pydict() == ROWS
    assert read(zipped(tmp_path / "b.csv.zip", "b.csv")).data.to_arrow().to_pydict() == ROWS
    assert read(zipped(tmp_path / "c.zip", "__MACOSX/b.csv", "b.csv")).data.to_arrow().to_pydict() == ROWS
    assert read(tmp_path / "a.ndjson.xz").data.to_arrow().to_pydict() == {"age": [31]}
    assert read(f"{tmp_path}/*.csv.*").data.rows == 4


def test_xz_is_written(tmp_path: Path) -> None:
    recipe = Recipe(attributes={"age": {"role": "quasi"}}, steps=[{"k_anonymize": {"k": 2}}])
    recipe.run(pa.table({"age": [31, 31, 52, 52]})).write(tmp_path / "out.csv.xz")
    assert sorted(lzma.decompress((tmp_path / "out.csv.xz").read_bytes()).split()) == [
        b"31",
        b"31",
        b"52",
        b"52",
        b"age",
    ]


@pytest.mark.parametrize("cut", [20, 60, -9])
def test_what_is_damaged_is_one_clear_error(tmp_path: Path, cut: int) -> None:
    whole = lzma.compress(TEXT * 50)
    (tmp_path / "a.csv.xz").write_bytes(whole[:cut])
    (tmp_path / "b.csv.xz").write_bytes(whole[:cut] + b"\x00\xff" * 9 + whole[cut:])
    archive = zipped(tmp_path / "c.zip", "c.csv").read_bytes()
    (tmp_path / "d.zip").write_bytes(archive[:cut] + b"\xff" + archive[cut:])
    for name in ("a.csv.xz", "b.csv.xz", "d.zip"):
        with pytest.raises(FileError, match=name):
            read(tmp_path / name)


def test_an_archive_of_several_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="2 files"):
        read(zipped(tmp_path / "a.zip", "a.csv", "b.csv"))
    with pytest.raises(FileError, match="unpack it first"):
        read(zipped(tmp_path / "a.csv", "a.csv"))
