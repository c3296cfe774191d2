"""What differential privacy changes for attackers: the same attacks on a private release and on its classes without chance.

    OBORO_DATA=… python -m benchmarks.dp_attacks [releases]

Adult (ARX's file, 30,162 people), five quasi-identifiers on given levels, δ = 10⁻⁶; ten releases for each ε, each with its draws.
Prints the mean share of right guesses ± its 95 % interval over the releases (guesses about one release hang together), and writes
`benchmarks/results/dp_attacks.json`.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import oboro

LEVELS = {"sex": 0, "age": 3, "race": 1, "marital-status": 1, "education": 2}
RESULT = Path(__file__).parent / "results" / "dp_attacks.json"
DELTA = 1e-6


def adult() -> tuple[dict[str, list[str]], dict[str, Any]]:
    """The five columns, and their roles."""
    root = Path(os.environ["OBORO_DATA"]) / "arx-adult"
    with open(root / "adult.csv", newline="") as file:
        head, *rows = csv.reader(file, delimiter=";")
    table = {name: [row[head.index(name)] for row in rows] for name in LEVELS}
    trees = {name: {"csv": str(root / f"adult_hierarchy_{name}.csv")} for name in LEVELS}
    return table, {name: {"role": "quasi", "hierarchy": tree} for name, tree in trees.items()}


def measured(epsilon: float, releases: int) -> dict[str, Any]:
    """Right guesses of every attack that is run twice, over so many releases: private, and without chance."""
    table, roles = adult()
    recipe = oboro.Recipe(
        attributes=roles, steps=[{"dp_anonymize": {"epsilon": epsilon, "delta": DELTA, "levels": LEVELS}}]
    )
    shares: defaultdict[str, list[float]] = defaultdict(list)
    plain: defaultdict[str, list[float]] = defaultdict(list)
    limits: dict[str, float | None] = {}
    released: list[int] = []
    for _ in range(releases):
        release = recipe.run(table)
        released.append(len(release.data["sex"]))
        for one in release.report.attacks:
            without = [note.values["share"] for note in one.notes if note.id == "attack.note.without_chance"]
            if without:
                shares[one.name].append(one.found.share or 0.0)
                plain[one.name] += without
                limits[one.name] = one.limit
    attacks = [
        {
            "attack": name,
            "private": float(np.mean(found)),
            "error": float(1.96 * np.std(found, ddof=1) / np.sqrt(len(found))),
            "at_most": limits[name],
            "without_chance": float(np.mean(plain[name])),
        }
        for name, found in shares.items()
    ]
    return {"epsilon": epsilon, "released": float(np.mean(released)), "people": len(table["sex"]), "attacks": attacks}


def main() -> None:
    """One line for each budget and attack."""
    releases = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    rows = [measured(epsilon, releases) for epsilon in (0.5, 1, 2)]
    for row in rows:
        print(f"ε = {row['epsilon']}: {row['released']:.0f} of {row['people']} released")
        for one in row["attacks"]:
            limit = "" if one["at_most"] is None else f" (at most {one['at_most']:.3f})"
            print(f"  {one['attack']:22} private {one['private']:.4f} ± {one['error']:.4f}{limit}", end="")
            print(f"  without chance {one['without_chance']:.4f}")
    command = f"python -m benchmarks.dp_attacks {releases}"
    RESULT.write_text(json.dumps({"command": command, "delta": DELTA, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
