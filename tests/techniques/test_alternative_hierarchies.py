"""Several hierarchies for one column: the best of all choices, as if each had been tried by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import oboro
from oboro.errors import PromiseError, UsageError
from oboro.report.chosen_levels import chosen_levels_said

OWN = {"age": {"intervals": [10, 40]}, "zip": {"mask": "right"}}
OTHERS = {"age": [{"intervals": [5, 25]}, {"intervals": [15, 30]}], "zip": [{"mask": "left"}]}


def people(seed: int) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)
    return {"age": rng.integers(20, 70, 60).tolist(), "zip": [f"{n:02d}" for n in rng.integers(0, 40, 60)]}


def run(hierarchies: dict[str, object], table: dict[str, list[object]], **step: object) -> oboro.Release:
    roles = {name: {"role": "quasi", "hierarchy": one} for name, one in hierarchies.items()}
    return oboro.Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 4, "suppress": 0.1, **step}}]).run(table)


@pytest.mark.parametrize("loss", ["loss", "discernibility", "kl"])
def test_the_best_choice_is_taken(loss: str) -> None:
    chosen = set()
    for seed in range(5):
        table = people(seed)
        tried = {}
        for numbers in product(range(3), range(2)):
            one = {name: [OWN[name], *OTHERS[name]][i] for name, i in zip(OWN, numbers, strict=True)}
            tried[numbers] = run(one, table, loss=loss).steps[0].facts["loss"]["value"]
        made = run(OWN, table, loss=loss, alternatives=OTHERS)
        facts = made.steps[0].facts
        assert made.verification.holds
        assert facts["loss"]["value"] == pytest.approx(min(tried.values()))
        assert tried[tuple(facts["hierarchies"].values())] == pytest.approx(min(tried.values()))
        said = next(iter(chosen_levels_said(facts)))[1].say()
        assert said.count("of alternative") == np.count_nonzero(list(facts["hierarchies"].values()))
        assert "levels" not in made.again
        chosen.add(tuple(facts["hierarchies"].values()))
    assert len(chosen) > 1 or loss != "loss"


def test_what_does_not_fit_is_refused() -> None:
    table = people(1)
    with pytest.raises(UsageError, match="81 choices"):
        run(OWN, table, alternatives=dict.fromkeys(OWN, OTHERS["age"][:1] * 8))
    with pytest.raises(Exception, match="leave alternatives out"):
        run(OWN, table, alternatives=OTHERS, levels={"age": 1, "zip": 1})
    with pytest.raises(PromiseError, match="no choice of levels"):
        run(
            {"age": {"intervals": [2], "star": False}},
            {"age": [1, 9]},
            alternatives={"age": [{"intervals": [3], "star": False}]},
        )
