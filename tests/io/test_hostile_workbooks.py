"""Workbooks made to exhaust memory: a message and exit code 2 wherever they are read, and never the end of the process."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

import openpyxl
import pytest
from tests.command_line import call
from tests.web.page_cases import page_in

import oboro
from oboro.errors import FileError, UsageError
from oboro.io.formats import excel, isolated

SHEET, STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"


@pytest.fixture(scope="module")
def plain() -> dict[str, bytes]:
    """The parts of a workbook with a shared string."""
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in (("name", "age"), ("Sato", 39), ("Ueno", 40)):
        book.active.append(row)
    book.save(out)
    with zipfile.ZipFile(out) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    related = (
        b'<Relationship Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" '
        b'Target="/xl/sharedStrings.xml" Id="rId99"/></Relationships>'
    )
    rels = "xl/_rels/workbook.xml.rels"
    parts[rels] = parts[rels].replace(b"</Relationships>", related)
    parts[STRINGS] = (
        b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" count="1" uniqueCount="1">'
        b"<si><t>shared</t></si></sst>"
    )
    return with_cells(parts, b'<c r="A4" t="s"><v>0</v></c>')


def with_cells(parts: dict[str, bytes], cells: bytes) -> dict[str, bytes]:
    return {**parts, SHEET: parts[SHEET].replace(b"</sheetData>", b"<row>" + cells + b"</row></sheetData>")}


def packed(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in parts.items():
            new.writestr(name, content)
    return out.getvalue()


def declared_strings(plain: dict[str, bytes]) -> bytes:
    """A shared string table that says that it has 10¹² strings."""
    return packed({**plain, STRINGS: plain[STRINGS].replace(b'uniqueCount="1"', b'uniqueCount="1000000000000"')})


def far_cell(plain: dict[str, bytes]) -> bytes:
    """One cell in the last corner of a sheet."""
    return packed(with_cells(plain, b'<c r="XFD1048576"><v>1</v></c>'))


def string_bomb(plain: dict[str, bytes]) -> bytes:
    """A string of a megabyte in 5,000 cells, which packs into some kilobytes."""
    strings = plain[STRINGS].replace(b"shared", b"A" * (1 << 20))
    return packed({**with_cells(plain, b'<c t="s"><v>0</v></c>' * 5_000), STRINGS: strings})


def repeated_rows(plain: dict[str, bytes]) -> bytes:
    """A sheet of OpenDocument whose one row is repeated a billion times."""
    cell = '<table:table-cell table:number-columns-repeated="16384" office:value-type="float" office:value="1"/>'
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        new.writestr("META-INF/manifest.xml", "<manifest/>")
        new.writestr(
            "content.xml",
            '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
            'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"><office:body><office:spreadsheet>'
            f'<table:table table:name="a"><table:table-row table:number-rows-repeated="1000000000">{cell}</table:table-row>'
            "</table:table></office:spreadsheet></office:body></office:document-content>",
        )
    return out.getvalue()


HOSTILE = {"declared.xlsx": declared_strings, "far.xlsx": far_cell, "bomb.xlsx": string_bomb}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_workbook_that_exhausts_memory_is_an_error(
    name: str, plain: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated, "LEAST_MEMORY", 1 << 30)
    (tmp_path / name).write_bytes(HOSTILE[name](plain))
    assert (tmp_path / name).stat().st_size < 20_000
    with pytest.raises(FileError, match=f"{name}: its reader ended over it: the file needs more than 1.0. GB"):
        oboro.read(tmp_path / name)


def test_a_sheet_of_repeated_rows_is_an_error(plain: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "rows.ods").write_bytes(repeated_rows(plain))
    with pytest.raises(FileError, match="cannot be read"):
        oboro.read(tmp_path / "rows.ods")


def test_an_unharmed_workbook_is_read(plain: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "in.xlsx").write_bytes(packed(plain))
    assert oboro.read(tmp_path / "in.xlsx").data["name"].decode().to_pylist() == ["Sato", "Ueno", "shared"]


def test_a_command_ends_with_2(plain: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "in.xlsx").write_bytes(far_cell(plain))
    done = call("assess", tmp_path / "in.xlsx")
    assert done.code == 2
    assert "without cells far away from the table" in done.err


def test_the_web_interface_goes_on(plain: dict[str, bytes], tmp_path: Path) -> None:
    page = page_in(tmp_path / "private")
    sent = page.upload("far.xlsx", far_cell(plain)).json()["result"]
    assert page.ask("sheets", upload=sent["upload"]) == {"sheets": ["Sheet"]}
    assert "its reader ended over it" in page.refused("open", upload=sent["upload"])["text"]
    sent = page.upload("declared.xlsx", declared_strings(plain)).json()["result"]
    refused = page.refused("sheets", upload=sent["upload"])
    assert refused["kind"] == "FileError"
    assert refused["text"].startswith("declared.xlsx: ")
    assert page.open("in.xlsx", packed(plain))["table"]["rows"] == 3
    page.desk.scratch.close()


def test_time_is_limited_too(plain: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "LEAST_SECONDS", 0)
    (tmp_path / "in.xlsx").write_bytes(packed(with_cells(plain, b'<c t="s"><v>0</v></c>' * 500_000)))
    with pytest.raises(FileError, match="takes far too long"):
        oboro.read(tmp_path / "in.xlsx")


def test_the_missing_extra_is_named(plain: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.xlsx").write_bytes(packed(plain))
    monkeypatch.setattr(isolated, "find_spec", lambda name: True)
    monkeypatch.setattr("sys.path", [one for one in sys.path if "site-packages" not in one])
    with pytest.raises(UsageError, match=r"oboro\[excel\]"):
        oboro.read(tmp_path / "in.xlsx")


def test_no_process_is_left_and_none_of_its_output_is_shown(
    plain: dict[str, bytes], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.xlsx").write_bytes(far_cell(plain))
    with excel.open_workbook(str(tmp_path / "in.xlsx")) as book:
        assert book.sheets == ["Sheet"]
        with pytest.raises(FileError):
            book.rows(0)
    assert book._process.returncode not in (None, 0)
    assert capfd.readouterr() == ("", "")
