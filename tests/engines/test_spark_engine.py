"""A real Spark does what one machine does, whatever the partitions; so does another server that speaks Spark Connect."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileSelector
from pyspark.errors import PySparkException
from tests.engines.engine_cases import BY_CHANCE, BY_VALUE, EMPTIED_CELLS, counted, facts, sparse, table
from tests.engines.python_workers import Killer
from tests.engines.release_checks import CASES, case, outcome
from tests.engines.test_bounded_driver import RECIPES, bounded, told
from tests.io.places.recipe_matrix import RECIPES as EVERYWHERE
from tests.io.places.servers import s3_server

from benchmarks.brokers import free_port
from oboro.disclosure.gate import CHECKS
from oboro.engines.coded import speaking_for
from oboro.engines.run import anonymize_place
from oboro.engines.spark import SETTINGS, SparkTable, quietly
from oboro.errors import ColumnError, InputError, OboroError, SingledOutError
from oboro.io.places.files import file_system
from oboro.io.places.place import as_place
from oboro.io.read import read
from oboro.recipe.recipe import Recipe
from oboro.text import Message, Raw
from oboro.text.raw import values_shown

pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="no Java here: Spark needs 17 or newer"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


PORT = free_port()
MANY = (1, 7, 200) if os.environ.get("OBORO_EXAMPLES") == "thorough" else (1, 7)  # 200 tasks a job take a minute


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket of an S3 server. It is there before Spark, whose tasks find it in their environment."""
    with s3_server("people"):
        yield "s3://people"


@pytest.fixture(scope="module")
def spark(bucket: str) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    settings = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(PORT),
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.python.daemon.module": "warm_daemon",
        "spark.log.level": "ERROR",
        **SETTINGS,
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    os.environ["JDK_JAVA_OPTIONS"] = (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # small tables: compiling costs more than it gives
    )
    builder: Any = SparkSession.builder.master("local[2,4]")  # a task may fail three times
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = quietly(builder.getOrCreate)()
    yield session
    session.stop()


@quietly
def frame(session: Any, data: pa.Table, partitions: int) -> Any:
    return session.createDataFrame(data).repartition(partitions)


@quietly
def connected(port: int) -> Any:
    from pyspark.sql.connect.session import SparkSession

    return SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()


@quietly
def rows(released: Any) -> pa.Table:
    return released.toArrow()


@pytest.mark.parametrize(("name", "partitions"), list(zip(BY_VALUE, [1, 7, 2, 3, 5, 1, 2, 3, 9, 1], strict=True)))
def test_a_recipe_does_the_same(spark: Any, name: str, partitions: int) -> None:
    data = table(40, partitions)
    try:
        one = BY_VALUE[name].run(data)
    except OboroError as error:
        with pytest.raises(type(error)) as refused:
            BY_VALUE[name].run(frame(spark, data, partitions))
        assert str(refused.value) == str(error)
        return
    release = BY_VALUE[name].run(frame(spark, data, partitions))
    released = rows(release.data)
    assert facts(release) == facts(one)
    assert released.column_names == one.data.column_names
    assert counted(released) == counted(one.data)


@pytest.mark.parametrize("name", EVERYWHERE)
def test_recipes_that_every_place_runs(spark: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Compare with one machine; where draws fall on other rows, which Spark has in another order, compare the shape."""
    monkeypatch.setenv("MATRIX_KEY", "a key for the tests of places, 40 letters")
    recipe, data = EVERYWHERE[name].recipe(), EVERYWHERE[name].table
    try:
        one = recipe.run(data)
    except OboroError as error:
        with pytest.raises(type(error)) as refused:
            recipe.run(frame(spark, data, 3))
        assert str(refused.value) == str(error)
        return
    release = recipe.run(frame(spark, data, 3))
    released = rows(release.data)
    assert released.column_names == one.data.column_names
    assert released.num_rows == one.data.num_rows
    if all(step.by_value for step in recipe.steps):
        assert facts(release) == facts(one)
        if name != "types":  # its moments without a zone come back in the zone of Spark's session
            assert counted(released) == counted(one.data)


def test_the_same_cells_are_emptied(spark: Any) -> None:
    data = sparse(60, 6)
    release, one = EMPTIED_CELLS.run(frame(spark, data, 7)), EMPTIED_CELLS.run(data)
    assert facts(release) == facts(one)
    assert counted(rows(release.data)) == counted(one.data)


def test_chance_and_k_are_the_same_over_any_partitions(spark: Any) -> None:
    """Random steps before `k_anonymize`, on Spark itself; some of the last partitions are empty."""
    steps = [step for name in ("sample", "swap", "noise") for step in BY_CHANCE[name].steps[1:-1]]
    drop, *_, k = BY_CHANCE["sample"].steps
    recipe, data = BY_CHANCE["sample"].model_copy(update={"steps": [drop, *steps, k]}), table(40, 1)
    releases = [recipe.run(frame(spark, data, partitions)) for partitions in (1, 7, 45)]
    first, *others = [(facts(one), counted(rows(one.data))) for one in releases]
    assert 0 < sum(first[1].values()) < 40
    assert all(first == other for other in others)


@pytest.mark.parametrize("name", ["noise", "sample"])
def test_chance_does_not_depend_on_partitions(spark: Any, name: str) -> None:
    """The draws are those of one machine on the table in the order of its values."""
    data = table(40, 1)
    first, *others = (rows(BY_CHANCE[name].run(frame(spark, data, partitions)).data) for partitions in MANY)
    assert all(counted(first) == counted(again) for again in others)


@pytest.mark.parametrize("held_rows", [None, 0], ids=["rows on the driver", "no rows on the driver"])
@pytest.mark.parametrize("name", CHECKS.names)
def test_every_check_before_a_release_is_run(spark: Any, name: str, held_rows: int | None, tmp_path: Path) -> None:
    recipe, data = case(name, tmp_path)
    pq.write_table(data, tmp_path / "in.parquet")
    places = str(tmp_path / "in.parquet"), str(tmp_path / "out")
    found = outcome(lambda: anonymize_place(recipe, *places, engine="spark", held_rows=held_rows))
    assert ("error_engine.earlier" if name == "earlier_releases" else CASES[name][1]) in found


@pytest.mark.parametrize("held", [0, 1 << 21])
def test_a_driver_without_rows_decides_the_same_over_any_partitions(
    spark: Any, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    bounded(monkeypatch, held, 40)
    recipe, data = RECIPES["tops that are no star"], table(120, 4)
    one = recipe.run(data)
    for partitions in MANY[1:] if held else MANY[:1]:
        release = recipe.run(frame(spark, data, partitions))
        assert release.gone is not None
        assert told(release) == told(one)
        assert counted(rows(release.data)) == counted(one.data)
        assert release.table.jobs.count("nodes") <= 4


def test_few_jobs(spark: Any) -> None:
    """The driver has the codes: whatever the lattice, a run is four jobs, one of them a look at the first rows."""
    release = BY_VALUE["k"].run(frame(spark, table(40, 1), 3))
    assert [job for job in release.table.jobs if job != "rows"] == ["gather", "first rows", "publish", "check"]


def test_from_folder_to_folder(spark: Any, tmp_path: Path) -> None:
    data = table(60, 5)
    (tmp_path / "in").mkdir()
    for part in range(3):
        pq.write_table(data.slice(20 * part, 20), tmp_path / "in" / f"{part}.parquet")
    release = anonymize_place(BY_VALUE["k"], str(tmp_path / "in"), str(tmp_path / "out"), engine="spark")
    one = BY_VALUE["k"].run(data)
    assert facts(release) == facts(one)
    assert counted(pq.read_table(tmp_path / "out")) == counted(one.data)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    assert release.small is not None


def test_from_store_to_store(spark: Any, bucket: str) -> None:
    """Tasks read and write objects themselves; what is not released leaves nothing behind."""
    data = table(60, 5)
    system, path = file_system(as_place(f"{bucket}/in/"))
    for part in range(3):
        pq.write_table(data.slice(20 * part, 20), f"{path}{part}.parquet", filesystem=system)
    release = anonymize_place(BY_VALUE["k"], f"{bucket}/in/", f"{bucket}/out", engine="spark")
    one = BY_VALUE["k"].run(data)
    assert facts(release) == facts(one)
    assert counted(read(f"{bucket}/out/").data.to_arrow()) == counted(one.data) == counted(rows(release.data))
    with pytest.raises(OboroError):
        anonymize_place(
            BY_VALUE["k"].model_copy(update={"accept": []}), f"{bucket}/in/", f"{bucket}/no", engine="spark"
        )
    found = [one.path for one in system.get_file_info(FileSelector("people", recursive=True)) if one.is_file]
    assert sorted({one.rpartition("/")[0] for one in found}) == ["people/in", "people/out"]
    assert "people/out/_SUCCESS" in found


INSTANTS = [
    "2024-01-31T01:30:00",
    "2024-01-31T16:30:00",
    "2024-03-10T03:30:00",
    "2024-03-10T23:30:00",
] * 2  # nobody is unique


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "GMT-5"])
def test_days_are_those_of_the_session(spark: Any, zone: str) -> None:
    """TIMESTAMP and TIMESTAMP_NTZ, generalized, as they are, and dropped; *16:30 UTC* is the next day in Tokyo."""
    times = pa.array(INSTANTS).cast(pa.timestamp("us"))
    utc = pa.table({name: times.cast(pa.timestamp("us", "UTC")) for name in ("seen", "plain", "kept", "gone")})
    day = {"role": "quasi", "hierarchy": {"dates": ["day", "month"]}}
    roles = {"seen": day, "plain": day, "kept": {"role": "other"}, "gone": {"role": "identifier"}}
    steps = [{"generalize": {"attribute": name, "level": 1}} for name in ("seen", "plain")]
    recipe = Recipe(attributes=roles, steps=[{"drop_columns": {"attributes": ["gone"]}}, *steps])
    here = utc.set_column(0, "seen", utc["seen"].cast(pa.timestamp("us", "-05:00" if zone == "GMT-5" else zone)))
    local = recipe.run(here.set_column(1, "plain", times)).data
    sent = frame(spark, utc, 2).selectExpr("seen", "cast(plain as timestamp_ntz) AS plain", "kept", "gone")  # in UTC
    sent = quietly(sent.localCheckpoint)(True)
    assert sent.schema["plain"].dataType.typeName() == "timestamp_ntz"
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        found = rows(recipe.run(sent).data)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert len({*found["seen"].to_pylist(), *found["plain"].to_pylist()}) > 2
    assert counted(found) == counted(local)


COMPOUND = {
    "list": "array(age, 1)",
    "pairs": "map('a', age)",
    "parts": "struct(age, 1 as b)",
    "times": "array(timestamp'2024-01-02 03:04:05')",
    "span": "interval '1' month",
    "made": "parse_json('{\"a\": 1}')",
}


@pytest.mark.parametrize("role", ["identifier", "other"])
def test_columns_without_single_values_are_dropped(spark: Any, role: str) -> None:
    """They were encoded, as identifiers, before the step that drops them."""
    made = ", ".join(f"{one} AS {name}" for name, one in COMPOUND.items())
    table = quietly(spark.sql)(f"SELECT 10 * (id % 3) AS age, {made} FROM (SELECT *, id AS age FROM range(12))")
    roles = {"age": {"role": "quasi"}, **{name: {"role": role} for name in COMPOUND}}
    drop = {"drop_columns": {"attributes": list(COMPOUND)}}
    release = Recipe(attributes=roles, steps=[drop, {"k_anonymize": {"k": 4}}]).run(table)
    assert counted(rows(release.data)) == counted(pa.table({"age": [0, 10, 20] * 4}))


def test_a_column_without_single_values_is_named_where_it_would_be_released(spark: Any) -> None:
    table = quietly(spark.sql)("SELECT id % 2 AS age, array(id) AS visits FROM range(4)")
    recipe = Recipe(
        attributes={"age": {"role": "quasi"}, "visits": {"role": "other"}}, steps=[{"k_anonymize": {"k": 2}}]
    )
    with pytest.raises(ColumnError, match=r"'visits' holds array<bigint>"):
        recipe.run(table)


def test_an_error_of_a_task_has_its_cause(spark: Any) -> None:
    """*What it said: a text of 47 characters* was all: the words before the traceback. `error.show()` showed no more."""

    def fails(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            raise ArithmeticError("Ann is no number")
        yield from ()

    def refuses(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
        for _ in batches:
            raise ColumnError(Message("error_table.not_single", name="x", type=Raw("Ann")))
        yield b""

    asked = frame(spark, pa.table({"zip": ["1", "1"]}), 1)
    recipe = Recipe(attributes={"zip": {"role": "quasi"}}, steps=[{"k_anonymize": {"k": 2}}])
    with pytest.raises(InputError, match="ArithmeticError") as theirs:
        recipe.run(quietly(asked.mapInArrow)(fails, asked.schema))
    with pytest.raises(ColumnError, match="'x' holds") as ours, speaking_for("spark"):
        SparkTable.of(asked).told(["zip"], refuses, "test")
    for problem in (theirs, ours):
        with values_shown(False):
            assert "a text of" in str(problem.value)
            assert "Ann" not in str(problem.value)
        assert "Ann" in problem.value.show()
    with pytest.raises(PySparkException) as logged:
        SparkTable.of(asked).told(["zip"], refuses, "test")
    assert "Ann" not in str(logged.value)


def test_a_python_without_oboro_is_said_in_one_sentence(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commonest fault of a new cluster: its workers have a Python of their own."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'oboro':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Without())\n"
    )
    program = tmp_path / "python"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH"\nexport PYTHONPATH\n'
        f'[ "$2" = warm_daemon ] && set -- -m pyspark.daemon\nexec {sys.executable} "$@"\n'
    )
    program.chmod(0o700)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(program))
    with pytest.raises(InputError, match=r"has no module 'oboro[\w.]*', so nothing is released") as found:
        BY_VALUE["k"].run(frame(spark, table(10, 1), 1))
    assert "pip install oboro==" in str(found.value)
    assert "PYSPARK_PYTHON" in str(found.value)


def test_what_one_machine_refuses_is_refused(spark: Any) -> None:
    data = table(50, 1).set_column(7, "paid", pa.array(range(50)))
    with pytest.raises(SingledOutError, match="paid"):
        BY_VALUE["k"].model_copy(update={"accept": []}).run(frame(spark, data, 2))


@quietly
def drawn(asked: Any, name: str) -> Any:
    """The frame with another column of that name each time it is computed."""
    plain = asked.toDF(*(f"c{i}" for i in range(len(asked.columns))))
    place = asked.columns.index(name)

    def draw(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os

        for batch in batches:
            texts = [str(int.from_bytes(os.urandom(7), "little")) for _ in range(batch.num_rows)]
            yield batch.set_column(place, batch.schema.field(place), pa.array(texts).cast(batch.schema.types[place]))

    return plain.mapInArrow(draw, plain.schema).toDF(*asked.columns)


@pytest.mark.parametrize("name", ["paid", "Sex"])
def test_a_frame_that_is_another_each_time_is_not_released(spark: Any, name: str) -> None:
    """A column that stays where it is, and one that is decided on. (`rand()` would not do: Spark draws its seed once a frame.)"""
    changing = drawn(frame(spark, table(40, 1), 2), name)
    with pytest.raises(InputError, match="not what was verified"):
        BY_VALUE["k"].run(changing)


def test_over_spark_connect(spark: Any) -> None:
    """Through a socket, without the JVM: what needs a SparkContext would fail."""
    session = connected(PORT)
    data, recipe = table(40, 2), BY_VALUE["k"]
    one, release = recipe.run(data), recipe.run(frame(session, data, 3))
    assert facts(release) == facts(one)
    assert counted(rows(release.data)) == counted(one.data)
    assert counted(rows(BY_CHANCE["noise"].run(frame(session, data, 3)).data))
    session.stop()


@pytest.mark.parametrize("held_rows", [None, 0] if len(MANY) > 2 else [None])
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are found in /proc")
def test_killed_workers_change_nothing(spark: Any, tmp_path: Path, held_rows: int | None) -> None:
    """Python workers are killed while rows are gathered, published and counted: the release is right, or there is none."""
    data, one = table(60, 5), BY_VALUE["k"].run(table(60, 5))
    pq.write_table(data, tmp_path / "in.parquet")
    killer = Killer(times=6, pause=0.4)
    killer.start()
    try:
        places = str(tmp_path / "in.parquet"), str(tmp_path / "out")
        anonymize_place(BY_VALUE["k"], *places, engine="spark", held_rows=held_rows)
    except Exception:
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet"]
    else:
        assert counted(pq.read_table(tmp_path / "out")) == counted(one.data)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "out"]
    finally:
        killer.ended.set()
        killer.join()
    assert killer.killed
