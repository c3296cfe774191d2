"""Hierarchies that are ready to use: Japanese addresses, postcodes, age classes and eras, and the chapters of ICD-10."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import pyarrow as pa

from oboro.table.hierarchy.levels import Level

__all__ = ["ready_levels"]

Levels = Callable[[str, pa.Array], list[Level]]
# Loaded when a recipe asks for one: the module, and the function in it that gives the levels between the value and `*`.
READY = {
    ("japan", "address"): ("addresses", "address_levels"),
    ("japan", "postcode"): ("postcodes", "postcode_levels"),
    ("japan", "age"): ("age_classes", "age_levels"),
    ("japan", "era"): ("era_levels", "era_levels"),
    ("icd10", "chapters"): ("icd10_chapters", "icd10_levels"),
}


def ready_levels(form: str, which: str) -> Levels:
    """What makes the levels of one of these hierarchies."""
    module, function = READY[form, which]
    levels: Levels = getattr(import_module(f"{__name__}.{module}"), function)
    return levels
