"""Files as strangers write them: read as they are, or refused with a reason that a tired person understands."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import pytest
from tests.command_line import call

from oboro.errors import FileError
from oboro.io.read import column_names, read
from oboro.recipe.recipe import Recipe

CHINESE = "年龄,性别\n31,中华人民共和国性别男\n32,姓名张三李四王五\n"
KOREAN = "나이,성별\n31,대한민국남자\n32,여자사람이름김철수\n"
JAPANESE = "年齢,性別\n31,おとこ\n32,おんな\n"


@pytest.mark.parametrize(("text", "encoding"), [(CHINESE, "gb18030"), (CHINESE, "gb2312"), (KOREAN, "euc_kr")])
def test_chinese_and_korean_text_is_not_taken_for_japanese(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "in.csv").write_bytes(text.encode(encoding))
    with pytest.raises(FileError, match="say which encoding the file has"):
        read(tmp_path / "in.csv")
    assert list(read(tmp_path / "in.csv", encoding=encoding).data) == text.partition("\n")[0].split(",")


@pytest.mark.parametrize("encoding", ["euc_jp", "cp932", "utf-8"])
def test_japanese_text_is_known(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "in.csv").write_bytes(JAPANESE.encode(encoding))
    assert read(tmp_path / "in.csv").data["性別"].texts == ["おとこ", "おんな"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_utf_16_without_its_mark(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "in.csv").write_bytes("age,sex\n31,F\n".encode(f"{encoding}-le"))
    with pytest.raises(FileError, match=f"say {encoding}-le or {encoding}-be"):
        read(tmp_path / "in.csv", encoding=encoding)
    assert read(tmp_path / "in.csv", encoding=f"{encoding}-le").data["sex"].texts == ["F"]


def test_half_a_character_in_json_lines(tmp_path: Path) -> None:
    (tmp_path / "in.ndjson").write_text('{"age": "\\ud83d\\ude00"}\n{"age": "\\ud800"}\n')
    with pytest.raises(FileError, match="line 2"):
        read(tmp_path / "in.ndjson")


def test_values_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("v\n[/bold]\n[red]\n")
    done = call("hierarchy", "in.csv", "v", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "[/bold]" in done.out


@pytest.mark.parametrize("spec", ["{intervals: 2020-13-45}", "{intervals: [", "[" * 5000, "{intervals: [x]}"])
def test_a_specification_that_is_none(tmp_path: Path, spec: str) -> None:
    (tmp_path / "in.csv").write_text("age\n31\n32\n")
    done = call("hierarchy", "in.csv", "age", "--spec", spec, cwd=tmp_path)
    assert done.code == 2
    assert "internal error" not in done.err


@pytest.mark.parametrize("before", ["", "\n", "\r\n\r\n"])
def test_a_list_of_names_with_commas_is_one_column(tmp_path: Path, before: str) -> None:
    (tmp_path / "in.csv").write_bytes(f'{before}name\nSmith, John\n\n"Doe; Jane | x"\nBob\n'.encode())
    column = read(tmp_path / "in.csv").data["name"]
    assert column.decode().to_pylist() == ["Smith, John", None, "Doe; Jane | x", "Bob"]
    with pytest.raises(FileError, match="2 fields where 1"):
        read(tmp_path / "in.csv", delimiter=",")


def test_values_that_hold_the_delimiter_are_released(tmp_path: Path) -> None:
    """Values that hold the delimiter come out quoted, whether they are copied or rendered."""
    (tmp_path / "in.csv").write_text("\ntitle\n" + "Pens, red\nCups\n" * 70_000)
    recipe = Recipe(attributes={"title": {"role": "other"}}, steps=["shuffle"], order="kept")
    recipe.run(tmp_path / "in.csv").write(tmp_path / "out.csv")
    with open(tmp_path / "out.csv", newline="") as file:
        records = list(csv.reader(file))
    assert len(records) == 140_001
    assert {tuple(record) for record in records[1:]} == {("Pens, red",), ("Cups",)}
    assert records[0] == ["title"]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("rows", [3, 60_000])
def test_blank_lines_before_the_header(tmp_path: Path, ending: str, rows: int) -> None:
    for names, row in (("age", "31"), ("age,sex", "31,F")):
        (tmp_path / "in.csv").write_bytes((ending * 2 + names + ending + (row + ending) * rows).encode())
        data = read(tmp_path / "in.csv").data
        assert list(data) == names.split(",")
        assert data.rows == rows
        assert data["age"].texts == ["31"]


def test_a_header_longer_than_what_guesses_are_made_from(tmp_path: Path) -> None:
    names = [f"a_column_with_a_rather_long_name_{place}" for place in range(9000)]
    text = ",".join(names) + "\n" + ",".join("1" * 9000) + "\n"
    assert len(text) > 1 << 18
    (tmp_path / "in.csv").write_text(text)
    assert list(read(tmp_path / "in.csv", columns=names[-1:]).data) == names[-1:]
    assert column_names(tmp_path / "in.csv") == names


def test_japanese_after_much_ascii(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b"age,name\n" + b"30,abcdefgh\n" * 25_000 + "31,山田\n".encode("cp932") * 9)
    for words in (("init",), ("verify", "--quasi", "age", "--k", 2), ("hierarchy", "name"), ("assess",)):
        done = call(words[0], "in.csv", *words[1:], cwd=tmp_path)
        assert done.code == 0, done.err


def test_work_grows_with_the_columns_and_no_faster(tmp_path: Path) -> None:
    """Twice the columns took four times as long where each was looked for among all."""
    seconds = []
    for columns in (1_500, 6_000):
        names = [f"c{place}" for place in range(columns)]
        (tmp_path / "in.csv").write_text(",".join(names) + "\n" + (",".join("1" * columns) + "\n") * 4)
        began = time.process_time()
        recipe = Recipe(attributes={"c0": {"role": "quasi"}}, steps=[{"k_anonymize": {"k": 2}}], unnamed="other")
        recipe.run(tmp_path / "in.csv").write(tmp_path / f"out{columns}.csv")
        seconds.append(time.process_time() - began)
    assert seconds[1] < 6 * seconds[0] + 0.5
