"""Judges of the privacy models of a sensitive attribute: l-diversity, t-closeness, δ-disclosure privacy, β-likeness.

Only entropies need logarithms; a class within 1e-9 of the limit is decided again with 50 digits (`entropy_at_least`),
so that rounding neither breaks a satisfied guarantee nor hides a violated one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from functools import lru_cache
from math import gcd
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from oboro.data.column import Column, smallest_unsigned
from oboro.data.folding import as_folded, reads_as_missing
from oboro.data.grouping import Groups, Tally
from oboro.data.matching import Value, absent, matched, shown, watched_missing, watched_values
from oboro.data.units import people_per_group
from oboro.errors import UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.spec import HierarchySpec
from oboro.notations.kinds import STAR, kind_of, numbers_of
from oboro.notations.texts import texts_of
from oboro.text import Message, Raw
from oboro.verifier import kernels
from oboro.verifier.classes import Classes
from oboro.verifier.identity import DistinctLDiversity, SensitiveModel
from oboro.verifier.judges import judges
from oboro.verifier.verdict import Verdict

__all__ = [
    "AlphaK",
    "BetaLikeness",
    "DeltaDisclosure",
    "EntropyLDiversity",
    "RecursiveLDiversity",
    "TCloseness",
    "entropies",
    "entropy_at_least",
    "equal_distances",
    "hierarchical_distances",
    "ordered_distances",
    "ranks",
]


# Distances of t-closeness ---------------------------------------------------------------------------------------------
# Distances between the distribution of the sensitive values in each class and in the whole table.
#
# All three are earth mover's distances (Li, Li, Venkatasubramanian 2007), computed in whole numbers with one division
# at the end.


FITS = 1 << 62  # whole numbers up to here are summed as int64


def equal_distances(classes: Classes, column: Column) -> np.ndarray:
    """Total variation: half the sum of the differences of the relative frequencies. O(rows)."""
    total, scale = _differences(classes.tally(column.codes, len(column.values)))
    return _over(total, scale)


def _differences(tally: Tally) -> tuple[np.ndarray, np.ndarray]:
    """For each class its total variation times 2 · everything · total, and this factor: whole numbers."""
    out, totals = np.empty(tally.starts.size - 1, np.int64), tally.totals
    kernels.equal_distance(tally.codes, tally.counts, tally.starts, totals, tally.whole, out)
    return out, 2 * tally.whole.sum() * totals


def _over(total: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the distances; a class without counted people is as far away as can be."""
    if scale.all():
        return np.asarray(total / scale)
    out = np.ones(total.size)
    np.divide(total, scale, out=out, where=scale > 0)
    return out


def hierarchical_distances(
    classes: Classes, column: Column, name: str, hierarchy: Hierarchy | HierarchySpec
) -> np.ndarray:
    """Two values are as far apart as the level on which they first meet, over the height of the root. O(rows · height).

    Where the last level still has several labels, a root is added above it. All leaves are equally deep, so moving
    earth costs the mean, over the levels below the root, of the total variation on that level: what a label has too
    much must cross the edge above it, and an edge is half a level long, since a value goes up to the common ancestor
    and down again.
    """
    bound = hierarchy.bind(column) if isinstance(hierarchy, Hierarchy) else hierarchy.build(name, column, Path("."))
    rooted = len((bound.whole or bound).levels[-1].labels) <= 1  # also by values that this table lacks
    below_root = bound.levels[:-1] if rooted else bound.levels
    total, scale = np.zeros(len(classes.groups), np.int64), np.zeros(len(classes.groups), np.int64)
    for level in below_root:
        here, scale = _differences(classes.tally(column.codes, len(level.labels), level.table))
        total += here
    return _over(total, scale * max(1, len(below_root)))


def ordered_distances(classes: Classes, column: Column, name: str, order: Sequence[str] | None = None) -> np.ndarray:
    """Mean over the m − 1 gaps between neighbouring values of the difference of the cumulated frequencies. O(rows)."""
    rank = ranks(column, name, order)
    tally = classes.tally(column.codes, len(rank), rank)
    totals = tally.totals
    largest = len(rank) * int(tally.whole.sum()) * int(totals.max())
    below = np.concatenate([[0], np.cumsum(tally.whole)]).astype(np.int64 if largest < FITS else np.float64)
    prefix = np.concatenate([[0], np.cumsum(below[1:])]).astype(below.dtype)
    out = np.zeros(totals.size, below.dtype)
    kernels.ordered_distance(tally.codes, tally.counts, tally.starts, totals, below, prefix, out)
    return _over(out, max(1, len(rank) - 1) * tally.whole.sum() * totals.astype(below.dtype))


def ranks(column: Column, name: str, order: Sequence[str] | None = None) -> np.ndarray:
    """The rank of each dictionary entry: numbers and dates by size, text by its letters, or as `order` says.

    `*` and then the missing value come last, whatever the others are.

    >>> ranks(Column.of(["10", "9", None, "*"]), "age").tolist()
    [1, 0, 3, 2]
    """
    texts = column.texts
    plain = np.array([text is not None and text != STAR for text in texts], dtype=bool)
    place = np.zeros(len(texts))
    place[plain] = _given(column, name, order) if order is not None else _natural(column.values.filter(pa.array(plain)))
    last = np.array([2 if text is None else 1 if text == STAR else 0 for text in texts])
    out = np.empty(len(texts), smallest_unsigned(len(texts)))
    out[np.lexsort((place, last))] = np.arange(len(texts))
    return out


def _natural(values: pa.Array) -> np.ndarray:
    if kind_of(values).numeric:
        return numbers_of(values)
    return np.argsort(np.argsort(np.array(Column(values, np.empty(0, np.uint8)).texts, dtype=object)))


def _given(column: Column, name: str, order: Sequence[str]) -> np.ndarray:
    plain = column.values.filter(pa.array([text is not None and text != STAR for text in column.texts]))
    place = matched(plain, pa.array(order, pa.string()))
    lacking = np.flatnonzero(place < 0)
    if lacking.size:
        culprit = Raw(texts_of(plain)[int(lacking[0])])
        raise UsageError(Message("error_verifier.order_lacks", name=name, lacking=[culprit]))
    return place


# Entropy --------------------------------------------------------------------------------------------------------------
# Entropy of the sensitive values of each class, and an exact comparison with log l.


DOUBT = 1e-9  # sums of logarithms in float64 are far more exact than this
DIGITS = 50
EQUAL = Decimal("1e-40")  # closer than this counts as equal: (4, 1, 1, 1, 1) has exactly the entropy log 4


def entropies(tally: Tally) -> np.ndarray:
    """−Σ p log p of each class (natural logarithm), as log total − Σ count · log count / total; 0 where nothing is counted."""
    weighted, totals = tally.each(np.add, tally.counts * np.log(tally.counts)), np.maximum(tally.totals, 1)
    return np.asarray(np.log(totals) - weighted / totals)


def entropy_at_least(limit: float, entropy: np.ndarray, tally: Tally) -> np.ndarray:
    """Test each class for an entropy of at least log `limit`; classes in doubt are decided with 50 digits."""
    bar = np.log(limit)
    holds = np.asarray(entropy > bar)
    for group in np.flatnonzero((np.abs(entropy - bar) < DOUBT) & (tally.distinct > 0)):
        counts = tally.counts[tally.starts[group] : tally.starts[group + 1]]
        holds[group] = _decide(limit, tuple(sorted(counts.tolist())))
    return holds


@lru_cache(maxsize=1024)
def _decide(limit: float, counts: tuple[int, ...]) -> bool:
    """Test counts for an entropy of at least log `limit`.

    >>> _decide(2, (50_000, 50_000)), _decide(2, (50_000, 50_001)), _decide(4, (1, 1, 1, 1, 4))
    (True, False, True)
    """
    if counts[0] == counts[-1]:
        return len(counts) >= limit
    common = gcd(*counts)
    with localcontext() as context:
        context.prec = DIGITS
        parts = [Decimal(count // common) for count in counts]
        size = sum(parts, Decimal(0))
        entropy = size.ln() - sum((part * part.ln() for part in parts), Decimal(0)) / size
        return entropy - Decimal(limit).ln() > -EQUAL


# δ-disclosure privacy and β-likeness ----------------------------------------------------------------------------------
# Models that compare the share of each sensitive value in a class with its share in the whole released table.
#
# With p the share in the table and q the share in a class:
#
# - *δ-disclosure privacy* (Brickell, Shmatikov 2008): |log₂(q / p)| < δ for every value;
# - *β-likeness* (Cao, Karras 2012): (q − p) / p ≤ β wherever q > p (basic), or ≤ min(β, −ln p) (enhanced).
#
# Shares are whole numbers over whole numbers, compared after one division; δ is compared as 2^δ, so no logarithm
# decides. Where it is known whose the records are, both shares are of people.


class _SharesCompared(SensitiveModel):
    """Common parts of the judges that compare shares in a class with shares in the table."""

    def _shares(self, classes: Classes) -> tuple[Tally, np.ndarray, np.ndarray]:
        """The values of the classes, and for each q and p times one number: how often it is there, how often everywhere."""
        tally = self._tally(classes)
        size = np.repeat(classes.sizes, tally.distinct)
        return tally, tally.counts * _everybody(classes), tally.whole[tally.codes] * size


def _everybody(classes: Classes) -> int:
    """How many records, or people, the table has."""
    if classes.person is None:
        return classes.data.rows
    return int(people_per_group(Groups.of([], classes.data.rows), classes.person).sum())


@judges("delta_disclosure")
class DeltaDisclosure(_SharesCompared):
    """Every sensitive value is less than 2^δ times as frequent in a class as in the table, and the other way round.

    A value that a class lacks is infinitely rarer there, and breaks it (Brickell, Shmatikov 2008). ARX asks only for the values
    that a class holds: `values="held"`.
    """

    message: ClassVar[str] = "model.delta_disclosure"
    parameters: ClassVar[tuple[str, ...]] = ("delta", "sensitive")

    delta: float = Field(gt=0, le=500)
    """the logarithms (base 2) of the two frequencies must differ by less than this"""
    values: Literal["all", "held"] = "all"
    """all: a value that a class lacks breaks it; held: only values that the class holds are asked"""

    @property
    def joinable(self) -> bool:
        """Whether two classes that keep it keep it when they are joined; a value that one of them lacks may get too rare."""
        return self.values == "all"

    def describe(self) -> Message:
        """Which model it is, with its parameters."""
        every = super().describe()
        return every if self.values == "all" else Message("model.delta_disclosure_of_held", **every.values)

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        tally, here, everywhere = self._shares(classes)
        ratio = tally.each(np.maximum, np.maximum(here / everywhere, everywhere / here))
        if self.values == "all":
            ratio = np.where(tally.distinct < np.count_nonzero(tally.whole), np.inf, ratio)
        ratio = np.where(classes.sizes == 0, np.inf, ratio)  # nobody is known to be there
        return np.log2(ratio), ratio >= 2.0**self.delta


@judges("beta_likeness")
class BetaLikeness(_SharesCompared):
    """No sensitive value gains more than β times its share in the table by being in a class (Cao, Karras 2012)."""

    message: ClassVar[str] = "model.enhanced_likeness"
    parameters: ClassVar[tuple[str, ...]] = ("beta", "sensitive")

    beta: float = Field(gt=0, allow_inf_nan=False)
    """how much the share of a value may grow, as a part of it"""
    kind: Literal["enhanced", "basic"] = "enhanced"
    """enhanced: a share p grows by min(β, −ln p) at most; basic: by β"""

    def describe(self) -> Message:
        """Which model it is, with its parameters."""
        return Message(f"model.{self.kind}_likeness", **super().describe().values)

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        """Scored by the greatest gain; of the enhanced model, where its own limit is lower, by β times gain / limit."""
        tally, here, everywhere = self._shares(classes)
        gain = np.maximum(here - everywhere, 0) / everywhere
        limit = np.full(gain.size, self.beta)
        if self.kind == "enhanced":
            limit = np.minimum(limit, -np.log(tally.whole[tally.codes] / _everybody(classes)))
        broken = tally.each(np.maximum, gain > limit).astype(bool) | (classes.sizes == 0)
        scaled = np.where(limit < self.beta, self.beta * gain / np.maximum(limit, 1e-300), gain)
        return np.where(classes.sizes == 0, np.inf, tally.each(np.maximum, scaled)), broken


# l-diversity, t-closeness and (α, k)-anonymity ------------------------------------------------------------------------


class EntropyLDiversity(SensitiveModel):
    """The entropy of the sensitive values of every class is at least log l (Machanavajjhala et al. 2007).

    Scored by exp(entropy): how many equally frequent values would be as uncertain.
    """

    message: ClassVar[str] = "model.entropy_l_diversity"
    parameters: ClassVar[tuple[str, ...]] = ("l", "sensitive")
    most: ClassVar[bool] = False

    l: float = Field(ge=1, allow_inf_nan=False)  # noqa: E741
    """entropy at least log l; need not be a whole number"""

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        tally = self._tally(classes)
        entropy = entropies(tally)
        uniform = tally.most_frequent * tally.distinct == tally.totals
        effective = np.where(uniform, tally.distinct, np.exp(entropy))  # exact where it can be
        certain = self._certain(classes, tally)
        broken = np.where(certain, (tally.distinct == 0) | (self.l > 1), ~entropy_at_least(self.l, entropy, tally))
        return np.where(certain, np.minimum(tally.distinct, 1), effective), broken


class RecursiveLDiversity(SensitiveModel):
    """In every class r₁ < c · (r_l + … + r_m), where r₁ ≥ r₂ ≥ … count its m sensitive values (Machanavajjhala et al.
    2007).

    Scored by r₁ / (r_l + … + r_m), which must stay below c; a class with fewer than l values has no such number and
    is broken.
    """

    message: ClassVar[str] = "model.recursive_l_diversity"
    parameters: ClassVar[tuple[str, ...]] = ("c", "l", "sensitive")

    c: float = Field(gt=0, allow_inf_nan=False)
    """the most frequent value must occur less than c times as often as the rarer ones together"""
    l: int = Field(ge=1)  # noqa: E741
    """the rank from which on values count as rarer"""

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        tally = self._tally(classes)
        head = np.empty(len(classes.sizes), np.int64)
        kernels.largest(tally.counts, tally.starts, self.l - 1, head)
        rest = tally.totals - head
        if self.l > 1:
            rest[self._certain(classes, tally)] = 0
        ratio = np.full(rest.size, np.inf)
        np.divide(tally.most_frequent, rest, out=ratio, where=rest > 0)
        return ratio, ~(ratio < self.c)


@judges("l_diversity")
def judge_diversity(*, l: float, kind: str = "distinct", c: float | None = None, sensitive: str) -> SensitiveModel:  # noqa: E741
    """Return the judge of one kind of l-diversity."""
    if kind == "distinct":
        return DistinctLDiversity(sensitive=sensitive, l=l)
    if kind == "entropy":
        return EntropyLDiversity(sensitive=sensitive, l=l)
    return RecursiveLDiversity(sensitive=sensitive, l=l, c=c)


@judges("t_closeness")
class TCloseness(SensitiveModel):
    """The sensitive values of every class are spread as in the whole table, up to a distance t (Li et al. 2007).

    The distance is the earth mover's: `equal` (every two values are 1 apart: total variation), `ordered` (ranks of
    the sorted values, neighbours 1 / (m − 1) apart) or `hierarchical` (height of the lowest common ancestor over the
    hierarchy's height).
    """

    message: ClassVar[str] = "model.t_closeness"
    parameters: ClassVar[tuple[str, ...]] = ("t", "sensitive", "distance")

    t: float = Field(ge=0, le=1)
    """the greatest distance allowed"""
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    """how far two sensitive values are apart"""
    hierarchy: HierarchySpec | SkipJsonSchema[Hierarchy] | None = None
    """for the hierarchical distance: a hierarchy of the sensitive column"""
    order: tuple[str, ...] | None = None
    """for the ordered distance: all values in their order; without it numbers, dates and text sort as such"""

    @model_validator(mode="after")
    def _fits(self) -> TCloseness:
        if (self.distance == "hierarchical") != (self.hierarchy is not None):
            raise ValueError(Message("error_verifier.distance_hierarchy"))
        if self.order is not None and self.distance != "ordered":
            raise ValueError(Message("error_verifier.distance_order"))
        return self

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        distances = self._distances(classes, self._column(classes))
        return distances, distances > self.t

    def _distances(self, classes: Classes, column: Column) -> np.ndarray:
        if self.distance == "ordered":
            return ordered_distances(classes, column, self.sensitive, self.order)
        if self.hierarchy is not None:
            return hierarchical_distances(classes, column, self.sensitive, self.hierarchy)
        return equal_distances(classes, column)


@judges("alpha")
class AlphaK(SensitiveModel):
    """In every class each sensitive value, or one given value, is that of at most the part α of the records or people (Wong
    et al. 2006).

    This is the α of (α, k)-anonymity; `KAnonymity` beside it is the k.
    """

    message: ClassVar[str] = "model.alpha_k_anonymity"
    parameters: ClassVar[tuple[str, ...]] = ("alpha", "sensitive")

    alpha: float = Field(gt=0, le=1)
    """the greatest relative frequency of a sensitive value within a class"""
    value: Value | None = None
    """the one value that counts, compared by what it means in the column; without it every value counts, missing too"""

    @property
    def limits_classes(self) -> bool:
        """In a class of one a value has the share 1."""
        return self.alpha < 1 and self.value is None

    def describe(self) -> Message:
        """Which model it is, with its parameters."""
        every = super().describe()
        return every if self.value is None else Message("model.alpha_k_anonymity_of_one", **every.values)

    def judge(self, classes: Classes) -> Verdict:
        """Judge classes; where no record has the one value that counts, nothing was limited, and the verdict says so."""
        found = super().judge(classes)
        if (
            self.value is None
            or found.note is not None
            or watched_missing(self._column(classes), self._wanted(classes))
            or not absent(self._column(classes), self.sensitive, [self._wanted(classes)])
        ):
            return found
        return replace(found, note=Message("verdict.value_absent", column=self.sensitive, value=shown(self.value)))

    def _scores(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        share = self._most_frequent(classes) / np.maximum(classes.sizes, 1)
        share[classes.sizes == 0] = np.inf  # nobody is known to be there
        return share, share > self.alpha

    def _most_frequent(self, classes: Classes) -> np.ndarray:
        if self.value is None:
            return self._tally(classes).most_frequent
        column = self._column(classes)
        return classes.holding(watched_values(column, self.sensitive, self._wanted(classes))[column.codes])

    def _wanted(self, classes: Classes) -> Value:
        """The value that counts, as the folded column spells it; a word that is read as missing as one of the list of those."""
        assert self.value is not None
        column = self._column(classes)
        value: Value = as_folded(self.value, column, self.fold)
        if isinstance(value, str) and value not in column.texts and reads_as_missing(value, self.fold):
            return "NA"
        return value
