"""Divide and rule: a heuristic inside every cluster of near people (the paper's algorithm 4, clusters by Ward)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oboro.decide.concealment.heuristics import NoMatchingLeft
from oboro.system.extras import bring

__all__ = ["clustered", "clusters"]


def clusters(distances: np.ndarray, least: int) -> list[np.ndarray]:
    """Ward's tree, cut wherever both parts keep `least` people; better than one cut at the same height for all."""
    if len(distances) < 2 * least:
        return [np.arange(len(distances))]
    hierarchy, distance = bring("scipy.cluster.hierarchy"), bring("scipy.spatial.distance")
    open_, closed = [hierarchy.to_tree(hierarchy.ward(distance.squareform(distances, checks=False)))], []
    while open_:
        node = open_.pop()
        parts = (node.get_left(), node.get_right()) if not node.is_leaf() else ()
        if parts and min(part.get_count() for part in parts) >= least:
            open_ += parts
        else:
            closed.append(np.array(sorted(node.pre_order())))
    return closed


def clustered(
    heuristic: Callable[[np.ndarray], np.ndarray], distances: np.ndarray, k: int, larger: int = 12
) -> np.ndarray:
    """The matchings of all clusters together; where a cluster is too small for the heuristic, all get larger."""
    least = k
    while True:
        try:
            return _joined(heuristic, distances, clusters(distances, least), k)
        except NoMatchingLeft:
            if least >= len(distances) or least > k + larger:
                raise
            least += 1


def _joined(
    heuristic: Callable[[np.ndarray], np.ndarray], distances: np.ndarray, parts: list[np.ndarray], k: int
) -> np.ndarray:
    out = np.empty((k, len(distances)), dtype=np.int64)
    for part in parts:
        out[:, part] = part[heuristic(distances[np.ix_(part, part)])]
    return out
