"""What a step is, for whoever judges a release without knowing how steps work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from oboro.text import Words

__all__ = ["Opinion", "PrivacySpent", "Traits"]

Opinion = Literal["pseudonymisation", "noise", "aggregation"]


@dataclass(frozen=True)
class PrivacySpent:
    """What a step takes of a budget of differential privacy: two tables that differ in one unit are told apart with ε and δ."""

    unit: Literal["record", "value"]
    """record: somebody's record is in the table or not; value: a record has one value of a column or another."""
    epsilon: float
    delta: float = 0.0
    columns: tuple[str, ...] = ()
    """The columns that it speaks of; none: all that are released."""


@dataclass(frozen=True)
class Traits:
    """What a technique says of itself. A report asks these and knows no technique by its name."""

    iso: Words
    """What ISO/IEC 20889 calls it."""
    random: bool = False
    """Whether values are drawn, disturbed or moved to other records by chance."""
    coarser: bool = False
    """Whether unusual values become coarser, or are left out."""
    reorders: bool = False
    """Whether the records lose the order of the original."""
    moves_records: bool = False
    """Whether the n-th record may afterwards be another person's."""
    by_construction: Words | None = None
    """What it promises by the way in which it works, and what nobody can see in the released table."""
    bounds_linkage: bool = False
    """Whether that promise is that nobody is linked to a record with more than 1/k certainty, k being a fact of the step."""
    spends: tuple[PrivacySpent, ...] = ()
    """What it takes of a budget of differential privacy; nothing: it is not differentially private."""
    opinion: Opinion | None = None
    """Which row of the table in WP216 (Article 29 Working Party, Opinion 05/2014) judges it."""
