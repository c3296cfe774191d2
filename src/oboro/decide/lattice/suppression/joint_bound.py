"""One weighted sum that tells of all demands on the suppressed group at once what mending it costs at least.

Each demand alone says: whatever set of classes mends the group adds at least as much as it lacks (`GroupDemand.valid_sum`). Any
mixture of such sums, none with a negative part, is one too, also with that of the room that the limit leaves. The mixture under
which the cheapest fractional set costs most is the dual of a linear program; it is sought by steps along a subgradient, and new
sums are taken where the fractional set still breaks a demand. Every mixture is sound; a good one leaves few classes in doubt:

- a class that costs so much more than it is worth that no better set has it stays;
- a class without which no better set is left joins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oboro.decide.lattice.suppression.group_demands import GroupDemand

__all__ = ["JointBound", "joint_bound"]

ROUNDS = 8  # in each, sums are added where the fractional set breaks a demand
STEPS = 60  # along a subgradient, in each round
PATIENCE = 5  # steps without a better bound before they become shorter
ROUNDING = 1e-9  # what sums may be wrong by, as a part of what they add up


@dataclass(frozen=True, eq=False)
class JointBound:
    """What was found: a bound, and the sum it comes from."""

    least: float
    """What the classes that join cost at least."""
    gap: float
    """What the sum of the gains of these classes must reach."""
    gains: np.ndarray
    sums: tuple[tuple[float, np.ndarray], ...]
    """Those that were mixed, without that of the room."""
    reduced: np.ndarray
    """What each class costs beyond what it adds: with it (or, where that is negative, without it) the bound rises by so much."""


def joint_bound(
    demands: Sequence[GroupDemand], sizes: np.ndarray, costs: np.ndarray, room: int, high: float
) -> JointBound | None:
    """A good mixture, if there is any; `high` is what the best set that is known costs. O(rounds · steps · sums · classes)."""
    scale = float(costs.max(initial=0.0))
    if scale <= 0 or not np.isfinite(high):
        return None
    sums = [_scaled(-float(room), -sizes.astype(np.float64))]
    sums += [_scaled(*one) for demand in demands if (one := demand.valid_sum(demand.base)) is not None]
    parts, found = _best_alone(sums, costs), None
    for _ in range(ROUNDS):
        gaps, gains = np.array([gap for gap, _ in sums]), np.stack([gain for _, gain in sums])
        parts = np.append(parts, np.zeros(gaps.size - parts.size))
        parts, taken = _mixed(parts, gaps, gains, costs, high)
        found = _bound(parts, gaps, gains, costs, sums)
        more = [one for demand in demands if (one := demand.valid_sum(demand.base + taken @ demand.each)) is not None]
        broken = [_scaled(gap, gain) for gap, gain in more if gain @ taken < gap * (1 - 1e-4) - 1e-12]
        if not broken or found.least > high:
            break
        sums += broken
    return found


def _scaled(gap: float, gains: np.ndarray) -> tuple[float, np.ndarray]:
    """The same sum in a measure in which the greatest gain is 1."""
    most = float(np.abs(gains).max(initial=0.0)) or 1.0
    return gap / most, gains / most


def _best_alone(sums: Sequence[tuple[float, np.ndarray]], costs: np.ndarray) -> np.ndarray:
    """A first mixture: the one sum that tells most by itself, at the price at which the cheapest classes reach it in part."""
    best, parts = 0.0, np.zeros(len(sums))
    for i, (gap, gains) in enumerate(sums):
        helping = np.flatnonzero(gains > 0)
        prices = costs[helping] / gains[helping]
        order = np.argsort(prices, kind="stable")
        last = int(np.searchsorted(np.cumsum(gains[helping][order]), gap))
        if gap <= 0 or last >= order.size:
            continue
        price = float(prices[order[last]])
        least = price * gap + float(np.minimum(costs - price * gains, 0.0).sum())
        if least > best:
            best, parts = least, np.eye(len(sums))[i] * price
    return parts


def _mixed(
    parts: np.ndarray, gaps: np.ndarray, gains: np.ndarray, costs: np.ndarray, high: float
) -> tuple[np.ndarray, np.ndarray]:
    """The best mixture that steps along a subgradient find from a first one, and how much of each class was taken on the way."""
    best, kept, length, since = -np.inf, parts, 1.0, 0
    share, taken = 0.0, np.zeros(costs.size)
    for _ in range(STEPS):
        reduced = costs - parts @ gains
        some = (reduced < 0).astype(np.float64)
        least = float(parts @ gaps + reduced @ some)
        since += 1
        if least > best:
            best, kept, since = least, parts, 0
        length, since = (length / 2, 0) if since >= PATIENCE else (length, since)
        lacking = gaps - gains @ some
        square = float(lacking @ lacking)
        if square == 0.0:
            return kept, some
        step = length * max(high - least, 1e-6 * float(costs.max())) / square
        parts = np.maximum(parts + step * lacking, 0.0)
        share += step
        taken += (some - taken) * (step / share)
    return kept, taken


def _bound(
    parts: np.ndarray, gaps: np.ndarray, gains: np.ndarray, costs: np.ndarray, sums: list[tuple[float, np.ndarray]]
) -> JointBound:
    gap, gain = float(parts @ gaps), parts @ gains
    wrong = ROUNDING * float(parts @ (np.abs(gaps) + np.abs(gains).sum(axis=1)))
    reduced = costs - gain
    least = gap - wrong + float(np.minimum(reduced, 0.0).sum())
    return JointBound(least - ROUNDING * float(costs.sum()), gap - wrong, gain, tuple(sums[1:]), reduced)
