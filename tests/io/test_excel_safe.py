"""What a spreadsheet would run as a formula is written so that it does not, and no two values become one by that."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command_line import Done, call

import oboro
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import UsageError
from oboro.io.formats.csv.formulas import FormulaGuard
from oboro.io.write import check_output
from oboro.notations.formulas import guarded_text

RISKY = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "＝1+1", "＋x", "－x", "＠x", "'=1", "''@x", "-", "=",
         "-5-3", "-5\n", "+1,2,x", "-1e", "=cmd|' /C calc'!A0"]  # fmt: skip
HARMLESS = [
    "",
    "5",
    "-5",
    "+5",
    "-5.25",
    "-1,234.5",
    "-.5",
    "-1e-5",
    "+12%",
    "-10–-5",
    "－10～－5",
    "a=1",
    " =1",
    "'s",
    "*",
    "20–29",
    "a;-5;b",
    "1,-2",
    "x, =1",
]
INSIDE = {  # a spreadsheet splits by the separator of its country, and quotes within a cell do not keep it from that
    "a;=1+1": "a;'=1+1",
    "a,@x": "a,'@x", "a\t-x": "a\t'-x", "\t=1": "'\t'=1", "a\n=1": "a\n'=1", "a;'=1": "a;''=1", 'a;"=1': 'a;"\'=1',
    "a;-5-3": "a;'-5-3", "=1;=2": "'=1;'=2", "a;＝1": "a;'＝1",
}  # fmt: skip


def test_what_gets_an_apostrophe_and_what_stays() -> None:
    assert [guarded_text(text) for text in RISKY] == [f"'{text}" for text in RISKY]
    assert [guarded_text(text) for text in HARMLESS] == HARMLESS
    assert {text: guarded_text(text) for text in INSIDE} == INSIDE


texts = st.text(st.sampled_from("';\"=+-@\t\r\n＝－15.,e%–～ax "), max_size=7)


@given(st.lists(st.one_of(st.none(), texts), max_size=12))
def test_tables_are_guarded_as_texts_are_and_stay_apart(cells: list[str | None]) -> None:
    guard = FormulaGuard()
    data = Dataset({"=x": Column.encode(pa.array(cells, pa.string()))}, len(cells))
    found = guard.guarded(data)["'=x"].decode().to_pylist()
    assert found == [None if cell is None else guarded_text(cell) for cell in cells]
    assert sum(guard.cells.values()) == 1 + sum(a != b for a, b in zip(cells, found, strict=True))
    assert len(set(found)) == len(set(cells))
    assert not any(re.match(r"[=@]", cell) for cell in found if cell)


def test_cells_of_blocks_are_counted_once_and_numbers_are_not_looked_at() -> None:
    guard = FormulaGuard()
    column = Column.encode(pa.array(["=a", "b", "=a", None]))
    numbers = Column.encode(pa.array([-1, -2, -3, None]))
    for rows in (slice(0, 2), slice(2, 4)):
        block = Dataset({name: Column(one.values, one.codes[rows]) for name, one in (("t", column), ("n", numbers))}, 2)
        assert guard.guarded(block)["n"].values.equals(numbers.values)
    assert +guard.cells == {"t": 2}
    assert str(guard.said).startswith("Spreadsheets: 2 cells of t ")


# The command line -----------------------------------------------------------------------------------------------------

RECIPE = """
attributes: {age: {role: quasi}, disease: {role: sensitive}, "=note": {role: other}}
steps: [{k_anonymize: {k: 3, l_diversity: {disease: 2}}}]
accept: {unique_on: ["=note"], because: made up}
"""


def lay_out(folder: Path, encoding: str = "utf-8") -> None:
    """Secrets that only an apostrophe tells apart: l holds only while they stay apart."""
    rows = [f"-{n % 4}x,{'=a' if n % 3 else chr(39) + '=a'},@note {n}\n" for n in range(40)]
    (folder / "in.csv").write_text("age,disease,=note\n" + "".join(rows), encoding=encoding)
    (folder / "recipe.yaml").write_text(RECIPE)


def go(folder: Path, output: str, *more: object) -> Done:
    return call("anonymize", "in.csv", "-r", "recipe.yaml", "-o", output, *more, cwd=folder)


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("large", [False, True], ids=["small", "columns stay in the file"])
def test_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool) -> None:
    if large:
        monkeypatch.setattr("oboro.io.column_store.SMALL", 0)
        monkeypatch.setattr("oboro.io.external_shuffle.HELD", 0)
        monkeypatch.setattr("oboro.io.column_store.HELD_TOO", -1)
    lay_out(tmp_path)
    done = go(tmp_path, "out.csv", "--excel-safe")
    assert done.code == 0, done.err
    header, *rows = rows_of((tmp_path / "out.csv").read_text())
    assert header == ["age", "disease", "'=note"]
    assert sorted(row[2] for row in rows) == sorted(f"'@note {n}" for n in range(40))
    assert {row[0] for row in rows} == {f"'-{n}x" for n in range(4)}
    assert {row[1] for row in rows} == {"'=a", "''=a"}
    assert "121 cells of age, disease, =note" in done.err
    verified = call("verify", tmp_path / "out.csv", "--quasi", "age", "--k", 3, "--sensitive", "disease", "--l", 2)
    assert verified.code == 0


def test_packed_and_in_another_encoding(tmp_path: Path) -> None:
    lay_out(tmp_path, "cp932")
    assert go(tmp_path, "out.csv.gz", "--excel-safe", "--output-encoding", "cp932").code == 0
    rows = rows_of(gzip.decompress((tmp_path / "out.csv.gz").read_bytes()).decode("cp932"))
    assert all(row[2].startswith("'") for row in rows)


def test_without_it_nothing_is_changed(tmp_path: Path) -> None:
    lay_out(tmp_path)
    done = go(tmp_path, "out.csv")
    assert rows_of((tmp_path / "out.csv").read_text())[0] == ["age", "disease", "=note"]
    assert "Spreadsheets" not in done.err


def test_a_sheet_of_excel_holds_text_and_no_formula(tmp_path: Path) -> None:
    lay_out(tmp_path)
    done = go(tmp_path, "out.xlsx", "--excel-safe")
    assert "no cell would be run as a formula" in done.err
    with zipfile.ZipFile(tmp_path / "out.xlsx") as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in sheet
    assert "<f " not in sheet
    import openpyxl

    cells = list(openpyxl.load_workbook(tmp_path / "out.xlsx").active.iter_rows(values_only=True))
    assert cells[0] == ("age", "disease", "=note")
    assert {row[1] for row in cells[1:]} == {"=a", "'=a"}


def test_it_is_for_csv(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="CSV and Excel"):
        check_output(tmp_path / "out.parquet", excel_safe=True)
    lay_out(tmp_path)
    assert go(tmp_path, "out.parquet", "--excel-safe").code == 2


def test_in_python_and_in_the_report(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    rng = np.random.default_rng(1)
    table = {
        "age": rng.integers(0, 3, 60).tolist(),
        "disease": ["=a", "b", "-5"] * 20,
        "=note": [f"n{n}" for n in range(60)],
    }
    release = oboro.Recipe.load(tmp_path / "recipe.yaml").run(pa.table(table))
    release.write(tmp_path / "out.csv", excel_safe=True)
    assert {row[1] for row in rows_of((tmp_path / "out.csv").read_text())[1:]} == {"'=a", "b", "-5"}
    assert "21 cells of disease, =note" in release.summary()
    assert "report.excel_safe.some" in [one.id for one in release.with_files(tmp_path / "out.csv").warnings]


# Streams --------------------------------------------------------------------------------------------------------------


def test_streams(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE.partition("steps")[0] + "steps: [{k_anonymize: {k: 2}}]\n")
    lay = "age,disease,=note\n" + "".join(f"-5,=d{n},@{n}\n" for n in range(6))
    (tmp_path / "in.csv").write_text(lay)
    words = ("stream", "-r", "recipe.yaml", "--from", "in.csv", "--excel-safe", "--dead-letters", "dead", "--to")
    assert call(*words, "out.csv", cwd=tmp_path).code == 0
    header, *rows = rows_of((tmp_path / "out.csv").read_text())
    assert header == ["age", "disease", "'=note"]
    assert [row[1:] for row in rows] == [[f"'=d{n}", f"'@{n}"] for n in range(6)]
    assert {row[0] for row in rows} == {"*", "-5"}
    refused = call(*words, "out.ndjson", cwd=tmp_path)
    assert refused.code == 2
    assert "is for CSV" in refused.err
