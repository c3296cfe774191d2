"""Whatever a record holds, it is released or becomes a dead letter; the stream goes on, and a restart does too."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.command_line import call
from tests.drawing import picks

from oboro.data.column import Column
from oboro.errors import FileError, InputError
from oboro.stream.endpoints import StopRequest, StreamOutput
from oboro.stream.records import HUGE, BadRecord, CsvCodec, LineBlocks, NdjsonCodec

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
    with pytest.raises(InputError, match="cannot be in one column"):
        Column.of(values)


# Lines ----------------------------------------------------------------------------------------------------------------


def naive_records(data: bytes, most: int) -> list[bytes]:
    """Lines as they stand; from an open quote on, as many as close it again, if they are not too long."""
    lines = data.split(b"\n")
    lines = lines[:-1] if lines[-1] == b"" else lines
    found, at = [], 0
    while at < len(lines):
        if len(lines[at]) > most:
            found.append(HUGE + str(len(lines[at])).encode())
            at += 1
            continue
        end = at + 1
        if lines[at].count(b'"') % 2:
            while end < len(lines) and lines[end].count(b'"') % 2 == 0:
                end += 1
            whole = b"\n".join(lines[at : end + 1])
            closed = end < len(lines) and all(len(one) <= most for one in lines[at : end + 1])
            end = end + 1 if closed and len(whole) <= most else at + 1
        found.append(b"\n".join(lines[at:end]))
        at = end
    return found


@example('a"""\n\n', [2], 4)  # a quote that was opened in an earlier piece
@example('b,"a\na\na",b\n', [3, 3, 9], 20)
@given(st.text(alphabet='a"\n', max_size=60), picks(range(1, 10), min_size=1, max_size=9), st.integers(1, 20))
def test_lines_are_cut_as_plain_loops_cut_them(text: str, pieces: list[int], most: int) -> None:
    data, at, taken, found = text.encode(), 0, 0, []
    blocks = LineBlocks(CsvCodec(), most)
    for length in itertools.cycle(pieces):
        if at >= len(data):
            break
        some, count = blocks.add(data[at : at + length])
        found, taken, at = found + some, taken + count, at + length
    some, count = blocks.end()
    assert found + some == naive_records(data, most)
    assert taken + count == len(data)


def test_a_stray_quote_costs_its_own_line_and_no_other(tmp_path: Path) -> None:
    rows = [f"{20 + n % 40},F,flu" for n in range(9000)]
    rows[3] = '20,"F,flu'
    text = "age,sex,disease\n" + "\n".join(rows) + "\n"
    (tmp_path / "in.csv").write_text(text)
    (tmp_path / "recipe.yaml").write_text(
        "attributes: {age: {role: quasi}, sex: {role: quasi}, disease: {role: sensitive}}\nsteps: [{k_anonymize: {k: 2}}]\n"
    )
    places = ("--from", "in.csv", "--to", "out.csv", "--dead-letters", "dead.ndjson", "--longest-line", 65536)
    done = call("stream", "--recipe", "recipe.yaml", *places, cwd=tmp_path)
    assert done.code == 0, done.err
    (letter,) = map(json.loads, (tmp_path / "dead.ndjson").read_text().splitlines())
    assert (letter["line"], letter["record"]) == (5, rows[3])
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 9000


def test_work_grows_with_the_input_and_not_with_its_quotes() -> None:
    """Each byte is looked at a few times at most: counted, not timed."""
    looked = 0

    class Counting(CsvCodec):
        def ends(self, text: bytes) -> bool:
            nonlocal looked
            looked += len(text)
            return super().ends(text)

    data = b'a,b\n"x,y\n' + b"c,d\n" * 200_000 + b'"e,f\n' * 1000
    blocks = LineBlocks(Counting(), 1 << 18)
    records = [line for at in range(0, len(data), 100) for line in blocks.add(data[at : at + 100])[0]] + blocks.end()[0]
    assert b"\n".join(records) + b"\n" == data
    assert looked <= 3 * len(data)


@pytest.mark.parametrize("form", [NdjsonCodec(), CsvCodec(["age", "sex"])])
def test_a_line_that_begins_with_nul_is_not_taken_for_a_note_of_ours(form: NdjsonCodec | CsvCodec) -> None:
    (line,), _ = LineBlocks(form, 100).add(b"\x00Ann Smith\n")
    with pytest.raises(BadRecord) as bad:
        form.decode(line)
    assert "Smith" not in str(bad.value)


def test_a_mark_at_the_start_of_a_file_is_no_part_of_a_record() -> None:
    assert NdjsonCodec().decode(b'\xef\xbb\xbf{"age": 31}') == {"age": 31}


@pytest.mark.parametrize(
    ("instead", "refused"),
    [
        ({"--dead-letters": "out.csv"}, "--to and --dead-letters are both"),
        ({"--to": "in.csv"}, "--from and --to are both"),
        ({"--from": "twice.csv", "--dead-letters": "dead.ndjson"}, "columns 1 and 3"),
    ],
)
def test_raw_and_released_records_never_share_a_file(tmp_path: Path, instead: dict[str, str], refused: str) -> None:
    (tmp_path / "recipe.yaml").write_text("attributes: {age: {role: quasi}}\nsteps: [{k_anonymize: {k: 2}}]\n")
    (tmp_path / "in.csv").write_text("age\n31\n")
    (tmp_path / "twice.csv").write_text("age,sex,age\n31,F,31\n")
    places = {"--from": "in.csv", "--to": "out.csv"} | instead
    done = call("stream", "--recipe", "recipe.yaml", *itertools.chain(*places.items()), cwd=tmp_path)
    assert done.code == 2
    assert refused in done.err
    assert (tmp_path / "in.csv").read_text() == "age\n31\n"


def test_two_streams_do_not_write_one_file(tmp_path: Path) -> None:
    stop = StopRequest()
    first = StreamOutput(str(tmp_path / "out.csv"), stop)
    with pytest.raises(FileError, match="another process is writing it"):
        StreamOutput(str(tmp_path / "out.csv"), stop)
    first.close()
    StreamOutput(str(tmp_path / "out.csv"), stop).close()
    stop.close()


@pytest.mark.parametrize("as_service", [False, True])
@pytest.mark.parametrize("good", [0, 1])
def test_an_input_of_which_nothing_is_released_is_not_called_done(tmp_path: Path, good: int, as_service: bool) -> None:
    (tmp_path / "recipe.yaml").write_text("attributes: {age: {role: quasi}}\nsteps: [{k_anonymize: {k: 2}}]\n")
    (tmp_path / "in.ndjson").write_text('{"age": 3}\n' * good + '{"weight": 3}\nno record\n')
    words = ["stream", "--recipe", "recipe.yaml", "--from", "in.ndjson", "--to", "out.ndjson", "--dead-letters", "dead"]
    more = ["--batch", "10", "--state", "state", "--once"] if as_service else []
    done = call(*words, *more, cwd=tmp_path)
    assert done.code == (0 if good else 2)
    assert ("every one was refused" in done.err) == (not good)
    assert len((tmp_path / "dead").read_text().splitlines()) == 2
