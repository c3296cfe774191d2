"""Servers that the tests of places share: each is started once, when the first test asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.io.places.servers import postgres_server, s3_server


@pytest.fixture(scope="package")
def s3() -> Iterator[str]:
    """The address of an S3 server with the bucket `people`."""
    with s3_server("people") as address:
        yield address


@pytest.fixture(scope="package")
def postgres() -> Iterator[str]:
    """The URL of a database; its password is in the environment, where a user would have it."""
    with postgres_server() as url:
        before = os.environ.get("PGPASSWORD")
        os.environ["PGPASSWORD"] = "p@ss word"
        yield url
        os.environ.pop("PGPASSWORD")
        if before is not None:
            os.environ["PGPASSWORD"] = before
