"""What is published: one class per technique, all with `apply` and `explain`.

`TECHNIQUES` is the table of all that a recipe knows; a new one is one more line in it. `register` adds one from outside.
"""

from __future__ import annotations

from typing import TypeVar

from oboro.errors import UsageError
from oboro.techniques.base import Technique
from oboro.techniques.drop import DropColumns, DropRecords
from oboro.techniques.generalize import Generalize
from oboro.techniques.k_anonymize import KAnonymize
from oboro.techniques.k_conceal import KConceal
from oboro.techniques.local_recode import LocalRecode
from oboro.techniques.microaggregate import Microaggregate
from oboro.techniques.noise import Noise
from oboro.techniques.partition_univariate import PartitionUnivariate
from oboro.techniques.pk_anonymize import PkAnonymize
from oboro.techniques.pseudonymize import Pseudonymize
from oboro.techniques.round import Round
from oboro.techniques.sample import Sample
from oboro.techniques.sort import Shuffle, Sort
from oboro.techniques.swap import Swap
from oboro.techniques.synthesize import Synthesize
from oboro.techniques.top_code import BottomCode, TopCode

__all__ = ["TECHNIQUES", "Technique", "register"]

TECHNIQUES: dict[str, type[Technique]] = {
    technique.step: technique
    for technique in (
        Sort,
        Shuffle,
        Pseudonymize,
        DropColumns,
        DropRecords,
        Generalize,
        TopCode,
        BottomCode,
        Sample,
        Microaggregate,
        Round,
        Swap,
        Noise,
        KAnonymize,
        LocalRecode,
        KConceal,
        PkAnonymize,
        PartitionUnivariate,
        Synthesize,
    )
}

T = TypeVar("T", bound=type[Technique])


def register(technique: T) -> T:
    """Make a technique of your own known to recipes, by the name in its `step`; also as a decorator.

    CONTRIBUTING.md shows one from beginning to end.
    """
    if TECHNIQUES.get(technique.step, technique) is not technique:
        raise UsageError(f"{technique.step}: there is a technique of this name already; take another")
    TECHNIQUES[technique.step] = technique
    return technique
