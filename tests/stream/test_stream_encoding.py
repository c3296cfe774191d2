"""Streams whose input is not UTF-8."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import call
from tests.stream.stream_cases import RECIPE

from oboro.errors import UsageError
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import run_stream

ROWS = [("Müßig", 40), ("Müßig", 40), ('Käthe; "K"\nB', 40)] * 3


def csv_text() -> str:
    quoted = ['"' + name.replace('"', '""') + '"' for name, _ in ROWS]
    return "sex;age;note\n" + "".join(
        f"{name};{age};{i}\n" for i, (name, (_, age)) in enumerate(zip(quoted, ROWS, strict=True))
    )


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return Recipe.load(tmp_path / "recipe.yaml")


def test_a_latin_1_file_is_read_as_the_same_file_in_utf_8(recipe: Recipe, tmp_path: Path) -> None:
    for name, encoding in (("latin.csv", "latin-1"), ("utf.csv", "utf-8")):
        (tmp_path / name).write_bytes(csv_text().encode(encoding))
        run_stream(recipe, source=str(tmp_path / name), target=str(tmp_path / f"out-{name}"), encoding=encoding)
    released = (tmp_path / "out-latin.csv").read_bytes()
    assert released == (tmp_path / "out-utf.csv").read_bytes()
    assert "Müßig;40" in released.decode()


def test_json_in_cp932_whose_letters_end_in_a_backslash(recipe: Recipe, tmp_path: Path) -> None:
    rows = [{"sex": "表示ソ", "age": 40, "note": i} for i in range(5)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "in.ndjson").write_bytes(text.encode("cp932"))
    metrics = run_stream(
        recipe, source=str(tmp_path / "in.ndjson"), target=str(tmp_path / "out.ndjson"), encoding="Shift-JIS"
    )
    released = [json.loads(line) for line in (tmp_path / "out.ndjson").read_text("utf-8").splitlines()]
    assert metrics["dead_letters"] == 0
    assert released[-1] == {"sex": "表示ソ", "age": 40, "note": 4}


def test_what_is_not_of_the_encoding_is_refused_line_by_line(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes("sex,age,note\n男,40,0\n".encode("cp932") + b"\x81 ,40,1\n")
    letters = tmp_path / "letters"
    run_stream(
        recipe,
        source=str(tmp_path / "in.csv"),
        target=str(tmp_path / "out.csv"),
        dead_letters=str(letters),
        encoding="cp932",
    )
    assert json.loads(letters.read_text()) == {"line": 3, "reason": "not cp932 text", "record": "\\x81 ,40,1"}


def test_a_restart_keeps_the_encoding_it_began_with(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(csv_text().encode("latin-1"))
    places = {"source": str(tmp_path / "in.csv"), "target": str(tmp_path / "out.csv"), "state": tmp_path / "state"}
    run_stream(recipe, encoding="latin-1", **places)  # type: ignore[arg-type]
    with (tmp_path / "in.csv").open("ab") as file:
        file.write("Müßig;40;99\n".encode("latin-1"))
    with pytest.raises(UsageError, match="other settings"):
        run_stream(recipe, encoding="cp932", **places)  # type: ignore[arg-type]
    metrics = run_stream(recipe, **places)  # type: ignore[arg-type]
    assert metrics["dead_letters"] == 0
    assert (tmp_path / "out.csv").read_text("utf-8").endswith("Müßig;40;99\n")


@pytest.mark.parametrize("encoding", ["utf-16", "iso2022_jp", "rot13", "nonsense"])
def test_an_encoding_that_bytes_cannot_cut_is_refused(recipe: Recipe, tmp_path: Path, encoding: str) -> None:
    with pytest.raises(UsageError, match="cannot be read one by one"):
        run_stream(recipe, source=str(tmp_path / "in.csv"), target=str(tmp_path / "out.csv"), encoding=encoding)


def test_its_output_is_verified_against_the_input_in_its_own_encoding(recipe: Recipe, tmp_path: Path) -> None:
    went_in, came_out = tmp_path / "in.csv", tmp_path / "out.csv"
    went_in.write_bytes(b"sex;age;note\n" + b"".join(f"Müßig;40;{i}\n".encode("latin-1") for i in range(9)))
    run_stream(recipe, source=str(went_in), target=str(came_out), encoding="latin-1")
    words = ["verify", "--stream", went_in, came_out, "--recipe", tmp_path / "recipe.yaml", "--encoding", "latin-1"]
    assert call(*words).code == 0
