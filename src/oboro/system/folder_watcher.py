"""Folder watcher: remove a folder after the process that made it has ended. This file is run as a program; nothing imports it.

Its standard input is a pipe that only that process can write to. The system closes it with the process, also after
`kill -9`, an abort or a crash. Each line names one more file to remove.
"""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress


def main() -> None:
    """Wait for the end of the input, then remove."""
    files = [line.rstrip(b"\n") for line in sys.stdin.buffer]
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    for file in files:
        with suppress(OSError):
            os.unlink(file)


if __name__ == "__main__":
    main()
