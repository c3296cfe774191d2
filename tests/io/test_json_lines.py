"""JSON lines are read exactly, or refused with the line that is wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.command_line import call

from oboro.errors import FileError
from oboro.io.read import read


def written(folder: Path, text: str, name: str = "released.ndjson") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["released.ndjson", "released.jsonl", "released.ndjson.gz"])
def test_values_stay_what_they_are(name: str, tmp_path: Path) -> None:
    text = """{"zip": "007", "age": 31, "big": 123456789012345678901234567890, "share": 0.1, "open": true}

{"zip": "", "age": 2, "share": 2, "open": null}
{"age": 9007199254740993, "zip": "８", "more": "x"}
"""
    data = read(written(tmp_path, text, name)).data
    assert data.rows == 3
    assert data["zip"].decode().to_pylist() == ["007", "", "８"]
    assert data["age"].decode().to_pylist() == [31, 2, 9007199254740993]
    assert data["big"].decode().to_pylist() == ["123456789012345678901234567890", None, None]
    assert data["share"].decode().to_pylist() == [0.1, 2.0, None]
    assert data["open"].decode().to_pylist() == [True, None, None]
    assert data["more"].decode().to_pylist() == [None, None, "x"]


def test_numbers_among_words_stay_as_written(tmp_path: Path) -> None:
    text = '{"age": 31}\n{"age": "30-39"}\n{"age": "*"}\n{"age": 1.10}\n'
    data = read(written(tmp_path, text)).data
    assert data["age"].decode().to_pylist() == ["31", "30-39", "*", "1.10"]


def test_a_decimal_that_64_bits_would_change_stays_text(tmp_path: Path) -> None:
    text = '{"x": 0.12345678901234567890123}\n{"x": 0.12345678901234567890124}\n'
    assert len(read(written(tmp_path, text)).data["x"].values) == 2
    assert len(read(written(tmp_path, '{"x": 9007199254740993}\n{"x": 0.5}\n')).data["x"].values) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1}\n{"a": \n', "line 2"),
        ('{"a": 1}\n\n[1]\n', "line 3: is not a JSON object"),
        ('{"a": 1, "a": 2}\n', "line 1: the key 'a' stands twice"),
        ('{"a": 1}\n{"a": {"b": 1}}\n', "line 2: the column 'a' holds an object"),
        ('{"a": NaN}\n', "line 1"),
        ('{"a": 31}\n{"a": "31"}\n', "line 2: the column 'a' holds the same value as a number and as text"),
        ("\n", "no JSON object"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}\n", "line 1: is nested too deeply"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=said):
        read(written(tmp_path, text))


@pytest.mark.parametrize("text", ['[{"a": 1}, {"a": 2}]\n', '[\n  {"a": 1}\n]\n', '{"a": 1}\n{"a": 2}\n'])
@pytest.mark.parametrize("name", ["people.json", "people.csv"])
def test_json_that_is_no_table_of_lines_is_told_what_it_should_be(text: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"is JSON, not CSV\. A table in JSON has one object a line"):
        read(written(tmp_path, text, name))


def test_a_name_in_brackets_is_no_json(tmp_path: Path) -> None:
    assert list(read(written(tmp_path, "[id],{sex}\n1,F\n", "people.csv")).data) == ["[id]", "{sex}"]


def test_text_that_is_no_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "released.ndjson"
    path.write_bytes(b'{"a": "x"}\n{"a": "\xff"}\n')
    with pytest.raises(FileError, match="released.ndjson"):
        read(path)


def test_verify_reads_what_a_stream_writes_and_says_that_its_promise_is_another(tmp_path: Path) -> None:
    path = written(tmp_path, '{"sex": "F"}\n{"sex": "F"}\n{"sex": "*"}\n{"sex": "*"}\n')
    done = call("verify", path, "--quasi", "sex", "--k", "2")
    assert done.code == 0
    assert "2-anonymity" in done.out
    assert "stream k-anonymity" in done.err
    assert "--stream-metrics" in done.err
    assert call("verify", path, "--quasi", "sex", "--k", "3").code == 1


def test_evaluate_reads_json_lines(tmp_path: Path) -> None:
    original = written(tmp_path, '{"sex": "F", "age": 31}\n{"sex": "M", "age": 58}\n', "original.ndjson")
    released = written(tmp_path, '{"sex": "*", "age": 31}\n{"sex": "*", "age": 58}\n')
    done = call("evaluate", original, released, "--quasi", "sex,age", "--attempts", "0", "--json")
    assert done.code == 1, "both are unique by their age"
    assert '"uniques": 2' in done.out
