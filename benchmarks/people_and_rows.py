"""How much longer a recipe takes where it counts people: k-anonymity of rows and of people, one after the other in one process.

Run: python -m benchmarks.people_and_rows --rows 10000000
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pyarrow as pa

import oboro
from oboro.data.column import Column, smallest_unsigned
from oboro.data.dataset import Dataset

QUASI = {"age": 90, "zip": 400, "sex": 2, "job": 14}
STEPS = {"age": [5, 10, 20], "zip": [10, 100]}
ROWS_EACH = 5  # of a person, on average


def table(rows: int) -> Dataset:
    """Columns of chance, and rows that belong to a fifth as many people."""
    rng = np.random.default_rng(1)
    widths = {"who": max(rows // ROWS_EACH, 1), **QUASI}
    drawn = {name: rng.integers(0, width, rows).astype(smallest_unsigned(width)) for name, width in widths.items()}
    return Dataset(
        {name: Column(pa.array(np.arange(widths[name])), codes).tidy() for name, codes in drawn.items()}, rows
    )


def seconds(data: Dataset, **more: Any) -> tuple[float, float]:
    """Of a whole run, on the clock and of the processor: search, recoding, verification, last look."""
    spec = {name: {"hierarchy": {"intervals": STEPS[name]}} if name in STEPS else {} for name in QUASI}
    attributes = {"who": {"role": "identifier"}} | {name: {"role": "quasi", **one} for name, one in spec.items()}
    steps = [{"drop_columns": {"attributes": ["who"]}}, {"k_anonymize": {"k": 5, "suppress": 0.01}}]
    clock, processor = time.perf_counter(), time.process_time()
    oboro.Recipe(attributes=attributes, steps=steps, **more).run(data)
    return time.perf_counter() - clock, time.process_time() - processor


def main() -> None:
    """Print both times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    data = table(rows)
    small = table(100_000)
    for more in ({}, {"person": "who"}):
        seconds(small, **more)  # kernels are compiled
    plain, people = seconds(data), seconds(data, person="who")
    clock, processor = (one / other for one, other in zip(people, plain, strict=True))
    print(
        f"{rows} rows: rows {plain[0]:.1f} s, people {people[0]:.1f} s, ratio {clock:.2f} (processor {processor:.2f})"
    )


if __name__ == "__main__":
    main()
