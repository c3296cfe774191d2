"""Mondrian partitioning: cut the records along one attribute, and the parts again, as long as k remain on every side.

LeFevre, DeWitt & Ramakrishnan, "Mondrian multidimensional k-anonymity", 2006.
"""

from __future__ import annotations

import numpy as np

from oboro.algorithms.partitioning.kernels import division
from oboro.algorithms.partitioning.records import Records, divide
from oboro.data.grouping import Groups

__all__ = ["mondrian"]


def mondrian(records: Records, k: int, *, relaxed: bool = False) -> Groups:
    """Group all records, k or more each.

    The attribute that leaves most open in the group (NCP times weight; the first of equals) and can be cut is cut.
    Numbers: into two parts as even as possible; *strict* keeps equal numbers together, *relaxed* divides those in the
    middle. Missing numbers are a part of their own if they may, and else stand with the largest. Categories: one part
    for each child in the hierarchy that may stand alone, one for the rest. A part may stand alone with k records or more
    that keep every rule.

    The groups do not depend on the order of the rows; only which of two like rows goes where does (relaxed).
    Cost O(n · attributes · depth), depth log₂(n / k).
    """
    method = division.RELAXED if relaxed else division.STRICT
    return divide(records, np.arange(records.loads.size), method, k)
