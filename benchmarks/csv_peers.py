"""CSV in and out beside polars and pyarrow, each told to keep text as text. Writes `benchmarks/results/csv_peers.json`.

    python -m benchmarks.csv_peers [--rows 300000] [--columns 100] [--times 3]

Every measurement is a process of its own, so that its memory is its own; the programs take turns and the best turn counts.
Reading ends with every column dictionary-encoded, which is what oboro works on; writing starts from that.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULT = Path(__file__).parent / "results" / "csv_peers.json"
Writer = Callable[[Path], Any]


def with_oboro(path: Path) -> Writer:
    """Read with oboro."""
    from oboro.io.read import read
    from oboro.io.write import write

    data = read(path).data
    return lambda out: write(data, out)


def with_polars(path: Path) -> Writer:
    """Read with polars: text, then categories."""
    import polars as pl

    frame = pl.read_csv(path, infer_schema=False).with_columns(pl.all().cast(pl.Categorical))
    return lambda out: frame.write_csv(out)


def with_pyarrow(path: Path) -> Writer:
    """Read with pyarrow: dictionaries at once."""
    import pyarrow as pa
    import pyarrow.csv as pc

    with path.open() as file:
        names = file.readline().strip().split(",")
    types = dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string()))
    table = pc.read_csv(path, convert_options=pc.ConvertOptions(column_types=types))
    return lambda out: pc.write_csv(pa.table({name: table[name].cast(pa.string()) for name in names}), out)


PEERS = {"oboro": with_oboro, "polars": with_polars, "pyarrow": with_pyarrow}


def one_turn(peer: str, path: Path) -> dict[str, float]:
    """Read and write once, in seconds on the clock and of processors; a small file before that loads what is loaded once."""
    small, out = path.with_suffix(f".{peer}.small.csv"), path.with_suffix(f".{peer}.out.csv")
    small.write_text("a,b\n1,2\n")
    PEERS[peer](small)(out)
    began = time.perf_counter(), time.process_time()
    write = PEERS[peer](path)
    middle = time.perf_counter(), time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    write(out)
    ended = time.perf_counter(), time.process_time()
    out.unlink()
    (read, read_processor), (wrote, wrote_processor) = (
        (after[0] - before[0], after[1] - before[1]) for before, after in ((began, middle), (middle, ended))
    )
    return {
        "read": read, "read_processor": read_processor, "read_gigabytes": memory,
        "write": wrote, "write_processor": wrote_processor,
    }  # fmt: skip


def compare(path: Path, times: int) -> dict[str, Any]:
    """The best of some turns of each."""
    turns: dict[str, list[dict[str, float]]] = {peer: [] for peer in PEERS}
    for _ in range(times):
        for peer, found in turns.items():
            found.append(json.loads(run("--peer", peer, "--file", path)))
            print(peer, found[-1], file=sys.stderr)
    return {peer: {key: round(min(one[key] for one in found), 2) for key in found[0]} for peer, found in turns.items()}


def run(*words: object) -> str:
    """This program again. The one that compares stays small: what it holds would count as its children's memory."""
    command = [sys.executable, "-m", "benchmarks.csv_peers", *map(str, words)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def make(path: Path, rows: int, columns: int) -> None:
    """The file to read."""
    from oboro.io.write import write_blocks
    from oboro.samples.purchases import purchases

    write_blocks(purchases(rows, columns=columns), path)


def main() -> None:
    """Make the file, compare, keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--times", type=int, default=3, help="turns of each program; the best counts")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        print(json.dumps(one_turn(options.peer, options.file)))
    elif options.file:
        make(options.file, options.rows, options.columns)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "purchases.csv"
            run("--file", path, "--rows", options.rows, "--columns", options.columns)
            figures = {"bytes": path.stat().st_size, "rows": options.rows, "columns": options.columns}
            keep(figures | compare(path, options.times))


def keep(figures: dict[str, Any]) -> None:
    """Write the figures down, with the machine and the versions."""
    from benchmarks.rows import record

    facts = record("csv_peers", [], quick=False)
    facts |= {"command": " ".join(["python", "benchmarks/csv_peers.py", *sys.argv[1:]])}
    facts["versions"] |= {peer: version(peer) for peer in PEERS}
    RESULT.write_text(json.dumps(facts | figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
