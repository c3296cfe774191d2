"""A standalone cluster with two workers: the same release as on one machine, and executors and a worker that die in every phase."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.engines.engine_cases import BY_VALUE, counted, table
from tests.engines.standalone_cluster import Cluster, standalone_cluster
from tests.engines.test_bounded_driver import told

from oboro.engines.run import anonymize_place
from oboro.engines.spark import SETTINGS, quietly

pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="no Java here: Spark needs 17 or newer"),
    pytest.mark.skipif(
        os.environ.get("OBORO_EXAMPLES") != "thorough",
        reason="starts eight virtual machines of Java: `make thorough` runs it",
    ),
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are found in /proc"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def session(cluster: Cluster) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        **SETTINGS,
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder.master(cluster.address)
    for key, value in settings.items():
        builder = builder.config(key, value)
    found = quietly(builder.getOrCreate)()
    yield found
    found.stop()


@pytest.mark.parametrize("held_rows", [None, 0])
def test_executors_and_a_worker_that_die_change_nothing(
    session: Any, cluster: Cluster, tmp_path: Path, held_rows: int | None
) -> None:
    """One dies as each phase begins: while rows are gathered, published and checked. The release is right, or there is none."""
    data = table(60, 5)
    one = BY_VALUE["k"].run(data)
    (tmp_path / "in").mkdir()
    for part in range(4):
        pq.write_table(data.slice(15 * part, 15), tmp_path / "in" / f"{part}.parquet")
    killed: list[str] = []

    def kill(said: Any, *_: Any) -> None:
        phase = getattr(said, "id", "")
        if phase in ("progress.gathering", "progress.verifying_files"):
            os.kill(cluster.executor(), signal.SIGKILL)
            killed.append(phase)
        elif phase == "progress.publishing":
            cluster.workers[0].kill()
            killed.append(phase)

    try:
        places = str(tmp_path / "in"), str(tmp_path / "out")
        release = anonymize_place(BY_VALUE["k"], *places, engine="spark", progress=kill, held_rows=held_rows)
    except Exception:
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    else:
        assert told(release)[:3] == told(one)[:3]  # of the names, which stay where they are, the driver says so
        assert counted(pq.read_table(tmp_path / "out")) == counted(one.data)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    assert len(killed) == 3
