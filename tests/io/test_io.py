"""Files in: encodings, dialects, packing, and one clear message for whatever is wrong with a file."""

from __future__ import annotations

import gzip
import io
import os
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, FileError, UsageError
from oboro.io import bytes as io_bytes
from oboro.io.bytes import encoding_of
from oboro.io.formats.csv.dialect import Dialect, dialect_of
from oboro.io.read import column_names, read
from oboro.io.write import write
from oboro.system.files import atomic

JAPANESE = "氏名,住所,年齢\n佐藤 花子,東京都千代田区一番町1-1,31\n表示ソ,十～－ヱ,40\n"
PEOPLE = {"氏名": ["佐藤 花子", "表示ソ"], "住所": ["東京都千代田区一番町1-1", "十～－ヱ"], "年齢": ["31", "40"]}


def contents(path: Path | str, **options: object) -> dict[str, list[str | None]]:
    table: dict[str, list[str | None]] = read(path, **options).data.to_arrow().to_pydict()  # type: ignore[arg-type]
    return table


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "euc_jp", "utf-16"])
def test_the_encoding_is_found(tmp_path: Path, encoding: str) -> None:
    text = JAPANESE if encoding != "euc_jp" else JAPANESE.replace("～－", "〜")
    people = PEOPLE if encoding != "euc_jp" else {**PEOPLE, "住所": [PEOPLE["住所"][0], "十〜ヱ"]}
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode(encoding))
    source = read(path)
    assert source.data.to_arrow().to_pydict() == people
    assert source.dialect is not None
    assert source.dialect.encoding == encoding
    assert contents(path, encoding=encoding) == people


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
@pytest.mark.parametrize("encoding", ["utf-8", "cp932"])
def test_packed_files_are_known_by_their_first_bytes(tmp_path: Path, packing: str, encoding: str) -> None:
    path = tmp_path / "people"  # no ending to go by
    with pa.CompressedOutputStream(str(path), packing) as file:
        file.write(JAPANESE.encode(encoding))
    assert contents(path) == PEOPLE


def test_text_that_turns_japanese_late(tmp_path: Path) -> None:
    rows = "".join(f"{n},plain\n" for n in range(40_000))
    path = tmp_path / "late.csv"
    path.write_bytes(("a,b\n" + rows + "1,日本\n").encode("cp932"))
    assert path.stat().st_size > io_bytes.SAMPLE
    source = read(path)
    assert source.data["b"].values.to_pylist() == ["plain", "日本"]
    assert source.dialect is not None
    assert source.dialect.encoding == "cp932"


def test_characters_cut_by_the_pieces_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(io_bytes, "PIECE", 7)
    for encoding in ("cp932", "utf-16"):
        path = tmp_path / f"{encoding}.csv"
        path.write_bytes(("氏,住\n" + "日本語,東京\n" * 50).encode(encoding))
        assert contents(path) == {"氏": ["日本語"] * 50, "住": ["東京"] * 50}


def test_accents_are_not_taken_for_japanese() -> None:
    for text in ("nom,ville\nHélène,Orléans\nÉric,Besançon\n", "name,ort\nMüller,Köln\nJäger,Fürth\n"):
        with pytest.raises(FileError, match="people.csv, line 2: .*cp1252"):
            encoding_of("people.csv", text.encode("latin-1"))


@pytest.mark.parametrize("cell", [b"\xff\xfe", b"\xff\xfe\xfd", "Größe".encode("latin-1"), "男".encode("cp932")])
def test_two_bytes_do_not_tell_an_encoding(cell: bytes) -> None:
    with pytest.raises(FileError, match="line 2: .* say which encoding the file has"):
        encoding_of("people.csv", b"a,b\n" + b"x," + cell + b"\n")
    with pytest.raises(FileError, match="line 2: .* say which encoding the file has"):
        encoding_of("people.csv", b"a,b\n" + (b"x," + cell + b"\n") * 50)


def test_four_bytes_of_japanese_tell_it() -> None:
    assert encoding_of("people.csv", "a,b\nx,男\ny,女\n".encode("cp932")) == "cp932"


def test_latin_1_when_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes("nom,âge\nHélène,31\n".encode("latin-1"))
    assert contents(path, encoding="latin-1") == {"nom": ["Hélène"], "âge": ["31"]}


def test_bytes_that_do_not_decode_are_named(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"a,b\n" + b"x,y\n" * 99 + b"x,\x81\x20\n")
    with pytest.raises(FileError, match=r"people.csv, line 101: the byte 0x81 is not cp932 text"):
        read(path, encoding="cp932")
    path.write_bytes("a,b\n日,本\n".encode() + b"x,\xff\xfe\n")
    with pytest.raises(FileError, match=r"column 'b', row 2: b'\\xff\\xfe' is not UTF-8 text"):
        read(path, encoding="utf-8")
    with pytest.raises(FileError, match="no encoding 'klingon'"):
        read(path, encoding="klingon")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "t.csv"
    rows = [["name", "note", "x"], ["Ann", '"a;b,c|d\te"', "1"], ["Bob", "", "2,5" if delimiter == ";" else "2"]]
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows))
    source = read(path)
    assert source.dialect is not None
    assert source.dialect.delimiter == delimiter
    assert source.data["note"].decode().to_pylist() == ["a;b,c|d\te", None]


def test_a_bad_row_does_not_hide_the_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b;c\n1;2;3\n1,2\n4;5;6\n")
    with pytest.raises(FileError, match="line 3: 1 field where 3 are expected"):
        read(path)


def test_spaces_after_delimiters(tmp_path: Path) -> None:
    """As in the Adult data of UCI."""
    path = tmp_path / "adult.data"
    path.write_text('39, State-gov, "Never, married"\n50,  Self-emp, Married\n')
    source = read(path, header=False)
    assert source.dialect == Dialect(space=True, header=False)
    assert contents(path, header=False) == {
        "column1": ["39", "50"],
        "column2": ["State-gov", "Self-emp"],
        "column3": ["Never, married", "Married"],
    }
    path.write_text("a,b\n1, x\n2,y\n")  # not everywhere: so the space belongs to the value
    assert contents(path)["b"] == [" x", "y"]


def test_other_quotes() -> None:
    assert dialect_of("a,b\n'x,1',2\n'y',3\n").quote == "'"
    assert dialect_of("a,b\nit's,2\n'tis,3\n").quote == '"'
    assert dialect_of("a,b\n'x,1',2\n", quote='"').quote == '"'


def test_single_quotes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n'x,''1',2\n'y',3\n")
    assert contents(path) == {"a": ["x,'1", "y"], "b": ["2", "3"]}
    assert contents(path, quote="'") == {"a": ["x,'1", "y"], "b": ["2", "3"]}


@pytest.mark.parametrize(
    ("text", "header"), [("name,age\nAnn,31\n", True), ("Ann,31\nBob,40\n", False), ("a,a\nb,c\n", False)]
)
def test_a_header_is_guessed_when_asked(tmp_path: Path, text: str, header: bool) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    source = read(path, header=None)
    assert source.dialect is not None
    assert source.dialect.header is header
    assert source.data.rows == 2 - header


def test_only_some_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n1,2,3\n4,5,6\n")
    assert contents(path, columns=["c", "a"]) == {"c": ["3", "6"], "a": ["1", "4"]}
    with pytest.raises(ColumnError, match=r"t.csv: there is no column 'zip'; the file has 'a', 'b', 'c'"):
        read(path, columns=["zip"])
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(FileError, match="line 3"):  # a bad row is one, whatever is wanted of it
        read(path, columns=["a"])


def test_a_header_alone_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for text in ("a,b\n", "a,b", "a,b\r\n\r\n"):
        path.write_text(text)
        data = read(path).data
        assert (data.rows, list(data)) == (0, ["a", "b"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("Staff of the year,,\nname,age,sex\nAnn,31,F\n", "column 2 has no name"),
        ("39,,M,Kyoto\n50,F,F,Sakai\n", "column 2 has no name.*--no-header"),
        (",39,M\n1,50,F\n", "the first column has no name.*row.names = FALSE"),
        ("a,b,a\n1,2,3\n", "several columns have the same name: 'a'"),
        ('"a,b\n1,2\n', "line 1: the first record cannot be read"),
        ("a\x00,b\n1,2\n", "NUL"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text)
    with pytest.raises(FileError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (",age,zip", ["column1", "age", "zip"]),  # as R and pandas write the names of rows
        ('"","age"', ["column1", "age"]),
        ("a,,c", ["a", "column2", "c"]),
        ("a,b,", ["a", "b", "column3"]),  # every line ends with a delimiter
        (",column1,b", ["column1_", "column1", "b"]),
    ],
)
def test_a_column_without_a_name_is_called_by_its_place(tmp_path: Path, header: str, names: list[str]) -> None:
    path = tmp_path / "people.csv"
    row = ",".join(str(place) for place in range(len(names)))
    path.write_text(f"{header}\n{row}\n")
    source = read(path)
    lacking = next(place for place, name in enumerate(names, 1) if name.startswith(f"column{place}"))
    assert list(source.data) == names == column_names(path)
    assert [(note.id, note.values["place"]) for note in source.notes] == [("io.named_by_place", lacking)]
    assert read(path, held=names[:1]).notes == source.notes
    source.write(source.data, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines() == [",".join(names), row]
    assert list(read(tmp_path / "out.csv").data) == names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Staff of the year\n\nname;age\nAnn;31\nBob;33\n", (";", 2)),
        ("Staff\nname,age,sex\nAnn,31,F\nBob,33,M\n", (",", 3)),
        ("name\nSmith, John\nMiller, Ann\nBrown, Eve\n", None),
        ("name\nAnn\nBob\n", None),
    ],
)
def test_a_title_above_a_table_is_told(tmp_path: Path, text: str, found: tuple[str, int] | None) -> None:
    (tmp_path / "a.csv").write_text(text)
    source = read(tmp_path / "a.csv")
    assert len(source.data.columns) == 1
    told = [(note.values["delimiter"], note.values["columns"]) for note in source.notes]
    assert told == ([] if found is None else [found])


def test_files_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileError, match=r"nowhere.csv: cannot be read: there is no such file"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(FileError, match="there is no data file"):
        read(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError, match="not a directory"):
        read(tmp_path / "file" / "t.csv")

    def refuse(*_: object, **__: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(FileError, match="permission to read it is denied"):
        read(tmp_path / "file")


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_packed_file_that_was_cut_off(tmp_path: Path, packing: str) -> None:
    whole = pa.BufferOutputStream()
    with pa.CompressedOutputStream(whole, packing) as file:
        file.write(b"a,b\n" + b"".join(b"%d,%d\n" % (n, n * 7919 % 997) for n in range(200_000)))
    path = tmp_path / "t.csv.gz"
    data = whole.getvalue().to_pybytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(FileError, match=r"t.csv.gz: cannot be read: .*[Tt]runcated"):
        read(path)


def test_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(FileError, match="unpack it"):
        read(path)
    path.rename(tmp_path / "t.zip")
    with pytest.raises(FileError, match="not a zip file"):
        read(tmp_path / "t.zip")


@pytest.mark.parametrize("mark", ["", ",,", "é", "a", "\n"])
def test_impossible_marks(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="delimiter: must be one ASCII character"):
        read(path, delimiter=mark)
    with pytest.raises(UsageError, match="quote: must be one ASCII character"):
        read(path, quote=mark)
    with pytest.raises(UsageError, match="differ"):
        read(path, delimiter='"', quote='"')


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, pack: object) -> None:
    data = pack("名,b\n1,日\n".encode("cp932"))  # type: ignore[operator]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert contents("-") == {"名": ["1"], "b": ["日"]}


def test_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write(Dataset.of({"a": ["x", "y"]}), "-")
    assert capfdbinary.readouterr().out == b"a\nx\ny\n"


def test_progress_ends_with_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 1000)
    seen: list[tuple[int, int | None]] = []
    read(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


def test_out_as_it_came_in(tmp_path: Path) -> None:
    """Delimiter, header and byte order mark of the input are kept; so every byte is, unless quotes were not needed."""
    for text in ('a;b\n1;x y\n;"p;q"\n', "\ufeffa\tb\n1\tx\n", "7|x\n8|y\n"):
        path, out = tmp_path / "in.csv", tmp_path / "out.csv"
        path.write_text(text)
        source = read(path, header=text[0] in "a\ufeff")
        write(source.data, out, source.dialect)
        assert out.read_text() == text


def test_the_output_may_be_the_input(tmp_path: Path) -> None:
    for name in ("t.csv", "t.parquet", "t.feather"):
        path = tmp_path / name
        write(Dataset.of({"a": ["x", "y"], "b": [1, 2]}), path)
        source = read(path)
        write(source.data.select(["a"]), path, source.dialect)
        assert contents(path) == {"a": ["x", "y"]}


def test_links_are_followed_and_devices_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write(Dataset.of({"a": ["x"]}), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "a\nx\n"
    os.mkfifo(tmp_path / "pipe.csv")
    reader = os.open(tmp_path / "pipe.csv", os.O_RDONLY | os.O_NONBLOCK)
    write(Dataset.of({"a": ["x"]}), tmp_path / "pipe.csv")
    assert os.read(reader, 100) == b"a\nx\n"
    os.close(reader)
    with atomic("/dev/null") as file:
        file.write(b"gone")
    assert not Path("/dev/null").is_file()


def test_a_full_device(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with pytest.raises(FileError, match="disk is full"), atomic("/dev/full") as file:
        file.write(b"x" * 100_000)


def test_a_table_without_columns_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no column is left"):
        write(Dataset({}, 3), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_excel_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    late = ["1"] * 0 + [1] * 1500 + ["unknown"]  # a word far below numbers
    days = pd.to_datetime(["2024-01-02"] * 1501)
    pd.DataFrame({"n": late, "day": days, "x": [0.5] * 1501, "zip": ["007"] * 1501}).to_excel(path, index=False)
    data = read(path).data
    assert data["n"].decode().to_pylist()[-1] == "unknown"
    assert data["day"].values.type == pa.date32()
    assert data["zip"].values.to_pylist() == ["007"]
    assert contents(path, columns=["x"]) == {"x": [0.5] * 1501}


@pytest.mark.parametrize(("names", "message"), [(["a", "a"], "same name: 'a'"), (["a", None], "column 2 has no name")])
def test_excel_headers_are_checked(tmp_path: Path, names: list[str | None], message: str) -> None:
    path = tmp_path / "book.xlsx"
    pd.DataFrame([[1, 2]], columns=names).to_excel(path, index=False)
    with pytest.raises(FileError, match=message):
        read(path)


def test_an_empty_sheet(tmp_path: Path) -> None:
    pd.DataFrame().to_excel(tmp_path / "book.xlsx", index=False)
    with pytest.raises(FileError, match="sheet is empty"):
        read(tmp_path / "book.xlsx")


def test_parquet_text_of_many_row_groups(tmp_path: Path) -> None:
    values = [f"v{n * 7919 % 500}" if n % 10 else None for n in range(5_000)]
    table = pa.table({"a": pa.array(values), "b": pa.array(values).cast(pa.large_string()), "n": range(5_000)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=700)
    data = read(tmp_path / "t.parquet").data
    assert data["a"].decode().to_pylist() == values
    assert data["b"].decode().to_pylist() == values
    assert len(data["a"].values) == len(set(values))
    assert data["n"].values.type == pa.int64()


def test_real_data(arx_adult: Path) -> None:
    source = read(arx_adult / "adult.csv")
    assert source.dialect is not None
    assert source.dialect.delimiter == ";"
    assert source.data.rows == 30_162
    assert len(source.data["native-country"].values) == 41


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_line_that_names_the_delimiter_for_excel_is_no_header(tmp_path: Path, mark: bytes, end: bytes) -> None:
    lines = [b"sep=;", b"age;town;note", b"31;Bern, CH;a", b"38;Genf;b", b""]
    (tmp_path / "table.csv").write_bytes(mark + end.join(lines))
    assert read(tmp_path / "table.csv").data["town"].decode().to_pylist() == ["Bern, CH", "Genf"]
