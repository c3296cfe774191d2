"""Whether a class breaks a rule about sensitive values, from the values that it holds alone, without making any array.

As `node_classes.breaks` and `least_removed`, for classes that hold few of all values: `some[:n]` are the values that the class
holds, `held` how often each. Sums of whole numbers are the same in any order, and are divided once, so the verdicts are the same.
"""

from __future__ import annotations

import numpy as np

from oboro.decide.lattice.kernels import rule_kinds as kinds
from oboro.kernels import kernel

__all__ = ["fewest_gone", "verdict"]

SLACK = 1e-9  # entropies closer to the limit than this are left to exact arithmetic
ROUNDING = 1e-9  # what sums of weights may be wrong by, as a part of what they add up
TANGENTS = 3  # of the entropy, each where the one before says that the class would be left


@kernel(inner=True, bare=True)
def verdict(
    held: np.ndarray,
    some: np.ndarray,
    n: int,
    size: int,
    kind: int,
    count: int,
    level: float,
    whole: np.ndarray,
    tree: np.ndarray,
    above: np.ndarray,
    caps: np.ndarray,
    bits: np.ndarray,
    surplus: np.ndarray,
) -> int:
    """Whether the class breaks the rule: 0 no, 1 yes, 2 too close for logarithms. O(values held), ordered O(values)."""
    most = np.int64(0)
    for j in range(n):
        most = max(most, held[some[j]])
    if kind == kinds.DISTINCT:
        return 1 if n < count or (count > 1 and most >= size) else 0
    if kind == kinds.RECURSIVE:
        return 1 if count > 1 and most >= size else _breaks_recursive(held, some, n, size, most, count, level, surplus)
    if kind == kinds.ENTROPY:
        return _breaks_entropy(held, some, n, size, most, level, bits)
    if kind == kinds.ALPHA:
        watched = most if count < 0 else held[count]
        return 1 if watched / size > level else 0
    if kind == kinds.T_ORDERED:
        return 1 if _ordered_distance(held, size, whole) > level else 0
    if kind == kinds.T_TREE:
        return 1 if _tree_distance(held, some, n, size, whole, tree, above, surplus) > level else 0
    if kind in (kinds.DISCLOSURE, kinds.DISCLOSURE_OF_HELD, kinds.BASIC_LIKENESS, kinds.ENHANCED_LIKENESS):
        return _breaks_shares(held, some, n, size, kind, count, level, whole, caps)
    raise ValueError("a kind of rule that this kernel does not know")


@kernel(inner=True, bare=True)
def _breaks_recursive(
    held: np.ndarray, some: np.ndarray, n: int, size: int, most: int, count: int, level: float, largest: np.ndarray
) -> int:
    """As in `node_classes`."""
    rest = size - (most if count == 2 else _sum_of_largest(held, some, n, min(count - 1, n), largest))
    return 0 if rest > 0 and most / rest < level else 1


@kernel(inner=True, bare=True)
def _breaks_entropy(
    held: np.ndarray, some: np.ndarray, n: int, size: int, most: int, level: float, bits: np.ndarray
) -> int:
    """From x · log x of whole numbers: size · (entropy − log(level))."""
    if most * n == size:
        return 1 if n < level else 0  # all equally frequent: exactly log(n)
    over = _times_log(size, bits) - size * np.log(level)
    for j in range(n):
        over -= _times_log(held[some[j]], bits)
    if abs(over) < SLACK * size:
        return 2
    return 1 if over < 0 else 0


@kernel(inner=True, bare=True)
def _times_log(number: int, bits: np.ndarray) -> float:
    return bits[number] if number < bits.size else number * np.log(np.float64(number))


@kernel(inner=True, bare=True)
def _breaks_shares(
    held: np.ndarray,
    some: np.ndarray,
    n: int,
    size: int,
    kind: int,
    rows: int,
    level: float,
    whole: np.ndarray,
    caps: np.ndarray,
) -> int:
    """Disclosure and likeness; `caps` has how much a value's share may grow, and last how many values there are."""
    if kind == kinds.DISCLOSURE and n < caps[whole.size]:
        return 1
    for j in range(n):
        value = some[j]
        here, everywhere = held[value] * rows, whole[value] * size
        if kind in (kinds.DISCLOSURE, kinds.DISCLOSURE_OF_HELD):
            if here / everywhere >= level or everywhere / here >= level:
                return 1
        elif here > everywhere and (here - everywhere) / everywhere > caps[value]:
            return 1
    return 0


@kernel(inner=True, bare=True)
def _ordered_distance(held: np.ndarray, size: int, whole: np.ndarray) -> float:
    rows = np.int64(0)
    for value in range(whole.size):
        rows += whole[value]
    moved, carried = 0.0, np.int64(0)
    for value in range(whole.size):
        carried += held[value] * rows - whole[value] * size
        moved += abs(carried)
    return moved / (max(1, whole.size - 1) * float(rows) * size)


@kernel(inner=True, bare=True)
def _tree_distance(
    held: np.ndarray,
    some: np.ndarray,
    n: int,
    size: int,
    whole: np.ndarray,
    tree: np.ndarray,
    above: np.ndarray,
    surplus: np.ndarray,
) -> float:
    """`above[h, ancestor]` is how many records of the table an ancestor holds. Those that the class lacks hold too few: so much
    that all of them together lack what the others have too much."""
    rows, moved = above[0, whole.size], np.int64(0)
    for h in range(tree.shape[0]):
        moved += rows * size
        for j in range(n):
            surplus[tree[h, some[j]]] += held[some[j]]
        for j in range(n):
            ancestor = tree[h, some[j]]
            if surplus[ancestor] > 0:
                usual = above[h, ancestor] * size
                moved += abs(surplus[ancestor] * rows - usual) - usual
                surplus[ancestor] = 0
    return float(moved / (2.0 * rows * size * tree.shape[0]))


@kernel(inner=True, bare=True)
def fewest_gone(
    held: np.ndarray,
    some: np.ndarray,
    n: int,
    size: int,
    k: int,
    kind: int,
    count: int,
    level: float,
    whole: np.ndarray,
    tree: np.ndarray,
    above: np.ndarray,
    caps: np.ndarray,
    surplus: np.ndarray,
    weights: np.ndarray,
    left: np.ndarray,
) -> int:
    """At least how many records of a class that breaks a weak rule go in every finer node; all, where fewer than k would be left.

    See `least_removed` for why. `surplus` is zeroed, `weights` and `left` are written on.
    """
    fewest = np.int64(0)
    if kind in kinds.MONOTONE:  # no part of a class keeps what the class breaks
        fewest = size
    elif kind == kinds.RECURSIVE:
        fewest = size if n < count else size - _kept_recursive(held, some, n, size, count, level, surplus)
    elif kind == kinds.ENTROPY:
        fewest = size if n < level else _by_entropy(held, some, n, size, k, level, weights, left)
    elif kind == kinds.T_ORDERED:
        _ordered(held, size, level, whole, weights)
        fewest = _fewest(held, some, n, size, weights)
    elif kind == kinds.T_TREE and tree.shape[0] > 1:
        _tree(held, some, n, size, level, whole, tree, above, surplus, weights)
        fewest = _fewest(held, some, n, size, weights)
    elif kind in (kinds.T_TREE, kinds.ALPHA, kinds.DISCLOSURE, kinds.BASIC_LIKENESS, kinds.ENHANCED_LIKENESS):
        fewest = _by_shares(held, some, n, size, kind, count, level, whole, above[0, whole.size], caps, weights)
    elif kind != kinds.DISCLOSURE_OF_HELD:  # nothing follows of finer nodes
        raise ValueError("a kind of rule that this kernel does not know")
    return size if fewest > 0 and size - fewest < k else fewest


@kernel(inner=True, bare=True)
def _kept_at_most(held: np.ndarray, some: np.ndarray, n: int, most: float, rest: float, weights: np.ndarray) -> int:
    """At most how many of the records stay where each value has at most a share of them (`weights`), or where all that values have
    above theirs is at most the share 1 − `rest`; no more than `most`.

    With T records, the sum of min(held, share · T) must be at least rest · T. That is concave in T, so nothing is kept beyond where
    a tangent meets rest · T, and the next tangent is taken there.
    """
    kept = most
    for _ in range(n + 1):
        below, above = 0.0, 0.0
        for j in range(n):
            if held[some[j]] < weights[some[j]] * kept:
                below += held[some[j]]
            else:
                above += weights[some[j]]
        if rest - above <= ROUNDING or below >= (rest - above) * kept * (1 - ROUNDING):
            break
        kept = below / (rest - above)
    return np.int64(np.floor(kept + ROUNDING * (most + 1)))


@kernel(inner=True, bare=True)
def _by_shares(
    held: np.ndarray,
    some: np.ndarray,
    n: int,
    size: int,
    kind: int,
    count: int,
    level: float,
    whole: np.ndarray,
    rows: int,
    caps: np.ndarray,
    weights: np.ndarray,
) -> int:
    """Alpha, disclosure, likeness and the equal distance: the share of each value is limited, or what shares have too much."""
    most = np.float64(size)
    if kind == kinds.DISCLOSURE and n < caps[whole.size]:
        return size
    for j in range(n):
        share = whole[some[j]] / rows
        if kind == kinds.T_TREE:
            weights[some[j]] = share
        elif kind == kinds.ALPHA:
            weights[some[j]] = level if count < 0 or some[j] == count else 1.0
        elif kind == kinds.DISCLOSURE:
            weights[some[j]] = share * level
            most = min(most, held[some[j]] * level / share)
        else:
            weights[some[j]] = share * (1 + caps[some[j]])
    rest = 1.0 - level if kind == kinds.T_TREE else 1.0
    return size - min(size, _kept_at_most(held, some, n, most, rest, weights))


@kernel(inner=True, bare=True)
def _kept_recursive(
    held: np.ndarray, some: np.ndarray, n: int, size: int, count: int, level: float, largest: np.ndarray
) -> int:
    """No value stays more often than c times what the values but the l − 1 most frequent have together."""
    rest = size - _sum_of_largest(held, some, n, min(count - 1, n), largest)
    kept, most = np.int64(0), np.int64(np.floor(level * rest * (1 + ROUNDING)))
    for j in range(n):
        kept += min(held[some[j]], most)
    return kept


@kernel(inner=True, bare=True)
def _sum_of_largest(held: np.ndarray, some: np.ndarray, n: int, places: int, largest: np.ndarray) -> int:
    """How many records the most frequent values have together; these are put in order in `largest`, which is zeroed again."""
    total = np.int64(0)
    for j in range(n if places > 0 else 0):
        number, spot = held[some[j]], places - 1
        if number <= largest[spot]:
            continue
        while spot > 0 and largest[spot - 1] < number:
            largest[spot] = largest[spot - 1]
            spot -= 1
        largest[spot] = number
    for j in range(places):
        total += largest[j]
        largest[j] = 0
    return total


@kernel(inner=True, bare=True)
def _fewest(held: np.ndarray, some: np.ndarray, n: int, size: int, weights: np.ndarray) -> int:
    """The fewest records whose removal adds up what the weighted sum of `held` lacks to be 0. The heaviest value is looked for
    again and again, for few are needed; `weights` of what is taken become 0."""
    lacking, scale = 0.0, 0.0
    for j in range(n):
        part = held[some[j]] * weights[some[j]]
        lacking -= part
        scale += abs(part)
    lacking -= ROUNDING * scale
    taken = 0.0
    for _ in range(n):
        heaviest = some[0]
        for j in range(1, n):
            if weights[some[j]] < weights[heaviest]:
                heaviest = some[j]
        weight = weights[heaviest]
        if lacking <= 0 or weight >= 0:
            break
        part = min(float(held[heaviest]), -lacking / weight)
        taken += part
        lacking += part * weight
        weights[heaviest] = 0.0
    return size if lacking > ROUNDING * scale else np.int64(np.ceil(taken - ROUNDING * size))


@kernel(inner=True, bare=True)
def _by_entropy(
    held: np.ndarray, some: np.ndarray, n: int, size: int, k: int, level: float, weights: np.ndarray, left: np.ndarray
) -> int:
    """By tangents of the entropy, see `least_removed`."""
    most, total = np.int64(0), np.float64(size)
    for j in range(n):
        left[some[j]] = held[some[j]]
    for _ in range(TANGENTS):
        for j in range(n):
            weights[some[j]] = np.log(total / (level * left[some[j]]))
        fewest = _fewest(held, some, n, size, weights)
        if fewest <= most or size - fewest < k:
            return max(most, fewest)
        most, rest, total = fewest, np.float64(fewest), 0.0
        for j in range(n):
            left[some[j]] = held[some[j]]
        for _ in range(n):  # the most frequent values go first
            largest = some[0]
            for j in range(1, n):
                if left[some[j]] > left[largest]:
                    largest = some[j]
            part = min(rest, left[largest] - 0.5)
            left[largest] = -(left[largest] - part)  # below 0: taken
            rest -= part
            if rest <= 0:
                break
        for j in range(n):
            left[some[j]] = abs(left[some[j]])
            total += left[some[j]]
    return most


@kernel(inner=True, bare=True)
def _ordered(held: np.ndarray, size: int, level: float, whole: np.ndarray, weights: np.ndarray) -> None:
    """The signs of what is carried past each value make the distance a weighted sum."""
    rows, carried = np.int64(0), np.int64(0)
    for value in range(whole.size):
        rows += whole[value]
    for value in range(whole.size):
        carried += held[value] * rows - whole[value] * size
        weights[value] = np.sign(carried) / max(1, whole.size - 1)
    far, mean = 0.0, 0.0
    for value in range(whole.size - 1, -1, -1):
        far += weights[value]
        weights[value] = -far
        mean += far * whole[value]
    for value in range(whole.size):
        weights[value] += level + mean / rows


@kernel(inner=True, bare=True)
def _tree(
    held: np.ndarray,
    some: np.ndarray,
    n: int,
    size: int,
    level: float,
    whole: np.ndarray,
    tree: np.ndarray,
    above: np.ndarray,
    surplus: np.ndarray,
    weights: np.ndarray,
) -> None:
    """The signs of what each ancestor holds too much make the distance a weighted sum; those that the class lacks hold too few."""
    rows, half = above[0, whole.size], 0.5 / tree.shape[0]
    mean = np.int64(0)
    for j in range(n):
        weights[some[j]] = level
    for h in range(tree.shape[0]):
        mean -= rows
        for j in range(n):
            surplus[tree[h, some[j]]] += held[some[j]]
        for j in range(n):
            ancestor = tree[h, some[j]]
            sign = np.sign(surplus[ancestor] * rows - above[h, ancestor] * size)
            weights[some[j]] -= sign * half
        for j in range(n):
            ancestor = tree[h, some[j]]
            if surplus[ancestor] > 0:
                mean += (np.sign(surplus[ancestor] * rows - above[h, ancestor] * size) + 1) * above[h, ancestor]
                surplus[ancestor] = 0
    for j in range(n):
        weights[some[j]] += mean * half / rows
