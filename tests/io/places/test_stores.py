"""Object stores: a real S3 server on loopback, and fsspec's file system in memory."""

from __future__ import annotations

from collections.abc import Iterator

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oboro.errors import FileError, UsageError
from oboro.io.places.files import file_system
from oboro.io.places.place import as_place
from oboro.io.read import read

ROWS = {"age": [31, 32, None], "name": ["あ", "b", "c"]}


@pytest.fixture(params=["s3", "memory"])
def store(request, s3) -> Iterator[str]:
    """The URL of an empty folder in a store."""
    if request.param == "s3":
        yield "s3://people/in"
        system, path = file_system(as_place("s3://people/"))
        system.delete_dir_contents(path.rstrip("/"), missing_dir_ok=True)
    else:
        yield "memory://people/in"
        fsspec.filesystem("memory").store.clear()
        fsspec.filesystem("memory").pseudo_dirs[:] = [""]


def put(url: str, content: bytes) -> None:
    system, path = file_system(as_place(url))
    if url.startswith("memory"):
        system.create_dir(path.rpartition("/")[0])
    with system.open_output_stream(path) as file:
        file.write(content)


def parquet(**columns: list) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def test_objects_and_folders_of_a_store(store) -> None:
    put(f"{store}/people.parquet", parquet(**ROWS))
    put(f"{store}/people.csv", "age,name\n31,あ\n32,b\n,c\n".encode())
    put(f"{store}/lines.ndjson", b'{"age": 31}\n{"age": null}\n')
    put(f"{store}/hive/zip=007/a.parquet", parquet(age=[1]))
    put(f"{store}/hive/zip=107/b.parquet", parquet(age=[2]))
    texts = {"age": ["31", "32", None], "name": ROWS["name"]}
    assert read(f"{store}/people.parquet").data.to_arrow().to_pydict() == ROWS
    assert read(f"{store}/people.csv").data.to_arrow().to_pydict() == texts
    assert read(f"{store}/people.csv", held=["age"]).dataset.to_arrow().to_pydict() == texts
    assert read(f"{store}/lines.ndjson").data.to_arrow().to_pydict() == {"age": [31, None]}
    assert read(f"{store}/hive/").data.to_arrow().to_pydict() == {"age": [1, 2], "zip": ["007", "107"]}
    assert read(f"{store}/hive/*/b.*").data.to_arrow().to_pydict() == {"age": [2], "zip": [107]}
    with pytest.raises(FileError, match="there is nothing of that name"):
        read(f"{store}/nothing.csv")


def test_a_wrong_key_is_refused_in_plain_words_without_the_key(s3) -> None:
    with pytest.raises(FileError) as caught:
        read("s3://tester:hush%2Bhush@no-such-bucket/people.csv")
    assert "hush" not in str(caught.value)
    with pytest.raises(UsageError, match="AZURE_STORAGE_ACCOUNT_NAME"):
        read("az://container/people.csv")
    with pytest.raises(UsageError, match="nowhere:// is unknown"):
        read("nowhere://people.csv")
