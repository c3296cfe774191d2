"""Ten recipes, and small tables of awkward values, on which every engine must do what one machine does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.recipe.recipe import Recipe

ROLES: dict[str, Any] = {
    "name": {"role": "identifier"},
    "a.b": {"role": "quasi", "hierarchy": {"intervals": [5, 20]}},
    "Sex": {"role": "quasi"},
    "zip": {"role": "quasi", "hierarchy": {"mask": "right"}},
    "born": {"role": "quasi", "hierarchy": {"dates": ["day", "month", "year"]}},
    "sex": {"role": "sensitive"},
    "weight": {"role": "other"},
    "paid": {"role": "other"},
}
DROP = {"drop_columns": {"attributes": ["name"]}}
ACCEPT = {"accept": {"unique_on": ["weight", "paid"], "because": "made up"}}


def recipe(*steps: dict[str, Any], **more: Any) -> Recipe:
    return Recipe(attributes=ROLES, steps=[DROP, *steps], seed=7, **ACCEPT, **more)


def k_anonymize(**more: Any) -> dict[str, Any]:
    return {"k_anonymize": {"k": 2, "suppress": 0.2, **more}}


BY_VALUE = {
    "k": recipe(k_anonymize()),
    "l_diversity": recipe(k_anonymize(l_diversity={"sex": 2}, suppress=0.9)),
    "t_closeness": recipe(k_anonymize(t_closeness={"sex": 0.4}, suppress=0.9)),
    "dropped": recipe(k_anonymize(suppressed="drop")),
    "local": recipe(k_anonymize(recoding="local")),
    "people": Recipe(person="name", attributes=ROLES, steps=[k_anonymize(suppress=0.9), DROP], order="kept", **ACCEPT),
    "row_wise": recipe(
        {"top_code": {"attribute": "a.b", "at": 60}},
        {"generalize": {"attribute": "zip", "level": 2}},
        {"round": {"attribute": "weight", "base": 10}},
        k_anonymize(suppress=0.5),
    ),
    "pseudonyms": Recipe(
        attributes=ROLES,
        steps=[{"pseudonymize": {"attribute": "name", "method": "number"}}, k_anonymize()],
        seed=7,
        **ACCEPT,
    ),
    "rare": recipe({"drop_records": {"rarer_than": {"attributes": ["Sex"], "count": 2}}}, k_anonymize(suppress=0.9)),
    "local_recode": recipe({"local_recode": {"k": 2}}),
}
BY_CHANCE = {
    "noise": recipe({"noise": {"attribute": "weight", "scale": 3}}, k_anonymize()),
    "dates": recipe({"date_shift": {"attribute": "born", "days": 9}}, k_anonymize(suppress=0.9)),
    "sample": recipe({"sample": {"fraction": 0.5}}, k_anonymize(suppress=0.9)),
    "shuffle": recipe(k_anonymize(), {"shuffle": {"attributes": ["sex"]}}),
    "sort": recipe(k_anonymize(), {"sort": {"by": ["zip", "-a.b"]}}),
    "swap": recipe({"swap": {"attribute": "weight", "fraction": 0.5}}, k_anonymize()),
    "microaggregate": recipe({"microaggregate": {"attributes": ["weight"], "k": 2}}, k_anonymize()),
    "pk": recipe({"pk_anonymize": {"k": 2, "attributes": ["Sex"]}}),
}


def table(rows: int, seed: int) -> pa.Table:
    """Missing values, not-a-number, −0.0, odd names, two names that differ in case only."""
    rng = np.random.default_rng(seed)

    def some(values: list[Any], type_: pa.DataType) -> pa.Array:
        return pa.array([values[i] for i in rng.integers(0, len(values), rows)], type_)

    days = [0, 1, 40, 400, None]
    return pa.table(
        {
            "name": some([f"n{i}" for i in range(max(rows // 2, 1))], pa.string()),
            "a.b": some([3, 4, 21, 22, 61, 70, None], pa.int16()),
            "Sex": some(["F", "M", None, ""], pa.string()),
            "zip": some(["10000", "10001", "20000", "2`0'00"], pa.string()),
            "born": some(days, pa.date32()),
            "sex": some(["x", "y", "z"], pa.string()),
            "weight": some([0.0, -0.0, 1.5, float("nan"), None, 7.25], pa.float64()),
            "paid": some([1, 2, 2**63 - 1, None], pa.int64()),
        }
    )


CELLS = {name: {"role": "quasi"} for name in "abcde"}
EMPTIED_CELLS = Recipe(attributes=CELLS, steps=[{"suppress_cells": {"k": 4}}], seed=1)


def sparse(rows: int, seed: int) -> pa.Table:
    """Small combinations in five columns, so that `suppress_cells` often chooses between records of equal price."""
    numbers = np.minimum(np.random.default_rng(seed).geometric(0.3, (5, rows)), 6)
    return pa.table({name: pa.array(map(str, column)) for name, column in zip("abcde", numbers, strict=True)})


def counted(released: pa.Table) -> Counter[str]:
    """The rows, whatever their order; not-a-number is missing."""
    return Counter(str([None if value != value else value for value in row.values()]) for row in released.to_pylist())


def facts(release: Any) -> list[Any]:
    """What a report is made from, times left out."""
    told = [{**one.as_dict(), "seconds": 0, "plan": str(one.plan)} for one in release.steps]
    verdicts = [one.message for one in release.verification.verdicts]
    return [told, [str(one) for one in verdicts], release.last_look, [str(one) for one in release.cautions]]
