"""Records of people who arrive one by one, the recipe for them, and `oboro stream` as a process of its own."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

RECIPE = """
attributes:
  sex: {role: quasi}
  age: {role: quasi, hierarchy: {intervals: [10, 40]}}
  note: {role: other}
steps:
  - k_anonymize: {k: 3}
"""
RUN = "import sys; from oboro.cli.stream import stream; import typer; typer.run(stream)"
DRIVER = Path(__file__).parent / "stream_driver.py"


def people(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """So many people; the note says who came when."""
    rng = random.Random(seed)
    return [{"sex": rng.choice("FM"), "age": min(99, int(rng.expovariate(0.03))), "note": i} for i in range(count)]


def lay_out(folder: Path, rows: list[dict[str, Any]]) -> None:
    """The recipe and the records as files."""
    (folder / "recipe.yaml").write_text(RECIPE)
    (folder / "in.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))


def lines(path: Path) -> list[dict[str, Any]]:
    """The records of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def command(*words: object) -> list[str]:
    """`oboro stream` with the recipe, as the words of a process."""
    return [sys.executable, "-c", RUN, "--recipe", "recipe.yaml", *map(str, words)]


def killed_again_and_again(folder: Path, how: str, mode: str) -> int:
    """Run the stream until it comes to its end by itself; how many times it was killed before."""
    words = [sys.executable, str(DRIVER), str(folder), how, "7", mode]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["status"] == 0, done.stderr
    return int(result["kills"])
