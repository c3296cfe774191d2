"""Reproduce a paper's tables on this machine and show our figures beside the paper's.

    python -m benchmarks histogram --quick

Real data is read from the folder in OBORO_DATA. Without it, only the synthetic parts run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.registry import BENCHES, run
from oboro.cli.options import stages
from oboro.errors import OboroError

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark that the words name; its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="?", help="the benchmark, for example histogram; --list shows all")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and stop")
    parser.add_argument("--quick", action="store_true", help="run a smaller part, within a minute")
    parser.add_argument(
        "--full", action="store_true", help="also run the parts that need gigabytes of memory (lattice: 100M rows)"
    )
    parser.add_argument("--seconds", type=_seconds, help="how long it lasts, in seconds (soak; for each mode)")
    parser.add_argument("--output", "-o", type=Path, help="a folder for the figures (JSON) and the pictures")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    given = parser.parse_args(words)
    if given.list:
        print("\n".join(f"{name.replace('_', '-'):<12} {bench.shows}" for name, bench in BENCHES.items()))
        return 0
    if given.name is None:
        parser.error("name a benchmark: python -m benchmarks NAME; python -m benchmarks --list shows all")
    try:
        with stages() as progress:
            run(
                given.name,
                quick=given.quick,
                full=given.full,
                as_json=given.json,
                seconds=given.seconds,
                output=given.output,
                progress=progress,
            )
    except OboroError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _seconds(word: str) -> float:
    """Read a length of at least one second."""
    seconds = float(word)
    if seconds < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
