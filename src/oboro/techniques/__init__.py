"""What is published: one class per technique, all with `apply` and `explain`.

`TECHNIQUES` is the table of all that a recipe knows; a new one is one more line in it. `register` adds one from outside.
"""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Any, TypeVar

from oboro.errors import UsageError
from oboro.techniques.base import Technique
from oboro.text import Message

__all__ = ["TECHNIQUES", "Technique", "register"]

PLACES = {
    "sort": "sort.Sort",
    "shuffle": "shuffle.Shuffle",
    "pseudonymize": "pseudonymize.Pseudonymize",
    "drop_columns": "drop_columns.DropColumns",
    "drop_records": "drop_records.DropRecords",
    "generalize": "generalize.Generalize",
    "top_code": "top_code.TopCode",
    "bottom_code": "bottom_code.BottomCode",
    "sample": "sample.Sample",
    "microaggregate": "microaggregate.Microaggregate",
    "round": "round.Round",
    "swap": "swap.Swap",
    "noise": "noise.Noise",
    "k_anonymize": "k_anonymize.KAnonymize",
    "local_recode": "local_recode.LocalRecode",
    "suppress_cells": "suppress_cells.SuppressCells",
    "dp_anonymize": "dp_anonymize.DpAnonymize",
    "k_conceal": "k_conceal.KConceal",
    "pk_anonymize": "pk_anonymize.PkAnonymize",
    "partition_univariate": "partition_univariate.PartitionUnivariate",
    "synthesize": "synthesize.Synthesize",
}


class Techniques(UserDict[str, Any]):
    """Techniques by the names of their steps. One is loaded when it is asked for: a recipe needs few of them."""

    def __getitem__(self, step: str) -> type[Technique]:
        known = self.data[step]
        if isinstance(known, str):
            module, _, name = known.rpartition(".")
            known = self.data[step] = getattr(import_module(f"{__name__}.{module}"), name)
        return known  # type: ignore[no-any-return]


TECHNIQUES = Techniques(PLACES)

T = TypeVar("T", bound=type[Technique])


def register(technique: T) -> T:
    """Make a technique of your own known to recipes, by the name in its `step`; also as a decorator.

    CONTRIBUTING.md shows one from beginning to end.
    """
    if TECHNIQUES.get(technique.step, technique) is not technique:
        raise UsageError(Message("error_technique.same_name", step=technique.step))
    TECHNIQUES[technique.step] = technique
    return technique
