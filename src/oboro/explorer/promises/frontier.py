"""What each promise costs: the best choice of levels for every k and every limit on suppression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from oboro.explorer.answers import FrontierPoint, plain
from oboro.explorer.promises.other_curves import CURVES

if TYPE_CHECKING:
    from oboro.explorer.answers import Curve, Solution

__all__ = ["Cliff", "Frontier", "level_points"]

CLIFF = 2.0  # times the loss of the point before
STEEP = 0.05  # and at least so much more


@dataclass(frozen=True)
class Cliff:
    """Where the loss jumps from one k to the next."""

    curve: Curve
    suppress: float
    k: tuple[int, int]
    loss: tuple[float, float]


def level_points(
    solve: Callable[..., Solution],
    ks: Sequence[int],
    suppress: Sequence[float],
    over: Callable[[], bool] | None,
    *,
    hardest_first: bool,
) -> Iterator[FrontierPoint]:
    """A point for each k and each limit; each search begins with the best that is known to keep its promise.

    Where sizes alone decide, the hardest promise comes first: what keeps it keeps every weaker one too. On Adult that saves a third
    of the looks. Where classes are asked for more, a look answers no smaller k, and the smallest comes first: half the looks.
    """
    kept: dict[tuple[int, float], tuple[float, Any]] = {}
    for k in sorted(set(ks), reverse=hardest_first):
        for share in sorted(set(suppress)):
            if over is not None and over():
                return
            harder = [one for (more, less), one in kept.items() if more >= k and less <= share]
            found = solve(k, share, [levels for _, levels in sorted(harder)[:1]])
            if found.best is not None and found.loss is not None:
                kept[k, share] = found.loss, tuple(found.best.levels.values())
            elif found.stopped is not None:
                return
            yield FrontierPoint(
                found.version,
                curve="k_anonymize",
                k=k,
                suppress=share,
                loss=found.loss,
                suppressed=0 if found.best is None else found.best.suppressed,
                exact=found.exact,
                bound=found.bound,
                levels=found.levels,
                why=found.why,
            )


@dataclass(frozen=True)
class Frontier:
    """Points of one state, as a list that shows itself in a notebook."""

    points: tuple[FrontierPoint, ...]

    def __iter__(self) -> Iterator[FrontierPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def lines(self) -> dict[tuple[Curve, float], list[FrontierPoint]]:
        """The points that have a loss, by curve and limit, by k."""
        out: dict[tuple[Curve, float], list[FrontierPoint]] = {}
        for point in sorted(self.points, key=lambda one: (CURVES.index(one.curve), one.suppress, one.k)):
            if point.loss is not None:
                out.setdefault((point.curve, point.suppress), []).append(point)
        return out

    @property
    def cliffs(self) -> list[Cliff]:
        """Where a slightly larger k costs far more."""
        found = []
        for (curve, suppress), points in self.lines().items():
            for a, b in pairwise(points):
                assert a.loss is not None
                assert b.loss is not None
                if b.loss >= CLIFF * a.loss and b.loss - a.loss >= STEEP:
                    found.append(Cliff(curve, suppress, (a.k, b.k), (a.loss, b.loss)))
        return found

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {"points": plain(self.points), "cliffs": plain(self.cliffs)}

    def svg(self, lang: str | None = None) -> str:
        """The picture, in one language (None: that of the system)."""
        from oboro.explorer.notebook import frontier_svg
        from oboro.text.language import system_language

        return frontier_svg(self, lang or system_language())

    def _repr_html_(self) -> str:
        return self.svg()
