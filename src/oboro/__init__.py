"""oboro (朧, "hazy"): anonymize personal data, verify the result, and report what it cost.

>>> import oboro
>>> oboro.verify({"age": [30, 30, 31], "sex": ["F", "F", "M"]}, quasi=["age", "sex"], k=2).holds
False
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name lives. Nothing is imported before it is used, so that `import oboro` and `oboro --help` stay fast.
_ROOMS = {
    "BottomCode": "oboro.techniques.top_code",
    "Dataset": "oboro.table.dataset",
    "DropColumns": "oboro.techniques.drop",
    "DropRecords": "oboro.techniques.drop",
    "Generalize": "oboro.techniques.generalize",
    "KAnonymize": "oboro.techniques.k_anonymize",
    "KConceal": "oboro.techniques.k_conceal",
    "LocalRecode": "oboro.techniques.local_recode",
    "Microaggregate": "oboro.techniques.microaggregate",
    "Noise": "oboro.techniques.noise",
    "Outliers": "oboro.decide.outliers",
    "PartitionUnivariate": "oboro.techniques.partition_univariate",
    "PkAnonymize": "oboro.techniques.pk_anonymize",
    "Pseudonymize": "oboro.techniques.pseudonymize",
    "Recipe": "oboro.recipe.recipe",
    "Release": "oboro.recipe.release",
    "Round": "oboro.techniques.round",
    "Sample": "oboro.techniques.sample",
    "Shuffle": "oboro.techniques.sort",
    "Sort": "oboro.techniques.sort",
    "Swap": "oboro.techniques.swap",
    "Synthesize": "oboro.techniques.synthesize",
    "TopCode": "oboro.techniques.top_code",
    "attack": "oboro.attacks",
    "fidelity": "oboro.measure.statistics.fidelity",
    "pk_evidence": "oboro.measure.retention_replacement",
    "read": "oboro.io.files",
    "reconstruct": "oboro.measure.reconstruction",
    "risk": "oboro.measure.risk",
    "special_uniques": "oboro.decide.outliers",
    "verify": "oboro.verifier.table_check",
}

__all__ = [
    "BottomCode",
    "Dataset",
    "DropColumns",
    "DropRecords",
    "Generalize",
    "KAnonymize",
    "KConceal",
    "LocalRecode",
    "Microaggregate",
    "Noise",
    "Outliers",
    "PartitionUnivariate",
    "PkAnonymize",
    "Pseudonymize",
    "Recipe",
    "Release",
    "Round",
    "Sample",
    "Shuffle",
    "Sort",
    "Swap",
    "Synthesize",
    "TopCode",
    "attack",
    "errors",
    "fidelity",
    "pk_evidence",
    "read",
    "reconstruct",
    "risk",
    "special_uniques",
    "stream",
    "verify",
]

if TYPE_CHECKING:
    from oboro import errors, stream
    from oboro.attacks import attack
    from oboro.decide.outliers import Outliers, special_uniques
    from oboro.io.files import read
    from oboro.measure.reconstruction import reconstruct
    from oboro.measure.retention_replacement import pk_evidence
    from oboro.measure.risk import risk
    from oboro.measure.statistics.fidelity import fidelity
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.release import Release
    from oboro.table.dataset import Dataset
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
    from oboro.verifier.table_check import verify


def __getattr__(name: str) -> Any:
    if name in ("errors", "stream"):
        return importlib.import_module(f"oboro.{name}")
    if name not in _ROOMS:
        raise AttributeError(f"oboro has no {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(_ROOMS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
