"""What a known order tells about people, with rows kept and shuffled, and what shuffling costs.

    python -m benchmarks.row_order [--seeds 50] [--rows 2000000] [--seconds 60] [--folder DIR]

The attack: 400 people sorted by age and sex, released 5-anonymous and 2-diverse, as many tables as there are seeds. An attacker who
knows everybody's age and sex takes a row that fits, where the row must stand. Whoever is left with fewer than 5 rows is narrowed.
The price: `oboro anonymize` in this process with `order: kept` and without it, from file to file, in turns that begin with the one
and with the other, for so many seconds a job. Given is the ratio of the medians with its 95 % interval (turns drawn again 2,000
times), on the clock and of the processor. Writes `benchmarks/results/row_order.json` (with `--seeds 0` the attack's figures stay)
and the table of prices in docs/decisions.
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
from oboro.attacks.base import Rate

RESULT = Path(__file__).parent / "results" / "row_order.json"
PAGE = Path(__file__).parent.parent / "docs" / "decisions" / "0012-rows-come-out-in-a-random-order.md"
HEAD = "| `order: kept` = 1 | time | processor time |\n|---|---|---|\n"
FEWEST = 7  # turns, however long a job takes


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


def in_turns(source: Path, target: Path, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Times of a job kept and shuffled, a row for each turn; the first turn, which finds kernels and files cold, is left out."""
    turns: dict[str | None, list[tuple[float, float]]] = {"kept": [], None: []}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(turns[None]) <= FEWEST:
        for order in ("kept", None) if len(turns[None]) % 2 else (None, "kept"):
            turns[order].append(timed(source, target, order))
    return np.array(turns["kept"][1:]), np.array(turns[None][1:])


def ratio(kept: np.ndarray, shuffled: np.ndarray) -> list[float]:
    """The ratio of the medians, and its 95 % interval by drawing turns again."""
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, kept.size, (2_000, kept.size))
    again = np.median(shuffled[drawn], axis=1) / np.median(kept[drawn], axis=1)
    return [
        round(float(one), 3) for one in (np.median(shuffled) / np.median(kept), *np.quantile(again, [0.025, 0.975]))
    ]


def price(folder: Path, rows: int, seconds: float) -> dict[str, Any]:
    """For each job the medians, kept and shuffled, and their ratios."""
    found = {}
    for name, (source, target) in jobs(folder, rows).items():
        kept, shuffled = in_turns(source, target, seconds)
        found[name] = {
            "turns": len(kept),
            "kept": [round(float(one), 3) for one in np.median(kept, axis=0)],
            "shuffled": [round(float(one), 3) for one in np.median(shuffled, axis=0)],
            "ratio": ratio(kept[:, 0], shuffled[:, 0]),
            "processor": ratio(kept[:, 1], shuffled[:, 1]),
        }
        print(name, found[name], flush=True)
    return found


def tell(price: dict[str, Any]) -> None:
    """Write the table of prices into its page."""
    rows = ""
    for name, one in price.items():
        cells = [f"{middle:.2f} ({low:.2f} – {high:.2f})" for middle, low, high in (one["ratio"], one["processor"])]
        rows += f"| {name} ({one['kept'][0]:.2f} s) | {cells[0]} | {cells[1]} |\n"
    before, after = PAGE.read_text(encoding="utf-8").split(HEAD)
    PAGE.write_text(before + HEAD + rows + after[after.index("\n\n") + 1 :], encoding="utf-8")


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    facts: dict[str, Any] = {"attack": {}, "rows": given.rows}
    if not given.seeds and RESULT.exists():
        facts["attack"] = json.loads(RESULT.read_text())["attack"]
    for order in ("kept", None) if given.seeds else ():
        facts["attack"][order or "shuffled"] = attacked(order, given.seeds)
    print(json.dumps(facts["attack"], indent=1), flush=True)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        facts["price"] = price(Path(folder), given.rows, given.seconds)
    RESULT.write_text(json.dumps(facts, indent=1) + "\n")
    tell(facts["price"])


if __name__ == "__main__":
    main()
