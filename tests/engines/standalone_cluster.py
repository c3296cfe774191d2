"""A standalone cluster of Spark on loopback: a master and two workers, from the classes that the wheel carries."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
from tests.engines.python_workers import below, command

from benchmarks.brokers import free_port

OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass
class Cluster:
    """Its address and its processes."""

    address: str
    log: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def executors(self) -> list[int]:
        """The processes that run tasks, each started by a worker."""
        found = [one for worker in self.workers for one in below(worker.pid)]
        return [one for one in found if "CoarseGrainedExecutorBackend" in command(one)]

    def executor(self) -> int:
        """One of them; workers start them when an application comes, or when one died."""
        while not (found := self.executors()):
            time.sleep(0.05)
        return found[0]

    def registered(self) -> int:
        """How many workers the master knows."""
        return len(set(re.findall(r"Registering worker (\S+)", self.log.read_text())))


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster with two workers of one core each."""
    port = free_port()
    program = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    told = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "JDK_JAVA_OPTIONS": OPTIONS, "SPARK_DAEMON_MEMORY": "256m"}
    told["SPARK_MASTER_OPTS"] = "-Dspark.master.rest.enabled=false"
    held: list[subprocess.Popen[bytes]] = []

    def start(name: str, *options: str) -> subprocess.Popen[bytes]:
        with open(folder / f"{len(held)}.log", "wb") as log:
            made = subprocess.Popen(
                [program, f"org.apache.spark.deploy.{name}", *options], env=told, stdout=log, stderr=log
            )
        held.append(made)
        return made

    try:
        start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        found = Cluster(f"spark://127.0.0.1:{port}", folder / "0.log")
        for number in range(2):
            options = ("--cores", "1", "--memory", "1g", "--webui-port", "0", "--host", "127.0.0.1")
            found.workers.append(
                start("worker.Worker", *options, "--work-dir", str(folder / f"{number}"), found.address)
            )
        _wait(found)
        yield found
    finally:
        for one in [*found.executors(), *(each.pid for each in held)]:
            _end(one)
        for each in held:
            each.wait()


def _wait(cluster: Cluster) -> None:
    for _ in range(1200):
        if cluster.registered() == 2:
            return
        time.sleep(0.1)
    raise TimeoutError("the cluster did not start")


def _end(process: int) -> None:
    try:
        os.kill(process, 9)
    except ProcessLookupError:
        return
