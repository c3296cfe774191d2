"""Google's storage, as an emulator from PyPI has it, in a process of its own: Arrow's client holds Python's lock while it waits."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileSelector

import oboro
from benchmarks.brokers import free_port
from oboro.engines.run import anonymize_place
from oboro.errors import FileError
from oboro.io.places import files
from oboro.io.places.files import file_system
from oboro.io.places.place import as_place

RECIPE = oboro.Recipe(
    attributes={"age": {"role": "quasi"}, "note": {"role": "other"}}, steps=[{"k_anonymize": {"k": 2}}]
)
PEOPLE = pa.table({"age": [31, 31, 52, 52], "note": ["a", "b", "a", "b"]})


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an emulator with the bucket `people`."""
    if find_spec("gcp_storage_emulator") is None:
        pytest.skip("no gcp-storage-emulator here, an emulator of Google's storage from PyPI")
    port = free_port()
    options = ["start", "--host", "127.0.0.1", "--port", str(port), "--in-memory", "--default-bucket", "people"]
    command = [sys.executable, "-m", "gcp_storage_emulator", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(f"http://127.0.0.1:{port}/")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _wait(address: str) -> None:
    for _ in range(600):
        try:
            return urllib.request.urlopen(address).close()
        except OSError:
            time.sleep(0.05)
    raise TimeoutError("the emulator did not start")


@pytest.fixture
def store(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty bucket; where it is stands in the environment, as for every client of Google's."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server)
    urllib.request.urlopen(f"{server}/wipe?keep-buckets=1").close()
    return "gs://people"


def found() -> list[str]:
    system, _ = file_system(as_place("gs://people/"))
    return sorted(one.path for one in system.get_file_info(FileSelector("people", recursive=True)) if one.is_file)


def test_files_and_folders_come_back(store: str) -> None:
    release = RECIPE.run(PEOPLE)
    for place in (f"{store}/released.csv", f"{store}/released.parquet", f"{store}/folder/"):
        release.write(place)
        assert RECIPE.run(place).data.num_rows == 4
        with pytest.raises(FileError, match="is there already"):
            release.write(place)
    release.write(f"{store}/folder/", force=True)
    assert found() == [
        "people/folder/_SUCCESS",
        "people/folder/part-00000.parquet",
        "people/released.csv",
        "people/released.parquet",
    ]


def test_partitions_and_patterns_are_read(store: str) -> None:
    system, _ = file_system(as_place(f"{store}/"))
    for part in ("007", "107"):
        with system.open_output_stream(f"people/in/zip={part}/a.parquet") as file:
            pq.write_table(PEOPLE, file)
    assert set(oboro.read(f"{store}/in/").data.to_arrow()["zip"].to_pylist()) == {"007", "107"}
    assert oboro.read("gcs://people/in/zip=1*/*.parquet").data.rows == 4
    with pytest.raises(FileError, match="there is nothing of that name"):
        oboro.read(f"{store}/nothing.csv")


def test_a_release_that_fails_leaves_nothing(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError("the store is away")

    release = RECIPE.run(PEOPLE)
    monkeypatch.setattr("oboro.io.places.files._copy", broken)
    for place in (f"{store}/released.parquet", f"{store}/folder/"):
        with pytest.raises(FileError, match="the store is away"):
            release.write(place)
    assert found() == []


@pytest.mark.skipif(find_spec("duckdb") is None, reason="no DuckDB here")
def test_an_engine_reads_and_writes_there(store: str) -> None:
    RECIPE.run(PEOPLE).write(f"{store}/in/")
    anonymize_place(RECIPE, f"{store}/in/", f"{store}/out/", engine="duckdb")
    assert oboro.verify(oboro.read(f"{store}/out/"), quasi=["age"], k=2).holds


def test_a_server_that_is_away_is_said_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"127.0.0.1:{free_port()}")
    monkeypatch.setattr(files, "RETRIED", "0.5")
    started = time.monotonic()
    with pytest.raises(FileError, match="cannot be read"):
        oboro.read("gs://people/people.csv")
    assert time.monotonic() - started < 30
