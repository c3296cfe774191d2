"""The kinds of rules about the sensitive values of a class, as kernels know them, and what a search may assume of each.

A new kind is a number and a line in `KINDS`; every kernel that judges classes ends in an error for a number that it does not know.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "ALPHA",
    "BASIC_LIKENESS",
    "DISCLOSURE",
    "DISCLOSURE_OF_HELD",
    "DISTINCT",
    "ENHANCED_LIKENESS",
    "ENTROPY",
    "HELD_ALONE",
    "KINDS",
    "MONOTONE",
    "RECURSIVE",
    "T_ORDERED",
    "T_TREE",
    "RuleKind",
]

DISTINCT, ENTROPY, RECURSIVE, T_ORDERED, T_TREE, ALPHA = range(6)
DISCLOSURE, DISCLOSURE_OF_HELD, BASIC_LIKENESS, ENHANCED_LIKENESS = range(6, 10)


class RuleKind(NamedTuple):
    """Properties of a kind of rule, where records are counted. Where people are counted, no class follows from another."""

    monotone: bool = False
    """A class that keeps the rule keeps it after being joined with any other."""
    union_closed: bool = True
    """Two classes that keep the rule keep it when they are joined."""
    ordered_codes: bool = False
    """The verdict depends on the order of the values' codes."""
    compared_with_whole: bool = False
    """The verdict depends on the distribution in the whole table."""
    by_share: bool = False
    """Each value's share is compared with its own in the whole table; `count` is the number of records of the whole table."""
    held_alone: bool = False
    """Values that a class lacks may be left out of its histogram."""
    strict: bool = False
    """A class that lies exactly on the limit breaks the rule."""


KINDS: dict[int, RuleKind] = {
    DISTINCT: RuleKind(monotone=True, held_alone=True),
    ENTROPY: RuleKind(held_alone=True),
    RECURSIVE: RuleKind(held_alone=True, strict=True),
    T_ORDERED: RuleKind(ordered_codes=True, compared_with_whole=True),
    T_TREE: RuleKind(compared_with_whole=True),
    ALPHA: RuleKind(),
    DISCLOSURE: RuleKind(compared_with_whole=True, by_share=True, strict=True),
    DISCLOSURE_OF_HELD: RuleKind(union_closed=False, compared_with_whole=True, by_share=True, strict=True),
    BASIC_LIKENESS: RuleKind(compared_with_whole=True, by_share=True),
    ENHANCED_LIKENESS: RuleKind(compared_with_whole=True, by_share=True),
}
MONOTONE = tuple(kind for kind, its in KINDS.items() if its.monotone)
HELD_ALONE = tuple(kind for kind, its in KINDS.items() if its.held_alone)
