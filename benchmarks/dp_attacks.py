"""What differential privacy changes for attackers: the same attacks on a private release and on its classes without chance.

    OBORO_DATA=… python benchmarks/dp_attacks.py

Adult (ARX's file, 30,162 people), five quasi-identifiers on given levels, δ = 10⁻⁶. Prints the share of right guesses.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import oboro

LEVELS = {"sex": 0, "age": 3, "race": 1, "marital-status": 1, "education": 2}


def main() -> None:
    """One line for each budget and attack."""
    root = Path(os.environ["OBORO_DATA"]) / "arx-adult"
    with open(root / "adult.csv", newline="") as file:
        head, *rows = csv.reader(file, delimiter=";")
    table = {name: [row[head.index(name)] for row in rows] for name in LEVELS}
    roles = {
        name: {"role": "quasi", "hierarchy": {"csv": str(root / f"adult_hierarchy_{name}.csv")}} for name in LEVELS
    }
    for epsilon in (0.5, 1, 2):
        step = {"epsilon": epsilon, "delta": 1e-6, "levels": LEVELS}
        release = oboro.Recipe(attributes=roles, steps=[{"dp_anonymize": step}]).run(table)
        print(f"ε = {epsilon}: {len(release.data['sex'])} of {len(rows)} released")
        for one in release.report.attacks:
            plain = [note.values["share"] for note in one.notes if note.id == "attack.note.without_chance"]
            if plain:
                limit = "" if one.limit is None else f" (at most {one.limit:.3f})"
                print(f"  {one.name:22} private {one.found.share:.4f}{limit}  without chance {plain[0]:.4f}")


if __name__ == "__main__":
    main()
