"""For each release check a recipe and a table on which it finds something, by the name of its module."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from oboro.errors import OboroError
from oboro.recipe.recipe import Recipe

ROWS = 300
AGES = [20 + row % 4 for row in range(ROWS)]
K = {"k_anonymize": {"k": 5}}


def _recipe(roles: dict[str, str], *steps: dict[str, Any], **more: Any) -> Recipe:
    return Recipe(attributes={name: {"role": role} for name, role in roles.items()}, steps=list(steps), **more)


def _joint() -> tuple[Recipe, pa.Table]:
    draws = [{"pk_anonymize": {"k": 2, "attributes": [name]}} for name in ("age", "sex")]
    data = pa.table({"age": AGES, "sex": ["FM"[row // 4 % 2] for row in range(ROWS)]})
    return _recipe({"age": "quasi", "sex": "quasi"}, *draws), data


def _uncovered() -> tuple[Recipe, pa.Table]:
    """A date of birth that is called sensitive, and that no step speaks of."""
    days = np.datetime64("1950-01-01") + np.where(np.arange(ROWS) < 290, np.arange(ROWS), 290 + np.arange(ROWS) % 2)
    return _recipe({"age": "quasi", "birthdate": "sensitive"}, K), pa.table({"age": AGES, "birthdate": days})


def _earlier(folder: Path) -> tuple[Recipe, pa.Table]:
    """Four of five people of a class came in the second release."""
    before = pa.table({"age": [20] * 5 + [21] * 5, "ill": ["a", "b", "c", "d", "e"] * 2})
    pq.write_table(before, folder / "before.parquet")
    data = pa.table({"age": [20] * 6 + [21] * 5, "ill": [*"abcdef", *"abcde"]})
    recipe = _recipe({"age": "quasi", "ill": "sensitive"}, K, earlier=[str(folder / "before.parquet")])
    return recipe, data


def _identifiers() -> tuple[Recipe, pa.Table]:
    """Ten people share each address: a quasi-identifier that is released as it is."""
    mails = [f"person{row % 30}@example.org" for row in range(ROWS)]
    return _recipe({"mail": "quasi"}, K), pa.table({"mail": mails})


def _people() -> tuple[Recipe, pa.Table]:
    """Fifty patients with six records each; of one year of birth there is one patient."""
    who = [row // 6 for row in range(ROWS)]
    data = pa.table(
        {
            "patient_id": [f"P{one:03}" for one in who],
            "birth_year": [1949 if one == 0 else 1950 + one % 4 for one in who],
            "sex": ["FM"[one % 8 // 4] for one in who],
        }
    )
    drop = {"drop_columns": {"attributes": ["patient_id"]}}
    return _recipe({"patient_id": "identifier", "birth_year": "quasi", "sex": "quasi"}, drop, K), data


def _noise() -> tuple[Recipe, pa.Table]:
    """Incomes of millions with a noise of hundreds."""
    data = pa.table({"age": AGES, "income": [1_000_000 + 5_000 * row for row in range(ROWS)]})
    return _recipe({"age": "quasi", "income": "other"}, {"noise": {"attribute": "income", "scale": 100}}, K), data


def _dependent() -> tuple[Recipe, pa.Table]:
    """Ages of one decade share a label; the cohort beside it says which of them it is."""
    ages = [20 + row % 40 for row in range(ROWS)]
    attributes = {"age": {"role": "quasi", "hierarchy": {"intervals": [20, 40]}}, "cohort": {"role": "other"}}
    recipe = Recipe(attributes=attributes, steps=[{"k_anonymize": {"k": 15}}])
    return recipe, pa.table({"age": ages, "cohort": [f"C{age}" for age in ages]})


def _linked() -> tuple[Recipe, pa.Table]:
    """Cookies of which each stands in three records, of other ages."""
    cookies = [f"{0xA0B1C2D3E4F50000 + row // 3:016x}" for row in range(ROWS)]
    ages = 20 + np.random.default_rng(1).integers(0, 11, ROWS)
    return _recipe({"age": "quasi", "cookie": "other"}, K), pa.table({"age": ages, "cookie": cookies})


CASES: dict[str, tuple[Callable[..., tuple[Recipe, pa.Table]], str]] = {
    "joint_randomization": (_joint, "verdict.linkage"),
    "uncovered_columns": (_uncovered, "error_exposure.singled_out.records"),
    "earlier_releases": (_earlier, "error_exposure.series"),
    "identifiers": (_identifiers, "error_exposure.identifiers"),
    "counted_people": (_people, "error_exposure.rows"),
    "weak_noise": (_noise, "exposure.hardly_changed"),
    "dependent_columns": (_dependent, "exposure.known_beside"),
    "linked_rows": (_linked, "exposure.linked.pseudonym"),
}
"""Each with the message that says what was found."""


def case(name: str, folder: Path) -> tuple[Recipe, pa.Table]:
    """Make the recipe and the table of a check."""
    make = CASES[name][0]
    return make(folder) if make is _earlier else make()


def outcome(act: Callable[[], Any]) -> dict[str, str]:
    """Run something; return what was found or refused: sentences by the id of their message."""
    try:
        release = act()
    except OboroError as error:
        return {error.words.id: str(error)}  # type: ignore[union-attr]
    joint = [verdict.note for verdict in release.verification.joint if verdict.note is not None]
    return {message.id: str(message) for message in (*release.cautions, *joint)}
