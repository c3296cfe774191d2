"""Mix the matchings of a design: Kempe chains."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel
from oboro.kernels.chance import coin

__all__ = ["mix"]


@kernel()
def mix(pairs: np.ndarray, state: np.ndarray, to: np.ndarray, back: np.ndarray) -> None:
    """For each pair of matchings in turn: of every cycle that the two form, exchange their edges or not, by a coin.

    `to[c, i]` is where matching c sends i, `back[c, j]` whom it sends to j. Both stay matchings, the edges stay the same.
    """
    people = to.shape[1]
    seen = np.empty(people, dtype=np.bool_)
    cycle = np.empty(people, dtype=np.int64)
    for p in range(pairs.shape[0]):
        one, other = pairs[p, 0], pairs[p, 1]
        seen[:] = False
        for start in range(people):
            length, i = 0, start
            while not seen[i]:
                seen[i] = True
                cycle[length] = i
                length += 1
                i = back[other, to[one, i]]
            if length == 0 or coin(state) >> np.uint64(63) == 0:
                continue
            for i in cycle[:length]:
                first, second = to[one, i], to[other, i]
                to[one, i], to[other, i] = second, first
            for i in cycle[:length]:
                back[one, to[one, i]], back[other, to[other, i]] = i, i
