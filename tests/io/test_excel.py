"""Excel in and out: nothing is lost, numbers stay numbers, text stays text."""

import datetime as dt
import io

import openpyxl
import pyarrow as pa
import pytest

import oboro
from oboro.data.dataset import Dataset
from oboro.errors import FileError, UsageError
from oboro.io.formats.excel import names_row
from oboro.io.read import read
from oboro.io.write import write

MOMENT = dt.datetime(2020, 1, 1, 12, 30, 5)


def book(tmp_path, rows, name="in.xlsx"):
    file = openpyxl.Workbook()
    for row in rows:
        file.active.append(row)
    file.save(tmp_path / name)
    return tmp_path / name


def table(**columns):
    return Dataset.of(columns)


def cells(path):
    return [list(row) for row in openpyxl.load_workbook(path).active.iter_rows(values_only=True)]


def decoded(path):
    data = read(path).data
    return {name: data[name].decode().to_pylist() for name in data}


def test_no_time_is_cut_off(tmp_path):
    path = book(tmp_path, [
        ["日", "時刻", "日時", "期間", "混在"],
        [dt.date(1959, 6, 7), dt.time(8, 15), MOMENT, dt.timedelta(hours=30, minutes=5), MOMENT],
        [dt.date(2000, 1, 1), dt.time(0, 0, 30), dt.datetime(2020, 1, 2), dt.timedelta(minutes=5), dt.date(2020, 1, 1)],
    ])  # fmt: skip
    assert decoded(path) == {
        "日": [dt.date(1959, 6, 7), dt.date(2000, 1, 1)],
        "時刻": ["08:15:00", "00:00:30"],
        "日時": [MOMENT, dt.datetime(2020, 1, 2)],
        "期間": ["30:05:00", "0:05:00"],
        "混在": [MOMENT, dt.datetime(2020, 1, 1)],
    }


def test_a_release_keeps_times_and_types(tmp_path):
    rows = [["code", "when", "day", "n", "x", "yes"]]
    rows += [["007", MOMENT + dt.timedelta(seconds=s), dt.date(2020, 1, 1), 39 + s, 1.5, True] for s in range(4)]
    path = book(tmp_path, rows)
    recipe = oboro.Recipe.model_validate({"attributes": {}, "unnamed": "other", "steps": [{"sort": {"by": ["n"]}}],
                                          "accept": {"unique_on": ["when", "n"], "because": "made up"}})  # fmt: skip
    release = recipe.run(path)
    release.write(tmp_path / "out.xlsx")
    as_cells = [[*row[:2], dt.datetime(2020, 1, 1), *row[3:]] for row in rows[1:]]
    assert cells(tmp_path / "out.xlsx") == [rows[0], *as_cells]
    release.write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1].startswith("007,2020-01-01 12:30:05")


def test_text_stays_text_and_is_never_a_formula(tmp_path):
    awkward = ["=cmd()", "+1", "#N/A", "007", "1E5", " a ", "_x0041_", "line\nbreak", "２０～２４", "'", "*"]
    write(table(t=awkward), tmp_path / "o.xlsx")
    assert decoded(tmp_path / "o.xlsx") == {"t": awkward}
    sheet = openpyxl.load_workbook(tmp_path / "o.xlsx").active
    assert {cell.data_type for (cell,) in sheet.iter_rows(min_row=2)} <= {"s", "inlineStr"}


def test_every_digit_and_every_space_is_written(tmp_path):
    columns = {"x": [0.23542363924064968, 0.1, 1e15], "t": ["  ", "\n", "a "]}
    write(table(**columns), tmp_path / "o.xlsx")
    assert decoded(tmp_path / "o.xlsx") == columns
    assert [row[0] for row in cells(tmp_path / "o.xlsx")[1:]] == columns["x"]


def test_what_a_cell_cannot_hold_is_text(tmp_path):
    columns = {
        "large": [2**53 + 1, 1],
        "old": [dt.date(1868, 10, 23), dt.date(2000, 1, 1)],
        "fine": [dt.datetime(2020, 1, 1, 0, 0, 0, 1), MOMENT],
    }
    write(table(**columns), tmp_path / "o.xlsx")
    assert decoded(tmp_path / "o.xlsx")["large"] == [str(2**53 + 1), "1"]
    assert decoded(tmp_path / "o.xlsx")["old"] == ["1868-10-23", "2000-01-01"]
    assert decoded(tmp_path / "o.xlsx")["fine"][0] == "2020-01-01 00:00:00.000001"
    write(table(n=[2**53, -5], x=[0.1, 1e20], b=[True, None], d=[MOMENT, None]), tmp_path / "o.xlsx")
    found = decoded(tmp_path / "o.xlsx")
    assert found == {"n": [2**53, -5], "x": [0.1, 1e20], "b": [True, None], "d": [MOMENT, None]}


def test_text_from_csv_becomes_a_number_only_where_its_text_stays(tmp_path):
    (tmp_path / "in.csv").write_text("n,code,day,other,long\n39,007,2020-01-01,1.50,123456789012\n5,7,2021-02-03,2,1\n")
    source = read(tmp_path / "in.csv")
    source.write(source.data, tmp_path / "o.xlsx")
    assert cells(tmp_path / "o.xlsx")[1:] == [
        [39, "007", dt.datetime(2020, 1, 1), "1.50", "123456789012"],
        [5, "7", dt.datetime(2021, 2, 3), "2", "1"],
    ]


def test_titles_above_the_names(tmp_path):
    rows = [
        ["職員名簿"],
        [],
        ["作成", "2020-01-01"],
        ["氏名", "年齢", "市"],
        ["佐藤", 39, "京都市"],
        ["鈴木", 40, "堺市"],
    ]
    path = book(tmp_path, rows)
    source = read(path)
    assert list(source.data) == ["氏名", "年齢", "市"]
    assert source.data.rows == 2
    assert [(note.id, note.values["row"]) for note in source.notes] == [("io.header_found", 4)]
    assert list(read(path, header_row=4).data) == ["氏名", "年齢", "市"]
    assert read(path, header_row=4).notes == ()
    with pytest.raises(UsageError, match="no row 40"):
        read(path, header_row=40)
    with pytest.raises(FileError, match="has no name in row 3 .*--header-row"):
        read(path, header_row=3)
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="--header-row"):
        read(tmp_path / "a.csv", header_row=1)


def test_a_record_never_becomes_the_names(tmp_path):
    assert names_row([["name", None, "city"], ["Sato", "Ueno", "Kyoto"]]) == 0
    assert names_row([["title", None], ["39", "40"]]) == 0
    assert names_row([["a", "b"], ["c", "d"]]) == 0
    source = read(book(tmp_path, [["name", None, "city"], ["Sato", "Ueno", "Kyoto"]]))
    assert (list(source.data), source.data.rows) == (["name", "column2", "city"], 1)
    assert [note.id for note in source.notes] == ["io.named_by_place"]


def test_what_no_sheet_holds_is_an_error(tmp_path):
    with pytest.raises(FileError, match=r"control character U\+0001"):
        write(table(t=["a\x01"]), tmp_path / "o.xlsx")
    with pytest.raises(FileError, match="32,767"):
        write(table(t=["a" * 32_768]), tmp_path / "o.xlsx")
    with pytest.raises(UsageError, match="written as .xlsx"):
        write(table(t=["a"]), tmp_path / "o.xls")
    assert not (tmp_path / "o.xlsx").exists()


def test_several_blocks_are_one_sheet():
    from oboro.io.formats.excel import sheet_bytes

    blocks = [table(n=[1, 2]), table(n=[2**60])]
    rows = openpyxl.load_workbook(io.BytesIO(sheet_bytes(blocks))).active.iter_rows(values_only=True)
    assert [row[0] for row in rows] == ["n", "1", "2", str(2**60)]  # one kind of cell in all blocks
    assert pa.types.is_integer(blocks[0]["n"].values.type)


def test_no_file_of_its_own_is_left_by_whoever_is_killed(tmp_path, monkeypatch):
    """openpyxl would write the sheet into a file in the system's folder for temporary files."""

    def refused(*given, **named):
        raise AssertionError("a file that nobody sweeps")

    monkeypatch.setattr("openpyxl.worksheet._writer.create_temporary_file", refused)
    write(table(a=["1", "=b"]), tmp_path / "out.xlsx")
    assert cells(tmp_path / "out.xlsx") == [["a"], ["1"], ["=b"]]


def test_cells_that_hold_an_error_are_counted(tmp_path):
    book = openpyxl.Workbook()
    for row in [("title", None, None), ("a", "b", "c"), (1, 2, "x"), (2, "#N/A", "#REF!"), (3, "#DIV/0!", "y")]:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    source = read(tmp_path / "t.xlsx")
    said = {note.id: note.values for note in source.notes}["io.error_cells"]
    assert (said["cells"], said["columns"]) == (3, ["b", "c"])
    assert source.data.to_arrow()["b"].to_pylist() == [2, None, None]
