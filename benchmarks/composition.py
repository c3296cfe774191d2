"""Four randomizations of one attribute each, against one of all four: how often is a record linked to its person?

Everybody's original values are known. The attacker takes the most likely way in which all records can be the people's.
Prints the rate over many tables with its 95 % interval, and the k that each recipe says.
Run: python -m benchmarks.composition [tables]; writes `benchmarks/results/composition.json`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from oboro import Recipe

RESULT = Path(__file__).parent / "results" / "composition.json"
PEOPLE, VALUES, K = 200, 7, 5
NAMES = ("a", "b", "c", "d")
ATTRIBUTES = {name: {"role": "quasi"} for name in NAMES}
APART = [{"pk_anonymize": {"k": K, "attributes": [name]}} for name in NAMES]
ONE = [{"pk_anonymize": {"k": K, "attributes": list(NAMES)}}]


def linked(steps: list[dict[str, Any]], rng: np.random.Generator) -> tuple[float, float, float]:
    """The share of records that are linked rightly, the same of the surest tenth, and the k over all columns."""
    table = {name: rng.integers(0, VALUES, PEOPLE).tolist() for name in NAMES}
    release = Recipe(attributes=ATTRIBUTES, steps=steps, seed=int(rng.integers(2**63))).run(table)
    odds = np.zeros((PEOPLE, PEOPLE))  # log-odds of record by person: a kept value against another one
    for step in release.steps:
        for name, rho in step.facts["rho"].items():
            size = step.facts["domain_sizes"][name]
            same = np.equal.outer(np.array(release.data[name]), np.array(table[name]))
            odds += same * np.log((1 + (size - 1) * rho) / (1 - rho))
    odds += 1e-9 * rng.random(odds.shape)
    _, guess = linear_sum_assignment(odds, maximize=True)
    right = guess == release.frame.data.origin_rows  # rows come out in a random order; whoever measures knows it
    surest = np.argsort(np.partition(odds, -2)[:, -2] - odds.max(axis=1))[: PEOPLE // 10]
    joint = release.verification.joint
    k = joint[0].achieved if joint else release.steps[0].facts["k"]
    return float(right.mean()), float(right[surest].mean()), float(k or 1)


def main() -> None:
    """Both recipes on the same number of tables."""
    tables, rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200, []
    for title, steps in (("four steps, each k = 5", APART), ("one step, k = 5", ONE)):
        rng = np.random.default_rng(1)
        found = np.array([linked(steps, rng) for _ in range(tables)])
        (right, surest, _), k = found.mean(axis=0), found[:, 2].min()
        half, of_surest, _ = 1.96 * found.std(axis=0, ddof=1) / np.sqrt(tables)
        print(f"{title:24} joint k {k:.3f} (a link allowed {1 / k:.1%}): right in {right:.1%} ± {half:.1%}, ", end="")
        print(f"of the surest tenth in {surest:.1%} ± {of_surest:.1%}")
        rows.append({"steps": len(steps), "joint_k": k, "right": [right, half], "surest": [surest, of_surest]})
    command = f"python -m benchmarks.composition {tables}"
    RESULT.write_text(json.dumps({"command": command, "people": PEOPLE, "k": K, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
