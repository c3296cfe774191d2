"""A stream of lines is verified with what it refused left out: by the numbers of lines in its dead letters."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import call

from oboro.text import Message, Raw
from oboro.text.raw import values_shown

RECIPE = """
attributes:
  n: {role: other}
  d: {role: quasi, hierarchy: {dates: [day, month, year]}}
steps: [{k_anonymize: {k: 2}}]
"""
CSV = 'n,d\n1,2024-01-01\n\n"2\nx",zzz\n3,2024-01-02\n4,\n5,2024-13-01\n6,2024-01-02\n'
NDJSON = """{"n": 1, "d": "2024-01-01"}

{"n": 2, "d": ""}
{"n": 3, "d": "2024-01-02"}
{"n": 4}
{"n": 5, "d": null}
{"n": 6, "d": "2024-02-30"}
"""


@pytest.mark.parametrize(("text", "end", "refused"), [(CSV, "csv", 2), (NDJSON, "ndjson", 3)])
def test_what_dead_letters_number_is_left_out(tmp_path: Path, text: str, end: str, refused: int) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    (tmp_path / f"in.{end}").write_text(text, encoding="utf-8")
    places = ["--from", f"in.{end}", "--to", f"out.{end}", "--dead-letters", "dead"]
    streamed = call("stream", "-r", "recipe.yaml", *places, cwd=tmp_path)
    assert streamed.code == 0
    assert f"{refused} of " in streamed.err
    assert "; dead has them with their reasons" in streamed.err
    check = ["verify", "--stream", f"in.{end}", f"out.{end}", "--recipe", "recipe.yaml"]
    assert "--dead-letters" in call(*check, cwd=tmp_path).err
    checked = call(*check, "--dead-letters", "dead", cwd=tmp_path)
    assert checked.code == 0, checked.err
    assert f"{refused} messages were left out" in checked.err


def test_empty_text_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    (tmp_path / "in.ndjson").write_text(NDJSON.splitlines()[2], encoding="utf-8")
    places = ["--from", "in.ndjson", "--to", "out.ndjson", "--dead-letters", "dead"]
    assert call("stream", "-r", "recipe.yaml", *places, cwd=tmp_path).code == 2
    assert "does not take empty text; a missing value is null in JSON" in (tmp_path / "dead").read_text(
        encoding="utf-8"
    )
    with values_shown(False):
        said = Message("error_table.needs_dates", name="d", odd=Raw("", 1), because="").say("en")
    assert "holds an empty text (row 1)" in said


def test_the_output_of_a_window_is_said_to_be_one(tmp_path: Path) -> None:
    """Means of groups do not cover what went in; that is no fault of the record that is found first."""
    (tmp_path / "recipe.yaml").write_text(
        "attributes: {d: {role: quasi}}\nsteps: [{k_anonymize: {k: 2}}]\n", encoding="utf-8"
    )
    (tmp_path / "in.ndjson").write_text(
        "".join(f'{{"d": {n}}}\n' for n in (1, 2, 8, 9, 3, 4, 20, 22)), encoding="utf-8"
    )
    places = ["--from", "in.ndjson", "--to", "out.ndjson"]
    assert call("stream", "-r", "recipe.yaml", *places, "--mode", "window", "--window", "4", cwd=tmp_path).code == 0
    checked = call("verify", "--stream", "in.ndjson", "out.ndjson", "--recipe", "recipe.yaml", cwd=tmp_path)
    assert checked.code == 2
    assert "came out of a window" in checked.err
    assert "--stream-metrics" in checked.err
    (tmp_path / "bad.ndjson").write_text(
        "".join(f'{{"d": {n}}}\n' for n in (1, 2, 8, 9, 3, 5, 20, 22)), encoding="utf-8"
    )
    checked = call("verify", "--stream", "in.ndjson", "bad.ndjson", "--recipe", "recipe.yaml", cwd=tmp_path)
    assert "does not cover its original value" in checked.err
