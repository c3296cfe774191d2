"""Frontier of a session: the information loss of the best transformation for every k and every suppression limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from oboro.errors import OboroError
from oboro.explorer.answers import Curve, FrontierPoint, SessionAnswer, finished, plain
from oboro.hierarchies.recoding import RecodedColumn
from oboro.measures.information_loss import certainty_penalty
from oboro.privacy.base import MODELS
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.explorer.answers import Solution
    from oboro.techniques import Technique
    from oboro.techniques.base import Outcome, Work
    from oboro.techniques.k_anonymize import KAnonymize

__all__ = ["CURVES", "Cliff", "Frontier", "NearPromise", "level_points", "nearest_promises", "other_points"]


# Points of other methods ----------------------------------------------------------------------------------------------
# The information loss of the same guarantee with levels by class, local recoding and concealment.


CURVES: tuple[Curve, ...] = ("k_anonymize", "k_anonymize_local", "local_recode", "k_conceal")
MOST_CONCEALED = 3000  # records: a concealment takes time that grows with their square


def other_points(
    asked: KAnonymize, work: Work, curve: Curve, ks: list[int], version: int, over: Callable[[], bool] | None
) -> Iterator[FrontierPoint]:
    """Compute one point for each k; where the method does not support it, the point has the reason."""
    for k in ks:
        point = finished(partial(_point, asked, work, curve, k, version), over)
        if point is None:
            return
        yield point


def _point(asked: KAnonymize, work: Work, curve: Curve, k: int, version: int) -> FrontierPoint:
    suppress = asked.suppress if curve == "k_anonymize_local" else 0.0
    figures: dict[str, Any] = {"curve": curve, "k": k, "suppress": suppress, "exact": False, "bound": None}
    why = _cannot(asked, work, curve)
    if why is None:
        try:
            technique = _technique(asked, curve, k)
            technique.require_people(work.schema.person)
            loss, suppressed = _loss(curve, technique.run(work), work)
            return FrontierPoint(version, **figures, loss=loss, suppressed=suppressed)
        except OboroError as error:
            why = error.words if isinstance(error.words, Message) else Message("text.remarks", said=[str(error)])
    return FrontierPoint(version, **figures, loss=None, suppressed=0, why=why)


def _cannot(asked: KAnonymize, work: Work, curve: Curve) -> Message | None:
    """Return the reason why a curve is not drawn: another loss, demands that the method lacks, too many records."""
    if asked.loss != "loss":
        return Message("explorer.other_loss", loss=asked.loss)
    beyond = set(asked.model_dump(exclude_defaults=True)) - _known(curve)
    if beyond:
        return Message("explorer.other_demands", curve=curve, demands=sorted(beyond))
    if curve == "k_conceal" and work.data.rows > MOST_CONCEALED:
        return Message("explorer.too_many_to_conceal", rows=work.data.rows, most=MOST_CONCEALED)
    return None


PLAIN = {
    "k",
    "suppress",
    "suppress_people",
    "quasi",
    "loss",
    "search",
    "minimal",
    "time_limit",
    "optimum",
    "levels",
    "recoding",
}


def _known(curve: Curve) -> set[str]:
    """Return the parameters that a method follows: levels by class every model of single classes, others the models they name."""
    if curve == "k_anonymize_local":
        return PLAIN.union(MODELS.in_recipes("attribute", "class"))
    if curve == "local_recode":
        from oboro.techniques.local_recode import LocalRecode

        return PLAIN.union(LocalRecode.model_fields.keys() & MODELS.keys())
    return PLAIN


def _technique(asked: KAnonymize, curve: Curve, k: int) -> Technique:
    if curve == "k_anonymize_local":
        return asked.model_copy(
            update={"k": k, "recoding": "local", "levels": None, "suppress_people": False, "earlier": []}
        )
    if curve == "local_recode":
        from oboro.techniques.local_recode import LocalRecode

        demands: dict[str, Any] = {
            key: getattr(asked, key) for key in LocalRecode.model_fields.keys() & MODELS.keys() - {"k"}
        }
        return LocalRecode(k=k, quasi=asked.quasi, **demands)
    from oboro.techniques.k_conceal import KConceal

    return KConceal(k=k, quasi=asked.quasi)


def _loss(curve: Curve, outcome: Outcome, work: Work) -> tuple[float, int]:
    """The normalized certainty penalty of what a method would release, and how much it suppresses."""
    facts = outcome.facts
    if curve == "k_anonymize_local":
        return float(facts["loss"]["value"]), int(facts["suppressed"]["records"])
    if curve == "k_conceal":
        return float(facts["ncp"]), 0
    names = work.schema.chosen(None, curve)
    rows = slice(None)
    recoded = {
        name: RecodedColumn.of(work.data[name], outcome.data[name], work.schema.hierarchy(name, work.data[name]), rows)
        for name in names
    }
    held = {one.column: one.value for one in certainty_penalty(recoded, ()) if one.column is not None}
    weights = np.array([work.schema.attributes[name].weight for name in names])
    return float(np.average([held[name] or 0.0 for name in names], weights=weights)), 0


# Frontier -------------------------------------------------------------------------------------------------------------


CLIFF = 2.0  # times the loss of the point before
STEEP = 0.05  # and at least so much more


@dataclass(frozen=True)
class Cliff:
    """Jump of the information loss from one k to the next."""

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
    """Compute a point for each k and each limit; each search starts from the best known node that satisfies the demands.

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
        """Jumps at which a slightly larger k costs far more."""
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
        from oboro.explorer.session import frontier_svg
        from oboro.text.language import system_language

        return frontier_svg(self, lang or system_language())

    def _repr_html_(self) -> str:
        return self.svg()


# Nearest satisfiable demands ------------------------------------------------------------------------------------------
# Where demands cannot be satisfied: the nearest ones that can, each with one demand weakened and all others
# unchanged.


PERCENT = 100


@dataclass(frozen=True)
class NearPromise(SessionAnswer):
    """One demand, and the value nearest to the requested one with which the demands can be satisfied."""

    demand: str
    value: Any
    """None: the demand is left out."""
    demands: dict[str, Any]
    """All demands with that value, as a recipe writes them."""


def nearest_promises(asked: KAnonymize, version: int, kept: Callable[[KAnonymize], bool]) -> Iterator[NearPromise]:
    """Find the largest smaller k, the smallest larger suppression limit in whole percent, and each other demand left out.

    Where none of that is enough, the largest k without all other demands.
    Whether a promise can be kept grows with a smaller k and with a larger share, so both are found by halving: at most log2(k) + 7
    searches, nearly all of which end at once.
    """
    found = list(_one_weakened(asked, version, kept))
    if not found:
        alone = _leaving_out(asked, *_others(asked))
        found = [_near(alone, version, "k", k) for k in _ks(alone, alone.k, kept)]
    yield from found


def _one_weakened(asked: KAnonymize, version: int, kept: Callable[[KAnonymize], bool]) -> Iterator[NearPromise]:
    for k in _ks(asked, asked.k - 1, kept):
        yield _near(asked, version, "k", k)
    least = int(asked.suppress * PERCENT) + 1
    share = _largest(-PERCENT, -least, lambda one: kept(asked.model_copy(update={"suppress": -one / PERCENT})))
    if share is not None:
        yield _near(asked, version, "suppress", -share / PERCENT)
    for name in _others(asked):
        without = _leaving_out(asked, name)
        if kept(without):
            yield NearPromise(version, name, None, _written(without))


def _ks(asked: KAnonymize, most: int, kept: Callable[[KAnonymize], bool]) -> list[int]:
    """The largest k up to `most`, if there is one."""
    found = _largest(1, most, lambda one: kept(asked.model_copy(update={"k": one})))
    return [] if found is None else [found]


def _others(asked: KAnonymize) -> list[str]:
    paid = {"profitability"} if asked.loss == "payout" else set()
    return [name for name in MODELS.in_recipes() if getattr(asked, name) not in (None, {}) and name not in paid]


def _leaving_out(asked: KAnonymize, *names: str) -> KAnonymize:
    """The demands without some; a population that nothing is asked of any more goes with them."""
    fields = type(asked).model_fields
    left = asked.model_copy(update={name: fields[name].get_default(call_default_factory=True) for name in names})
    return left if left.needs_population else left.model_copy(update={"population": None})


def _largest(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """The largest number for which something holds that holds for all smaller ones too; None where it holds for none."""
    if low > high or not holds(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _near(asked: KAnonymize, version: int, demand: str, value: Any) -> NearPromise:
    return NearPromise(version, demand, value, _written(asked.model_copy(update={demand: value})))


def _written(asked: KAnonymize) -> dict[str, Any]:
    found: dict[str, Any] = asked.model_dump(mode="json", exclude_defaults=True)
    return found
