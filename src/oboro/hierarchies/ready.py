"""Ready-made hierarchies: Japanese addresses, postcodes, age classes and eras, and the chapters of ICD-10."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import pyarrow as pa

from oboro.hierarchies.hierarchy import Level

__all__ = ["most_levels", "ready_levels"]


Levels = Callable[[str, pa.Array], list[Level]]
# Loaded when a recipe asks for one: the module, the function in it that gives the levels between the value and `*`, and how many
# these are at most (a year has no month).
READY = {
    ("japan", "address"): ("oboro.hierarchies.japan", "address_levels", 3),
    ("japan", "postcode"): ("oboro.hierarchies.japan", "postcode_levels", 2),
    ("japan", "age"): ("oboro.hierarchies.japan", "age_levels", 3),
    ("japan", "era"): ("oboro.hierarchies.japan", "era_levels", 3),
    ("icd10", "chapters"): ("oboro.hierarchies.icd10", "icd10_levels", 3),
}


def ready_levels(form: str, which: str) -> Levels:
    """Return the function that builds the levels of a ready-made hierarchy."""
    module, function, _ = READY[form, which]
    levels: Levels = getattr(import_module(module), function)
    return levels


def most_levels(form: str, which: str) -> int:
    """Return the largest number of levels between the value and `*` of a ready-made hierarchy, for any values."""
    return READY[form, which][2]
