"""Requirements on a class during a search: rules of the privacy models on histograms of sensitive values.

Two kinds of monotonicity decide what a search may conclude without evaluating a node:

- *strong*: a class that satisfies the rule satisfies it after being joined with any other (size ≥ k, distinct
l-diversity);

- *weak*: two classes that both satisfy the rule satisfy it when they are joined (entropy and recursive l-diversity,
t-closeness, (α,k), δ-disclosure, β-likeness: the share of a value in the joined class lies between its shares in the
two).

Neither holds for rules about sensitive values where people are counted (`Rule.of_people`), nor for δ-disclosure of the
values that a class contains: a value that only one of two classes contains may become too rare in both together.

With a weak rule, joining a good class with a bad one may give a bad one, so a coarser node may suppress more than a
finer one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from operator import getitem
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from oboro.algorithms.lattice.kernels import attributes, nodes
from oboro.data.column import Column
from oboro.data.grouping import Groups
from oboro.data.matching import Value, absent, near_values, shown, watched_missing, watched_values
from oboro.data.units import tally_people
from oboro.errors import ColumnError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.notations.kinds import STAR, numbers_of
from oboro.notations.texts import texts_of
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.algorithms.lattice.evaluator import DistinctTuples, NodeChecker
    from oboro.algorithms.lattice.problem import NodeClasses
    from oboro.hierarchies.hierarchy import Level
    from oboro.privacy.attribute import Alpha, Closeness, Disclosure, Diversity, Likeness
    from oboro.privacy.base import PrivacyModel

__all__ = [
    "Distance",
    "Population",
    "Rule",
    "Unclear",
    "all_stars",
    "alpha_rule",
    "closeness_rule",
    "complete",
    "disclosure_rule",
    "diversity_rule",
    "judge",
    "kept_sizes",
    "lacking",
    "lacking_at",
    "likeness_rule",
    "rule_of",
    "unclear_values",
]


# Separating half-spaces -----------------------------------------------------------------------------------------------
# Half-spaces that separate a class violating a rule from all classes that satisfy it.
#
# The histograms of sensitive values that satisfy a rule are a convex cone (for distinct diversity they are not, and
# values are counted instead). A histogram h outside it is separated by weights w with w · h < 0 and w · g ≥ 0 for every
# g that satisfies the rule. So if some classes are joined to h and the whole satisfies the rule, then the sum of w · g
# over these classes is at least −w · h.


STRICT = 1e-9  # what a strict inequality lacks where both sides are equal
How = tuple[int, int, float, np.ndarray, np.ndarray]  # kind, count, level, whole and tree of a rule
MIXED = np.array([1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6])


def lacking(
    kind: int, count: int, level: float, whole: np.ndarray, tree: np.ndarray, held: np.ndarray, each: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the amount that a class with these values lacks, and upper bounds on what each of some others adds.
    O(values · classes).

    Nothing is lacking (0 or less) where no half-space was found: then nothing is known.
    """
    if kind == attributes.DISTINCT:
        new = (each[:, held == 0] > 0).sum(axis=1)
        return float(count - np.count_nonzero(held)), new.astype(np.float64)
    if kind == attributes.ENTROPY:
        return _entropy(level, held, each)
    weights = _weights((kind, count, level, whole, tree), held, held)
    gap = float(-(held @ weights))
    return (max(gap, STRICT) if attributes.KINDS[kind].strict else gap), each @ weights


def lacking_at(how: How, held: np.ndarray, base: np.ndarray, each: np.ndarray) -> tuple[float, np.ndarray] | None:
    """Return what a class `base` lacks, and what each of some others adds, by a half-space that a third one, `held`,
    defines.

    It holds whoever of the others joins `base`, and whether `held` breaks the rule or not; most is told where it does.
    """
    kind = how[0]
    if kind == attributes.DISTINCT:
        return lacking(*how, base, each)
    weights: np.ndarray | None = _weights(how, held, base) if kind != attributes.ENTROPY else None
    if kind == attributes.ENTROPY:
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
    if kind == attributes.RECURSIVE:  # c · (all without the l − 1 most frequent) − (the most frequent) > 0
        ranked = np.argsort(-held, kind="stable")
        weights = np.full(held.size, level)
        weights[ranked[: count - 1]] = 0.0
        weights[ranked[0]] -= 1.0
        return weights
    if kind == attributes.ALPHA:  # α · all − (one value) ≥ 0
        weights = np.full(held.size, level)
        weights[count if count >= 0 else int(held.argmax())] -= 1.0
        return weights
    if attributes.KINDS[kind].by_share:
        return _of_share(kind, count, level, whole, held, surely)
    if kind not in (attributes.T_ORDERED, attributes.T_TREE):
        raise ValueError(f"no half-space is known of kind {kind} of rules")
    shares = whole / max(int(whole.sum()), 1)
    surplus = held / max(int(held.sum()), 1) - shares
    if kind == attributes.T_ORDERED:
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
    if kind == attributes.ENHANCED_LIKENESS:
        growth = np.minimum(level, -np.log(np.maximum(shares, 1 / (2 * rows))))
    disclosure = kind in (attributes.DISCLOSURE, attributes.DISCLOSURE_OF_HELD)
    most = shares * level if disclosure else shares * (1 + growth)
    asked = (surely > 0) if kind == attributes.DISCLOSURE_OF_HELD else (whole > 0) & disclosure
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


# Rules on sensitive values --------------------------------------------------------------------------------------------


R = TypeVar("R", bound="Callable[..., Rule]")
Distance = Literal["equal", "ordered", "hierarchical"]


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule about one sensitive attribute, ready for the kernels."""

    secret: str
    codes: np.ndarray
    """The sensitive value of each record, as a number."""
    whole: np.ndarray
    """How many records of the whole table hold each value."""
    tree: np.ndarray
    """For distances: the ancestors of each value, height by height below the root."""
    kind: int
    count: int = 0
    level: float = 0.0
    of_people: bool = False
    """Whether people are counted. Two classes may hold the same ones, so nothing follows for the joined class: neither strong
    nor weak."""

    @property
    def assumed(self) -> attributes.RuleKind:
        """Properties of the kind of rule."""
        return attributes.KINDS[self.kind]

    @property
    def fixed_codes(self) -> bool:
        """True if the codes of values may not change places: their order counts, or `count` names one of them."""
        return self.assumed.ordered_codes or (self.kind == attributes.ALPHA and self.count >= 0)

    @property
    def strong(self) -> bool:
        """True if a class that satisfies the rule satisfies it after joining any other."""
        return self.assumed.monotone and not self.of_people

    @property
    def joinable(self) -> bool:
        """True if two classes that satisfy the rule satisfy it when they are joined."""
        return self.assumed.union_closed and not self.of_people

    def breaks(self, held: np.ndarray, size: int | None = None) -> bool:
        """Return whether one class with this histogram of sensitive values, of so many records or people, violates the
        rule.
        """
        size = int(held.sum()) if size is None else size
        verdict = nodes.breaks(held, size, self.kind, self.count, self.level, self.whole, self.tree)
        return verdict == 1 or (verdict == 2 and not _entropy_at_least(held, self.level))

    def lacking(self, held: np.ndarray, each: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the amount that a violating class lacks, and upper bounds on what each of some others adds if it
        joins.

        Joined classes that keep the rule together add at least as much as is lacking (`oboro.algorithms.lattice.constraints`).
        """
        return lacking(self.kind, self.count, self.level, self.whole, self.tree, held, each)

    def lacking_at(self, held: np.ndarray, base: np.ndarray, each: np.ndarray) -> tuple[float, np.ndarray] | None:
        """Return the same for a class `base` by a half-space with `held` on its wrong side, if one is known that holds
        for every joining class.
        """
        how = self.kind, self.count, self.level, self.whole, self.tree
        return lacking_at(how, held, base, each)

    def counting(self, person: Column) -> Rule:
        """Return the same rule with people counted: `person` gives the person of each record."""
        everybody = Groups.of([], self.codes.size)
        width = self.whole.size
        whole = tally_people(everybody, person, self.codes, np.arange(width), width).whole
        people = int(np.count_nonzero(person.counts))
        count = people if self.assumed.by_share else self.count
        return replace(self, whole=whole, count=count, of_people=True)


RULES: dict[str, Callable[..., Rule]] = {}
"""The rule of each model of a sensitive attribute, by the key of its declaration."""


def decides(key: str) -> Callable[[R], R]:
    """Register a function as that which makes the rule of a model from its declaration."""

    def registered(made: R) -> R:
        RULES[key] = made
        return made

    return registered


def rule_of(declared: PrivacyModel, secret: str, column: Column, hierarchy: Hierarchy | None = None) -> Rule:
    """Return the rule by which a search decides a declared model of a sensitive attribute.

    >>> from oboro.privacy.attribute import Diversity
    >>> rule_of(Diversity(l=3), "disease", Column.of(["flu", "flu", "cold"])).count
    3
    """
    return RULES[declared.key](declared, secret, column, hierarchy)


@decides("l_diversity")
def _of_diversity(declared: Diversity, secret: str, column: Column, hierarchy: Hierarchy | None) -> Rule:
    return diversity_rule(secret, column, l=declared.l, kind=declared.kind, c=declared.c or 1.0)


@decides("t_closeness")
def _of_closeness(declared: Closeness, secret: str, column: Column, hierarchy: Hierarchy | None) -> Rule:
    return closeness_rule(secret, column, t=declared.t, distance=declared.distance, hierarchy=hierarchy)


@decides("delta_disclosure")
def _of_disclosure(declared: Disclosure, secret: str, column: Column, hierarchy: Hierarchy | None) -> Rule:
    return disclosure_rule(secret, column, delta=declared.delta, held=declared.values == "held")


@decides("beta_likeness")
def _of_likeness(declared: Likeness, secret: str, column: Column, hierarchy: Hierarchy | None) -> Rule:
    return likeness_rule(secret, column, beta=declared.beta, enhanced=declared.kind == "enhanced")


@decides("alpha")
def _of_alpha(declared: Alpha, secret: str, column: Column, hierarchy: Hierarchy | None) -> Rule:
    """Build the rule; raise a `ColumnError` where no record has the value that is named, as after a typing error."""
    value = declared.value
    asked = [] if value is None or declared.absent == "allowed" or watched_missing(column, value) else [value]
    if asked and absent(column, secret, asked):
        near = near_values(asked[0], column)
        id = "error_technique.value_near" if near else "error_technique.value_absent"
        raise ColumnError(Message(id, column=secret, value=shown(asked[0]), near=near))
    return alpha_rule(secret, column, alpha=declared.alpha, value=value)


def diversity_rule(secret: str, column: Column, *, l: float, kind: str = "distinct", c: float = 1.0) -> Rule:  # noqa: E741
    """l-diversity: at least l distinct values, an entropy of at least log l, or recursive (c, l)."""
    if kind == "distinct":
        return _rule(secret, column, attributes.DISTINCT, count=int(l))
    if kind == "entropy":
        return _rule(secret, column, attributes.ENTROPY, level=float(l))
    return _rule(secret, column, attributes.RECURSIVE, count=int(l), level=float(c))


def closeness_rule(
    secret: str, column: Column, *, t: float, distance: Distance = "equal", hierarchy: Hierarchy | None = None
) -> Rule:
    """t-closeness: the class's distribution is at most t away from the whole table's."""
    if distance == "ordered":
        tidy = column.tidy()
        place = _places(tidy)
        whole = np.zeros(place.size, dtype=np.int64)
        whole[place] = tidy.counts
        codes = place.astype(tidy.codes.dtype)[tidy.codes]  # a kernel is compiled for each type
        return Rule(secret, codes, whole, _flat(whole.size), attributes.T_ORDERED, level=t)
    if distance == "equal":
        return _rule(secret, column, attributes.T_TREE, level=t)
    if hierarchy is None:
        raise UsageError(Message("error_decide.closeness_hierarchy", secret=secret))
    return Rule(secret, column.codes, column.counts, _tree(hierarchy), attributes.T_TREE, level=t)


def alpha_rule(secret: str, column: Column, *, alpha: float, value: Value | None = None) -> Rule:
    """(α,k): no sensitive value (or not the given one) makes up more than the share alpha of a class."""
    tidy = column.tidy()
    if value is None:
        return _rule(secret, column, attributes.ALPHA, count=-1, level=alpha)
    watched = watched_values(tidy, secret, value).astype(np.uint8)  # 1: the value, 0: any other
    held = np.bincount(watched, weights=tidy.counts, minlength=2).astype(np.int64)
    return Rule(secret, watched[tidy.codes], held, _flat(2), attributes.ALPHA, count=1, level=alpha)


def disclosure_rule(secret: str, column: Column, *, delta: float, held: bool = False) -> Rule:
    """δ-disclosure: each value is less than 2^δ times as frequent in a class as in the whole table, and the other way round.

    `held`: only values that the class holds are asked; otherwise one that it lacks breaks the rule.
    """
    kind = attributes.DISCLOSURE_OF_HELD if held else attributes.DISCLOSURE
    return _rule(secret, column, kind, count=len(column), level=2.0**delta)


def likeness_rule(secret: str, column: Column, *, beta: float, enhanced: bool = True) -> Rule:
    """β-likeness: the share p of a value in the whole table grows in a class by β·p at most; enhanced: by min(β, −ln p)·p."""
    kind = attributes.ENHANCED_LIKENESS if enhanced else attributes.BASIC_LIKENESS
    return _rule(secret, column, kind, count=len(column), level=float(beta))


def _rule(secret: str, column: Column, kind: int, *, count: int = 0, level: float = 0.0) -> Rule:
    tidy = column.tidy()  # an entry that occurs twice would count as two different values
    one_level = np.arange(len(tidy.values), dtype=np.int64)[np.newaxis]
    return Rule(secret, tidy.codes, tidy.counts, one_level, kind, count, level)


def _flat(values: int) -> np.ndarray:
    """Every two values meet only in the root."""
    return np.arange(values, dtype=np.int64)[np.newaxis]


def _tree(hierarchy: Hierarchy) -> np.ndarray:
    rooted = len(hierarchy.levels) > 1 and len(hierarchy.levels[-1].labels) <= 1
    below = (
        hierarchy.levels[:-1] if rooted else hierarchy.levels
    )  # several labels at the top meet in one root above them
    return np.ascontiguousarray(np.stack([level.table.astype(np.int64) for level in below]))


def _places(column: Column) -> np.ndarray:
    """The rank of each dictionary entry: numbers and dates by size, text by its letters; `*` and the missing value
    come last.
    """
    texts = column.texts
    plain = [i for i, text in enumerate(texts) if text is not None and text != STAR]
    values = column.values.take(plain)
    if Column(values, column.codes[:0]).kind.numeric:
        ordered = [plain[i] for i in np.argsort(numbers_of(values), kind="stable")]
    else:
        ordered = sorted(plain, key=lambda i: str(texts[i]))
    rest = sorted(set(range(len(texts))) - set(plain), key=lambda i: texts[i] is None)
    place = np.empty(len(texts), dtype=np.int64)
    place[ordered + rest] = np.arange(len(texts))
    return place


def _entropy_at_least(held: np.ndarray, level: float) -> bool:
    """Return whether the entropy is at least log(level), to 60 digits: total · log(total) − Σ c · log c ≥ total ·
    log(level).
    """
    with localcontext(prec=60):
        counts = [Decimal(int(count)) for count in held if count > 0]
        total = sum(counts, Decimal(0))
        entropy = total * total.ln() - sum((count * count.ln() for count in counts), Decimal(0))
        return bool(entropy - total * Decimal(level).ln() >= -(Decimal(10) ** -40))


# Population: k-map and δ-presence -------------------------------------------------------------------------------------
# Population from which a table was drawn, and the limits of a class with regard to it.
# - *k-map*: at least k people of the population match each released record. Strong: joining classes only adds people.
# - *δ-presence*: of the people who match a class, the share that is in the table lies between two limits. With an upper
#   limit only it is weak (the share in a union lies between the shares); with a lower one it is not even that, for a
#   class may be joined by people of whom none is in the table.
#
# The suppressed records are a class too. A person who matches no released class must be among them, or not in the table
# at all: so the people who match the suppressed records are all who match no released class.


Unclear = tuple[tuple[tuple[np.ndarray, np.ndarray], ...], ...]


@dataclass(frozen=True, eq=False)
class Population:
    """The population's codes, in the dictionaries of the table's columns, and the limits."""

    codes: tuple[np.ndarray, ...]
    """One array per quasi-identifier, one entry per person. Everybody of the table is among them."""
    least: int = 1
    """k-map: so many people at least look like a class."""
    low: float = 0.0
    high: float = 1.0
    """δ-presence: the part of them that is in the table."""
    unclear: Unclear | None = None
    """By attribute and level the values of which a reader cannot tell whether a label covers them (None: there are none)."""
    stars: tuple[tuple[bool, ...], ...] | None = None
    """By attribute and level whether every record is `*`, where something is unclear: a table of nothing else covers everybody."""

    def __len__(self) -> int:
        return int(self.codes[0].size)

    @property
    def strong(self) -> bool:
        """True if a class that satisfies the limits satisfies them after joining any other."""
        return self.low <= 0 and self.high >= 1 and self.unclear is None

    @property
    def joinable(self) -> bool:
        """True if two classes that satisfy the limits satisfy them when they are joined, whichever others join them."""
        return self.low <= 0 and self.unclear is None

    def breaks_k_map(self, people: np.ndarray) -> np.ndarray:
        """Return which classes violate k-map."""
        return np.asarray(people < self.least)

    def breaks_presence(self, sizes: np.ndarray, people: np.ndarray, more: int = 0) -> np.ndarray:
        """Return which classes violate δ-presence; `more` people may belong to any class.

        One division each, so that a limit of 0.3 and 3 of 10 round alike. Where fewer people belong to a class for certain than it
        has records, all of them may be in the table, and no more than all.
        """
        low, high = sizes / np.maximum(people + more, 1), np.minimum(sizes / np.maximum(people, 1), 1.0)
        return np.asarray((low < self.low) | (high > self.high) | ((people == 0) & (sizes > 0) & (self.high < 1)))

    def safe(self, size: int, people: int, more: int = 0) -> bool:
        """Return whether the suppressed records satisfy the limits, with the people who match no other class."""
        if size == 0:
            return people + more == 0 or self.low <= 0  # otherwise these people are known to be absent
        return people >= self.least and not bool(self.breaks_presence(np.array([size]), np.array([people]), more)[0])

    def counted(
        self, tuples: DistinctTuples, labels: np.ndarray, found: int, levels: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Count the people whom each class covers for certain, those it covers for certain if suppressed, and the
        uncertain people.
        """
        assert tuples.people is not None
        every = _sums(labels, tuples.people, found)
        if self.unclear is None:
            return every, every, 0
        if self.stars is not None and all(map(getitem, self.stars, levels)):
            every = np.where(_sums(labels, tuples.weights, found) > 0, every.sum(), 0)
            return every, every, 0
        own, any_ = np.zeros((2, len(tuples)), dtype=bool)
        for a, level in enumerate(levels):
            value = tuples.codes[:, a] - tuples.offsets[a]
            own |= self.unclear[a][level][0][value]
            any_ |= self.unclear[a][level][1][value]
        sure, surest = np.where(own, 0, tuples.people), np.where(any_, 0, tuples.people)
        return _sums(labels, sure, found), _sums(labels, surest, found), int(tuples.people[any_].sum())


def _sums(labels: np.ndarray, numbers: np.ndarray, found: int) -> np.ndarray:
    return np.bincount(labels, weights=numbers, minlength=found).astype(np.int64)


def unclear_values(
    hierarchies: Sequence[Hierarchy], chosen: Sequence[Sequence[int]], columns: Sequence[Column], limit: int
) -> Unclear | None:
    """For each attribute and chosen level, find the values that another level with the same label puts under another
    one; and also those that another level puts under some label of this one. None where no text is on two levels with
    other values.

    A reader sees texts and no levels. Whoever such a label covers on one level only is not covered for certain, unless the other
    labels of the column tell the level: at most `limit` records are suppressed, so of more than these some label is seen.
    """
    masks = [_unclear(hierarchy, column.counts, limit) for hierarchy, column in zip(hierarchies, columns, strict=True)]
    if not any(own.any() for levels in masks for own, _ in levels):
        return None
    return tuple(tuple(levels[i] for i in picked) for levels, picked in zip(masks, chosen, strict=True))


def all_stars(
    hierarchies: Sequence[Hierarchy], chosen: Sequence[Sequence[int]], columns: Sequence[Column]
) -> tuple[tuple[bool, ...], ...]:
    """For each attribute and chosen level, return whether every record has `*` there."""
    return tuple(
        tuple(_starred(hierarchy.levels[i], column.counts > 0) for i in picked)
        for hierarchy, picked, column in zip(hierarchies, chosen, columns, strict=True)
    )


def _starred(level: Level, held: np.ndarray) -> bool:
    labels = np.unique(level.table[held])
    return labels.size == 1 and texts_of(level.labels)[int(labels[0])] == STAR


def _unclear(hierarchy: Hierarchy, counts: np.ndarray, limit: int) -> list[tuple[np.ndarray, np.ndarray]]:
    numbers: dict[str | None, int] = {}
    texts = [
        np.array([numbers.setdefault(text, len(numbers)) for text in texts_of(level.labels)])[level.table]
        for level in hierarchy.levels
    ]
    found = []
    for here in texts:
        own, any_ = np.zeros((2, here.size), dtype=bool)
        for there in texts:
            if counts[~np.isin(here, np.append(there, numbers.get(STAR, -1)))].sum() > limit:
                continue  # it is seen that these are not labels of that level; records with `*` everywhere show nothing
            other = here != there
            own |= np.isin(here, there) & other
            any_ |= np.isin(there, here) & other
        found.append((own, own | any_))
    return found


# Suppression of whole people ------------------------------------------------------------------------------------------
# Suppression of whole people: a person with one record in a suppressed class is suppressed with all records.
#
# The remaining classes may become too small in turn, so the rest is counted again until nothing changes. What is left
# is the largest set of people of whom every class has at least k. A coarser node only joins classes, so such a set is
# one there too, and the largest is no smaller: the number of suppressed people never rises with the levels. (With rules
# about sensitive values that is not so, and the search does not prune on them.)


def judge(checker: NodeChecker, classes: NodeClasses) -> NodeClasses:
    """Determine the suppressed people: first by k alone, then by the rules too, unless k suppresses too many."""
    assert checker.problem.person is not None
    return _let_go(checker, classes, np.zeros(len(checker.problem.person.values), dtype=bool))


def _let_go(checker: NodeChecker, classes: NodeClasses, gone: np.ndarray) -> NodeClasses:
    """Determine the suppressed people after those of a mask; `surely` are those whom k alone suppresses."""
    by_k = _settled(checker, classes, gone, ())
    surely = by_k.suppressed
    if surely > checker.problem.limit or not checker.problem.rules:
        return replace(by_k, surely=surely)
    rules = range(len(checker.problem.rules))
    return replace(_settled(checker, classes, _people(checker, by_k), rules), surely=surely)


def complete(checker: NodeChecker, classes: NodeClasses) -> NodeClasses | None:
    """Suppress the people of further classes, the smallest first, until the suppressed are a safe class too.

    None where the limit does not allow that.
    """
    while classes.suppressed <= checker.problem.limit:
        if checker.safe(np.flatnonzero(classes.out)):
            return classes
        left = replace(classes, sizes=_sizes(checker, classes), gone=_sizes(checker, classes) == 0)
        waiting = checker.smallest_first(left, checker.problem.rows)
        if not waiting.size:
            return None
        gone = _people(checker, classes)
        gone[_persons(checker)[classes.labels == waiting[0]]] = True
        classes = replace(_let_go(checker, classes, gone), surely=classes.surely)
    return None


def kept_sizes(checker: NodeChecker, classes: NodeClasses) -> np.ndarray:
    """Number of records that each class keeps, of those that keep any."""
    if classes.leaving is None:
        return np.asarray(classes.sizes[~classes.gone])
    sizes = _sizes(checker, classes)
    return np.asarray(sizes[sizes > 0])


def _settled(checker: NodeChecker, classes: NodeClasses, gone: np.ndarray, rules: Sequence[int]) -> NodeClasses:
    """Determine the people suppressed beside those of a mask; count the rest again until nothing changes. O(tuples) a
    round.
    """
    persons = _persons(checker)
    while True:
        stay = ~gone[persons]
        left = replace(checker, tuples=checker.tuples.taken(stay))
        held = replace(classes, labels=classes.labels[stay], leaving=None)
        heads = left.heads(held)
        verdicts = (heads < checker.problem.k).astype(np.uint8)
        left.ask(rules, held, verdicts)
        broken = persons[stay][verdicts[held.labels] == 1]
        if not broken.size:
            return replace(classes, gone=heads == 0, leaving=~stay, people_gone=int(gone.sum()))
        gone = gone.copy()
        gone[broken] = True


def _persons(checker: NodeChecker) -> np.ndarray:
    assert checker.tuples.persons is not None
    return checker.tuples.persons


def _people(checker: NodeChecker, classes: NodeClasses) -> np.ndarray:
    """A boolean for each person: whether they go."""
    assert checker.problem.person is not None
    gone = np.zeros(len(checker.problem.person.values), dtype=bool)
    gone[_persons(checker)[classes.out]] = True
    return gone


def _sizes(checker: NodeChecker, classes: NodeClasses) -> np.ndarray:
    """Count the remaining records of each class."""
    out = np.zeros(classes.sizes.size, dtype=np.int64)
    nodes.sizes(classes.labels, np.where(classes.out, 0, checker.tuples.weights), out)
    return out
