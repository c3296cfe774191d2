"""Draws of differential privacy. Mechanisms and their accounting are OpenDP's; what is drawn comes from the system's entropy."""

from __future__ import annotations

from hashlib import shake_256
from math import ceil, frexp
from secrets import token_bytes
from typing import Any

import numpy as np

from oboro.system.extras import bring

__all__ = ["drawn_records", "noised", "noisy_best", "opendp"]

GRID = 40  # numbers with a fraction are released as multiples of the range / 2^40, so that no bit of a float tells the value
ROUNDS = 60  # a scale is found by halving: so many halves are as fine as a float


def drawn_records(rows: int, sampling: float, key: bytes | None = None) -> np.ndarray:
    """Which records are in a sample: each with the same probability, on its own. O(rows), eight bytes of SHAKE-256 a record.

    The probability is a multiple of 2^−64, and never more than asked for. The key is drawn and forgotten; tests give one.
    """
    stream = shake_256(token_bytes(32) if key is None else key).digest(8 * rows)
    return np.asarray(np.frombuffer(stream, dtype="<u8") < np.uint64(int(sampling * 2.0**64)))


def noisy_best(scores: np.ndarray, sensitivity: int, epsilon: float) -> int:
    """The place of a score that is nearly the best: the exponential mechanism, for scores that one record more only raises."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)

    def mechanism(scale: float) -> Any:
        return dp.m.make_noisy_max(*space, dp.max_divergence(), scale)

    scale = _least_scale(lambda scale: mechanism(scale).map(sensitivity) <= epsilon, sensitivity / epsilon)
    return int(mechanism(scale)([int(score) for score in scores]))


def noised(numbers: np.ndarray, width: float, epsilon: float, delta: float | None, *, whole: bool) -> np.ndarray:
    """Numbers that each differ from another possible one by at most `width`, with noise that hides which it is.

    Laplace, or Gaussian where there is a δ; discrete, so that nothing of a number shows in the last bits. About 20 µs a number.
    """
    if numbers.size == 0:
        return numbers
    dp = opendp()
    grid = 1.0 if whole else 2.0 ** (frexp(width)[1] - GRID)
    steps, reach = np.rint(numbers / grid).astype(np.int64).tolist(), ceil(width / grid) + (not whole)

    def mechanism(scale: float) -> Any:
        if delta is None:
            return dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale)
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
        return dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale))

    def keeps(scale: float) -> bool:
        if delta is None:
            return bool(mechanism(scale).map(reach) <= epsilon)
        return bool(mechanism(scale).map(float(reach)).epsilon(delta) <= epsilon)

    released = mechanism(_least_scale(keeps, reach / epsilon))(steps)
    return np.asarray(released, dtype=np.float64) * grid


def _least_scale(keeps: Any, first: float) -> float:
    """The least scale that keeps a budget, by OpenDP's own account of it; to a thousandth of a percent."""
    if keeps(first) and not keeps(first * (1 - 1e-5)):
        return first
    low, high = 0.0, first
    while not keeps(high):
        low, high = high, 2 * high
    for _ in range(ROUNDS):
        if high - low <= 1e-5 * high:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def opendp() -> Any:
    """OpenDP, ready to use."""
    dp = bring("opendp.prelude")
    dp.enable_features("contrib")
    return dp
