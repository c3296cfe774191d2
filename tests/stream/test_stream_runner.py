"""Running streams: what goes in and comes out, what is refused, killing and restarting, slow readers, sockets."""

from __future__ import annotations

import json
import os
import pty
import queue
import select
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stream.stream_cases import command, killed_again_and_again, lay_out, lines, people
from tests.stream.stream_driver import least

from oboro import Pseudonymize
from oboro.errors import FileError, RecipeError, UsageError
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import StreamOptions, anonymizer, pseudonyms, run_stream
from oboro.stream.journal import Batch, StateFolder
from oboro.stream.records import (
    HUGE,
    BadRecord,
    CsvCodec,
    LineBlocks,
    NdjsonCodec,
    decode_json,
    decode_json_block,
    encode_json,
    encode_json_block,
)
from oboro.verifier.stream import verify_stream


def holds(rows: list[dict[str, Any]], released: list[dict[str, Any]]) -> bool:
    hierarchies = {"age": {"intervals": [10, 40]}}
    return verify_stream(rows, released, attributes=["sex", "age"], k=3, hierarchies=hierarchies).holds


def go(folder: Path, **more: Any) -> dict[str, Any]:
    given = {"source": str(folder / "in.ndjson"), "target": str(folder / "out.ndjson"), **more}
    options = StreamOptions(**given.pop("options", {}))
    return run_stream(Recipe.load(folder / "recipe.yaml"), options, **given)


def test_a_file_goes_through(tmp_path: Path) -> None:
    rows = people(2000)
    lay_out(tmp_path, rows)
    metrics = go(tmp_path)
    released = lines(tmp_path / "out.ndjson")
    assert [one["note"] for one in released] == list(range(2000))
    assert holds(rows, released)
    assert metrics["records"] == 2000
    assert metrics["suppressed_cells"] == sum(one[name] == "*" for one in released for name in ("sex", "age"))


def test_csv_in_and_out(tmp_path: Path) -> None:
    lay_out(tmp_path, [])
    (tmp_path / "in.csv").write_text('note,sex,age\n"one, ""1""\nand more",F,31\n2,F,\n3,F,32\n4,F,31\r\n5,F,31\n')
    go(tmp_path, source=str(tmp_path / "in.csv"), target=str(tmp_path / "out.csv"))
    text = (tmp_path / "out.csv").read_text()
    assert text == 'sex,age,note\n*,*,"one, ""1""\nand more"\n*,*,2\nF,*,3\nF,30–39,4\nF,31,5\n'


@pytest.mark.parametrize("mark", [";", "\t"])
def test_what_stands_between_cells_is_seen_in_the_header_and_kept(mark: str, tmp_path: Path) -> None:
    lay_out(tmp_path, [])
    text = 'note,"sex",age\n1,F,31\n2,F,32\n3,F,31\n'.replace(",", mark)
    (tmp_path / "in.csv").write_text(text)
    places = {name: str(tmp_path / name) for name in ("in.csv", "out.csv")}
    for more in ("", mark.join(["4", "F", "31"]) + "\n", mark.join(["5", "F", "31"]) + "\n"):
        with (tmp_path / "in.csv").open("a") as file:
            file.write(more)
        metrics = go(tmp_path, source=places["in.csv"], target=places["out.csv"], state=tmp_path / "state")
        assert metrics["dead_letters"] == 0
    wanted = "sex,age,note\n*,*,1\n*,*,2\nF,30–39,3\nF,31,4\nF,31,5\n"
    assert (tmp_path / "out.csv").read_text() == wanted.replace(",", mark)


def test_what_is_no_record_is_a_dead_letter(tmp_path: Path) -> None:
    lay_out(tmp_path, [])
    good = {"sex": "F", "age": 30, "note": 1}
    bad = {
        "invalid JSON": b'{"sex": "F"',
        "not a JSON object": b"[1, 2]",
        "'age' is missing": json.dumps({"sex": "F", "note": 1}).encode(),
        "'more' is not known": json.dumps({**good, "more": 1}).encode(),
        "a single value, not a list": json.dumps({**good, "sex": ["secret"]}).encode(),
        "a single value, not an object": json.dumps({**good, "sex": {"a": "secret"}}).encode(),
        "does not take this value": json.dumps({**good, "age": "secret"}).encode(),
        "twice": b'{"sex": "F", "sex": "M", "age": 1, "note": 2}',
        "not UTF-8": b'{"sex": "\xff", "age": 1, "note": 2}',
        "NaN": b'{"sex": "F", "age": NaN, "note": 2}',
        "nested too deeply": b"[" * 100_000,
        "300000 bytes, more than": b'{"sex": "' + b"x" * 299_991,
    }
    lines_in = [json.dumps(good).encode(), *bad.values(), b"", json.dumps(good).encode()]
    (tmp_path / "in.ndjson").write_bytes(b"\n".join(lines_in) + b"\n")
    metrics = go(tmp_path, dead_letters=str(tmp_path / "dead.ndjson"), longest_line=200_000)
    letters = lines(tmp_path / "dead.ndjson")
    assert [letter["line"] for letter in letters] == list(range(2, 2 + len(bad)))
    for letter, reason in zip(letters, bad, strict=True):
        assert reason in letter["reason"], letter["reason"]
    assert metrics["dead_letters"] == len(bad)
    assert len(lines(tmp_path / "out.ndjson")) == 2
    assert "secret" not in (tmp_path / "out.ndjson").read_text()
    assert letters[0]["record"] == '{"sex": "F"'


def test_dead_letters_keep_the_language_they_began_in(tmp_path: Path) -> None:
    lay_out(tmp_path, [])
    good = json.dumps({"sex": "F", "age": 30, "note": 1}) + "\n"
    (tmp_path / "in.ndjson").write_text(good + "[1]\n" + "{\n")
    given = {"dead_letters": str(tmp_path / "dead.ndjson"), "state": tmp_path / "state"}
    go(tmp_path, lang="ja", **given)
    with (tmp_path / "in.ndjson").open("a") as file:
        file.write(good + "[1]\n" + '{"sex": "F", "age": NaN, "note": 2}\n')
    go(tmp_path, lang="en", **given)  # what was written stays what the state says was written
    reasons = [letter["reason"] for letter in lines(tmp_path / "dead.ndjson")]
    assert reasons == [
        "JSON のオブジェクトではありません",
        "JSON が不正です(2 文字目)",
        "JSON のオブジェクトではありません",
        "JSON が不正です:NaN は JSON の数値ではありません",
    ]


@pytest.mark.parametrize(("how", "mode"), [("file", "swap"), ("pipe", "swap"), ("file", "paper")])
def test_killed_at_any_moment(how: str, mode: str, tmp_path: Path) -> None:
    """Nothing lost, nothing doubled, and the promise holds over the whole output.

    OBORO_KILL_ROWS makes it longer: with 6,000 there are 200 kills or more in one stream.
    """
    rows = people(int(os.environ.get("OBORO_KILL_ROWS") or (130 if mode == "swap" else 110)))
    lay_out(tmp_path, rows)
    bad = [f"bad {i}" for i in range(0, len(rows), 40)]  # and lines that are refused, some by the anonymizer
    with (tmp_path / "in.ndjson").open("w") as file:
        for i, row in enumerate(rows):
            file.write(json.dumps(row) + "\n")
            if i % 40 == 0:
                file.write(json.dumps({"sex": "F", "note": f"bad {i}"}) + "\n")
    kills = killed_again_and_again(tmp_path, how, mode)
    assert kills >= max(4, least((tmp_path / "in.ndjson").stat().st_size))
    released = lines(tmp_path / "out.ndjson")
    counts = Counter(one["note"] for one in released)
    assert max(counts.values()) == 1
    letters = [(json.loads(one["record"])["note"], one["reason"]) for one in lines(tmp_path / "dead.ndjson")]
    assert sorted(note for note, reason in letters if "missing" in reason) == sorted(bad)
    reported = {note for note, reason in letters if "may or may not" in reason} - set(bad)
    assert set(counts) | reported == set(range(len(rows)))
    found = {one["note"]: one for one in released}
    nothing = {"sex": "*", "age": "*"}
    assert holds(rows, [found.get(note, nothing) for note in range(len(rows))])
    if how == "file":
        assert not reported
        assert [one["note"] for one in released] == list(range(len(rows)))


def test_a_restart_goes_on(tmp_path: Path) -> None:
    rows = people(1000)
    lay_out(tmp_path, rows[:400])
    state = tmp_path / "state"
    go(tmp_path, state=state)
    lay_out(tmp_path, rows)
    metrics = go(tmp_path, state=state)
    assert metrics["records"] == 1000
    released = lines(tmp_path / "out.ndjson")
    assert [one["note"] for one in released] == list(range(1000))
    (tmp_path / "other").mkdir()
    lay_out(tmp_path / "other", rows)
    go(tmp_path / "other")
    assert released == lines(tmp_path / "other" / "out.ndjson")
    assert oct(state.stat().st_mode & 0o777) == "0o700"


def test_the_input_may_go_on_instead(tmp_path: Path) -> None:
    rows = people(100)
    lay_out(tmp_path, rows[:60])
    go(tmp_path, state=tmp_path / "state")
    lay_out(tmp_path, rows[60:])
    go(tmp_path, state=tmp_path / "state", resume="continue")
    assert [one["note"] for one in lines(tmp_path / "out.ndjson")] == list(range(100))


def test_a_state_belongs_to_one_stream(tmp_path: Path) -> None:
    lay_out(tmp_path, people(10))
    state = tmp_path / "state"
    go(tmp_path, state=state)
    with pytest.raises(UsageError, match="other settings"):
        go(tmp_path, state=state, options={"mode": "count"})
    with pytest.raises(UsageError, match="holds data already"):
        go(tmp_path, state=tmp_path / "new")
    folder = StateFolder(state, Batch)
    with pytest.raises(FileError, match="another stream"):
        go(tmp_path, state=state)
    folder.close()


def test_a_damaged_log_ends_where_it_is_damaged(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path, Batch)
    assert list(folder.entries()) == []
    batches = [Batch([b"a\x1eb\x1b", b""], [i], 1.5, i, 2 * i, 3 * i) for i in range(3)]
    for batch in batches:
        folder.log(batch)
    folder.done(7)
    folder.close()
    log = tmp_path / "log.0"
    again = StateFolder(tmp_path, Batch)
    assert list(again.entries()) == [*batches, 7]
    again.close()
    log.write_bytes(log.read_bytes()[:-20])
    torn = StateFolder(tmp_path, Batch)
    assert list(torn.entries()) == batches
    torn.close()


def test_a_log_of_another_version_is_not_taken_for_a_damaged_one(tmp_path: Path) -> None:
    """Cutting it off would lose what was written."""
    lay_out(tmp_path, people(10))
    state = tmp_path / "state"
    go(tmp_path, state=state)
    folder = StateFolder(state, Batch)
    list(folder.entries())
    folder.log(Batch([b"{}"], [0], 1.5, 1, 2, 3))
    folder.close()
    log = state / f"log.{folder.number}"
    older = log.read_bytes().replace(b"obr2", b"obr1")
    log.write_bytes(older)
    with pytest.raises(FileError, match="another version; it has format '1', not '2'"):
        go(tmp_path, state=state)
    assert log.read_bytes() == older


def test_stdin_to_stdout_and_a_clean_end_on_sigterm(tmp_path: Path) -> None:
    lay_out(tmp_path, [])
    words = command("--state", "state", "--json")
    process = subprocess.Popen(
        words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    rows = people(3)
    for row in rows:  # each record is answered before the next one is given
        process.stdin.write(json.dumps(row).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["note"] == row["note"]
    process.stdin.write(b'{"half a line')
    process.stdin.flush()
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == b""
    assert json.loads(err.splitlines()[-1])["records"] == 3


def test_the_live_view_on_a_terminal(tmp_path: Path) -> None:
    """One line on stderr, written over; records are given until it has been seen, however long that takes."""
    lay_out(tmp_path, [])
    terminal, other_end = pty.openpty()
    words = command("--json")
    process = subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=other_end)
    os.close(other_end)
    assert process.stdin is not None
    assert process.stdout is not None
    shown, count = b"", 0
    while b"records" not in shown or b"function" not in shown:
        process.stdin.write(b'{"sex": "F", "age": 30, "note": 1}\n')
        process.stdin.flush()
        assert process.stdout.readline()
        count += 1
        while select.select([terminal], [], [], 0.01)[0]:
            shown += os.read(terminal, 65536)
    process.stdin.close()
    with suppress(OSError):  # the way a terminal says that nobody writes to it any more
        while piece := os.read(terminal, 65536):
            shown += piece
    os.close(terminal)
    assert process.wait(30) == 0
    process.stdout.close()
    live, _, last = shown.rstrip().rpartition(b"\n")
    assert live.startswith(b"\r")
    for word in (b"records", b"/s", b"latency", b"cells suppressed", b"dead letters", b"function"):
        assert word in live
    assert json.loads(last)["records"] == count


def test_metrics(tmp_path: Path) -> None:
    """Every figure of `--json` is what happened; off a terminal, nothing else is on stderr, a line for each moment."""
    lay_out(tmp_path, people(40))
    with (tmp_path / "in.ndjson").open("a") as file:
        file.write("no record\n")
    words = command("--from", "in.ndjson", "--to", "out.ndjson", "--dead-letters", "dead", "--json")
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
    metrics = [json.loads(line) for line in done.stderr.splitlines()][-1]
    released = lines(tmp_path / "out.ndjson")
    cells = [[one["sex"], one["age"]] for one in released]
    assert metrics["mode"] == "swap"
    assert metrics["records"] == 40
    assert metrics["suppressed_cells"] == sum(cell == "*" for row in cells for cell in row)
    assert metrics["generalized_cells"] == sum("–" in str(row[1]) for row in cells)
    assert metrics["suppressed_records"] == cells.count(["*", "*"])
    assert metrics["dead_letters"] == 1
    assert metrics["in_doubt"] == 0
    assert metrics["bytes_taken"] == (tmp_path / "in.ndjson").stat().st_size
    assert metrics["bytes_written"] == (tmp_path / "out.ndjson").stat().st_size
    assert metrics["records_per_second"] > 0
    assert 0 < metrics["latency_ms"]["p50"] <= metrics["latency_ms"]["p99"]
    assert metrics["function_version"] == 0


def test_a_slow_reader_stops_the_input(tmp_path: Path) -> None:
    """The stream holds a block or two, not all that could be read."""
    rows = people(60_000)
    lay_out(tmp_path, rows)
    size = (tmp_path / "in.ndjson").stat().st_size
    source = os.open(tmp_path / "in.ndjson", os.O_RDONLY)
    process = subprocess.Popen(command(), cwd=tmp_path, stdin=source, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(1.0)
    assert os.lseek(source, 0, os.SEEK_CUR) < size / 4  # the position is shared with the child
    process.kill()
    process.wait()
    process.stdout.close()
    os.close(source)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('ab":\\ \té'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab":'), inner, max_size=3),
)


@given(st.dictionaries(st.text('ab": '), JSON, max_size=4), st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :\t")]))
def test_the_fast_codec_reads_what_the_standard_one_reads(record: dict[str, Any], separators: tuple[str, str]) -> None:
    line = json.dumps(record, ensure_ascii=False, separators=separators).encode()
    assert decode_json(line) == record
    assert json.loads(encode_json(record)) == record
    if record:
        twice = line[:-1] + separators[0].encode() + line[1:]
        with pytest.raises(BadRecord, match="twice"):
            decode_json(twice)


PIECES = [
    "{}",
    '{"a":1}',
    '{"a":"x:y"}',
    '{"a":[{}',
    '{}]},{"b":2}',
    '{"a":"',
    '"}',
    '{"b":1,"b":2}',
    "{",
    "}",
    ",",
    "[]",
    "\n",
]
MORE = [
    "",
    " ",
    '{"a" : "b"}',
    '{"a":1},{"b":2}',
    '{"a":"\\":"}',
    '{"a":"}\n{"}',
    '{"a":{"b":1}}',
    "1",
    "\ufeff{}",
    '{"é":"日"}',
]


@given(st.lists(st.lists(st.sampled_from(PIECES + MORE), min_size=1, max_size=3).map("".join), min_size=1, max_size=4))
def test_a_block_of_lines_says_what_they_say_one_by_one(lines: list[str]) -> None:
    def alone(line: bytes) -> Any:
        try:
            return decode_json(line)
        except BadRecord:
            return None

    each = [alone(line.encode()) for line in lines]
    found = decode_json_block([line.encode() for line in lines])
    assert found is None or found == each
    records = [one for one in each if isinstance(one, dict)]
    assert encode_json_block(records) == [encode_json(one)[:-1] for one in records]


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_sockets(kind: str, tmp_path: Path) -> None:
    rows = people(50)
    lay_out(tmp_path, rows)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    addresses = {"unix": str(tmp_path / "in.sock"), "tcp": f"127.0.0.1:{port}"}
    words = command("--from", f"{kind}-listen://{addresses[kind]}", "--to", "o")
    listening = subprocess.Popen(words, cwd=tmp_path)
    for half in (rows[:20], rows[20:]):  # two connections, one after the other
        connection = _connected(kind, addresses["unix"], port)
        connection.sendall("".join(json.dumps(row) + "\n" for row in half).encode())
        connection.close()
    for _ in range(200):
        if (tmp_path / "o").exists() and len((tmp_path / "o").read_bytes().splitlines()) == 50:
            break
        time.sleep(0.05)
    listening.terminate()
    assert listening.wait(30) == 0
    assert [one["note"] for one in lines(tmp_path / "o")] == list(range(50))


def _connected(kind: str, path: str, port: int) -> socket.socket:
    for _ in range(400):
        connection = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
        try:
            connection.connect(path if kind == "unix" else ("127.0.0.1", port))
        except OSError:
            connection.close()
            time.sleep(0.05)
        else:
            return connection
    raise AssertionError("nobody listens")


def test_connecting_to_a_source_and_a_target(tmp_path: Path) -> None:
    rows = people(30)
    lay_out(tmp_path, rows)
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    received: list[bytes] = []

    def serve() -> None:
        taking, _ = servers[1].accept()
        giving, _ = servers[0].accept()
        giving.sendall((tmp_path / "in.ndjson").read_bytes())
        giving.close()
        while data := taking.recv(65536):
            received.append(data)
        taking.close()

    thread = threading.Thread(target=serve)
    thread.start()
    source, target = (f"tcp://127.0.0.1:{server.getsockname()[1]}" for server in servers)
    go(tmp_path, source=source, target=target)
    thread.join()
    for server in servers:
        server.close()
    assert len(b"".join(received).splitlines()) == 30


@pytest.mark.parametrize("form", [NdjsonCodec(), CsvCodec()])
@pytest.mark.parametrize("piece", [1, 2, 7, 1000])
def test_blocks_do_not_depend_on_how_bytes_arrive(form: NdjsonCodec | CsvCodec, piece: int) -> None:
    data = b"one\n\ntwo\r\nthree" + b"x" * 40 + b"\nfour\nlast"
    blocks = LineBlocks(form, 20)
    found, taken = [], 0
    for start in range(0, len(data), piece):
        some, count = blocks.add(data[start : start + piece])
        found += some
        taken += count
    some, count = blocks.end()
    assert found + some == [b"one", b"", b"two\r", HUGE + b"45", b"four", b"last"]
    assert taken + count == len(data)


def test_a_recipe_that_is_not_for_streams_says_so() -> None:
    attributes = {"age": {"role": "quasi"}, "name": {"role": "identifier"}, "secret": {"role": "sensitive"}}
    goal = {"k_anonymize": {"k": 2}}
    drop = {"drop_columns": {"attributes": ["name"]}}
    cases = [
        ([drop, goal, "shuffle"], "shuffle: a stream cannot do this: records come out in the order"),
        ([drop, {"local_recode": {"k": 2}}, "shuffle"], "local_recode: a stream cannot .*; shuffle: a stream cannot "),
        ([drop, goal, {"round": {"attribute": "age", "base": 5}}], "round: .* give the attribute a hierarchy"),
        ([drop, goal, {"k_conceal": {"k": 2}}], "k_conceal: .* the whole table"),
        ([drop, goal, goal], "exactly one k_anonymize step; the recipe has 2"),
        ([drop, {"pseudonymize": {"attribute": "age", "key_env": "KEY"}}, goal], "'age' has the role quasi"),
        ([goal], "'name' would be released"),
        ([drop, {"k_anonymize": {"k": 2, "t_closeness": {"secret": 0.5}}}], "cannot keep"),
        (
            [drop, {"k_anonymize": {"k": 2, "maximum_risk": 0.1, "quasi": ["age"]}}],
            "cannot keep 'maximum_risk', 'quasi'",
        ),
    ]
    for steps, complaint in cases:
        with pytest.raises(RecipeError, match=complaint):
            anonymizer(Recipe(attributes=attributes, steps=steps), StreamOptions())
    made = anonymizer(
        Recipe(attributes=attributes, steps=[{"k_anonymize": {"k": 2, "l_diversity": {"secret": 2}}}]),
        StreamOptions(person="name"),
    )
    assert made.settings.person == "name"
    assert made.push({"age": 1, "name": "Ann", "secret": "s"}) == {"age": "*", "secret": "s"}
    renamed = {"pseudonymize": {"attribute": "name", "key_env": "KEY"}}
    with pytest.raises(RecipeError, match="is the person"):
        anonymizer(Recipe(attributes=attributes, steps=[renamed, goal]), StreamOptions(person="name"))
    by_number = {"pseudonymize": {"attribute": "name", "method": "number"}}
    with pytest.raises(UsageError, match="number is for one table"):
        pseudonyms(Recipe(attributes=attributes, steps=[by_number, goal]))
    with pytest.raises(UsageError, match="format: must be one of 'ndjson', 'csv'; got 'xml'"):
        run_stream(Recipe(attributes=attributes, steps=[drop, goal]), form="xml")


@pytest.mark.parametrize(
    "more",
    [{}, {"alphabet": "hex", "length": 20, "prefix": "p-"}, {"domain": "d", "missing": "pseudonymize", "length": 52}],
)
def test_pseudonyms_are_those_of_a_table(more: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "0123456789abcdef-of-a-test")
    names = ["Ann", "Bob", "Ann", None, "", "Änne"]
    recipe = {
        "attributes": {"name": {"role": "identifier"}, "age": {"role": "quasi"}},
        "steps": [{"pseudonymize": {"attribute": "name", "key_env": "KEY", **more}}, {"k_anonymize": {"k": 2}}],
    }
    (tmp_path / "recipe.yaml").write_text(json.dumps(recipe))
    rows = [{"name": name, "age": 7} for name in names]
    bad = json.dumps({"name": ["secret"], "age": 7}) + "\n"
    (tmp_path / "in.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows) + bad)
    metrics = go(tmp_path, dead_letters=str(tmp_path / "dead"))
    released = [one["name"] for one in lines(tmp_path / "out.ndjson")]
    assert released == Pseudonymize(attribute="name", key_env="KEY", **more).apply({"name": names})["name"]
    assert metrics["dead_letters"] == 1
    assert "a single value" in lines(tmp_path / "dead")[0]["reason"]
    taken = pseudonyms(Recipe.model_validate(recipe))["name"]
    assert taken(39) == taken("39")


def test_a_field_without_a_name_is_called_by_its_place() -> None:
    codec = CsvCodec()
    assert codec.decode(b",age,sex\n") is None
    assert codec.decode(b"7,31,F\n") == {"column1": "7", "age": "31", "sex": "F"}


def test_what_came_last_is_told_while_nothing_follows(tmp_path: Path) -> None:
    """A burst shorter than half a second, and then silence: whoever watches learns of it before the end."""
    lay_out(tmp_path, people(3))
    os.mkfifo(tmp_path / "pipe")
    told: queue.Queue[dict[str, Any]] = queue.Queue()
    run = threading.Thread(target=go, args=(tmp_path,), kwargs={"source": str(tmp_path / "pipe"), "watch": told.put})
    run.start()
    with (tmp_path / "pipe").open("wb") as pipe:
        pipe.write((tmp_path / "in.ndjson").read_bytes())
        pipe.flush()
        assert told.get(timeout=30)["records"] == 3
    run.join()
