"""Writing a large file past the system's cache beside writing it as usual, synced, in turns.

python -m benchmarks.write_direct [--megabytes 1024] [--times 4] [--folder .]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import BinaryIO, cast

from oboro.system.files import Uncached


def seconds(path: Path, megabytes: int, direct: bool) -> tuple[float, float]:
    """How long it takes to have so many bytes on the disk, on the clock and on the processors."""
    block = os.urandom(1 << 20)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    clock, processor = time.perf_counter(), time.process_time()
    with cast(BinaryIO, Uncached(descriptor)) if direct else open(descriptor, "wb") as file:
        for _ in range(megabytes):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    spent = time.perf_counter() - clock, time.process_time() - processor
    path.unlink()
    return spent


def main() -> None:
    """Take turns, and print each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--folder", type=Path, default=Path("."))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for _ in range(options.times):
            past, through = (seconds(Path(folder) / "file", options.megabytes, direct) for direct in (True, False))
            print(f"past the cache {past[0]:.1f} s ({past[1]:.1f} s of processor)   ", end="")
            print(f"through it {through[0]:.1f} s ({through[1]:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
