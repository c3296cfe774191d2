"""Privacy models by their definitions, in plain loops over small tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import exp, factorial, log, log2
from typing import Any

from oboro.techniques.model_checks import BruteForce, SmallTable


def shares(values: list[str]) -> dict[str, float]:
    return {value: number / len(values) for value, number in Counter(values).items()}


def diversity(model: Any, table: SmallTable) -> bool:
    for held in table.classes.values():
        counts = sorted(Counter(held).values(), reverse=True)
        if model.kind == "distinct" and len(counts) < model.l:
            return False
        if model.kind == "entropy" and -sum(n / len(held) * log(n / len(held)) for n in counts) < log(model.l) - 1e-12:
            return False
        if model.kind == "recursive" and not counts[0] < model.c * sum(counts[int(model.l) - 1 :]):
            return False
    return True


def closeness(model: Any, table: SmallTable) -> bool:
    whole = shares(table.everybody)
    names = sorted(whole)
    for held in table.classes.values():
        differences = [shares(held).get(name, 0) - whole[name] for name in names]
        if model.distance == "equal":
            distance = sum(map(abs, differences)) / 2
        else:
            moved = [abs(sum(differences[: place + 1])) for place in range(len(names) - 1)]
            distance = sum(moved) / max(1, len(names) - 1)
        if distance > model.t + 1e-12:
            return False
    return True


def alpha(model: Any, table: SmallTable) -> bool:
    return all(
        share <= model.alpha
        for held in table.classes.values()
        for value, share in shares(held).items()
        if model.value in (None, value)
    )


def disclosure(model: Any, table: SmallTable) -> bool:
    whole = shares(table.everybody)
    for held in table.classes.values():
        mine = shares(held)
        if model.values == "all" and set(mine) != set(whole):
            return False
        if any(abs(log2(share / whole[value])) >= model.delta - 1e-12 for value, share in mine.items()):
            return False
    return True


def likeness(model: Any, table: SmallTable) -> bool:
    whole = shares(table.everybody)
    for held in table.classes.values():
        for value, share in shares(held).items():
            most = model.beta if model.kind == "basic" else min(model.beta, -log(whole[value]))
            if (share - whole[value]) / whole[value] > most + 1e-12:
                return False
    return True


def sizes(table: SmallTable) -> list[int]:
    return [len(held) for held in table.classes.values()]


def estimated(model: Any, table: SmallTable) -> bool:
    """A class of the sample is large enough if one that matches k people is so large with a small probability."""
    mean = model.k * (model.fraction or 8 / model.people)
    below, least = 0.0, 0
    while least < model.k and (least == 0 or 1 - below > model.significance):
        below += exp(-mean) * mean**least / factorial(least)
        least += 1
    return bool(min(sizes(table)) >= min(model.k, least))


def worth(model: Any, table: SmallTable) -> bool:
    if model.attacks == "none":
        return all(model.gain / size < model.cost for size in sizes(table))
    return all(
        model.benefit - (model.loss / size if model.gain / size > model.cost else 0) > 0 for size in sizes(table)
    )


def presence(model: Any, table: SmallTable) -> bool:
    return all(model.min <= len(held) / table.population[name] <= model.max for name, held in table.classes.items())


NAIVE: Mapping[str, BruteForce] = {
    "k": lambda model, table: min(sizes(table)) >= model.k,
    "k_map": lambda model, table: min(table.population.values()) >= model.k,
    "presence": presence,
    "maximum_risk": lambda model, table: max(1 / size for size in sizes(table)) <= model.risk,
    "average_risk": lambda model, table: len(table.classes) / sum(sizes(table)) <= model.risk,
    "records_at_risk": lambda model, table: sum(n for n in sizes(table) if 1 / n > model.risk) / 8 <= model.share,
    "sample_uniqueness": lambda model, table: sizes(table).count(1) / 8 <= model.share,
    "population_uniqueness": lambda model, table: sizes(table).count(1) / 8 <= model.share,
    "estimated_k_map": estimated,
    "l_diversity": diversity,
    "t_closeness": closeness,
    "alpha": alpha,
    "delta_disclosure": disclosure,
    "beta_likeness": likeness,
    "profitability": worth,
}
