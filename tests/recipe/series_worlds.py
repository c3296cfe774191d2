"""Random small series of releases, and every world that explains them: how far somebody who knows all of it narrows a person.

    python -m tests.recipe.series_worlds 100 > benchmarks/results/series_worlds.json

So many series for each k and l. The tests draw fewer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.naive.series import possible_keys

import oboro
from oboro.attacks.base import Rate
from oboro.data.dataset import Dataset
from oboro.errors import PromiseError, UsageError
from oboro.schema import Attribute, Schema
from oboro.techniques.base import Work
from oboro.verifier.promises import verify_promises

__all__ = ["ROLES", "series"]

ROLES = {
    "who": {"role": "identifier"},
    "age": {"role": "quasi", "hierarchy": {"intervals": [2, 4]}},
    "ill": {"role": "sensitive"},
}
LIMITS = [(2, 1), (2, 2), (3, 1), (3, 2)]
KINDS: dict[str, dict[str, Any]] = {
    "two releases, rows followed by their keys": {"releases": 2, "person": False},
    "three releases, people known": {"releases": 3, "person": True},
    "three releases, rows followed by their keys (promised for each pair only)": {"releases": 3, "person": False},
    "two releases without `earlier`": {"releases": 2, "person": False, "known": False},
}


def series(
    rng: np.random.Generator,
    k: int,
    l: int,  # noqa: E741
    *,
    releases: int,
    person: bool,
    known: bool = True,
) -> tuple[int, int] | None:
    """How far the worst attacked person of a random series is narrowed: rows and secrets; None where nothing is released."""
    size = int(rng.integers(5, 10))
    people = [(int(rng.integers(1, rng.choice([4, 9]))), "ABC"[rng.integers(0, 3)]) for _ in range(size)]
    made: list[tuple[Dataset, list[int]]] = []
    for _ in range(releases):
        there = [i for i in range(size) if rng.random() < 0.75]
        demands: dict[str, Any] = {"k": k, "suppress": 0.4, **({"l_diversity": {"ill": l}} if l > 1 else {})}
        if made and known:
            demands["earlier"] = [table for table, _ in made]
        try:
            made.append(released(oboro.KAnonymize(**demands), people, there, rng, person))
        except (PromiseError, UsageError):
            return None
    return worst(made)


def released(
    step: oboro.KAnonymize, people: Sequence[tuple[int, str]], there: list[int], rng: np.random.Generator, person: bool
) -> tuple[Dataset, list[int]]:
    columns = {"age": [people[i][0] for i in there], "ill": [people[i][1] for i in there]}
    data = Dataset.of({**({"who": [f"p{i}" for i in there]} if person else {}), **columns})
    roles = {name: Attribute.model_validate(ROLES[name]) for name in data}
    whose = data["who"] if person else None
    made = step.run(Work(data, Schema(roles, person="who" if person else None), rng, whose))
    left = None if whose is None else whose.take(made.data.origin_rows)
    verify_promises(made.data, made.promises, [step.step], left)
    return made.data, [there[i] for i in made.data.origin_rows]


def worst(made: Sequence[tuple[Dataset, list[int]]]) -> tuple[int, int]:
    places: dict[str, list[tuple[str, ...] | None]] = {}
    tables = []
    for number, (data, who) in enumerate(made):
        rows = [
            ((age,), (ill,)) for age, ill in zip(*(data[n].decode().to_pylist() for n in ("age", "ill")), strict=True)
        ]
        rows = [((str(label[0]),), key) for label, key in rows]
        tables.append(rows)
        for person, (label, _) in zip(who, rows, strict=True):
            places.setdefault(f"p{person}", [None] * len(made))[number] = label
    found = possible_keys(places, tables)
    narrowed = []
    for person, keys in found.items():
        for place, rows in zip(places[person], tables, strict=True):
            if place is not None:
                narrowed.append((sum(label == place and key in keys for label, key in rows), len(keys)))
    return min(one[0] for one in narrowed), min(one[1] for one in narrowed)


def main(count: int) -> None:
    """One row for each kind: how many series were released, and in how many somebody is narrowed below k or l."""
    rows = []
    for kind, options in KINDS.items():
        tried = [
            (limits, series(np.random.default_rng([*limits, seed]), *limits, **options))
            for limits in LIMITS
            for seed in range(count)
        ]
        made = [(limits, found) for limits, found in tried if found is not None]
        below = sum(found[0] < k or found[1] < l for (k, l), found in made)  # noqa: E741
        low, high = Rate(below, len(made)).interval
        rows.append(
            {"series": kind, "tried": len(tried), "released": len(made), "below": below, "low": low, "high": high}
        )
        print(rows[-1], file=sys.stderr)
    print(json.dumps({"seeds": count, "rows": rows}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
