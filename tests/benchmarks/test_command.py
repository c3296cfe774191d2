"""`python -m benchmarks`: the names that it lists, its options, and its refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import main

ROOT = Path(__file__).parents[2]
NAMES = [
    "concealment",
    "delay-free",
    "heuristics",
    "histogram",
    "lattice",
    "local",
    "service",
    "soak",
    "spark",
    "window",
]


def test_it_lists_the_benchmarks_from_a_checkout() -> None:
    words = [sys.executable, "-m", "benchmarks", "--list"]
    done = subprocess.run(words, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == NAMES


def test_without_a_name_it_says_how_to_give_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    assert "python -m benchmarks --list shows all" in capsys.readouterr().err


def test_a_wrong_name_and_options_that_exclude_each_other_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nope"]) == 2
    assert "no benchmark 'nope'" in capsys.readouterr().err
    assert main(["lattice", "--quick", "--full"]) == 2
    assert "cannot be combined with --quick" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["soak", "--seconds", "0"])


def test_rows_are_printed_as_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OBORO_DATA", raising=False)
    assert main(["local", "--quick", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == []
    assert "no adult data" in printed.err
