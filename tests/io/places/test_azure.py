"""Azure's storage, as its emulator has it (`npm install azurite`); without it these tests are skipped."""

from __future__ import annotations

import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow.fs import FileSelector

import oboro
from benchmarks.brokers import free_port
from oboro.errors import FileError
from oboro.io.places.files import file_system
from oboro.io.places.place import as_place

PROGRAM = shutil.which("azurite-blob")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no azurite here, Azure's emulator from npm")
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="  # everybody's, of the emulator
RECIPE = oboro.Recipe(attributes={"age": {"role": "quasi"}}, steps=[{"k_anonymize": {"k": 2}}])


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty container; where it is stands in the environment."""
    port = free_port()
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "devstoreaccount1")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", KEY)
    monkeypatch.setenv("AZURE_STORAGE_BLOB_ENDPOINT", f"http://127.0.0.1:{port}")
    options = [
        "--silent",
        "--skipApiVersionCheck",
        "--disableTelemetry",
        "--inMemoryPersistence",
        "--blobPort",
        str(port),
    ]
    server = subprocess.Popen(
        [str(PROGRAM), *options], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(port)
        file_system(as_place("az://people/"))[0].create_dir("people")
        yield "az://people"
    finally:
        server.kill()
        server.wait()


def _wait(port: int) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/").close()
        except urllib.error.HTTPError:
            return  # it answers, and refuses whoever does not say who he is
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the emulator did not start")


def test_files_and_folders_come_back(store: str) -> None:
    release = RECIPE.run(pa.table({"age": [31, 31, 52, 52]}))
    for place in (f"{store}/released.csv", f"{store}/released.parquet", f"{store}/folder/"):
        release.write(place)
        assert RECIPE.run(place).data.num_rows == 4
        with pytest.raises(FileError, match="is there already"):
            release.write(place)
    system, _ = file_system(as_place(f"{store}/"))
    found = [one.path for one in system.get_file_info(FileSelector("people", recursive=True)) if one.is_file]
    assert sorted(found) == [
        "people/folder/_SUCCESS",
        "people/folder/part-00000.parquet",
        "people/released.csv",
        "people/released.parquet",
    ]
