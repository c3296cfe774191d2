"""What do partitions of a stream cost? Suppressed cells of all parts together, beside those of one stream, on Adult.

    OBORO_DATA=… python -m benchmarks.partitions [--k 5] [--attributes 8] [--records 30000] [--mode count]

Five attributes of the delay-free paper, or these and three more, 48,842 records, mode `swap`. By person: everybody is somebody
else. By all quasi-identifiers: like goes to like.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import oboro
from oboro.recipe.stream import StreamOptions
from oboro.service.settings import PARTS, measured_price
from oboro.stream.records import Partition

COLUMNS = {"workclass": 1, "marital": 5, "race": 8, "sex": 9, "country": 13}
MORE = {"education": 3, "occupation": 6, "relationship": 7}


def adult(columns: dict[str, int]) -> list[dict[str, str]]:
    """The records of both files, with a number for each person."""
    folder = Path(os.environ["OBORO_DATA"]) / "adult"
    lines = [
        line.split(", ") for name in ("adult.data", "adult.test") for line in (folder / name).read_text().splitlines()
    ]
    people = [line for line in lines if len(line) == 15]
    return [{"person": str(i), **{name: one[at] for name, at in columns.items()}} for i, one in enumerate(people)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--attributes", type=int, choices=(5, 8), default=5)
    parser.add_argument("--records", type=int)
    parser.add_argument("--mode", choices=("swap", "count"), default="swap")
    given = parser.parse_args()
    columns = COLUMNS if given.attributes == 5 else dict(sorted({**COLUMNS, **MORE}.items(), key=lambda one: one[1]))
    recipe = oboro.Recipe(
        attributes={"person": {"role": "identifier"}, **{name: {"role": "quasi"} for name in columns}},
        steps=[{"drop_columns": {"attributes": ["person"]}}, {"k_anonymize": {"k": given.k}}],
    )
    records = adult(columns)[: given.records]
    for by in (("person",), tuple(columns)):
        prices = []
        for count in PARTS[1:]:
            found = measured_price(recipe, StreamOptions(mode=given.mode), Partition(by, count, 0), records).values
            prices.append(f"{found['split'] / found['whole']:.2f}")
        print(f"by {', '.join(by)}: {' / '.join(prices)} times the cells at {' / '.join(map(str, PARTS[1:]))} parts")
