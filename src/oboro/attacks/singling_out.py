"""Singling out: find descriptions in the release that fit exactly one person.

The predicates are those of Giomi et al. (2023): a value that occurs once in the release or lies at its end
(univariate); what one released record says in several columns (multivariate), numbers by the side of the median on
which they lie (tails). A generalized value is the description that it is: `31–38` fits all people of 31 to 38.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oboro.attacks.attacker_view import AttackerView, Descriptions, KnownPeople
from oboro.attacks.base import Attack, AttackKind, AttackMethod, AttackScenario, AttackTarget, Rate
from oboro.attacks.kernels import NUMBER
from oboro.hierarchies.labels import is_star
from oboro.text import Message

__all__ = ["ATTACK", "SinglingOut"]


SEVERAL = 3  # columns of a description that may use any column
OTHERS = Message("attack.control.others")
MIXED = Message("attack.control.mixed")
DRAWN = Message("attack.control.other_value")


class SinglingOut(AttackMethod):
    """Describe one person by one value, by several columns, or by the side of the median; each over two sets of columns."""

    kinds = tuple(
        AttackKind(f"singling_out_{kind}_{scope}", "singling out", "identity")
        for scope in ("quasi", "any")
        for kind in ("univariate", "multivariate", "tails")
    )
    knows = "the released table"
    needs = ("records",)

    def run(self, target: AttackTarget) -> list[Attack]:
        """Describe people by the quasi-identifiers, and by columns of any role."""
        scenario = target.scenario
        quasi, every = scenario.understood(target.quasi), scenario.understood(scenario.view.names)
        found = self._describe(scenario, quasi, "quasi") if quasi else []
        return [*found, *(self._describe(scenario, every, "any") if len(every) > len(quasi) else [])]

    def _describe(self, scenario: AttackScenario, names: Sequence[str], scope: str) -> list[Attack]:
        """Run the three attacks over some columns; one that makes no guess at all is reported with nothing tried."""
        view = scenario.view.select(names)
        several = len(names) if scope == "quasi" else min(SEVERAL, len(names))
        made = [("univariate", *_univariate(scenario, names))]
        made.append(("multivariate", *_multivariate(scenario, names, several, tails=False)))
        if any(axis.kind == NUMBER for axis in view.comparisons):
            made.append(("tails", *_multivariate(scenario, names, several, tails=True)))
        kinds = {kind.id: kind for kind in self.kinds}
        out = []
        for kind, described, rows in made:
            described = described.among(scenario.view.at(names), len(scenario.view.names))
            counts = scenario.inside.fitting(described)
            control, is_, notes = _control(scenario, kind, described, rows, counts)
            one = kinds[f"singling_out_{kind}_{scope}"]
            out.append(one.attack(names, _ones(counts), control, is_, notes=(*scenario.strange, *notes)))
        return out


def _alone(people: KnownPeople, described: Descriptions) -> Rate:
    """Count the descriptions that fit exactly one of all these people."""
    return _ones(people.fitting(described))


def _ones(counts: np.ndarray) -> Rate:
    return Rate(int((counts == 1).sum()), int(counts.size))


# Controls -------------------------------------------------------------------------------------------------------------

Control = tuple[Rate, Message, tuple[Message, ...]]


def _control(
    scenario: AttackScenario, kind: str, described: Descriptions, rows: np.ndarray, counts: np.ndarray
) -> Control:
    """How often descriptions are right that no record of the person has helped with, what they were, and notes."""
    if scenario.owners is not None:
        theirs = scenario.view.people.each(scenario.owners[rows], described)
        return _ones(counts - theirs), OTHERS, ()
    if scenario.outside is not None:
        return _outsiders(scenario, scenario.outside, described, _ones(counts))
    if kind == "univariate":
        return _alone(scenario.inside, _other_values(scenario, described)), DRAWN, ()
    return _alone(scenario.inside, _mixed(described, scenario.rng)), MIXED, ()


def _outsiders(scenario: AttackScenario, outside: KnownPeople, described: Descriptions, found: Rate) -> Control:
    """The same descriptions among as many outsiders as there are people inside.

    In a smaller group more or fewer descriptions fit exactly one, by chance alone. If there are not enough outsiders, their
    rate is multiplied by how much higher the rate inside is among all than among as few; `tried` is then so many guesses
    as have the same error.
    """
    count = min(len(scenario.inside), len(outside))
    there = _alone(_some(outside, count, scenario.rng), described)
    if count == len(scenario.inside):
        return there, scenario.outside_is, ()
    here = _alone(_some(scenario.inside, count, scenario.rng), described)
    notes = (Message("attack.note.small_control", people=count),)
    share = min(1.0, (found.share or 0.0) * there.right / max(1, here.right))
    if not share:
        return Rate(0, found.tried), scenario.outside_is, notes
    tried = min(float(found.tried), 1 / (1 / there.right + 1 / max(1, here.right)) / share)
    return Rate(round(share * tried), round(tried)), scenario.outside_is, notes


def _some(people: KnownPeople, count: int, rng: np.random.Generator) -> KnownPeople:
    return people if count == len(people) else people.take(rng.choice(len(people), count, replace=False))


# Descriptions ---------------------------------------------------------------------------------------------------------


def _univariate(scenario: AttackScenario, names: Sequence[str]) -> tuple[Descriptions, np.ndarray]:
    """Every value that one released record has, and both ends of every column of numbers; drawn if there are many.

    With one record that each was made of.
    """
    view = scenario.view.select(names)
    parts: list[np.ndarray] = []
    for j, (name, comparison) in enumerate(zip(names, view.comparisons, strict=True)):
        single = np.flatnonzero((view.released[name].counts == 1) & ~is_star(view.released[name]))
        single = single[~np.isinf(comparison.low[single])]
        parts.append(
            np.column_stack([np.full(single.size, j), comparison.low[single], comparison.high[single], single])
        )
        real = np.flatnonzero(np.isfinite(comparison.low) & np.isfinite(comparison.high))
        if comparison.kind == NUMBER and real.size:
            # The lowest label may be a range: whoever lies in or below it. Its own lower end is not known to outsiders.
            first, last = real[comparison.low[real].argmin()], real[comparison.high[real].argmax()]
            parts.append(
                np.array([[j, -np.inf, comparison.high[first], first], [j, comparison.low[last], np.inf, last]])
            )
    every = np.concatenate(parts)
    chosen = every[scenario.draw(len(every), scenario.attempts)]
    return _each(chosen, len(names)), _rows(view, chosen)


def _rows(view: AttackerView, parts: np.ndarray) -> np.ndarray:
    """A released record that has the entry of each description. O(records) for each column."""
    out = np.zeros(len(parts), np.int64)
    for j in np.unique(parts[:, 0]).astype(np.int64):
        column, mine = view.released[view.names[j]], parts[:, 0] == j
        asked = np.zeros(len(column.values), bool)
        asked[parts[mine, 3].astype(np.int64)] = True
        rows = np.flatnonzero(asked[column.codes])
        place = np.zeros(len(column.values), np.int64)
        place[column.codes[rows]] = rows
        out[mine] = place[parts[mine, 3].astype(np.int64)]
    return out


def _each(parts: np.ndarray, columns: int) -> Descriptions:
    """Descriptions by one column: column, low, high, entry."""
    shape = (len(parts), columns)
    out = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int32), np.zeros(shape, bool)
    at = np.arange(len(parts)), parts[:, 0].astype(np.int64)
    out[0][at], out[1][at], out[2][at], out[3][at] = parts[:, 1], parts[:, 2], parts[:, 3], True
    return Descriptions(*out)


def _other_values(scenario: AttackScenario, described: Descriptions) -> Descriptions:
    """Descriptions by one value each, with another value: of numbers the next that somebody could have, else any."""
    low, high, entries = described.low.copy(), described.high.copy(), described.entries.copy()
    for j, (name, comparison) in enumerate(zip(scenario.view.names, scenario.view.comparisons, strict=True)):
        mine = np.flatnonzero(described.used[:, j])
        if comparison.kind == NUMBER:
            for side in (low, high):
                side[mine, j] = _next(np.unique(comparison.places[~np.isnan(comparison.places)]), side[mine, j])
        else:
            other = scenario.rng.integers(len(scenario.view.released[name].values), size=mine.size)
            low[mine, j], high[mine, j], entries[mine, j] = comparison.low[other], comparison.high[other], other
    return Descriptions(low, high, entries, described.used)


def _next(places: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A step further on a line; the step is the least between two places, and a place that is met is met exactly."""
    step = float(np.diff(places).min()) if places.size > 1 else 1.0
    moved = values + step
    at = np.clip(np.searchsorted(places, np.where(np.isfinite(moved), moved, 0.0)), 1, max(1, places.size - 1))
    near = np.where(
        np.abs(places[at - 1] - moved) < np.abs(places[at % places.size] - moved),
        places[at - 1],
        places[at % places.size],
    )
    return np.where(np.abs(near - moved) < step / 1000, near, moved)


def _multivariate(
    scenario: AttackScenario, names: Sequence[str], several: int, *, tails: bool
) -> tuple[Descriptions, np.ndarray]:
    """What some released records say in `several` columns drawn for each, and which records those are."""
    view = scenario.view.select(names)
    rows = scenario.draw(view.released.rows, scenario.attempts)
    low, high, entries = view.records(rows)
    order = scenario.rng.random((rows.size, len(names))).argsort(axis=1)
    used = order < several
    if tails:
        for j, comparison in enumerate(view.comparisons):
            if comparison.kind == NUMBER:
                known = low[np.isfinite(low[:, j]), j]
                middle = float(np.median(known)) if known.size else 0.0
                above = low[:, j] > middle
                plain = np.isfinite(low[:, j]) & np.isfinite(high[:, j])
                low[:, j] = np.where(plain & ~above, -np.inf, low[:, j])
                high[:, j] = np.where(plain & above, np.inf, high[:, j])
    return Descriptions(low, high, entries, used), rows


def _mixed(described: Descriptions, rng: np.random.Generator) -> Descriptions:
    """The same values in each column, each from another record."""
    low, high, entries = described.low.copy(), described.high.copy(), described.entries.copy()
    for j in range(low.shape[1]):
        order = rng.permutation(len(low))
        low[:, j], high[:, j], entries[:, j] = low[order, j], high[order, j], entries[order, j]
    return Descriptions(low, high, entries, described.used)


ATTACK = SinglingOut()
