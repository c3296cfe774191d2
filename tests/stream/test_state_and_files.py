"""State, input and output that do not belong together are refused: going on would double or lose records."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_line import Done, call

RECIPE = """
attributes: {age: {role: quasi}, disease: {role: sensitive}}
steps: [{k_anonymize: {k: 2}}]
"""


def lines(start: int, count: int) -> str:
    return "".join(json.dumps({"age": 20 + n % 30, "disease": f"d{n % 7}"}) + "\n" for n in range(start, start + count))


def go(folder: Path, *more: object) -> Done:
    places = ("--from", "in.ndjson", "--to", "out.ndjson", "--dead-letters", "dead.ndjson", "--state", "state")
    return call("stream", "--recipe", "recipe.yaml", *places, *more, cwd=folder)


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    """Two runs, so that there is a state with a past, and an older copy of it."""
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "in.ndjson").write_text(lines(0, 100))
    assert go(tmp_path).code == 0
    shutil.copytree(tmp_path / "state", tmp_path / "older")
    with (tmp_path / "in.ndjson").open("a") as file:
        file.write(lines(100, 60))
    assert go(tmp_path).code == 0
    assert released(tmp_path) == 160
    return tmp_path


def released(folder: Path) -> int:
    return len((folder / "out.ndjson").read_text().splitlines())


def refused(folder: Path, words: str) -> None:
    before = _held(folder)
    done = go(folder)
    assert done.code == 78
    assert words in done.err
    assert "internal error" not in done.err
    assert _held(folder) == before


def _held(folder: Path) -> bytes | None:
    """The output; None where there is none."""
    return (folder / "out.ndjson").read_bytes() if (folder / "out.ndjson").exists() else None


def test_an_older_state_does_not_release_again(stream: Path) -> None:
    shutil.rmtree(stream / "state")
    shutil.copytree(stream / "older", stream / "state")
    refused(stream, "holds more than the state knows of")


def test_an_output_that_was_cut_is_noticed(stream: Path) -> None:
    text = (stream / "out.ndjson").read_bytes()
    (stream / "out.ndjson").write_bytes(text[: len(text) // 2 + 3])
    refused(stream, "lacks what the state says was written there")


def test_an_output_that_was_lost_is_noticed(stream: Path) -> None:
    (stream / "out.ndjson").unlink()
    refused(stream, "lacks what the state says was written there")


def test_an_output_that_somebody_else_wrote_to_is_noticed(stream: Path) -> None:
    with (stream / "out.ndjson").open("a") as file:
        file.write("more\n")
    refused(stream, "holds more than the state knows of")


def test_another_input_is_not_taken_for_the_same(stream: Path) -> None:
    (stream / "in.ndjson").write_text(lines(3, 300))
    refused(stream, "is not the input that this state goes on from")


def test_the_next_input_follows_where_that_is_asked_for(stream: Path) -> None:
    (stream / "in.ndjson").write_text(lines(3, 50))
    assert go(stream, "--resume", "continue").code == 0
    assert released(stream) == 210
    with (stream / "in.ndjson").open("a") as file:
        file.write(lines(53, 5))
    assert go(stream).code == 0  # the same input, and more of it
    assert released(stream) == 215


def logged(folder: Path) -> Path:
    """A log of some entries, as a process that was killed leaves it."""
    from oboro.stream.journal import Batch, StateFolder

    state = StateFolder(folder / "state", Batch)
    list(state.entries())
    for number in range(3):
        state.log(Batch([b"line %d" % number] * 5, [1, 2], 0.0, number, number, 0))
    state.close()
    return next((folder / "state").glob("log.*"))


def test_any_flipped_bit_in_the_middle_is_noticed_and_a_torn_end_is_not_one(tmp_path: Path) -> None:
    from oboro.errors import FileError
    from oboro.stream.journal import Batch, StateFolder

    path = logged(tmp_path)
    whole = path.read_bytes()
    size = len(whole) // 3

    def entries(text: bytes) -> int:
        path.write_bytes(text)
        state = StateFolder(tmp_path / "state", Batch)
        try:
            return len(list(state.entries()))
        finally:
            state.close()

    assert [entries(whole[:cut]) for cut in (0, 5, size, size + 5, 2 * size + 40, 3 * size)] == [0, 0, 1, 1, 2, 3]
    assert entries(whole[: 2 * size] + bytes(300)) == 2  # zeros, as after a loss of power
    for place in range(2 * size):  # before the last entry: whatever is flipped there, records would be released again
        broken = bytearray(whole)
        broken[place] ^= 1
        with pytest.raises(FileError, match="damaged|another version"):
            entries(bytes(broken))


def test_a_torn_entry_full_of_marks_is_read_in_little_time(tmp_path: Path) -> None:
    """A record may hold whatever a stranger likes, also what entries of the log begin with."""
    from oboro.stream.journal import Batch, StateFolder

    path = logged(tmp_path)
    state = StateFolder(tmp_path / "state", Batch)
    list(state.entries())
    state.log(Batch([Batch.MARK * 200_000], [], 0.0, 9, 9, 0))
    state.close()
    path.write_bytes(path.read_bytes()[:-5])
    state = StateFolder(tmp_path / "state", Batch)
    assert len(list(state.entries())) == 3
    state.close()


def test_what_a_killed_process_left_in_the_state_goes(stream: Path) -> None:
    """An unfinished snapshot, and the snapshot and the log before the newest one, all of which hold raw values."""
    from oboro.system.files import draft_name

    state = stream / "state"
    number = int(next(state.glob("snapshot.*")).suffix[1:])
    for name in (f"snapshot.{number - 1}", f"log.{number - 1}", draft_name(f"snapshot.{number + 1}")):
        (state / name).write_bytes(b"raw")
    done = go(stream)
    assert done.code == 0
    assert "removed 1 unfinished file" in done.err
    assert {one.suffix for one in state.iterdir()} == {"", f".{number + 1}"}  # the lock; the end makes a snapshot
    assert released(stream) == 160


def test_a_refused_start_leaves_no_file_behind(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    assert go(tmp_path).code == 2  # there is no input
    assert not {"out.ndjson", "dead.ndjson"} & {one.name for one in tmp_path.iterdir()}
    (tmp_path / "out.ndjson").touch()  # not ours
    assert go(tmp_path).code == 2
    assert (tmp_path / "out.ndjson").exists()
    (tmp_path / "in.ndjson").write_text(lines(0, 10))
    assert go(tmp_path).code == 0
    assert released(tmp_path) == 10


def test_a_log_that_others_write_to_does_not_stop_a_stream(tmp_path: Path) -> None:
    """Standard error in a file, as a service manager has it; bad lines are told there."""
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    places = ["--from", "in.ndjson", "--to", "out.ndjson", "--state", "state"]
    for turn in range(1, 4):
        with (tmp_path / "in.ndjson").open("a") as file:
            file.write(lines(10 * turn, 10) + "no record\n")
        with (tmp_path / "log").open("ab") as log:
            log.write(b"something else\n")
            log.flush()
            words = [sys.executable, "-m", "oboro", "stream", "--recipe", "recipe.yaml", *places]
            assert subprocess.run(words, cwd=tmp_path, stderr=log, check=False).returncode == 0
        assert released(tmp_path) == 10 * turn
    told = (tmp_path / "log").read_text()
    assert told.count("something else") == 3
    assert told.count('"reason"') == 3
