"""Tables of databases: SQLite and DuckDB in this process, PostgreSQL on loopback."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from urllib.parse import quote

import duckdb
import pyarrow as pa
import pytest

import oboro
from oboro.data.dataset import unread_columns
from oboro.errors import FileError, InputError, UsageError
from oboro.io.places.databases import connected, execute
from oboro.io.places.place import as_place
from oboro.io.read import read
from oboro.io.write import write_blocks

STRANGE = ["pe\"o'ple; DROP TABLE kept; --", "人々 $1 %s", "select", "a.b", "`x` [y] \\"]
TABLE = pa.table({"age": [31, None, 33] * 4, "city": ["東京", "Kyōto", None] * 4, "x": [0.5, 1.5, None] * 4})
RECIPE = oboro.Recipe(
    attributes={"age": {"role": "quasi"}, "city": {"role": "quasi"}, "x": {"role": "other"}},
    steps=[{"k_anonymize": {"k": 2}}],
    seed=1,
)


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def database(request, tmp_path) -> Iterator[str]:
    """The URL of a database without tables, to which `table=…` is added."""
    if request.param != "postgresql":
        yield f"{request.param}:///{tmp_path}/people.db?"
        return
    url = request.getfixturevalue("postgres") + "?"
    yield url
    with connected(as_place(url + "table=x"), "error_places.cannot_be_written", write=True) as connection:
        execute(connection, "DROP SCHEMA public CASCADE")
        execute(connection, "CREATE SCHEMA public")
        connection.commit()


def tables(database: str) -> list[str]:
    asked = {
        "sqlite": "SELECT name FROM sqlite_master",
        "duckdb": "SELECT table_name AS name FROM information_schema.tables",
        "postgresql": "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
    }[database.split(":")[0]]
    return sorted(filter(None, read(f"{database}query={asked}").data.to_arrow()["name"].to_pylist()))


def test_a_table_comes_back_as_it_was_written(database) -> None:
    write_blocks([TABLE], f"{database}table=people")
    assert read(f"{database}table=people").data.to_arrow().to_pydict() == TABLE.to_pydict()
    asked = read(f"{database}query=SELECT age + 1 AS older FROM people WHERE age > 31").data
    assert asked.to_arrow().to_pydict() == {"older": [34] * 4}


@pytest.mark.parametrize("name", STRANGE)
def test_names_are_names_whatever_stands_in_them(database, name) -> None:
    write_blocks([TABLE], f"{database}table=kept")
    columns = {name: [1, 2, 2, 1], f"{name}2": ["a", "b", "b", "a"]}
    write_blocks([pa.table(columns)], f"{database}table={quote(name)}")
    assert tables(database) == sorted([name, "kept"])
    recipe = oboro.Recipe(attributes={one: {"role": "quasi"} for one in columns}, steps=[{"k_anonymize": {"k": 2}}])
    recipe.run(f"{database}table={quote(name)}").write(f"{database}table={quote(name + 'r')}")
    released = read(f"{database}table={quote(name + 'r')}").data.to_arrow()
    assert sorted(released[f"{name}2"].to_pylist()) == ["a", "a", "b", "b"]
    assert read(f"{database}table=kept").data.rows == 12


def test_only_the_columns_that_are_needed_are_asked_for(database) -> None:
    write_blocks([TABLE], f"{database}table=people")
    release = oboro.Recipe(
        attributes={"age": {"role": "quasi"}, "x": {"role": "other"}}, steps=[{"k_anonymize": {"k": 2}}], unnamed="drop"
    ).run(f"{database}table=people")
    assert unread_columns(release.original) == ["city"]
    assert sorted(release.data.column_names) == ["age", "x"]


def test_what_is_there_is_replaced_only_when_asked_and_what_was_read_never(database) -> None:
    write_blocks([TABLE], f"{database}table=people")
    release = RECIPE.run(f"{database}table=people")
    release.write(f"{database}table=released")
    with pytest.raises(FileError, match="is there already"):
        release.write(f"{database}table=released")
    release.write(f"{database}table=released", force=True)
    assert read(f"{database}table=released").data.rows == 12
    with pytest.raises(UsageError, match="is where the table was read"):
        release.write(f"{database}table=people", force=True)
    asked = RECIPE.run(f"{database}query=SELECT * FROM people")
    with pytest.raises(UsageError, match="the query may have read it"):
        asked.write(f"{database}table=people", force=True)
    with pytest.raises(UsageError, match="a query can be read, but not written to"):
        release.write(f"{database}query=SELECT 1", force=True)
    assert read(f"{database}table=people").data.to_arrow().to_pydict() == TABLE.to_pydict()
    assert tables(database) == ["people", "released"]


def test_nothing_is_left_when_rows_stop_coming(database) -> None:
    write_blocks([TABLE], f"{database}table=kept")

    def stopping() -> Iterator[pa.Table]:
        yield TABLE
        raise FileError("the rows stopped")

    with pytest.raises(FileError, match="the rows stopped"):
        write_blocks(stopping(), f"{database}table=half")
    assert tables(database) == ["kept"]


def test_a_new_file_is_not_left_when_rows_stop_coming(tmp_path) -> None:
    def stopping() -> Iterator[pa.Table]:
        yield TABLE
        raise KeyboardInterrupt

    for scheme in ("sqlite", "duckdb"):
        with pytest.raises(KeyboardInterrupt):
            write_blocks(stopping(), f"{scheme}:///{tmp_path}/new.db?table=half")
        assert not list(tmp_path.iterdir())


KILLED = """
    import sys, time
    import pyarrow as pa
    from oboro.io.write import write_blocks

    def rows():
        for number in range(1000):
            yield pa.table({"a": list(range(1 << 16))})
            if number == 3:
                print("writing", flush=True)
            if number >= 3:
                time.sleep(0.5)

    write_blocks(rows(), sys.argv[1])
"""


def kill_while_writing(place: str, environment: dict[str, str] | None = None) -> None:
    """Write to a place in another process, and kill it in the middle."""
    command = [sys.executable, "-c", textwrap.dedent(KILLED), place]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **(environment or {})}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(signal.SIGKILL)


def test_a_writer_that_was_killed_leaves_no_table(database) -> None:
    write_blocks([TABLE], f"{database}table=kept")
    kill_while_writing(f"{database}table=half")
    for _ in range(50):  # a server may need a moment to notice
        if tables(database) == ["kept"]:
            break
        time.sleep(0.1)
    assert tables(database) == ["kept"]
    write_blocks([TABLE], f"{database}table=half")
    assert read(f"{database}table=half").data.rows == 12


def test_reading_cannot_change_anything(postgres, tmp_path) -> None:
    with pytest.raises(FileError):
        read(f"{postgres}?query=SELECT 1) AS x; CREATE TABLE stolen(a int); SELECT (1")
    write_blocks([TABLE], f"sqlite:///{tmp_path}/a.db?table=people")
    before = (tmp_path / "a.db").read_bytes()
    with pytest.raises(FileError):
        read(f"sqlite:///{tmp_path}/a.db?query=DELETE FROM people RETURNING age")
    assert (tmp_path / "a.db").read_bytes() == before


def test_a_refused_password_is_not_said(postgres, monkeypatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "wrong-hush")
    with pytest.raises(FileError, match="the user or the password is refused") as caught:
        read(f"{postgres}?table=people")
    assert "hush" not in str(caught.value)
    with pytest.raises(FileError, match="refused") as caught:
        read(f"{postgres.replace('tester@', 'tester:also%2Dhush@')}?table=people")
    assert "hush" not in str(caught.value) + repr(caught.value)
    assert "tester:***@" in str(caught.value)


def test_what_a_database_says_of_a_value_is_not_repeated(postgres) -> None:
    write_blocks([pa.table({"name": ["Ann \"O'Hara"]})], f"{postgres}?table=names")
    with pytest.raises(FileError) as caught:
        read(f"{postgres}?query=SELECT name::int FROM names")
    assert "Ann" not in str(caught.value)
    assert "Hara" not in str(caught.value)


def test_a_password_does_not_reach_a_report(postgres) -> None:
    url = postgres.replace("tester@", "tester:p%40ss%20word@")
    write_blocks([TABLE], f"{url}?table=reported")
    release = RECIPE.run(f"{url}?table=reported")
    release.write(f"{url}?table=reported_out")
    said = str(release.with_files(f"{url}?table=reported_out").as_dict()) + release.again + repr(release.source)
    assert "p@ss" not in said
    assert "p%40ss" not in said


def test_sqlite_columns_keep_every_value_as_it_is(tmp_path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as file:
        file.execute("CREATE TABLE t (late, mixed, number, large, kinds)")
        file.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", [(None, 1, 1, 2**60, 1)] * 2000)
        file.execute("INSERT INTO t VALUES ('late', 'a', 2.5, 0.5, '1')")
    file.close()
    url = f"sqlite:///{tmp_path}/a.db?"
    data = read(url + "query=SELECT late, mixed, number, large FROM t").data
    assert {name: str(column.values.type) for name, column in data.columns.items()} == {
        "late": "string", "mixed": "string", "number": "double", "large": "string",
    }  # fmt: skip
    assert set(data["large"].texts) == {str(2**60), "0.5"}
    with pytest.raises(InputError, match="holds the same value as a number and as text"):
        read(url + "table=t")


def test_nested_columns_pass_through_duckdb(tmp_path) -> None:
    with duckdb.connect(str(tmp_path / "a.db")) as file:
        file.execute("CREATE TABLE t AS SELECT range % 3 AS age, [range % 2] AS visits FROM range(60)")
    attributes = {"age": {"role": "quasi"}, "visits": {"role": "other"}}
    release = oboro.Recipe(attributes=attributes, steps=[{"k_anonymize": {"k": 5}}]).run(
        f"duckdb:///{tmp_path}/a.db?table=t"
    )
    release.write(f"duckdb:///{tmp_path}/a.db?table=released")
    with duckdb.connect(str(tmp_path / "a.db")) as file:
        found = file.execute("SELECT age, visits, count(*) FROM released GROUP BY ALL ORDER BY ALL").fetchall()
    assert found == [(age, [visit], 10) for age in range(3) for visit in range(2)]


def test_a_missing_driver_is_said_with_the_way_out(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(UsageError, match=r"pip install 'oboro\[postgresql\]'") as caught:
        read("postgresql://host/db?table=people")
    assert "インストール" in caught.value.say("ja")


POSTGRES_TYPES = {
    # a type of PostgreSQL that Arrow lacks: a value as SQL writes it, and the text that comes
    "money": ("'1,234.50'", "1234.50"),
    "inet": ("'10.0.0.1'", "10.0.0.1"),
    "cidr": ("'10.0.0.0/8'", "10.0.0.0/8"),
    "macaddr": ("'08:00:2b:01:02:03'", "08:00:2b:01:02:03"),
    "macaddr8": ("'08:00:2b:01:02:03:04:05'", "08:00:2b:01:02:03:04:05"),
    "int4range": ("'[1,5)'", "[1,5)"),
    "numrange": ("'[1.5,2)'", "[1.5,2)"),
    "daterange": ("'[2020-01-01,2020-01-03)'", "[2020-01-01,2020-01-03)"),
    "xml": ("'<a/>'", "<a/>"),
    "point": ("'(1,2)'", "(1,2)"),
    "polygon": ("'((1,2),(3,4))'", "((1,2),(3,4))"),
    "bit(5)": ("B'10101'", "10101"),
    "bit varying(8)": ("B'101'", "101"),
    "tsvector": ("'a fat cat'", "'a' 'cat' 'fat'"),
    "tsquery": ("'fat & cat'", "'fat' & 'cat'"),
    "numeric": ("1.50", "1.50"),
    "uuid": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    "interval": ("'1 day'", "1 day"),
    "time with time zone": ("'12:00+02'", "12:00:00+02"),
    "jsonb": ("'{\"a\": 1}'", '{"a": 1}'),
    "pg_lsn": ("'0/1'", "0/1"),
    "pair": ("ROW(1, '2.50')", "(1,$2.50)"),
}


@pytest.fixture
def odd_table(postgres: str) -> Iterator[str]:
    """A table with a column of each of the types, with two equal values, and two missing ones."""
    columns = ", ".join(f"{_name_of(one)} {one}" for one in POSTGRES_TYPES)
    values = ", ".join(value for value, _ in POSTGRES_TYPES.values())
    missing = ", ".join("NULL" for _ in POSTGRES_TYPES)
    place = as_place(f"{postgres}?table=odd")
    with connected(place, "error_places.cannot_be_written", write=True) as connection:
        execute(connection, "CREATE TYPE pair AS (number int, price money)")
        execute(connection, f"CREATE TABLE odd ({columns}, many money[], large oid)")
        for row in (values, values, missing, missing):
            execute(connection, f"INSERT INTO odd VALUES ({row}, '{{1.50,NULL}}', 3000000000)")
        connection.commit()
    yield f"{postgres}?table=odd"
    with connected(place, "error_places.cannot_be_written", write=True) as connection:
        execute(connection, "DROP TABLE odd")
        execute(connection, "DROP TYPE pair")
        connection.commit()


def _name_of(type_: str) -> str:
    return "c_" + "".join(filter(str.isalnum, type_))


def test_types_that_arrow_lacks_come_as_text(odd_table: str, tmp_path) -> None:
    names = {_name_of(one): text for one, (_, text) in POSTGRES_TYPES.items()}
    for asked in (odd_table, odd_table.replace("table=odd", "query=SELECT * FROM odd")):
        found = read(asked).dataset.to_arrow()
        assert {name: found[name].to_pylist() for name in names} == {
            name: [text, text, None, None] for name, text in names.items()
        }
        assert found["many"].to_pylist() == [["1.50", None]] * 4
        assert found["large"].to_pylist() == [3000000000] * 4
    recipe = oboro.Recipe(
        attributes={"c_inet": {"role": "quasi"}, "c_money": {"role": "sensitive"}, "c_point": {"role": "other"}},
        steps=[{"k_anonymize": {"k": 2}}],
        unnamed="drop",
        accept={"unique_on": ["c_point"], "because": "made up"},
    )
    release = recipe.run(odd_table)
    assert sorted(map(str, release.data["c_inet"].to_pylist())) == ["10.0.0.1", "10.0.0.1", "None", "None"]
    release.write(f"{tmp_path}/out.csv")
    assert "1234.50" in (tmp_path / "out.csv").read_text()
