"""The releases before one, for its evaluation: read, and attacked together with it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

from oboro.errors import UsageError
from oboro.io.files import Source, read
from oboro.io.places.place_names import names_a_place
from oboro.system.named_files import beside
from oboro.table.dataset import Dataset
from oboro.table.frames import Frame
from oboro.table.value_counts import clean
from oboro.text import Message
from oboro.verifier.attained import attained
from oboro.verifier.classes import Classes
from oboro.verifier.series.shared_codes import empty_readings, without_empty

if TYPE_CHECKING:
    from oboro.attacks.series.series_attack import SeriesRisk
    from oboro.recipe.recipe import Recipe
    from oboro.table.hierarchy import Hierarchy

__all__ = ["attack_series", "dataset_of", "diversity_of", "earlier_of", "tables_of"]

IN_DOUBT = 2  # values of a secret, where nothing more was asked for


def dataset_of(table: Any, reading: Mapping[str, Any]) -> Dataset:
    """A frame, a file, or one that was read already."""
    if names_a_place(table):
        table = read(table, **reading)
    return table.data if isinstance(table, Source) else Frame.read(table).data


def tables_of(earlier: Any) -> list[Any]:
    """One table or several, as a list."""
    return list(earlier) if isinstance(earlier, list | tuple) else [earlier]


def earlier_of(plan: Recipe | None) -> list[Any]:
    """The earlier releases that a recipe names, at its top or in a step; the longest list, as each is of the whole series."""
    if plan is None:
        return []
    named = [plan.earlier, *(getattr(step, "earlier", []) for step in plan.steps)]
    return [beside(plan.folder, one) if isinstance(one, str) else one for one in max(named, key=len)]


def attack_series(
    released: Dataset,
    earlier: Sequence[Any],
    reading: Mapping[str, Any],
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    k: int | None = None,
    diverse: Mapping[str, int] | None = None,
    person: str | None = None,
    original: Dataset | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    accepted: str = "",
) -> SeriesRisk | None:
    """What the releases tell together; None where there is no earlier one. Without `k`: the k that the release alone has."""
    if not earlier:
        return None
    from oboro.attacks.series.series_attack import series_attack

    tables = [dataset_of(one, reading) for one in earlier]
    shown = [name for name in quasi if name in released]
    for number, table in enumerate(tables, 1):
        if not any(name in table for name in shown):
            raise UsageError(Message("error_recipe.earlier_columns", number=number, quasi=shown, columns=list(table)))
        if unlike := [name for name in shown if name not in (hierarchies or {}) and _unlike(table, released, name)]:
            raise UsageError(Message("error_recipe.earlier_labels", number=number, columns=unlike))
    every = [released, *tables, *([] if original is None else [original])]
    if empty_readings(every) == [True]:  # some came from CSV, which does not tell empty text from missing
        released, *tables = (without_empty(one) for one in (released, *tables))
        original = None if original is None else without_empty(original)
    whose = person if person is not None and person in released else None
    if k is None:
        k = int(attained(Classes.of(released, shown, whose, finest=True), [])[0].achieved or 1)
    asked = {name: (diverse or {}).get(name, IN_DOUBT) for name in sensitive if name in released}
    found = series_attack(
        released, tables, quasi=shown, k=k, diverse=asked, person=whose, original=original, hierarchies=hierarchies
    )
    return replace(found, accepted=accepted)


def _unlike(earlier: Dataset, released: Dataset, name: str) -> bool:
    """Whether two releases have no word of a column in common, as `F` and `female`: nobody would be found again.

    Ranges may meet though no two are written alike, and `*` may be anything: these are left to the attack.
    """
    if name not in earlier or not earlier.rows or not released.rows:
        return False
    words, others = ({text or "" for text in clean(one[name]).texts} for one in (earlier, released))
    return words.isdisjoint(others) and not any(re.search(r"[\d*]", word) for word in words | others)


def diversity_of(plan: Recipe | None, l: float | None, sensitive: Sequence[str]) -> dict[str, int]:  # noqa: E741
    """How many values of each secret are asked for: as named, else as the steps of a recipe say."""
    if l is not None:
        return dict.fromkeys(sensitive, ceil(l))
    found: dict[str, int] = {}
    for step in plan.steps if plan is not None else ():
        for name, one in (getattr(step, "l_diversity", None) or {}).items():
            found[name] = max(found.get(name, 1), ceil(getattr(one, "l", one)))
    return found
