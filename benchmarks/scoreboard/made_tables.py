"""Tables of purchases as `oboro synth` makes them, byte for byte, in half the time.

Large ones took longer to make than to anonymize.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from benchmarks.scoreboard.measured_line import Place, program, run
from oboro.samples.purchases import purchases

__all__ = ["forget", "made"]

SEED = 42
FEW = 1000  # rows that `oboro synth` makes, with the recipe and the hierarchies
PLAIN = pacsv.WriteOptions(include_header=False, quoting_style="none")  # no value has a comma or a quote
AHEAD = 2  # blocks that wait for the file


def made(place: Place, rows: int, columns: int, ending: str) -> Path:
    """A table of purchases with its recipe and hierarchies beside it; what another part has made is used again."""
    count = place.rows(rows)
    table = place.folder / f"{count}x{columns}.{ending}"
    if not table.exists():
        few = FEW if ending == "csv" else count
        words = ["--rows", few, "--columns", columns, "--seed", SEED, "-o", table, "--force"]
        run(program("synth", "purchases", *words))
        if few < count:
            _fill(table, purchases(count, SEED, columns))
    return table


def forget(table: Path) -> None:
    """Make room on the disk."""
    table.unlink()
    for other in (table.with_name("peer.csv"), table.with_name("report.html")):
        other.unlink(missing_ok=True)


def _fill(table: Path, blocks: Iterator[pa.Table]) -> None:
    """The header stays; while one block is made, others are written as text."""
    with table.open("r+b") as file, ThreadPoolExecutor(AHEAD) as pool:
        file.readline()
        file.truncate(file.tell())
        waiting: deque[Future[pa.Buffer]] = deque()
        for block in blocks:
            waiting.append(pool.submit(_text, block))
            if len(waiting) > AHEAD:
                file.write(waiting.popleft().result())
        for one in waiting:
            file.write(one.result())


def _text(block: pa.Table) -> pa.Buffer:
    out = pa.BufferOutputStream()
    pacsv.write_csv(block, out, PLAIN)
    return out.getvalue()
