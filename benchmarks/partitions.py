"""What do partitions of a stream cost? Suppressed cells of all parts together, beside those of one stream, on Adult.

    OBORO_DATA=… python benchmarks/partitions.py [--k 5]

Five attributes of the delay-free paper, 48,842 records, mode `swap`. By person: everybody is somebody else. By all
quasi-identifiers: like goes to like.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import oboro
from oboro.recipe.service.partition_price import PARTS, measured_price
from oboro.recipe.stream_plan import StreamOptions
from oboro.stream.service.partition import Partition

COLUMNS = {"workclass": 1, "marital": 5, "race": 8, "sex": 9, "country": 13}


def adult() -> list[dict[str, str]]:
    """The records of both files, with a number for each person."""
    folder = Path(os.environ["OBORO_DATA"]) / "adult"
    lines = [
        line.split(", ") for name in ("adult.data", "adult.test") for line in (folder / name).read_text().splitlines()
    ]
    people = [line for line in lines if len(line) == 15]
    return [{"person": str(i), **{name: one[at] for name, at in COLUMNS.items()}} for i, one in enumerate(people)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--k", type=int, default=5)
    k = parser.parse_args().k
    recipe = oboro.Recipe(
        attributes={"person": {"role": "identifier"}, **{name: {"role": "quasi"} for name in COLUMNS}},
        steps=[{"drop_columns": {"attributes": ["person"]}}, {"k_anonymize": {"k": k}}],
    )
    records = adult()
    for by in (("person",), tuple(COLUMNS)):
        prices = []
        for count in PARTS[1:]:
            found = measured_price(recipe, StreamOptions(), Partition(by, count, 0), records).values
            prices.append(f"{found['split'] / found['whole']:.2f}")
        print(f"by {', '.join(by)}: {' / '.join(prices)} times the cells at {' / '.join(map(str, PARTS[1:]))} parts")
