"""Rules about sensitive values, asked of every class at once: a counter for each class and value."""

from __future__ import annotations

import numpy as np

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
    out: np.ndarray,
) -> None:
    """As `judge`, for records, with a counter for each class and value: the tuples are read once, as they come.

    `place` numbers the `classes` that are asked, −1 for the others; `held` has a zeroed row for each. Once the classes that break
    the rule have more than `most` records, the rest is not asked. O(tuples + classes · what `breaks` costs).
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
            gone += sizes[c] if verdict == 1 else 0
            if gone > most:
                return
