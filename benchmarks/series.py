"""Adult as a monthly delivery: who falls below k or l by the difference of two releases, and what it costs to prevent it.

    OBORO_DATA=… python -m benchmarks.series > benchmarks/results/series.json

The first month has 20,000 people; then every month a share of them leaves, and as many come. Three ways: each month the levels
of the first without regard to the months before, with the releases before as `earlier`, and with ledgers, so that people are known.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import oboro
from oboro.attacks.series import series_attack

PEOPLE, MONTHS, K, L = 20_000, 4, 5, 2
QUASI = ["age", "sex", "race", "marital-status"]
SECRET, OTHER = "occupation", ["salary-class", "workclass"]


def months(folder: Path, share: float) -> list[pd.DataFrame]:
    """The table of each month."""
    table = pd.read_csv(folder / "adult.csv", sep=";", dtype=str)[[*QUASI, SECRET, *OTHER]]
    rng = np.random.default_rng(0)
    table = table.iloc[rng.permutation(len(table))].reset_index(drop=True)
    table.insert(0, "who", [f"p{i}" for i in range(len(table))])
    there, coming = list(range(PEOPLE)), PEOPLE
    found = []
    for _ in range(MONTHS):
        found.append(table.iloc[there].reset_index(drop=True))
        number = round(share * PEOPLE)
        stay = rng.permutation(len(there))[number:]
        there = [there[i] for i in stay] + list(range(coming, coming + number))
        coming += number
    return found


def recipe(folder: Path, person: bool = False, **demands: Any) -> oboro.Recipe:
    """The same every month, but for what is known of the months before."""
    trees = {name: {"csv": str(folder / f"adult_hierarchy_{name}.csv")} for name in QUASI}
    roles: dict[str, Any] = {"who": {"role": "identifier"}}
    roles |= {name: {"role": "quasi", "hierarchy": trees[name]} for name in QUASI}
    roles |= {SECRET: {"role": "sensitive"}} | {name: {"role": "other"} for name in OTHER}
    steps = [
        {"k_anonymize": {"k": K, "suppress": 0.02, "l_diversity": {SECRET: L}, **demands}},
        {"drop_columns": {"attributes": ["who"]}},
    ]
    accept = {"unique_on": OTHER, "because": "a benchmark"}
    return oboro.Recipe(attributes=roles, steps=steps, accept=accept, **({"person": "who"} if person else {}))


def main() -> None:
    """One row for each way, share of change and month."""
    folder = Path(os.environ["OBORO_DATA"]) / "arx-adult"
    rows = []
    for share in (0.01, 0.05):
        tables = months(folder, share)
        for way in ("again", "earlier", "ledgers"):
            with TemporaryDirectory() as place:
                rows += list(_series(folder, tables, way, share, Path(place)))
                print(*rows[-MONTHS + 1 :], sep="\n", file=sys.stderr)
    print(json.dumps(rows, indent=1))


def _series(folder: Path, tables: list[pd.DataFrame], way: str, share: float, place: Path) -> Any:
    made: list[oboro.Release] = []
    for month, table in enumerate(tables):
        demands: dict[str, Any] = {}
        if made:
            demands["levels"] = made[0].steps[0].facts["again"]["levels"]
        if made and way == "earlier":
            demands["earlier"] = [one.frame.data for one in made]
        if made and way == "ledgers":
            demands["earlier"] = [str(place / f"{i}.csv") for i in range(month)]
        release = recipe(folder, person=way == "ledgers", **demands).run(table)
        if way == "ledgers":
            release.write_ledger(place / f"{month}.csv")
        if made:
            yield _row(release, made, table, way, share, month)
        made.append(release)


def _row(
    release: oboro.Release, made: list[oboro.Release], table: pd.DataFrame, way: str, share: float, month: int
) -> dict[str, Any]:
    data = release.frame.data
    found = series_attack(data, [one.frame.data for one in made], quasi=QUASI, k=K, diverse={SECRET: L})
    last = {"came": found.came[-1], "left": found.left[-1], "in_all": found.in_all}
    facts = release.steps[0].facts
    counted = {
        name: {"rows": one.people, "below_k": one.below_k, "below_l": one.below_l[SECRET]} for name, one in last.items()
    }
    return {
        "way": way,
        "changing": share,
        "month": month + 1,
        "rows": len(table),
        "held_back": facts.get("held_back", {}).get("records", 0),
        "suppressed": facts["suppressed"]["records"],
        "loss": round(facts["loss"]["value"], 4),
        **counted,
    }


if __name__ == "__main__":
    main()
