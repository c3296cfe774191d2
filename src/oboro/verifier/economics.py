"""Judges of the benefit and the risk of a release: profitability, and no attack that pays off (Wan et al. 2015).

A record earns the benefit, less the share of its bits that its labels lost: of labels that cover m₁, m₂ … of the d₁,
d₂ … values of their columns, log(m₁ · m₂ …) / log(d₁ · d₂ …). Where an attack pays off, gain · chance > cost, it
costs loss · chance. The chance to recognise a person is 1 / the records of the class, or 1 / the people of the
population who match it. Suppressed records earn nothing; they must be so many that they cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from oboro.data.dataset import Dataset
from oboro.hierarchies.hierarchy import Hierarchy, Level, text_array
from oboro.hierarchies.spec import HierarchySpec
from oboro.notations.kinds import STAR
from oboro.verifier.classes import Classes
from oboro.verifier.identity import MatchingPeople, Model
from oboro.verifier.judges import judges

__all__ = ["NoAttackPays", "Profitable"]


class _Worth(Model):
    """Amounts of money for each record, and where an attacker looks for it."""

    parameters: ClassVar[tuple[str, ...]] = ("benefit", "loss", "gain", "cost", "attacker")

    benefit: float = Field(gt=0)
    """what the publisher earns with a record that lost nothing"""
    loss: float = Field(ge=0)
    """what it costs the publisher when somebody is recognised"""
    gain: float = Field(ge=0)
    """what an attacker gains by recognising somebody"""
    cost: float = Field(gt=0)
    """what an attack on a record costs"""
    attacker: Literal["prosecutor", "journalist"] = "prosecutor"
    """who attacks"""
    population: Dataset | None = Field(default=None, repr=False)
    """whom the table was drawn from, for a journalist"""
    hierarchies: Mapping[str, Hierarchy | HierarchySpec] = Field(default_factory=dict, repr=False)
    """the hierarchies that the labels were made with"""

    def _chances(self, classes: Classes) -> np.ndarray:
        """How likely somebody in each class is recognised."""
        if self.attacker == "prosecutor" or self.population is None:
            return np.asarray(1 / np.maximum(classes.sizes, 1))
        built = {name: one for name, one in self.hierarchies.items() if isinstance(one, Hierarchy)}
        people = MatchingPeople.of(classes, self.population, built).least
        return np.asarray(1 / np.maximum(people, 1))


class NoAttackPays(_Worth):
    """No attack on anybody pays off: gain · chance < cost in every class."""

    message: ClassVar[str] = "model.no_attack_pays"

    @property
    def required(self) -> float:
        """What an attack must bring less than."""
        return self.cost

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        brought = self.gain * self._chances(classes)
        return brought, brought >= self.cost


class Profitable(_Worth):
    """Every class earns its publisher something, attacks that pay off included; the suppressed cost nothing."""

    message: ClassVar[str] = "model.profitable"
    most: ClassVar[bool] = False

    @property
    def required(self) -> float:
        """More than nothing."""
        return 0.0

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        chances = self._chances(classes)
        out = classes.suppressed
        chances = np.where(out, 1 / np.maximum(classes.sizes, 1), chances)
        risk = np.where(self.gain * chances > self.cost, self.loss * chances, 0.0)
        earned = self.benefit * (1 - np.where(out, 1.0, self._lost(classes))) - risk
        return earned, np.where(out, earned < 0, earned <= 0)

    def _lost(self, classes: Classes) -> np.ndarray:
        """Which share of the bits of a record each class lost."""
        bits, whole = np.zeros(classes.sizes.size), 0.0
        first = classes.groups.first_rows()
        for name in classes.quasi:
            column, out = classes.data[name], classes.suppressed
            codes = column.codes[first]
            hierarchy = self.hierarchies.get(name)
            if not isinstance(hierarchy, Hierarchy):
                continue
            shown = np.unique(codes[~out])
            covered, domain = _covered(text_array(column.values), shown, hierarchy)
            bits += np.log(covered[codes])
            whole += log(domain)
        return np.clip(np.round(bits / whole, 12), 0.0, 1.0) if whole > 0 else bits


@judges("profitability")
def judge_worth(*, attacks: Literal["allowed", "none"], **amounts: Any) -> Model:
    """Return the judge of what classes earn, or of attacks that may not pay off."""
    return (NoAttackPays if attacks == "none" else Profitable)(**amounts)


def _covered(texts: pa.Array, shown: np.ndarray, hierarchy: Hierarchy) -> tuple[np.ndarray, int]:
    """How many values each label covers, and how many there are. Labels are read on a level that has all that are shown; where
    several have, on that where they cover most. A value of the table that no list has, such as a missing one, is one more."""
    known, finest = hierarchy.whole or hierarchy, hierarchy.levels[0]
    listed = _places(text_array(finest.labels), known.levels[0])
    more = (listed < 0)[finest.table]
    domain = max(1, known.levels[0].table.size + int(more.sum()))
    best = np.ones(len(texts), dtype=np.float64)
    missing = pc.is_null(texts).to_numpy(zero_copy_only=False)
    for level, own in zip(known.levels, hierarchy.levels, strict=True):
        covered = _under(texts, level, np.ones(level.table.size)) + _under(texts, own, more)
        if (covered[shown] > 0)[~missing[shown]].all():
            best = np.maximum(best, covered)
    star = pc.fill_null(pc.equal(texts, STAR), False).to_numpy(zero_copy_only=False)
    alone = star & ~np.isin(np.arange(best.size), shown)
    return np.where(alone, domain, best), domain


def _under(texts: pa.Array, level: Level, counted: np.ndarray) -> np.ndarray:
    """How many of the values that count stand under each text on a level; none under what is no label of it."""
    place = _places(texts, level)
    under = np.bincount(level.table, weights=counted, minlength=max(len(level.labels), 1))
    return np.where(place >= 0, under[place], 0.0)


def _places(texts: pa.Array, level: Level) -> np.ndarray:
    """For each text its place among the labels of a level, or −1."""
    place = pc.index_in(texts, value_set=text_array(level.labels)).fill_null(-1)
    return np.asarray(place.to_numpy(zero_copy_only=False))
