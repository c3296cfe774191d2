"""Which classes may be released: the privacy models as the deciding side sees them, on histograms of a class.

Two kinds of monotonicity decide what a search may conclude without looking:

- *strong*: a class that keeps the rule keeps it after being joined with any other (size ≥ k, distinct l-diversity);
- *weak*: two classes that both keep the rule keep it when they are joined (entropy and recursive l-diversity,
t-closeness, (α,k), δ-disclosure, β-likeness: the share of a value in the joined class lies between its shares in the two).

Neither holds for rules about sensitive values where people are counted (`Rule.of_people`), nor for δ-disclosure of the values
that a class holds: a value that only one of two classes holds may become too rare in both together.

With a weak rule, joining a good class with a bad one may give a bad one, so a coarser node may suppress more than a
finer one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from typing import Literal

import numpy as np

from oboro.decide import half_spaces
from oboro.decide.lattice.kernels import node_classes as kernels
from oboro.decide.lattice.kernels import rule_kinds
from oboro.errors import UsageError
from oboro.table.dataset import Column
from oboro.table.distinct_people import tally_people
from oboro.table.groups import Groups
from oboro.table.hierarchy import Hierarchy
from oboro.table.spelling.named_values import Value, watched_values
from oboro.table.values import STAR, numbers_of
from oboro.text import Message

__all__ = ["Distance", "Rule", "alpha_rule", "closeness_rule", "disclosure_rule", "diversity_rule", "likeness_rule"]

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
    def assumed(self) -> rule_kinds.RuleKind:
        """The properties of its kind."""
        return rule_kinds.KINDS[self.kind]

    @property
    def fixed_codes(self) -> bool:
        """Whether the codes of values may not change places: their order counts, or `count` names one of them."""
        return self.assumed.ordered_codes or (self.kind == rule_kinds.ALPHA and self.count >= 0)

    @property
    def strong(self) -> bool:
        """Whether joining with any class keeps the rule."""
        return self.assumed.monotone and not self.of_people

    @property
    def joinable(self) -> bool:
        """Whether two classes that keep the rule keep it when they are joined."""
        return self.assumed.union_closed and not self.of_people

    def breaks(self, held: np.ndarray, size: int | None = None) -> bool:
        """Whether one class with this histogram of sensitive values, of so many records or people, breaks the rule."""
        size = int(held.sum()) if size is None else size
        verdict = kernels.breaks(held, size, self.kind, self.count, self.level, self.whole, self.tree)
        return verdict == 1 or (verdict == 2 and not _entropy_at_least(held, self.level))

    def lacking(self, held: np.ndarray, each: np.ndarray) -> tuple[float, np.ndarray]:
        """How much a class that breaks the rule lacks, and at most how much each of some others adds if it joins.

        Joined classes that keep the rule together add at least as much as is lacking (`oboro.decide.half_spaces`).
        """
        return half_spaces.lacking(self.kind, self.count, self.level, self.whole, self.tree, held, each)

    def lacking_at(self, held: np.ndarray, base: np.ndarray, each: np.ndarray) -> tuple[float, np.ndarray] | None:
        """The same for a class `base` by a half-space with `held` on its wrong side, if one is known that holds whoever joins."""
        how = self.kind, self.count, self.level, self.whole, self.tree
        return half_spaces.lacking_at(how, held, base, each)

    def counting(self, person: Column) -> Rule:
        """The same rule of people: `person` says whose each record is."""
        everybody = Groups.of([], self.codes.size)
        width = self.whole.size
        whole = tally_people(everybody, person, self.codes, np.arange(width), width).whole
        people = int(np.count_nonzero(person.counts))
        count = people if self.assumed.by_share else self.count
        return replace(self, whole=whole, count=count, of_people=True)


def diversity_rule(secret: str, column: Column, *, l: float, kind: str = "distinct", c: float = 1.0) -> Rule:  # noqa: E741
    """l-diversity: at least l distinct values, an entropy of at least log l, or recursive (c, l)."""
    if kind == "distinct":
        return _rule(secret, column, rule_kinds.DISTINCT, count=int(l))
    if kind == "entropy":
        return _rule(secret, column, rule_kinds.ENTROPY, level=float(l))
    return _rule(secret, column, rule_kinds.RECURSIVE, count=int(l), level=float(c))


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
        return Rule(secret, codes, whole, _flat(whole.size), rule_kinds.T_ORDERED, level=t)
    if distance == "equal":
        return _rule(secret, column, rule_kinds.T_TREE, level=t)
    if hierarchy is None:
        raise UsageError(Message("error_decide.closeness_hierarchy", secret=secret))
    return Rule(secret, column.codes, column.counts, _tree(hierarchy), rule_kinds.T_TREE, level=t)


def alpha_rule(secret: str, column: Column, *, alpha: float, value: Value | None = None) -> Rule:
    """(α,k): no sensitive value (or not the given one) makes up more than the share alpha of a class."""
    tidy = column.tidy()
    if value is None:
        return _rule(secret, column, rule_kinds.ALPHA, count=-1, level=alpha)
    watched = watched_values(tidy, secret, value).astype(np.uint8)  # 1: the value, 0: any other
    held = np.bincount(watched, weights=tidy.counts, minlength=2).astype(np.int64)
    return Rule(secret, watched[tidy.codes], held, _flat(2), rule_kinds.ALPHA, count=1, level=alpha)


def disclosure_rule(secret: str, column: Column, *, delta: float, held: bool = False) -> Rule:
    """δ-disclosure: each value is less than 2^δ times as frequent in a class as in the whole table, and the other way round.

    `held`: only values that the class holds are asked; otherwise one that it lacks breaks the rule.
    """
    kind = rule_kinds.DISCLOSURE_OF_HELD if held else rule_kinds.DISCLOSURE
    return _rule(secret, column, kind, count=len(column), level=2.0**delta)


def likeness_rule(secret: str, column: Column, *, beta: float, enhanced: bool = True) -> Rule:
    """β-likeness: the share p of a value in the whole table grows in a class by β·p at most; enhanced: by min(β, −ln p)·p."""
    kind = rule_kinds.ENHANCED_LIKENESS if enhanced else rule_kinds.BASIC_LIKENESS
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
    """Whether the entropy is at least log(level), to 60 digits: total · log(total) − Σ c · log c ≥ total ·
    log(level).
    """
    with localcontext(prec=60):
        counts = [Decimal(int(count)) for count in held if count > 0]
        total = sum(counts, Decimal(0))
        entropy = total * total.ln() - sum((count * count.ln() for count in counts), Decimal(0))
        return bool(entropy - total * Decimal(level).ln() >= -(Decimal(10) ** -40))
