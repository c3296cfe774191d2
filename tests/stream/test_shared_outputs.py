"""Tables, reports and streams share one lock on an output file: none replaces what another process writes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import call

from oboro.errors import FileError
from oboro.stream import endpoints
from oboro.stream.endpoints import StopRequest, StreamOutput
from oboro.system.files import LOCKS_LET_READ, atomic, hold_output, put_aside, staged_folder

pytestmark = pytest.mark.skipif(not LOCKS_LET_READ, reason="a lock would keep readers away, so there is none")
LINE = b'{"age": "*"}\n'
RECIPE = "attributes: {age: {role: quasi}}\nsteps: [{k_anonymize: {k: 2}}]\n"


@pytest.fixture
def stop() -> Iterator[StopRequest]:
    one = StopRequest()
    yield one
    one.close()


@pytest.mark.parametrize("option", ["--output", "--report", "--public-report", "--truth"])
def test_a_command_replaces_no_file_that_a_stream_writes(tmp_path: Path, stop: StopRequest, option: str) -> None:
    """The stream wrote on to a file without a name, and ended with 0."""
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "in.csv").write_text("age\n31\n31\n")
    files = {"--output": "table.csv", option: "out.ndjson"}
    stream = StreamOutput(str(tmp_path / "out.ndjson"), stop)
    stream.write(LINE)
    words = [word for pair in files.items() for word in pair]
    done = call("anonymize", "in.csv", "--recipe", "recipe.yaml", "--force", *words, cwd=tmp_path)
    assert done.code == 2
    assert "is writing it" in done.err
    stream.write(LINE)
    stream.close()
    assert (tmp_path / "out.ndjson").read_bytes() == 2 * LINE
    assert not (tmp_path / "table.csv").exists()


def test_no_stream_begins_to_write_what_is_being_replaced(tmp_path: Path, stop: StopRequest) -> None:
    place = tmp_path / "out.ndjson"
    place.write_bytes(b"")
    with atomic(place) as file:
        with pytest.raises(FileError, match="another process is writing it"):
            StreamOutput(str(place), stop)
        file.write(LINE)
    assert place.read_bytes() == LINE
    StreamOutput(str(place), stop).close()


def test_of_two_tables_the_last_one_wins_whole(tmp_path: Path) -> None:
    place = tmp_path / "table.csv"
    place.write_bytes(b"before")
    with atomic(place) as one:
        one.write(b"one")
        with atomic(place) as other:
            other.write(b"other")
        assert place.read_bytes() == b"other"
    assert place.read_bytes() == b"one"


def test_a_file_that_a_stream_made_meanwhile_is_not_replaced(tmp_path: Path, stop: StopRequest) -> None:
    place = tmp_path / "out.ndjson"
    made = []

    def write_a_table() -> None:
        with atomic(place) as file:
            file.write(b"a table")
            made.append(StreamOutput(str(place), stop))

    with pytest.raises(FileError, match="is writing it"):
        write_a_table()
    stream = made[0]
    stream.write(LINE)
    stream.close()
    assert place.read_bytes() == LINE
    assert [one.name for one in tmp_path.iterdir()] == ["out.ndjson"]


def test_a_stream_does_not_write_to_a_file_that_was_replaced_before_it_was_held(
    tmp_path: Path, stop: StopRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, times = tmp_path / "out.ndjson", [0]
    place.write_bytes(b"")

    def late(descriptor: int) -> bool:
        times[0] += 1
        if times[0] == 1:
            with atomic(place) as file:
                file.write(b"a table\n")
        return hold_output(descriptor)

    monkeypatch.setattr(endpoints, "hold_output", late)
    stream = StreamOutput(str(place), stop)
    stream.write(LINE)
    stream.close()
    assert place.read_bytes() == b"a table\n" + LINE


def test_a_list_is_not_put_aside_and_a_folder_not_exchanged_while_a_stream_writes_there(
    tmp_path: Path, stop: StopRequest
) -> None:
    (tmp_path / "parts").mkdir()
    place = tmp_path / "parts" / "out.ndjson"
    stream = StreamOutput(str(place), stop)
    with pytest.raises(FileError, match="is writing it"), put_aside(place):
        pass
    with (
        pytest.raises(FileError, match="is writing it"),
        staged_folder(tmp_path / "parts", replace=True) as folder,
    ):
        (folder / "part-0").write_bytes(b"")
    stream.write(LINE)
    stream.close()
    assert place.read_bytes() == LINE


def test_standard_output_that_is_a_file_is_not_replaced_either(tmp_path: Path) -> None:
    words = (
        "import sys; from oboro.stream.endpoints import StopRequest, StreamOutput; "
        "out = StreamOutput('-', StopRequest()); print('held', file=sys.stderr, flush=True); input(); out.close()"
    )
    with (tmp_path / "out").open("wb") as file:  # it stays open here: closing the output lets go of it all the same
        given: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": file, "stderr": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", words], **given) as one:
            assert one.stderr is not None
            one.stderr.readline()
            with pytest.raises(FileError, match="is writing it"), atomic(tmp_path / "out"):
                pass
            one.communicate(b"\n", timeout=60)
        with atomic(tmp_path / "out") as made:
            made.write(LINE)
