"""What a shell completes: commands, options, and words where there are only a few."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

from oboro.cli.options import engines, kinds, modes
from oboro.recipe.starter import write_sample
from oboro.stream.delay_free.settings import Mode


def completed(*typed: str) -> list[str]:
    """What bash is told, as the script of `oboro --install-completion` asks for it."""
    asked = {"_OBORO_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(typed), "COMP_CWORD": str(len(typed) - 1)}
    words = [sys.executable, "-c", "from oboro.cli.main import program; import sys; sys.argv[0] = 'oboro'; program()"]
    done = subprocess.run(words, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_commands_options_and_words_are_completed() -> None:
    assert completed("oboro", "an") == ["anonymize"]
    assert completed("oboro", "anonymize", "--rec") == ["--recipe"]
    assert completed("oboro", "warm") == ["warm-up"]


def test_the_words_are_those_that_are_taken(tmp_path: Path) -> None:
    assert modes("") == list(get_args(Mode))
    assert engines("s") == ["spark"]
    for kind in kinds(""):
        write_sample(kind, tmp_path / f"{kind}.csv", rows=20)
