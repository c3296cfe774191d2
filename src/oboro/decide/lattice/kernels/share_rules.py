"""Rules that compare the share of each sensitive value in a class with its share in the whole table.

Whole numbers are multiplied and divided once, so that 3/10 against 1/10 is exactly 3. `rows` is how many records (or people)
there are in all, `whole` how many of them hold each value.
"""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["breaks_disclosure", "breaks_likeness"]


@kernel(inner=True)
def breaks_disclosure(held: np.ndarray, size: int, rows: int, level: float, whole: np.ndarray, every: bool) -> int:
    """Whether a value is `level` times as frequent in the class as in the whole table, or the other way round. O(values).

    `every`: a value that the class lacks breaks the rule; otherwise it is not asked.
    """
    for value in range(held.size):
        if held[value] == 0:
            if every and whole[value] > 0:
                return 1
            continue
        here, everywhere = held[value] * rows, whole[value] * size
        if here / everywhere >= level or everywhere / here >= level:
            return 1
    return 0


@kernel(inner=True)
def breaks_likeness(held: np.ndarray, size: int, rows: int, level: float, whole: np.ndarray, enhanced: bool) -> int:
    """Whether a value's share grows by more than `level` times its share in the whole table; enhanced: or −ln of it. O(values)."""
    for value in range(held.size):
        here, everywhere = held[value] * rows, whole[value] * size
        if here <= everywhere:
            continue
        most = min(level, -np.log(whole[value] / rows)) if enhanced else level
        if (here - everywhere) / everywhere > most:
            return 1
    return 0
