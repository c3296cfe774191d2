"""Groups of fixed size along one line."""

from __future__ import annotations

import numpy as np

from oboro.errors import InputError
from oboro.kernels import grouping
from oboro.table.groups import Groups
from oboro.text import Message

__all__ = ["fixed"]


def fixed(numbers: np.ndarray, k: int) -> Groups:
    """Sort one number per record and cut every k records; the last group has k … 2k − 1. O(n log n).

    Missing values (NaN) form a group of their own where k or more are missing and k or more are not; otherwise they
    come after the largest number. Equal numbers may fall into two groups.
    """
    missing = int(np.isnan(numbers).sum())
    present = numbers.size - missing
    if 0 < numbers.size < k:
        raise InputError(Message("error_decide.no_group", records=numbers.size, k=k))
    order = np.argsort(numbers, kind="stable")  # NaN last
    apart = missing if missing >= k and (present >= k or present == 0) else 0
    cut = numbers.size - apart
    places = np.arange(numbers.size)
    ordered = np.minimum(places // k, max(cut // k - 1, 0))
    ordered[cut:] = cut // k
    labels = np.empty(numbers.size, dtype=np.uint32)
    labels[order] = ordered
    return _numbered(labels)


def _numbered(labels: np.ndarray) -> Groups:
    found = int(labels.max()) + 1 if labels.size else 0
    out = np.empty_like(labels)
    grouping.number_by_appearance(labels, np.zeros(found, dtype=np.uint32), out)
    return Groups(out, np.bincount(out, minlength=found))
