"""Entropy of the sensitive values of each class, and an exact comparison with log l."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from math import gcd

import numpy as np

from oboro.table.value_counts import Tally

__all__ = ["entropies", "entropy_at_least"]

DOUBT = 1e-9  # sums of logarithms in float64 are far more exact than this
DIGITS = 50
EQUAL = Decimal("1e-40")  # closer than this counts as equal: (4, 1, 1, 1, 1) has exactly the entropy log 4


def entropies(tally: Tally) -> np.ndarray:
    """−Σ p log p of each class (natural logarithm), as log total − Σ count · log count / total; 0 where nothing is counted."""
    weighted, totals = tally.each(np.add, tally.counts * np.log(tally.counts)), np.maximum(tally.totals, 1)
    return np.asarray(np.log(totals) - weighted / totals)


def entropy_at_least(limit: float, entropy: np.ndarray, tally: Tally) -> np.ndarray:
    """Whether each class has an entropy of at least log `limit`; classes in doubt are decided with 50 digits."""
    bar = np.log(limit)
    holds = np.asarray(entropy > bar)
    for group in np.flatnonzero((np.abs(entropy - bar) < DOUBT) & (tally.distinct > 0)):
        counts = tally.counts[tally.starts[group] : tally.starts[group + 1]]
        holds[group] = _decide(limit, tuple(sorted(counts.tolist())))
    return holds


@lru_cache(maxsize=1024)
def _decide(limit: float, counts: tuple[int, ...]) -> bool:
    """Whether counts have an entropy of at least log `limit`.

    >>> _decide(2, (50_000, 50_000)), _decide(2, (50_000, 50_001)), _decide(4, (1, 1, 1, 1, 4))
    (True, False, True)
    """
    if counts[0] == counts[-1]:
        return len(counts) >= limit
    common = gcd(*counts)
    with localcontext() as context:
        context.prec = DIGITS
        parts = [Decimal(count // common) for count in counts]
        size = sum(parts, Decimal(0))
        entropy = size.ln() - sum((part * part.ln() for part in parts), Decimal(0)) / size
        return entropy - Decimal(limit).ln() > -EQUAL
