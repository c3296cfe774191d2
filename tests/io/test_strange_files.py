"""Files as strangers write them: read as they are, or refused with a reason that a tired person understands."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import call

from oboro.errors import FileError
from oboro.io.files import read

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
