"""Numbering keys of 64 bits of which there are too many possible ones for a counter each.

Keys are mixed (one to one, so nothing is taken for equal that is not), spread over parts by their upper bits, and
numbered part by part: the table of a part fits a cache, where one table of all keys would be waited for at every row.
"""

from __future__ import annotations

import numpy as np

from oboro.kernels.jit import kernel

__all__ = ["FULL", "mix", "number_parts", "spread"]


U = np.uint64
FULL = -1  # what `number_parts` says where there are more different keys than places for them


@kernel()
def mix(keys: np.ndarray, factor: np.ndarray, shift: int, sizes: np.ndarray) -> None:
    """Mix the keys in place, one to one, and count those of each part, which the bits from `shift` on choose. O(n).

    `factor` is one odd number, drawn anew each time, so that nobody can choose values that come together.
    """
    for i in range(keys.size):
        key = keys[i]
        key = (key ^ (key >> U(32))) * factor[0]
        key = (key ^ (key >> U(29))) * U(0xC4CEB9FE1A85EC53)
        key ^= key >> U(32)
        keys[i] = key
        sizes[key >> U(shift)] += 1


@kernel()
def spread(keys: np.ndarray, shift: int, cursor: np.ndarray, out: np.ndarray, places: np.ndarray) -> None:
    """Keys part after part, in their order, and the place of each, unless nobody asks for it (`places` is empty).

    `cursor` holds where each part starts. O(n).
    """
    asked = places.size > 0
    for i in range(keys.size):
        part = keys[i] >> U(shift)
        place = cursor[part]
        out[place] = keys[i]
        if asked:
            places[i] = place
        cursor[part] = place + 1


@kernel()
def number_parts(keys: np.ndarray, starts: np.ndarray, slots: np.ndarray, known: np.ndarray, out: np.ndarray) -> int:
    """Number the mixed keys of each part in the order in which they appear, after those of the parts before; returns how many.

    Equal keys are in one part. `slots` has room for twice the keys of a part, a power of two, `known` for its different keys: where
    they are more, the result is FULL. O(n).
    """
    found = 0
    for part in range(starts.size - 1):
        begin, end = starts[part], starts[part + 1]
        size = 1
        while size < 2 * (end - begin) and size < slots.size:
            size *= 2
        slots[:size] = 0
        here = 0
        for i in range(begin, end):
            key = keys[i]
            at = key & U(size - 1)
            label = slots[at]
            while label and known[label - 1] != key:
                at = (at + U(1)) & U(size - 1)
                label = slots[at]
            if not label:
                if here == known.size:
                    return FULL
                known[here] = key
                here += 1
                label = here
                slots[at] = label
            out[i] = found + label - 1
        found += here
    return found
