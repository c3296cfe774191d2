"""Whatever a record holds, it is released or becomes a dead letter; the stream goes on, and a restart does too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import call

import oboro
from oboro.errors import InputError

RECIPE = """
attributes:
  name: {role: identifier}
  age: {role: quasi, hierarchy: {intervals: [10, 20]}}
  town: {role: quasi, hierarchy: {mask: {side: right, steps: [2]}}}
  sex: {role: quasi}
  disease: {role: sensitive}
steps:
  - pseudonymize: {attributes: [name], key_env: STREAM_KEY}
  - k_anonymize: {k: 2}
"""
PLAIN = '{"name": "a", "age": 31, "town": "Nara", "sex": "F", "disease": "flu"}'
FIELDS = ("name", "age", "town", "sex", "disease")
POISON = (
    "9223372036854775808",
    "-9223372036854775809",
    "1" * 400,
    '"\\ud800"',
    '"a\\udc00b"',
    "1e400",
    "[1]",
    '{"a": 1}',
    "true",
)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", POISON)
def test_a_record_is_released_or_a_dead_letter(
    tmp_path: Path, field: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAM_KEY", "0123456789abcdef0123456789abcdef")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    cells = {name: json.dumps(cell) for name, cell in json.loads(PLAIN).items()} | {field: value}
    poison = "{" + ", ".join(f'"{name}": {cell}' for name, cell in cells.items()) + "}"
    (tmp_path / "in.ndjson").write_text("\n".join([PLAIN, poison, PLAIN, poison, PLAIN]) + "\n")
    places = ("--from", "in.ndjson", "--to", "out.ndjson", "--dead-letters", "dead.ndjson", "--state", "state")
    for _ in range(2):  # the second time nothing is left to do
        done = call("stream", "--recipe", "recipe.yaml", *places, cwd=tmp_path)
        assert done.code == 0, done.err
        released = (tmp_path / "out.ndjson").read_bytes().splitlines()
        letters = [json.loads(line)["line"] for line in (tmp_path / "dead.ndjson").read_bytes().splitlines()]
        assert len(released) + len(letters) == 5
        assert letters in ([], [2, 4])


@pytest.mark.parametrize("values", [[1 << 64, 1], ["\ud800", "a"], [1, "a"], [object()]])
def test_values_that_no_column_holds_are_refused_without_being_shown(values: list[object]) -> None:
    with pytest.raises(InputError, match="cannot stand in one column"):
        oboro.table.dataset.Column.of(values)
