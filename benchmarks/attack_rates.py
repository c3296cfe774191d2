"""How often attacks on each method are right, over many tables: the figures of docs/guarantees/README.md.

    python -m benchmarks.attack_rates > benchmarks/results/attack_rates.json

The attacker knows the quasi-identifiers (age, sex, region; for numeric methods age, income) of everybody in made-up tables of 300
people, and which rows were released. *Linkage* looks for a record: the nearest of those that fit, by lot where several are.
*Inference* says the person's disease: the most frequent one in the person's class; *usual* says the most frequent one of the whole
table. Every person is attacked once in each table.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import oboro
from oboro.attacks.base import Rate
from oboro.attacks.concealment import medoid, rerun
from oboro.data.dataset import Dataset
from oboro.verifier.classes import Classes

PEOPLE, TABLES, K = 300, 20, 5
AGE = {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20, 40]}}
WORDS = {"age": AGE, "sex": {"role": "quasi"}, "region": {"role": "quasi"}, "disease": {"role": "sensitive"}}
NUMBERS = {"age": {"role": "quasi"}, "income": {"role": "quasi"}, "disease": {"role": "sensitive"}}
CLASSES: dict[str, Any] = {
    "k_anonymize": {"k": K, "suppress": 0.05},
    "k_anonymize, l = 2": {"k": K, "suppress": 0.05, "l_diversity": {"disease": 2}},
    "k_anonymize, t = 0.3": {"k": K, "suppress": 0.05, "t_closeness": {"disease": 0.3}},
    "k_anonymize, alpha = 0.5": {"k": K, "suppress": 0.05, "alpha": {"disease": 0.5}},
    "k_anonymize, delta = 1.5": {"k": K, "suppress": 0.05, "delta_disclosure": {"disease": 1.5}},
    "k_anonymize, beta = 0.5": {"k": K, "suppress": 0.05, "beta_likeness": {"disease": 0.5}},
}
OTHERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "microaggregate": (NUMBERS, {"microaggregate": {"attributes": ["age", "income"], "k": K}}),
    "partition_univariate": (NUMBERS, {"partition_univariate": {"attributes": ["age", "income"], "k": K}}),
    "synthesize": (NUMBERS, {"synthesize": {"attributes": ["age", "income"], "k": K}}),
}


def table(seed: int) -> dict[str, list[Any]]:
    """Made-up people; old ones are ill of other things."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, PEOPLE)
    ill = np.where(rng.random(PEOPLE) < 0.6, age // 20, rng.integers(0, 6, PEOPLE))
    return {
        "age": age.tolist(),
        "sex": rng.choice(["F", "M"], PEOPLE).tolist(),
        "region": rng.choice(list("ABCDE"), PEOPLE).tolist(),
        "income": (rng.lognormal(8, 0.5, PEOPLE) // 10 * 10).astype(int).tolist(),
        "disease": [f"d{one}" for one in ill.tolist()],
    }


def release(attributes: dict[str, Any], step: dict[str, Any], seed: int) -> tuple[Dataset, Dataset, Any]:
    """An original, what was released of it, and the hierarchies."""
    people = {name: values for name, values in table(seed).items() if name in attributes}
    held = [name for name in attributes if name != "disease"]
    accept = {"unique_on": held, "because": "attacked on purpose"}
    done = oboro.Recipe(attributes=attributes, steps=[step], accept=accept).run(people)
    return done.original, done.frame.data, done.given.fitting_hierarchies(done.original)


def attacked(method: str, attributes: dict[str, Any], step: dict[str, Any]) -> list[dict[str, Any]]:
    """Linkage and inference against one method."""
    quasi = [name for name in attributes if name != "disease"]
    right = {"record_linkage": [0, 0], "inference": [0, 0], "usual": [0, 0]}
    for seed in range(TABLES):
        before, after, trees = release(attributes, step, seed)
        found = oboro.attack(before, after, quasi=quasi, hierarchies=trees, seed=seed)
        linked = next(one.found for one in found if one.name == "record_linkage")
        for name, (hits, tried) in {
            "record_linkage": (linked.right, linked.tried),
            "inference": (guessed(after, quasi), after.rows),
            "usual": (guessed(after, []), after.rows),
        }.items():
            right[name][0] += hits
            right[name][1] += tried
    drawn = method == "synthesize"  # no classes: nobody knows what was drawn for whom
    return [row(method, name, *counts) for name, counts in right.items() if not (drawn and name == "inference")]


def guessed(after: Dataset, quasi: list[str]) -> int:
    """How many have the disease that is the most frequent one in their class."""
    classes = Classes.of(after, quasi)
    secret = after["disease"]
    return int(classes.tally(secret.codes, len(secret.values)).most_frequent.sum())


def concealed(truth: str) -> list[dict[str, Any]]:
    """The two guesses against k-concealment."""
    hits = {"medoid": 0.0, "rerun": 0.0}
    step = {"k_conceal": {"k": K, "truth": truth}}
    for seed in range(TABLES):
        before, after, trees = release(WORDS, step, seed)
        again = release(WORDS, {"k_conceal": {"k": K, "truth": "identity"}}, seed)[1]
        quasi = ["age", "sex", "region"]
        hits["medoid"] += PEOPLE * (medoid(before, after, quasi, trees).value or 0)
        hits["rerun"] += PEOPLE * (rerun(before, after, again, quasi).value or 0)
    return [row(f"k_conceal, truth: {truth}", name, round(value), PEOPLE * TABLES) for name, value in hits.items()]


def row(method: str, name: str, right: int, tried: int) -> dict[str, Any]:
    """One line of the results."""
    low, high = Rate(right, tried).interval
    return {
        "method": method,
        "attack": name,
        "right": right,
        "tried": tried,
        "share": right / tried,
        "low": low,
        "high": high,
    }


def main() -> None:
    """All methods."""
    rows = [one for name, settings in CLASSES.items() for one in attacked(name, WORDS, {"k_anonymize": settings})]
    rows += [one for name, (columns, step) in OTHERS.items() for one in attacked(name, columns, step)]
    rows += [*concealed("drawn"), *concealed("identity")]
    print(json.dumps({"people": PEOPLE, "tables": TABLES, "k": K, "blind": 1 / K, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
