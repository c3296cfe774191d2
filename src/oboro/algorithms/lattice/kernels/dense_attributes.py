"""Kernels for rules on sensitive attributes with a counter for every value: lower bound on the suppressed records of a
class.

The bound holds for a class that violates a rule, however finer levels divide it. Two classes that satisfy a weak rule
satisfy it when they are joined. So the records of the class that a finer node keeps satisfy the rule as one class, or
none are kept. A half-space has every histogram that satisfies the rule on one side
(`oboro.algorithms.lattice.constraints`) and this one on the other: the removed records must weigh as much as is
lacking. The heaviest values first, each with all its records and the last in part, give the fewest such records.
"""

from __future__ import annotations

import numpy as np

from oboro.algorithms.lattice.kernels import attributes
from oboro.kernels.jit import kernel

__all__ = ["breaks_disclosure", "breaks_likeness", "least_removed"]


ROUNDING = 1e-9  # what sums of weights may be wrong by, as a part of what they add up
TANGENTS = 3  # of the entropy, each where the one before says that the class would be left


@kernel(inner=True)
def least_removed(
    held: np.ndarray, size: int, kind: int, count: int, level: float, whole: np.ndarray, tree: np.ndarray
) -> int:
    """Lower bound on the records, of the `size` records of a class violating a weak rule, that every finer node
    suppresses. O(values · log).
    """
    if kind == attributes.RECURSIVE:
        if np.count_nonzero(held) < count:
            return size
        return _fewest(held, size, _recursive(held, count, level))
    if kind == attributes.ENTROPY:
        return size if np.count_nonzero(held) < level else _by_entropy(held, size, level)
    if kind == attributes.ALPHA:
        value = np.argmax(held) if count < 0 else count
        return _over(held[value], size, level)
    if kind == attributes.T_ORDERED:
        return _fewest(held, size, _ordered(held, size, level, whole))
    if kind == attributes.T_TREE:
        return _fewest(held, size, _tree(held, size, level, whole, tree))
    if kind in (attributes.DISCLOSURE, attributes.BASIC_LIKENESS, attributes.ENHANCED_LIKENESS):
        return _by_share(held, size, kind, count, level, whole)
    if kind in attributes.MONOTONE:
        return size  # no part of a class keeps what the class breaks
    if kind == attributes.DISCLOSURE_OF_HELD:
        return 0  # nothing follows of finer nodes
    raise ValueError("a kind of rule that this kernel does not know")


@kernel(inner=True)
def _fewest(held: np.ndarray, size: int, weights: np.ndarray) -> int:
    """The fewest records whose removal adds up what the weighted sum of `held` lacks to be 0."""
    lacking, scale = 0.0, 0.0
    for value in range(held.size):
        lacking -= held[value] * weights[value]
        scale += held[value] * abs(weights[value])
    lacking -= ROUNDING * scale
    taken = 0.0
    for value in _lightest_first(weights):
        if lacking <= 0 or weights[value] >= 0:
            break
        part = min(float(held[value]), -lacking / weights[value])
        taken += part
        lacking += part * weights[value]
    return size if lacking > ROUNDING * scale else int(np.ceil(taken - ROUNDING * size))


@kernel(inner=True)
def _lightest_first(weights: np.ndarray) -> np.ndarray:
    """In one place: to compile a sort takes two seconds."""
    return np.argsort(weights)


@kernel(inner=True)
def _over(held: int, size: int, most: float) -> int:
    """Return the number of records of a value to remove until it is at most a share of the rest."""
    lacking = held - most * size
    return 0 if lacking <= 0 or most >= 1 else int(np.ceil(lacking / (1 - most) - ROUNDING * size))


@kernel(inner=True)
def _recursive(held: np.ndarray, count: int, level: float) -> np.ndarray:
    """c · (all without the l − 1 most frequent) − (the most frequent) > 0."""
    weights, left = np.full(held.size, level), held.copy()
    for _ in range(min(count - 1, held.size)):
        largest = left.argmax()
        weights[largest], left[largest] = 0.0, -1
    weights[held.argmax()] -= 1.0
    return weights


@kernel(inner=True)
def _by_entropy(held: np.ndarray, size: int, level: float) -> int:
    """By tangents of the entropy: Σ g · log(all / (l · p)) is at least what g has too much, whatever shares p are taken."""
    left, most = held.astype(np.float64), 0
    for _ in range(TANGENTS):
        total = left.sum()
        weights = np.zeros(held.size)
        for value in range(held.size):
            if held[value] > 0:
                weights[value] = np.log(total / (level * left[value]))
        fewest = _fewest(held, size, weights)
        most = max(most, fewest)
        rest = float(fewest)
        left = held.astype(np.float64)
        for value in _lightest_first(weights):
            part = min(rest, left[value] - 0.5) if left[value] > 0 else 0.0
            left[value] -= part
            rest -= part
            if rest <= 0:
                break
    return most


@kernel(inner=True)
def _ordered(held: np.ndarray, size: int, level: float, whole: np.ndarray) -> np.ndarray:
    """The signs of what is carried past each value make the distance a weighted sum."""
    rows, carried = float(whole.sum()), 0.0
    signs = np.zeros(held.size)
    for value in range(held.size):
        carried += held[value] / size - whole[value] / rows
        signs[value] = np.sign(carried) / max(1, held.size - 1)
    far, mean = 0.0, 0.0
    weights = np.zeros(held.size)
    for value in range(held.size - 1, -1, -1):
        far += signs[value]
        weights[value] = -far
        mean += far * whole[value] / rows
    return weights + (level + mean)


@kernel(inner=True)
def _tree(held: np.ndarray, size: int, level: float, whole: np.ndarray, tree: np.ndarray) -> np.ndarray:
    """The signs of what each ancestor holds too much make the distance a weighted sum."""
    rows = float(whole.sum())
    weights = np.zeros(held.size)
    over = np.zeros(held.size)
    for h in range(tree.shape[0]):
        over[:] = 0.0
        for value in range(held.size):
            over[tree[h, value]] += held[value] / size - whole[value] / rows
        for value in range(held.size):
            weights[value] -= np.sign(over[tree[h, value]]) / (2.0 * tree.shape[0])
    mean = 0.0
    for value in range(held.size):
        mean -= weights[value] * whole[value] / rows
    return weights + (level + mean)


@kernel(inner=True)
def _by_share(held: np.ndarray, size: int, kind: int, rows: int, level: float, whole: np.ndarray) -> int:
    """Each value by itself: its share may be too great, or for disclosure too small."""
    most = 0
    for value in range(held.size):
        if whole[value] == 0:
            continue
        share = whole[value] / rows
        if kind == attributes.DISCLOSURE:
            if held[value] == 0:
                return size
            most = max(most, int(np.ceil(size - held[value] * level / share - ROUNDING * size)))
            most = max(most, _over(held[value], size, share * level))
        else:
            growth = min(level, -np.log(share)) if kind == attributes.ENHANCED_LIKENESS else level
            most = max(most, _over(held[value], size, share * (1 + growth)))
    return most


# δ-disclosure and β-likeness ------------------------------------------------------------------------------------------
# Rules that compare the share of each sensitive value in a class with its share in the whole table.
#
# Whole numbers are multiplied and divided once, so that 3/10 against 1/10 is exactly 3. `rows` is the number of all
# records (or people), `whole` the number of them with each value.


@kernel(inner=True)
def breaks_disclosure(held: np.ndarray, size: int, rows: int, level: float, whole: np.ndarray, every: bool) -> int:
    """Return whether a value is `level` times as frequent in the class as in the whole table, or the other way round.
    O(values).

    `every`: a value that the class lacks breaks the rule; otherwise it is not asked.
    """
    for value in range(held.size):
        if held[value] == 0:
            if every and whole[value] > 0:
                return 1
            continue
        here, everywhere = held[value] * rows, whole[value] * size
        if here / everywhere >= level or everywhere / here >= level:
            return 1
    return 0


@kernel(inner=True)
def breaks_likeness(held: np.ndarray, size: int, rows: int, level: float, whole: np.ndarray, enhanced: bool) -> int:
    """Return whether a value's share grows by more than `level` times its share in the whole table; enhanced: or −ln of
    it. O(values).
    """
    for value in range(held.size):
        here, everywhere = held[value] * rows, whole[value] * size
        if here <= everywhere:
            continue
        most = min(level, -np.log(whole[value] / rows)) if enhanced else level
        if (here - everywhere) / everywhere > most:
            return 1
    return 0
