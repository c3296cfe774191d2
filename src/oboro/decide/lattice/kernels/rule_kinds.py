"""The kinds of rules about the sensitive values of a class, as kernels know them."""

from __future__ import annotations

__all__ = [
    "ALPHA",
    "BASIC_LIKENESS",
    "COMPARED_WITH_WHOLE",
    "DISCLOSURE",
    "DISCLOSURE_OF_HELD",
    "DISTINCT",
    "ENHANCED_LIKENESS",
    "ENTROPY",
    "RECURSIVE",
    "T_ORDERED",
    "T_TREE",
]

DISTINCT, ENTROPY, RECURSIVE, T_ORDERED, T_TREE, ALPHA = range(6)
DISCLOSURE, DISCLOSURE_OF_HELD, BASIC_LIKENESS, ENHANCED_LIKENESS = range(6, 10)
COMPARED_WITH_WHOLE = (
    DISCLOSURE,
    DISCLOSURE_OF_HELD,
    BASIC_LIKENESS,
    ENHANCED_LIKENESS,
)  # `count`: how many there are in all
