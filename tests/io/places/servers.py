"""Real servers for the tests, on loopback: an S3 server in this process, a PostgreSQL cluster beside it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

__all__ = ["postgres_server", "s3_server"]


@contextmanager
def s3_server(bucket: str) -> Iterator[str]:
    """An S3 server with one bucket, named in the environment as anybody would name it; its address."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    told = {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "tester",
        "AWS_SECRET_ACCESS_KEY": "hush-hush",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{address}/{bucket}", method="PUT")):
            yield address
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        server.stop()


def _postgres_programs() -> Path | None:
    """The folder of PostgreSQL's programs, where it is installed."""
    found = shutil.which("initdb")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) if found is None else [Path(found)]
    return installed[-1].resolve().parent if installed else None


@contextmanager
def postgres_server() -> Iterator[str]:
    """A PostgreSQL cluster of our own on loopback, whose user `tester` needs a password; the URL of its database, without it.

    PostgreSQL does not run as root: then it runs as `postgres` or `nobody`. Without PostgreSQL the test is skipped.
    """
    programs = _postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql): its tests are skipped")
    root = os.geteuid() == 0
    user = next((one for one in ("postgres", "nobody") if _knows(one)), None) if root else None
    with tempfile.TemporaryDirectory(prefix="oboro-postgres-") as name:
        folder, port = Path(name), _free_port()
        secret = folder / "password"
        secret.write_text("p@ss word")
        if user is not None:
            for path in (folder, secret):
                shutil.chown(path, user)

        def run(program: str, *options: str) -> None:
            command = [str(programs / program), *options]
            subprocess.run(command, user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=60)

        run("initdb", "-D", "data", "-U", "tester", "-A", "scram-sha-256", "--pwfile", "password", "-E", "UTF8", "-N")
        asked = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=off"
        run("pg_ctl", "-D", "data", "-l", "log", "-w", "-o", asked, "start")
        try:
            yield f"postgresql://tester@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", "data", "-m", "immediate", "-w", "stop")


def _knows(user: str) -> bool:
    try:
        return pwd.getpwnam(user) is not None
    except KeyError:
        return False


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
