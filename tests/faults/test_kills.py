"""A process that dies at any chosen moment loses, doubles and shows nothing; `make faults` does it two thousand times by chance."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


NAMES = ("CSV to CSV, columns stay in the file", "NDJSON in a window", "NDJSON to a pipe")


def test_every_phase() -> None:
    words = [sys.executable, "-m", "tests.faults.killer", "--kills", "0", *(f"--only={name}" for name in NAMES)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert min(found["by_command"][name] for name in NAMES) >= 20
    assert {name.split(": ")[1] for name in found["by_phase"]} >= {
        *("reading", "deciding", "verifying", "looking", "writing", "renaming"),
        *("opening", "replaying", "logging", "saving", "advancing"),
    }
