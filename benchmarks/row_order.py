"""What a known order tells about people, with rows kept and shuffled, and what shuffling costs.

    python benchmarks/row_order.py [--seeds 50] [--rows 2000000] [--folder DIR]

The attack: 400 people sorted by age and sex, released 5-anonymous and 2-diverse, as many tables as there are seeds. An attacker who
knows everybody's age and sex takes a row that fits, where the row must stand; people are narrowed who are left with fewer than 5 rows.
The price: `oboro anonymize` in this process with `order: kept` and without it, in turns, from file to file. Writes
`benchmarks/results/row_order.json`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import oboro
from oboro.attacks.rates import Rate

RESULT = Path(__file__).parent / "results" / "row_order.json"
TURNS = 5


def people(rows: int, seed: int) -> dict[str, list[Any]]:
    """A table sorted by its quasi-identifiers."""
    rng = np.random.default_rng(seed)
    ages, sexes = rng.integers(18, 80, rows), rng.choice(["F", "M"], rows)
    order = np.lexsort((sexes, ages))
    secrets = rng.choice(["flu", "cold", "ulcer"], rows)
    return {"age": ages[order].tolist(), "sex": sexes[order].tolist(), "disease": secrets.tolist()}


def recipe(order: str | None, **more: Any) -> oboro.Recipe:
    """5-anonymous and 2-diverse."""
    return oboro.Recipe(
        attributes={
            "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20, 40]}},
            "sex": {"role": "quasi"},
            "disease": {"role": "sensitive"},
        },
        steps=[{"k_anonymize": {"k": 5, "l_diversity": {"disease": 2}}}],
        order=order,
        **more,
    )


def narrowed(table: dict[str, list[Any]], release: oboro.Release) -> tuple[int, int]:
    """How many people are left with fewer than 5 rows by place and labels, their own among them; and with one."""
    labels = list(zip(release.data["age"], release.data["sex"], strict=True))
    came = release.frame.data.origin_rows
    became = {int(row): labels[place] for place, row in enumerate(came)}
    known = list(zip(table["age"], table["sex"], strict=True))
    few = one = 0
    for row, key in enumerate(known):
        left = [place for place, other in enumerate(known) if other == key and labels[place] == became[row]]
        own = any(came[place] == row for place in left)
        few += own and len(left) < 5
        one += own and len(left) == 1
    return few, one


def attacked(order: str | None, seeds: int) -> dict[str, Any]:
    """Over all tables: people narrowed to fewer than 5 rows that hold their own, and right guesses."""
    few = one = right = tried = 0
    for seed in range(seeds):
        table = people(400, seed)
        release = recipe(order).run(table)
        below, single = narrowed(table, release)
        few, one = few + below, one + single
        found = oboro.attack(table, release.frame.data, quasi=["age", "sex"], sensitive="disease", seed=seed)
        guess = next(attack for attack in found if attack.kind == "row_order").found
        right, tried = right + guess.right, tried + guess.tried
    shown = {"below_5": Rate(few, 400 * seeds), "one_row": Rate(one, 400 * seeds), "guess_right": Rate(right, tried)}
    return {name: [round(100 * end, 2) for end in (rate.share or 0, *rate.interval)] for name, rate in shown.items()}


def jobs(folder: Path, rows: int) -> dict[str, tuple[Path, Path]]:
    """Tables of so many rows: all columns held, ten columns of which seven stay in the file, and that as Parquet."""
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {
        "age": np.sort(rng.integers(18, 80, rows)),
        "sex": rng.choice(["F", "M"], rows),
        "disease": rng.choice(["flu", "cold", "ulcer"], rows),
    }
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    narrow, wide = pa.table(columns), dict(columns)
    for n in range(7):
        wide[f"note{n}"] = rng.choice([f"note {n} number {m:04d}" for m in range(1000)], rows)
    pyarrow.csv.write_csv(narrow, folder / "held.csv")
    pyarrow.csv.write_csv(pa.table(wide), folder / "wide.csv")
    pq.write_table(pa.table(wide), folder / "wide.parquet")
    return {
        "CSV, all columns held": (folder / "held.csv", folder / "out.csv"),
        "CSV, seven of ten columns stay in the file": (folder / "wide.csv", folder / "out.csv"),
        "Parquet, seven of ten columns stay in the file": (folder / "wide.parquet", folder / "out.parquet"),
        "CSV to Parquet": (folder / "wide.csv", folder / "out.parquet"),
    }


def timed(source: Path, target: Path, order: str | None) -> tuple[float, float]:
    """Seconds of one job in this process, on the clock and of the processor."""
    accept = {"unique_on": [f"note{n}" for n in range(7)], "because": "made up"} if "wide" in source.name else []
    start, processor = time.perf_counter(), time.process_time()
    recipe(order, unnamed="other", accept=accept).run(source).write(target, force=True)
    return time.perf_counter() - start, time.process_time() - processor


def price(folder: Path, rows: int) -> dict[str, Any]:
    """For each job the least time of some turns, kept and shuffled, and their ratio."""
    found = {}
    for name, (source, target) in jobs(folder, rows).items():
        both = [(timed(source, target, "kept"), timed(source, target, None)) for _ in range(TURNS + 1)][1:]
        kept, shuffled = ([min(one) for one in zip(*some, strict=True)] for some in zip(*both, strict=True))
        ratio, processor = (round(one / other, 3) for one, other in zip(shuffled, kept, strict=True))
        found[name] = {
            "kept": round(kept[0], 2),
            "shuffled": round(shuffled[0], 2),
            "ratio": ratio,
            "processor": processor,
        }
        print(name, found[name], flush=True)
    return found


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    facts: dict[str, Any] = {"attack": {}, "rows": given.rows}
    for order in ("kept", None) if given.seeds else ():
        facts["attack"][order or "shuffled"] = attacked(order, given.seeds)
    print(json.dumps(facts["attack"], indent=1), flush=True)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        facts["price"] = price(Path(folder), given.rows)
    RESULT.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
