"""What a CSV job cannot do without: reading a file, cutting it into fields, numbering these, writing as many bytes.

    python -m benchmarks.csv_floor table.csv [--times 3]

Prints JSON: seconds of the processor of each, the least of some turns, in one process that has compiled all of it before; and
what polars takes to read and write the same file, as text. The difference between this and a job is starting, hierarchies, search,
verification and order.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from oboro.io.bytes import open_stream
from oboro.io.formats.csv.blocks import RecordCutter
from oboro.io.formats.csv.dialect import Dialect
from oboro.io.formats.csv.reader import parse
from oboro.system.files import Uncached

POLARS = """
import sys, time, polars as pl
begin = time.process_time()
pl.read_csv(sys.argv[1], infer_schema=False).write_csv(sys.argv[2])
print(time.process_time() - begin)
"""


def read(path: Path) -> None:
    """Every byte, into memory that is used again."""
    room = bytearray(1 << 24)
    with path.open("rb", buffering=0) as file:
        while file.readinto(room):
            pass


def cut(path: Path, columns: int) -> None:
    """Read and cut into fields."""
    with open_stream(path) as stream:
        cutter = RecordCutter(stream, Dialect(), columns)
        spare = cutter.block()
        block = cutter.fill(cutter.block(), spare)
        while block.found:
            block, spare = cutter.fill(spare, block), block


def number(path: Path, names: list[str]) -> None:
    """Read, cut, and number the values of every column."""
    with open_stream(path) as stream:
        parse(stream, Dialect(), names, names)


def write(path: Path, size: int) -> None:
    """As many bytes, past the cache."""
    block, target = bytes(1 << 20), path.with_name("floor.out")
    with cast(BinaryIO, Uncached(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))) as file:
        for _ in range(size >> 20):
            file.write(block)
    target.unlink()


def least(times: int, act: Callable[[], object]) -> float:
    """The least seconds of the processor that an act took."""
    found = []
    for _ in range(times):
        begin = time.process_time()
        act()
        found.append(time.process_time() - begin)
    return round(min(found), 2)


def main() -> None:
    """Measure each, print all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    path: Path = given.table
    with path.open(encoding="utf-8") as file:
        names = file.readline().strip().split(",")
    other = path.with_name("floor.out")
    peer = [sys.executable, "-c", POLARS, str(path), str(other)]
    turns = [float(subprocess.run(peer, check=True, capture_output=True).stdout) for _ in range(given.times)]
    other.unlink()
    number(path, names)
    facts = {
        "bytes": path.stat().st_size,
        "read": least(given.times, lambda: read(path)),
        "read and cut": least(given.times, lambda: cut(path, len(names))),
        "read, cut and number": least(given.times, lambda: number(path, names)),
        "write": least(given.times, lambda: write(path, path.stat().st_size)),
        "polars reads and writes": round(min(turns), 2),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
