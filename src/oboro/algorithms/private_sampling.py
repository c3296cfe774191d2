"""Differential privacy by sampling and k-anonymity: the least class size for (ε, δ), private selection of levels,
random draws.

Li, Qardaji and Su, "On sampling, anonymization, and differential privacy" (ASIACCS 2012), as Bild, Kuhn and Prasser
use it in "SafePub" (PoPETs 2018). Everybody is in the sample with probability β; values become coarser in a way that
does not depend on the table; classes of fewer than k sampled records are left out. With γ = 1 − (1 − β) · e^−ε that
is (ε, δ)-differentially private for

    β ≤ 1 − e^−ε        and        δ(k) = max over n ≥ ⌈k / γ − 1⌉ of P(Bin(n, β) > γ · n).

docs/guarantees/differential-privacy.md has the proof. The tails fall below c(n) = exp(−n · (γ · ln(γ / β) − γ + β)),
which decreases in n: so whoever looks from the first n on until c(n) ≤ δ has looked at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import shake_256
from itertools import product
from math import ceil, exp, expm1, floor, frexp, log
from secrets import token_bytes
from typing import Any

import numpy as np

from oboro._lazy import bring
from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.losses import loss_of
from oboro.algorithms.lattice.nodes import Levels
from oboro.algorithms.lattice.problem import Problem
from oboro.data.column import Column
from oboro.hierarchies.hierarchy import Hierarchy

__all__ = [
    "DETAIL",
    "MOST_NODES",
    "drawn_records",
    "largest_sampling",
    "least_class_size",
    "limit_of_counts",
    "node_details",
    "node_scores",
    "nodes_between",
    "noised",
    "noisy_best",
    "opendp",
    "risk_of_sample",
]


# Selection of levels --------------------------------------------------------------------------------------------------
# Selection of levels by the exponential mechanism: better levels are likelier, and one record changes the odds only
# little.
#
# A node of the lattice scores how much of the table it would release, and how fine: the records of its classes beyond
# the first t − 1 of each, times the share of detail that its levels keep. One person more or less changes one class by
# one, so no score changes by more than 1; and all scores change in the same direction, which halves the noise that the
# mechanism needs. Where a sample is released later, t is the number of records of which k are expected in the sample.


DETAIL = 1 << 10  # detail is counted in so many parts: scores are whole numbers, and whole numbers do not round
MOST_NODES = 1 << 16  # every node is scored, since leaving one out for its score would tell something


def nodes_between(least: Sequence[int], greatest: Sequence[int]) -> list[Levels]:
    """Return every transformation within limits, in lexicographic order."""
    return list(product(*(range(low, high + 1) for low, high in zip(least, greatest, strict=True))))


def node_details(nodes: Sequence[Levels], heights: Sequence[int], weights: Sequence[float]) -> np.ndarray:
    """Return the share of detail that each node keeps: 1 − level / height, on the average of the columns by weight; in
    parts of DETAIL.

    Nothing of the table goes in.
    """
    whole = sum(weights) or 1.0
    lost = [
        sum(w * level / max(height, 1) for w, level, height in zip(weights, node, heights, strict=True)) / whole
        for node in nodes
    ]
    return np.array([int(DETAIL * max(0.0, 1 - one)) for one in lost], dtype=np.int64)


def node_scores(
    nodes: Sequence[Levels],
    details: np.ndarray,
    columns: Sequence[Column],
    hierarchies: Sequence[Hierarchy],
    least: int,
) -> np.ndarray:
    """Compute the score of each node, in parts of DETAIL. O(nodes · distinct tuples).

    One record more or less in the table changes each by at most DETAIL, and all in one direction.
    """
    found = np.zeros(len(nodes), dtype=np.int64)
    for i, sizes in enumerate(_class_sizes(nodes, columns, hierarchies)):
        found[i] = details[i] * int(np.maximum(sizes - (least - 1), 0).sum())
    return found


def _class_sizes(
    nodes: Sequence[Levels], columns: Sequence[Column], hierarchies: Sequence[Hierarchy]
) -> Iterator[np.ndarray]:
    held, steps = tuple(columns), tuple(hierarchies)
    if len(held[0]) == 0:
        yield from (np.zeros(0, dtype=np.int64) for _ in nodes)
        return
    loss = loss_of("height", held, steps, [1.0] * len(held), 1)
    checker = NodeChecker.of(Problem(held, steps, 1, 0, (), loss))
    yield from (checker.classes(node).sizes for node in nodes)


# Class size and sampling rate -----------------------------------------------------------------------------------------


MARGIN = 1e-9  # relative: far above what rounding does to a tail of the binomial distribution, far below what matters


def largest_sampling(epsilon: float) -> float:
    """Return the largest sampling rate: 1 − e^−ε, rounded down.

    >>> largest_sampling(1.0)
    0.632120558828...
    """
    return -expm1(-epsilon) * (1 - 1e-15)


def limit_of_counts(epsilon: float, sampling: float) -> float:
    """γ: from which share of a class's members on their number in the sample tells too much."""
    return 1 - (1 - sampling) * exp(-epsilon)


def risk_of_sample(k: int, epsilon: float, sampling: float) -> float:
    """Return δ(k), an upper bound on the probability that a class of at least k discloses more than ε allows.

    >>> round(risk_of_sample(10, 1.0, 0.5), 6), round(risk_of_sample(50, 1.0, 0.5), 9)
    (0.019287, 2.29e-07)
    """
    first = _first_members(k, limit_of_counts(epsilon, sampling))
    found = float(
        _tails(np.array([first]), epsilon, sampling)[0]
    )  # the rest is of no interest once it is below this one
    rest = _tails(np.arange(first, _last_members(found, epsilon, sampling) + 1), epsilon, sampling)
    return float(rest.max(initial=found))


def least_class_size(epsilon: float, delta: float, sampling: float) -> int:
    """Return the least k for which δ(k) ≤ δ. O(ln(1 / δ) / rate) tails, where the rate falls with ε².

    >>> least_class_size(1.0, 1e-6, 0.5)
    46
    """
    tails = _tails(np.arange(1, _last_members(delta, epsilon, sampling) + 1), epsilon, sampling)
    too_large = np.flatnonzero(tails * (1 + MARGIN) > delta)
    last = int(too_large[-1]) + 1 if too_large.size else 0  # so many members tell too much, more of them never
    gamma = limit_of_counts(epsilon, sampling)
    k = max(1, floor((last + 1) * gamma))
    while _first_members(k, gamma) <= last:
        k += 1
    return k


def _first_members(k: int, gamma: float) -> int:
    """The fewest members that a class has to have for its number in the sample to tell too much when k of them are in it."""
    return max(1, ceil(k / gamma - 1))


def _last_members(delta: float, epsilon: float, sampling: float) -> int:
    """Classes with more members stay below δ, whatever k is."""
    gamma = limit_of_counts(epsilon, sampling)
    rate = gamma * log(gamma / sampling) - gamma + sampling
    return ceil(-log(delta) / rate)


def _tails(members: np.ndarray, epsilon: float, sampling: float) -> np.ndarray:
    """With which probability more than γ · n of n members are in the sample."""
    gamma = limit_of_counts(epsilon, sampling)
    few = np.floor(members * gamma * (1 - 1e-14))  # a count of exactly γ · n that rounding moved counts too
    return np.asarray(bring("scipy.special").bdtrc(few, members, sampling))


# Random draws ---------------------------------------------------------------------------------------------------------
# Draws of differential privacy. Mechanisms and their accounting are OpenDP's; random bytes come from the system's
# entropy.


GRID = 40  # numbers with a fraction are released as multiples of the range / 2^40, so that no bit of a float tells the value
ROUNDS = 60  # a scale is found by halving: so many halves are as fine as a float


def drawn_records(rows: int, sampling: float, key: bytes | None = None) -> np.ndarray:
    """Draw the records of a sample: each with the same probability, on its own. O(rows), eight bytes of SHAKE-256 a
    record.

    The probability is a multiple of 2^−64, and never more than asked for. The key is drawn and forgotten; tests give one.
    """
    stream = shake_256(token_bytes(32) if key is None else key).digest(8 * rows)
    return np.asarray(np.frombuffer(stream, dtype="<u8") < np.uint64(int(sampling * 2.0**64)))


def noisy_best(scores: np.ndarray, sensitivity: int, epsilon: float) -> int:
    """Return the place of a score that is nearly the best: the exponential mechanism, for scores that one record more
    only raises.
    """
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
    """Return OpenDP, ready to use."""
    dp = bring("opendp.prelude")
    dp.enable_features("contrib")
    return dp
