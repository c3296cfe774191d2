"""Checks that every registered file format passes; they find the formats, and each format states its traits."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

import oboro
from oboro.data.dataset import Dataset
from oboro.errors import FileError, OboroError
from oboro.io.formats.base import (
    FORMATS,
    FileFormat,
    format_of_bytes,
    format_of_file,
    format_of_stored_file,
    read_endings,
    written_endings,
)
from oboro.io.read import read
from oboro.io.write import named_output, write
from oboro.notations.texts import texts_of
from oboro.web.server import ending_of

WRITTEN = [(one.name, ending) for one in FORMATS.values() for ending in one.written]
AWKWARD = {
    "quoted": pa.table({"name": ["Ann", 'Dé,"x"', "大阪", "=1+1", "  spaced ", "line\nend"], "n": [1, 2, 3, 4, 5, 6]}),
    "missing": pa.table({"a": [None, 1, None], "b": ["x", None, "y"], "c": pa.nulls(3, pa.float64())}),
    "numbers": pa.table(
        {"large": [2**53 + 1, -(2**62), 0], "real": [0.1, -1e-12, 1 / 3], "codes": ["007", "0", "1e5"]}
    ),
    "dates": pa.table({"born": [dt.date(1800, 1, 1), None, dt.date(2020, 2, 29)], "well": [True, None, False]}),
    "one row": pa.table({"a": ["x"], "b": [1]}),
    "many rows": pa.table({"a": [str(i % 7) for i in range(3000)], "b": range(3000)}),
}


def texts(data: Dataset) -> dict[str, list[str | None]]:
    """Values as text; numbers that are written with and without decimals, and truths as numbers, count as the same."""

    def plain(text: str | None) -> str | None:
        text = {"true": "1", "false": "0", "": None}.get(str(text).lower(), text) if text is not None else None
        return text.removesuffix(".0").removesuffix(" 00:00:00") if text is not None else None

    return {name: [plain(text) for text in texts_of(column.decode())] for name, column in data.columns.items()}


def _stripped(values: list[str | None]) -> list[str | None]:
    return [None if one is None else one.rstrip(" ") for one in values]


@pytest.mark.parametrize("table", AWKWARD)
@pytest.mark.parametrize(("name", "ending"), WRITTEN)
def test_awkward_tables_come_back(name: str, ending: str, table: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{ending}"
    data = Dataset.from_arrow(AWKWARD[table])
    write(data, path)
    assert format_of_file(path).name == name
    found, expected = texts(read(path).data), texts(data)
    if ending in FORMATS[name].trimmed:
        found, expected = ({name: _stripped(one) for name, one in each.items()} for each in (found, expected))
    assert found == expected
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(("name", "ending"), WRITTEN)
def test_truncated_files_are_refused_or_read_in_part(name: str, ending: str, tmp_path: Path) -> None:
    """A reader raises an error of oboro, or returns rows (a text that ends early is a text)."""
    path = tmp_path / f"t{ending}"
    write(Dataset.from_arrow(AWKWARD["many rows"]), path)
    whole = path.read_bytes()
    for size in (7, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:size])
        try:
            assert read(path).data.rows <= 3000
        except OboroError as problem:
            assert "Traceback" not in str(problem)
            assert problem.words.id.startswith("error_")


@pytest.mark.parametrize(("name", "ending"), WRITTEN)
def test_a_file_of_text_with_another_ending_is_refused(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{ending}"
    path.write_text("age,sex\n1,F\n")
    if FORMATS[name].fallback:
        assert read(path).data.rows == 1
    else:
        with pytest.raises(FileError):
            read(path)


@pytest.mark.parametrize(("name", "ending"), WRITTEN)
def test_a_failed_writer_leaves_the_file_that_was_there(
    name: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"t{ending}"
    path.write_bytes(b"before")

    def fail(self: FileFormat, file: object, blocks: object, request: object) -> None:
        file.write(b"half")  # type: ignore[attr-defined]
        raise RuntimeError

    monkeypatch.setattr(type(FORMATS[name]), "write", fail)
    with pytest.raises(RuntimeError):
        write(Dataset.from_arrow(AWKWARD["one row"]), path)
    assert path.read_bytes() == b"before"
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_everything_that_lists_formats_agrees() -> None:
    for format_ in FORMATS.values():
        for ending in format_.endings:
            assert FORMATS.of_ending(ending) is format_, ending
            assert ending_of(f"people{ending}") == ending
            assert format_of_stored_file(f"people{ending}", lambda: b"") is format_
        for ending in format_.written:
            assert named_output(f"people{ending}").format is format_
            if format_.folders:
                assert named_output(f"people/*{ending}").format is format_
        for magic in format_.magic:
            assert format_of_bytes(magic + b"\0\0") is format_
    endings = [ending for one in FORMATS.values() for ending in one.endings]
    assert len(endings) == len({*endings})
    assert {*written_endings()} < {*read_endings()}
    assert sum(one.fallback for one in FORMATS.values()) == 1


@pytest.mark.parametrize("ending", [".pq", ".ipc", ".arrows"])
def test_endings_that_folders_knew_are_written(ending: str, tmp_path: Path) -> None:
    release = oboro.Recipe(attributes={"a": {"role": "quasi"}}, steps=[{"k_anonymize": {"k": 2}}]).run(
        pa.table({"a": [1, 1, 2, 2]})
    )
    release.write(tmp_path / f"t{ending}")
    release.write(f"{tmp_path}/folder/*{ending}")
    release.write(f"memory://formats/t{ending}", force=True)
    assert read(f"memory://formats/t{ending}").data.rows == 4
    assert read(tmp_path / f"t{ending}").data.rows == read(f"{tmp_path}/folder/").data.rows == 4


def test_formats_are_named_without_loading_them() -> None:
    names = {*FORMATS}
    assert {"arrow", "csv", "excel", "json_lines", "parquet", "survey"} == names
    assert all(FORMATS[name].name == name for name in names)


def test_an_unknown_reading_option_of_a_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(oboro.errors.UsageError, match="labels=False is for"):
        read(tmp_path / "t.csv", labels=False)
    with pytest.raises(oboro.errors.UsageError, match="labels=False is for"):
        read(f"{tmp_path}/*.csv", labels=False)
