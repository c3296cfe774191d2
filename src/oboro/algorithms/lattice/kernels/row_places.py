"""Kernel that writes rows to their slices."""

from __future__ import annotations

import numpy as np

from oboro.kernels.intrinsics import fetch
from oboro.kernels.jit import kernel

__all__ = ["spread"]


AHEAD = 32  # rows


@kernel(inner=True, bare=True)
def _next(part: int, starts: np.ndarray, out: np.ndarray) -> int:
    """The next place of a slice; the memory of the places after it is asked for."""
    place = starts[part]
    starts[part] = place + 1
    if place & 7 == 0:
        fetch(out, (place + AHEAD) * out.shape[1])
    return place


@kernel()
def spread(
    codes: np.ndarray, slices: np.ndarray, last: np.ndarray, starts: np.ndarray, digits: np.ndarray, out: np.ndarray
) -> None:
    """Write each row's digits to the next place of its slice, the last of them looked up; `starts` is moved along.

    Rows go to many places in turn: without asking for memory ahead they wait for it, half as long again. Two to four digits are the
    usual numbers, and written out they take less than half the time of a loop over them. O(rows · digits).
    """
    width = digits.shape[1]
    if width == 2:
        for i in range(codes.size):
            place = _next(slices[codes[i]], starts, out)
            out[place, 0], out[place, 1] = digits[i, 0], last[codes[i]]
    elif width == 3:
        for i in range(codes.size):
            place = _next(slices[codes[i]], starts, out)
            out[place, 0] = digits[i, 0]
            out[place, 1] = digits[i, 1]
            out[place, 2] = last[codes[i]]
    elif width == 4:
        for i in range(codes.size):
            place = _next(slices[codes[i]], starts, out)
            out[place, 0], out[place, 1] = digits[i, 0], digits[i, 1]
            out[place, 2], out[place, 3] = digits[i, 2], last[codes[i]]
    else:
        for i in range(codes.size):
            place = _next(slices[codes[i]], starts, out)
            for j in range(width - 1):
                out[place, j] = digits[i, j]
            out[place, width - 1] = last[codes[i]]
