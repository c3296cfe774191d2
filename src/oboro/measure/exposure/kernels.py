"""Who stands alone in a class."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = ["NOBODY", "SEVERAL", "add_numbers", "only_person"]

NOBODY, SEVERAL = -1, -2  # what `only_person` says of a class beside a person's code


@kernel()
def only_person(labels: np.ndarray, people: np.ndarray, missing: int, out: np.ndarray) -> None:
    """For each class (one NOBODY each in `out`) the only person in it, or NOBODY, or SEVERAL. O(n).

    `people` has a person's code for each row; rows with the code `missing` are nobody's.
    """
    for i in range(labels.size):
        person = np.int64(people[i])
        if person == missing:
            continue
        found = out[labels[i]]
        if found == NOBODY:
            out[labels[i]] = person
        elif found != person:
            out[labels[i]] = SEVERAL


@kernel()
def add_numbers(numbers: np.ndarray, codes: np.ndarray, out: np.ndarray) -> None:
    """Add to each row's number that of its code, modulo 2⁶⁴. O(n)."""
    for i in range(codes.size):
        out[i] += numbers[codes[i]]
