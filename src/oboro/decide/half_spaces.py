"""Half-spaces that separate a class which breaks a rule from all that keep it.

The histograms of sensitive values that keep a rule are a convex cone (for distinct diversity they are not, and values are counted
instead). A histogram h outside it is separated by weights w with w · h < 0 and w · g ≥ 0 for every g that keeps the rule. So if
some classes are joined to h and the whole keeps the rule, then the sum of w · g over these classes is at least −w · h.
"""

from __future__ import annotations

import numpy as np

from oboro.decide.lattice.kernels import rule_kinds

__all__ = ["lacking", "lacking_at"]

STRICT = 1e-9  # what a strict inequality lacks where both sides are equal
How = tuple[int, int, float, np.ndarray, np.ndarray]  # kind, count, level, whole and tree of a rule
MIXED = np.array([1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6])


def lacking(
    kind: int, count: int, level: float, whole: np.ndarray, tree: np.ndarray, held: np.ndarray, each: np.ndarray
) -> tuple[float, np.ndarray]:
    """What a class with these values lacks, and what each of some others adds at most. O(values · classes).

    Nothing is lacking (0 or less) where no half-space was found: then nothing is known.
    """
    if kind == rule_kinds.DISTINCT:
        new = (each[:, held == 0] > 0).sum(axis=1)
        return float(count - np.count_nonzero(held)), new.astype(np.float64)
    if kind == rule_kinds.ENTROPY:
        return _entropy(level, held, each)
    weights = _weights((kind, count, level, whole, tree), held, held)
    gap = float(-(held @ weights))
    return (max(gap, STRICT) if rule_kinds.KINDS[kind].strict else gap), each @ weights


def lacking_at(how: How, held: np.ndarray, base: np.ndarray, each: np.ndarray) -> tuple[float, np.ndarray] | None:
    """What a class `base` lacks, and what each of some others adds, by a half-space that is told by a third one, `held`.

    It holds whoever of the others joins `base`, and whether `held` breaks the rule or not; most is told where it does.
    """
    kind = how[0]
    if kind == rule_kinds.DISTINCT:
        return lacking(*how, base, each)
    weights: np.ndarray | None = _weights(how, held, base) if kind != rule_kinds.ENTROPY else None
    if kind == rule_kinds.ENTROPY:
        weights = _tangent(how[2], held, base, each)
    return None if weights is None else (float(-(base @ weights)), each @ weights)


def _tangent(level: float, held: np.ndarray, base: np.ndarray, each: np.ndarray) -> np.ndarray | None:
    """Of several tangents the one by which `held` lacks most, in the measure of the most helpful class."""
    weights = _tangents(level, held, each.sum(axis=0) + base)
    told = -(weights @ held) / (each.astype(np.float64) @ weights.T).max(axis=0, initial=STRICT)
    best = int(told.argmax())
    return weights[best] if told[best] > 0 else None


def _tangents(level: float, held: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """The weights of tangents at a class mixed with some of the rest, a row for each mixture."""
    mixed = held + np.multiply.outer(MIXED, rest)
    share = level * mixed / mixed.sum(axis=1, keepdims=True)
    return np.asarray(-np.log(np.where(mixed > 0, share, 1.0)))


def _weights(how: How, held: np.ndarray, surely: np.ndarray) -> np.ndarray:
    """The weights of a half-space. Values of `surely` are held whoever joins."""
    kind, count, level, whole, tree = how
    if kind == rule_kinds.RECURSIVE:  # c · (all without the l − 1 most frequent) − (the most frequent) > 0
        ranked = np.argsort(-held, kind="stable")
        weights = np.full(held.size, level)
        weights[ranked[: count - 1]] = 0.0
        weights[ranked[0]] -= 1.0
        return weights
    if kind == rule_kinds.ALPHA:  # α · all − (one value) ≥ 0
        weights = np.full(held.size, level)
        weights[count if count >= 0 else int(held.argmax())] -= 1.0
        return weights
    if rule_kinds.KINDS[kind].by_share:
        return _of_share(kind, count, level, whole, held, surely)
    if kind not in (rule_kinds.T_ORDERED, rule_kinds.T_TREE):
        raise ValueError(f"no half-space is known of kind {kind} of rules")
    shares = whole / max(int(whole.sum()), 1)
    surplus = held / max(int(held.sum()), 1) - shares
    if kind == rule_kinds.T_ORDERED:
        signs = np.sign(np.cumsum(surplus)) / max(1, held.size - 1)
        far = np.cumsum(signs[::-1])[::-1]  # a value is carried past itself and everything after it
        return np.asarray(level + shares @ far - far)
    far = np.zeros(held.size)
    for ancestors in tree:  # the sign of what an ancestor holds too much, for each value under it
        over = np.bincount(ancestors, weights=surplus, minlength=held.size)
        far += np.sign(over)[ancestors] / (2 * tree.shape[0])
    return np.asarray(level + shares @ far - far)


def _of_share(
    kind: int, rows: int, level: float, whole: np.ndarray, held: np.ndarray, surely: np.ndarray
) -> np.ndarray:
    """The value whose share is furthest from what it may be: most · all − (the value) ≥ 0, or (the value) − least · all ≥ 0.

    A value that a class holds stays held, whoever joins; so where only held ones are asked, it must reach its least share.
    """
    shares, size = whole / rows, held.sum()
    growth = np.full(held.size, level)
    if kind == rule_kinds.ENHANCED_LIKENESS:
        growth = np.minimum(level, -np.log(np.maximum(shares, 1 / (2 * rows))))
    disclosure = kind in (rule_kinds.DISCLOSURE, rule_kinds.DISCLOSURE_OF_HELD)
    most = shares * level if disclosure else shares * (1 + growth)
    asked = (surely > 0) if kind == rule_kinds.DISCLOSURE_OF_HELD else (whole > 0) & disclosure
    least = shares / level
    over, under = held - most * size, np.where(asked, least * size - held, -np.inf)
    high, low = int(over.argmax()), int(under.argmax())
    if over[high] >= under[low]:
        weights = np.full(held.size, most[high])
        weights[high] -= 1.0
    else:
        weights = np.full(held.size, -least[low])
        weights[low] += 1.0
    return weights


def _entropy(level: float, held: np.ndarray, each: np.ndarray) -> tuple[float, np.ndarray]:
    """A tangent at the class mixed with some of all others, for a value that it lacks would weigh infinitely much.

    Of several mixtures the one in whose measure the most helpful class adds least.
    """
    weights = _tangents(level, held, each.sum(axis=0) + held)
    gaps, gains = -(weights @ held), each.astype(np.float64) @ weights.T
    lacks = gaps > STRICT * max(1.0, float(held.sum()))
    told = np.where(lacks, gaps / gains.max(axis=0, initial=STRICT), 0.0)
    best = int(told.argmax())
    return (float(gaps[best]), gains[:, best]) if told[best] > 0 else (0.0, np.ones(len(each)))
