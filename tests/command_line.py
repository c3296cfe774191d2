"""The command line within this process, where imports and compiled kernels are at hand: a process of its own takes seconds."""

from __future__ import annotations

import signal
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path

from oboro.cli.main import main


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str


def call(*words: object, cwd: Path | None = None) -> Done:
    """Run `oboro WORDS` from `main` on, as a shell does."""
    out, err = (TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code, argv = 0, sys.argv
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        sys.argv = ["oboro", *map(str, words)]
        with redirect_stdout(out), redirect_stderr(err), chdir(cwd or Path.cwd()):
            main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.argv = argv
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Done(code, *(file.buffer.getvalue().decode() for file in (out, err)))
