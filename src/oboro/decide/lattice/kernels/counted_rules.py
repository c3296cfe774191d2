"""Rules about sensitive values, asked of every class at once: a counter for each class and value."""

from __future__ import annotations

import numpy as np

from oboro.decide.lattice.kernels.least_removed import least_removed
from oboro.decide.lattice.kernels.node_classes import breaks
from oboro.kernels import kernel

__all__ = ["judge_counted"]


@kernel()
def judge_counted(
    labels: np.ndarray,
    place: np.ndarray,
    classes: np.ndarray,
    secrets: np.ndarray,
    weights: np.ndarray,
    sizes: np.ndarray,
    kind: int,
    count: int,
    level: float,
    whole: np.ndarray,
    tree: np.ndarray,
    most: int,
    held: np.ndarray,
    least: np.ndarray,
    out: np.ndarray,
) -> None:
    """As `judge`, for records, with a counter for each class and value: the tuples are read once, as they come.

    `place` numbers the `classes` that are asked, −1 for the others; `held` has a zeroed row for each. Once the classes that break
    the rule have more than `most` records (of which as many go at least, where `least` is asked), the rest is not asked.
    O(tuples + classes · what `breaks` costs).
    """
    for i in range(labels.size):
        row = place[labels[i]]
        if row >= 0:
            held[row, secrets[i]] += weights[i]
    gone = np.int64(0)
    for row in range(classes.size):
        c = classes[row]
        verdict = breaks(held[row], sizes[c], kind, count, level, whole, tree)
        if verdict > 0:
            out[c] = verdict
            if verdict == 1 and least.size:
                least[c] = least_removed(held[row], sizes[c], kind, count, level, whole, tree)
                gone += least[c]
            elif verdict == 1:
                gone += sizes[c]
            if gone > most:
                return
