"""How to search: which index, and what it learns from a sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from oboro.decide.neighbours.kernels.live_points import Anchors, LivePoints, PointRows
from oboro.decide.neighbours.kernels.nearest_search import CandidateLists, Neighbours
from oboro.errors import UsageError
from oboro.text import Message

__all__ = ["Kind", "SearchPlan", "anchors_of", "empty", "no_anchors", "no_lists", "no_neighbours", "places"]

Kind = Literal["auto", "exhaustive", "fdh", "fdhq"]
# Points among which anchors are spread out. The paper does not say how many; the fewer, the less the anchors are spread. Largest
# region of FDH over the paper's (1M points, median of nine draws): 30 points 1.18, 100 points 0.94, 1,000 points 0.68. For
# FDHQ it makes no difference. docs/benchmarks.md has the table.
SPREAD = 100
MEASURED = 10_000  # points that radii are measured on
MOST_REGIONS = 1 << 20


@dataclass(frozen=True)
class SearchPlan:
    """An index and its parameters, checked.

    - `exhaustive`: every record is measured.
    - `fdh`: each anchor's radius halves the data, so `anchors` of them cut it into 2^anchors regions (Yiu et al.).
    - `fdhq`: each anchor has three radii, 4^anchors regions (Yamayoshi et al.); `split` says how they part the data, and
      may have any number of parts.
    - `auto`: exact like `exhaustive`, by matrix products for `batch` heads at once.

    With `sets` > 1 (MA-) a search looks into the record's own region of each set. `least` is 2pk: with fewer candidates
    neighbouring regions are searched too.

    >>> SearchPlan.of("fdhq", window=10_000).regions
    1024
    >>> SearchPlan.of("fdh", anchors=12).regions
    4096
    """

    kind: Kind
    anchors: int
    sets: int
    split: tuple[float, ...]
    batch: int

    @staticmethod
    def of(
        kind: Kind,
        *,
        anchors: int | None = None,
        sets: int | None = None,
        split: Sequence[float] | None = None,
        batch: int | None = None,
        window: int = 10_000,
    ) -> SearchPlan:
        """Fill in what is not said: about ten records a region, 100 sets, quarters, 128 heads at once."""
        regions = kind in ("fdh", "fdhq")
        for name, value, fits in (
            ("anchors", anchors, regions),
            ("sets", sets, regions),
            ("split", split, kind == "fdhq"),
            ("batch", batch, kind == "auto"),
        ):
            if value is not None and not fits:
                raise UsageError(Message("error_decide.idle_option", name=name, kind=kind))
        parts = tuple(split or (25, 25, 25, 25)) if kind == "fdhq" else (50.0, 50.0)
        if len(parts) < 2 or min(parts) <= 0 or not math.isfinite(sum(parts)):
            raise UsageError(Message("error_decide.split", parts=str(list(parts))))
        each = anchors or max(1, round(math.log(max(window / 10, 2), len(parts))))
        if regions and len(parts) ** each > MOST_REGIONS:
            raise UsageError(Message("error_decide.anchors", each=each, parts=len(parts), most=MOST_REGIONS))
        return SearchPlan(kind, each if regions else 0, (sets or 100) if regions else 0, parts, batch or 128)

    @property
    def base(self) -> int:
        """Parts an anchor cuts the data into."""
        return len(self.split)

    @property
    def regions(self) -> int:
        """Regions of one set of anchors."""
        return self.base**self.anchors if self.anchors else 0

    @property
    def cuts(self) -> np.ndarray:
        """The shares of the data within each radius."""
        cuts: np.ndarray = np.cumsum(self.split)[:-1] / sum(self.split)
        return cuts


def anchors_of(points: np.ndarray, plan: SearchPlan, rng: np.random.Generator) -> Anchors:
    """Anchors that are spread out among the points, and the radii that part the points as planned.

    For each set: a random sample of 100 points, one of them at random, then again and again the one that is farthest
    from all anchors so far (farthest-first traversal). Radii are quantiles of the distances of up to 10,000 points: the
    ⌈cn⌉-th distance, or the mean of the cn-th and the next where cn is whole. O(s · A · sample · d).
    """
    if plan.sets == 0 or len(points) == 0:
        return no_anchors(points.shape[1])
    measured = _sample(points, MEASURED, rng)
    norms = (measured**2).sum(axis=1)
    chosen = [_spread(_sample(points, SPREAD, rng), plan.anchors, rng) for _ in range(plan.sets)]
    radii = np.concatenate([_radii(measured, norms, some, plan.cuts) for some in chosen], axis=1)
    places = np.ascontiguousarray(np.concatenate(chosen).T)
    return Anchors(places, radii, plan.sets, plan.anchors, np.empty(places.shape[1]))


def no_anchors(width: int) -> Anchors:
    """For searches that need none."""
    return Anchors(np.empty((width, 0)), np.empty((1, 0)), 0, 0, np.empty(0))


def _sample(points: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    return points[rng.permutation(len(points))[:most]]


def _spread(points: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Farthest first; of equally far ones the first."""
    chosen = [int(rng.integers(len(points)))]
    distance = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < count:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return points[chosen]


def _radii(points: np.ndarray, norms: np.ndarray, anchors: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    squared = norms[:, None] - 2 * points @ anchors.T + (anchors**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squared, 0))
    radii: np.ndarray = np.quantile(distances, cuts, axis=0, method="averaged_inverted_cdf")
    return radii


def empty(slots: int, width: int, traits: int, plan: SearchPlan) -> LivePoints:
    """Room for records; nobody there. About (40 + 9d + 4c) bytes a slot, and 12 s for regions or 4d + 20 for `auto`."""
    rows = slots if plan.kind == "auto" else 0
    return LivePoints(
        at=places(slots, width, traits),
        alive=np.zeros(slots, dtype=np.uint8),
        number=np.full(slots, -1, dtype=np.int64),
        keys=np.zeros((slots, plan.sets), dtype=np.int32),
        first=np.full((plan.sets, plan.regions), -1, dtype=np.int32),
        after=np.full((slots, plan.sets), -1, dtype=np.int32),
        before=np.full((slots, plan.sets), -1, dtype=np.int32),
        stamp=np.zeros(slots, dtype=np.int64),
        some=np.zeros(slots, dtype=np.int64),
        shift=np.zeros(width),
        wide=np.zeros((rows, width + 1), dtype=np.float32),
        owner=np.zeros(rows, dtype=np.int64),
        row=np.zeros(rows, dtype=np.int64),
        rows=np.zeros(1, dtype=np.int64),
    )


def places(slots: int, width: int, traits: int) -> PointRows:
    """Room for points and categories."""
    return PointRows(
        np.zeros((slots, width)),
        np.zeros((slots, traits), dtype=np.int32),
        np.zeros((slots, width), dtype=np.uint8),
        np.zeros(slots, dtype=np.int32),
    )


def no_neighbours(most: int) -> Neighbours:
    """Room for so many neighbours."""
    return Neighbours(np.empty(most, dtype=np.int64), np.empty(most), np.zeros(2, dtype=np.int64))


def no_lists(slots: int, heads: int, room: int, width: int, late: int) -> CandidateLists:
    """Room for the lists of so many heads, and for `late` records that come later; with none they are not written down."""
    return CandidateLists(
        row=np.full(slots, -1, dtype=np.int64),
        slots=np.full((heads, room), -1, dtype=np.int64),
        least=np.zeros((heads, room)),
        bound=np.zeros(heads),
        since=np.zeros(1, dtype=np.int64),
        places=np.zeros((width, heads), dtype=np.float32),
        reach=np.zeros(heads),
        late=np.zeros((heads, late), dtype=np.int64),
        lates=np.full(heads, late + 1, dtype=np.int64),
        turn=np.zeros(2, dtype=np.int64),
        apart=np.zeros(heads, dtype=np.float32),
    )
