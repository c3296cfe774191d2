"""How the rate of a `swap` stream over 2.1 million combinations changes until `reach` records are known, and that it then stays.

python -m benchmarks.long_stream [--records 90000] [--reach 65536]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from oboro.stream import DelayFree

FIELDS, VALUES, PARTS = 7, 8, 5


def main() -> None:
    """Print records a second of computing time, part by part."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--records", type=int, default=90_000)
    asked.add_argument("--reach", type=int, default=65_536)
    given = asked.parse_args()
    names = [f"a{number}" for number in range(FIELDS)]
    table = np.random.default_rng(1).integers(0, VALUES, (given.records, FIELDS))
    anonymizer, step = DelayFree(names, 5, reach=given.reach), given.records // PARTS
    for begin in range(0, given.records, step):
        part = {name: table[begin : begin + step, place].tolist() for place, name in enumerate(names)}
        began = time.process_time()
        anonymizer.push_many(part)
        rate = step / (time.process_time() - began)
        print(f"{begin + step:>9,} records  {rate:>8,.0f}/s  {anonymizer.stats()['distinct']:,} different")


if __name__ == "__main__":
    main()
