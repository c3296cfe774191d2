"""How large a YAML text is once its aliases are written out: a few lines of them can stand for more than any memory holds."""

from __future__ import annotations

import math
from itertools import chain, repeat
from typing import Any

__all__ = ["MOST_NODES", "written_out"]

MOST_NODES = 5_000_000  # values in a text, with every alias written out: hierarchies have hundreds of thousands of rows


def written_out(node: Any, known: dict[int, float] | None = None) -> float:
    """How many values a node of YAML is if every alias is written out; one that holds itself has no end."""
    known = {} if known is None else known
    if id(node) not in known:
        known[id(node)] = math.inf  # until it is known: whoever meets it again on the way down is inside of it
        inner = () if node.id == "scalar" else node.value
        nodes = chain.from_iterable(inner) if node.id == "mapping" else inner
        known[id(node)] = 1 + sum(map(written_out, nodes, repeat(known)))
    return known[id(node)]
