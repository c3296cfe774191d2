"""Singling out: describe somebody by what the release says, and see whether exactly one person fits.

The predicates are those of Giomi et al. (2023): a value that occurs once in the release or lies at its end
(univariate); what one released record says in several columns (multivariate), numbers by the side of the median on
which they lie (tails). A generalized value is the description that it is: `31–38` fits whoever is 31 to 38.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oboro.evaluate.attacks.people import Described, People
from oboro.evaluate.attacks.rates import Attack, Rate
from oboro.evaluate.attacks.scene import Scene
from oboro.evaluate.meaning import is_star
from oboro.kernels.attacks import NUMBER

__all__ = ["singling_out"]

QUESTION = "singling out"
ONE = "descriptions by one value that is alone in the release, or at its end, which fit exactly one person"
MANY = "descriptions by what a released record says in several columns, which fit exactly one person"
TAILS = "the same with numbers described by the side of the median on which they lie"
SEVERAL = 3  # columns of a description that may use any column
MIXED = "as many descriptions put together from the values of different released records"
DRAWN = "as many descriptions by any one value of the release"


def singling_out(scene: Scene, names: Sequence[str], scope: str) -> list[Attack]:
    """The three attacks over some columns; those that make no guess at all are reported with nothing tried."""
    view = scene.view.select(names)
    inside, outside = _equal(scene)
    several = len(names) if scope == "quasi" else min(SEVERAL, len(names))
    made = [("univariate", ONE, _univariate(scene, names))]
    made.append(("multivariate", MANY, _multivariate(scene, names, several, tails=False)))
    if any(axis.kind == NUMBER for axis in view.axes):
        made.append(("tails", TAILS, _multivariate(scene, names, several, tails=True)))
    note = "" if outside is None else EQUAL.format(count=f"{len(inside):,}")
    out = []
    for kind, meaning, described in made:
        found = _alone(scene, names, inside, described)
        if outside is not None:
            control, is_ = _alone(scene, names, outside, described), scene.outside_is
        else:
            by_chance = _any_values(scene, names) if kind == "univariate" else _mixed(described, scene.rng)
            control, is_ = _alone(scene, names, inside, by_chance), DRAWN if kind == "univariate" else MIXED
        name = f"singling_out_{kind}_{scope}"
        out.append(Attack(name, QUESTION, meaning, tuple(names), found, control, is_, note=note))
    return out


EQUAL = "{count} people of the release and as many of the control group, so that both are equally easy to tell apart"


def _equal(scene: Scene) -> tuple[People, People | None]:
    """People inside and outside, as many of each: in a larger group fewer descriptions fit only one."""
    inside, outside = scene.inside, scene.outside
    if outside is None:
        return inside, None
    count = min(len(inside), len(outside))
    return _some(inside, count, scene.rng), _some(outside, count, scene.rng)


def _some(people: People, count: int, rng: np.random.Generator) -> People:
    return people if count == len(people) else people.take(rng.choice(len(people), count, replace=False))


def _alone(scene: Scene, names: Sequence[str], people: People, described: Described) -> Rate:
    """How many descriptions fit exactly one of all these people."""
    found = people.fitting(described.among(scene.view.at(names), len(scene.view.names)))
    return Rate(int((found == 1).sum()), int(found.size))


def _univariate(scene: Scene, names: Sequence[str]) -> Described:
    """Every value that one released record has, and both ends of every column of numbers; drawn if there are many."""
    view = scene.view.select(names)
    parts: list[np.ndarray] = []
    for j, (name, axis) in enumerate(zip(names, view.axes, strict=True)):
        single = np.flatnonzero((view.released[name].counts == 1) & ~is_star(view.released[name]))
        single = single[np.isfinite(axis.low[single])]
        parts.append(np.column_stack([np.full(single.size, j), axis.low[single], axis.high[single], single]))
        real = np.flatnonzero(np.isfinite(axis.low) & np.isfinite(axis.high))
        if axis.kind == NUMBER and real.size:
            # The lowest label may be a range: whoever lies in or below it. Its own lower end is not known to outsiders.
            first, last = real[axis.low[real].argmin()], real[axis.high[real].argmax()]
            parts.append(np.array([[j, -np.inf, axis.high[first], first], [j, axis.low[last], np.inf, last]]))
    every = np.concatenate(parts)
    return _each(every[scene.draw(len(every), scene.attempts)], len(names))


def _each(parts: np.ndarray, columns: int) -> Described:
    """Descriptions by one column: column, low, high, entry."""
    shape = (len(parts), columns)
    out = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int32), np.zeros(shape, bool)
    at = np.arange(len(parts)), parts[:, 0].astype(np.int64)
    out[0][at], out[1][at], out[2][at], out[3][at] = parts[:, 1], parts[:, 2], parts[:, 3], True
    return Described(*out)


def _any_values(scene: Scene, names: Sequence[str]) -> Described:
    """Values drawn from the release, however many records have them."""
    view = scene.view.select(names)
    column = scene.rng.integers(len(names), size=scene.attempts)
    entry = (scene.rng.random(scene.attempts) * [len(view.released[names[j]].values) for j in column]).astype(np.int64)
    ends = [[axis.low[e], axis.high[e]] for axis, e in ((view.axes[j], e) for j, e in zip(column, entry, strict=True))]
    return _each(np.column_stack([column, np.array(ends), entry]), len(names))


def _multivariate(scene: Scene, names: Sequence[str], several: int, *, tails: bool) -> Described:
    """What some released records say in `several` columns drawn for each."""
    view = scene.view.select(names)
    rows = scene.draw(view.released.rows, scene.attempts)
    low, high, entries = view.records(rows)
    order = scene.rng.random((rows.size, len(names))).argsort(axis=1)
    used = order < several
    if tails:
        for j, axis in enumerate(view.axes):
            if axis.kind == NUMBER:
                known = low[np.isfinite(low[:, j]), j]
                middle = float(np.median(known)) if known.size else 0.0
                above = low[:, j] > middle
                plain = np.isfinite(low[:, j]) & np.isfinite(high[:, j])
                low[:, j] = np.where(plain & ~above, -np.inf, low[:, j])
                high[:, j] = np.where(plain & above, np.inf, high[:, j])
    return Described(low, high, entries, used)


def _mixed(described: Described, rng: np.random.Generator) -> Described:
    """The same values in each column, each from another record."""
    low, high, entries = described.low.copy(), described.high.copy(), described.entries.copy()
    for j in range(low.shape[1]):
        order = rng.permutation(len(low))
        low[:, j], high[:, j], entries[:, j] = low[order, j], high[order, j], entries[order, j]
    return Described(low, high, entries, described.used)
