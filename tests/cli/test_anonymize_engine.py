"""`oboro anonymize --engine`: the same release from where the data is, and options that an engine does not have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.command_line import call
from tests.engines.engine_cases import BY_VALUE, counted, table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(table(50, 4), tmp_path / "in.parquet")
    (tmp_path / "recipe.yaml").write_text(BY_VALUE["k"].to_yaml(), encoding="utf-8")
    return tmp_path


def anonymize(folder: Path, *more: str) -> tuple[int, str]:
    done = call("anonymize", "in.parquet", "--recipe", "recipe.yaml", "--engine", "duckdb", *more, cwd=folder)
    return done.code, done.err


def test_the_same_release(folder: Path) -> None:
    code, said = anonymize(folder, "--output", "out", "--report", "report.html")
    assert code == 0, said
    assert counted(pq.read_table(folder / "out")) == counted(BY_VALUE["k"].run(table(50, 4)).data)
    assert (folder / "report.html").stat().st_size > 10_000
    assert anonymize(folder, "--output", "out")[0] == 2  # it is there already


@pytest.mark.parametrize(
    "more", [("--truth", "t.csv"), ("--encoding", "cp932"), ("--excel-safe",), ("--output", "in.parquet", "--force")]
)
def test_what_an_engine_does_not_do(folder: Path, more: tuple[str, ...]) -> None:
    code, said = anonymize(folder, "--output", "out", *more)
    assert code == 2
    assert "nothing" in said or more[0] in said or "in.parquet" in said
    assert not (folder / "out").exists()


@pytest.mark.parametrize("place", ["absent.csv", "in.parquet"])
def test_nothing_is_written_at_the_end_of_the_process(folder: Path, place: str) -> None:
    """DuckDB's bindings wrote *nanobind: leaked 27 instances!* and 130 lines more where their modules were not collected."""
    command = [sys.executable, "-m", "oboro", "anonymize", place, "--recipe", "recipe.yaml", "--engine", "duckdb"]
    done = subprocess.run([*command, "--output", "out"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == (2 if place == "absent.csv" else 0), done.stderr
    assert "nanobind" not in done.stderr
