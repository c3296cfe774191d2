"""Where it is known whose a row is, linking and inference attack people: everybody once, and any row of theirs is right."""

from __future__ import annotations

import numpy as np
import pytest

import oboro
from oboro.attacks.base import Attack, Rate

ROWS = 4  # of each person


def _panel(people: int, shared: int) -> dict[str, list[int]]:
    """People with some rows each, of whom `shared` look alike in both quasi-identifiers; each has a secret of their own."""
    who = np.repeat(np.arange(people), ROWS)
    return {
        "who": who.tolist(),
        "age": (who // shared).tolist(),
        "zip": (who // shared + 1000).tolist(),
        "secret": who.tolist(),
    }


def _attacked(people: int, shared: int, **how: object) -> dict[str, Attack]:
    table = _panel(people, shared)
    released = {name: table[name] for name in ("age", "zip", "secret")}
    found = oboro.attack(table, released, quasi=["age", "zip"], sensitive="secret", **how)  # type: ignore[arg-type]
    return {one.kind: one for one in found}


def test_whoever_is_alone_is_found_by_any_row_of_theirs() -> None:
    """By rows, one of four equal rows is right; by people, all four are."""
    rows, people = _attacked(60, 1)["record_linkage"], _attacked(60, 1, person="who")["record_linkage"]
    assert rows.found.tried == 60 * ROWS
    assert rows.found.low < 1 / ROWS < rows.found.high
    assert (people.found.right, people.found.tried) == (60, 60)
    assert people.control.high < 0.2


def test_halves_of_one_person_meet_in_any_row_of_theirs() -> None:
    found = _attacked(60, 1, person="who")["linkability"]
    assert (found.found.right, found.found.tried) == (60, 60)


def test_of_k_people_one_is_found() -> None:
    """Five people look alike: one in five is right, however many rows they have."""
    rates = [_attacked(400, 5, person="who", seed=seed)["record_linkage"].found for seed in range(5)]
    found = Rate(sum(one.right for one in rates), sum(one.tried for one in rates))
    assert found.tried == 5 * 400
    assert found.low < 1 / 5 < found.high


def test_the_control_does_not_ask_another_row_of_the_same_person() -> None:
    """The secret of the others of a class would be one's own again."""
    found = _attacked(60, 1, person="who")["inference"]
    assert found.found.share == 1
    assert (found.control.share or 0) < 0.1


def test_a_row_without_a_person_is_somebodys_own() -> None:
    table = {"who": ["a", "a", None, None, "b"], "age": [1, 1, 2, 3, 4]}
    (linked,) = [
        one
        for one in oboro.attack(table, {"age": table["age"]}, quasi="age", person="who")
        if one.kind == "record_linkage"
    ]
    assert (linked.found.right, linked.found.tried) == (4, 4)


def test_a_person_that_the_original_lacks() -> None:
    with pytest.raises(oboro.errors.ColumnError, match="nobody"):
        oboro.attack({"age": [1, 2]}, {"age": [1, 2]}, quasi="age", person="nobody")


def test_the_module_does_not_hide_the_function() -> None:
    import oboro.attacks.run

    assert callable(oboro.attacks.run.attack)
    assert callable(oboro.attack)
