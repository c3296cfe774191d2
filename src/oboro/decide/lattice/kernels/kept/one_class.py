"""One class of a node where nobody may be suppressed: all who have the labels of one row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oboro.decide.lattice.kernels.rules.class_parts import Room, list_held
from oboro.decide.lattice.kernels.rules.judged_nodes import RuleArrays, ask
from oboro.kernels import kernel

__all__ = ["AT_ONCE", "JoinedRows", "asked_of", "is_bad"]

AT_ONCE = 2048  # rows that are compared together, so that the marks stay in the nearest memory


class JoinedRows(NamedTuple):
    """Row i has the label `columns[first[a, v], i]` of `labels[a, v]` and a combination of secrets, and is `weights[i]` records."""

    columns: np.ndarray
    first: np.ndarray
    labels: np.ndarray
    secrets: np.ndarray
    weights: np.ndarray


@kernel(inner=True, bare=True)
def asked_of(held: np.ndarray, size: int, k: int, rules: RuleArrays, room: Room) -> int:
    """What the rules say of a class with these values: −1 it keeps all, −2 undecided, else it breaks one. O(values)."""
    return ask(list_held(held, room.some), size, k, False, rules, held, room)


@kernel(inner=True)
def is_bad(
    i: int,
    node: np.ndarray,
    rows: JoinedRows,
    k: int,
    rules: RuleArrays,
    room: Room,
    marks: np.ndarray,
) -> bool:
    """Whether the class of row i at a node surely has too few records or breaks a rule. O(rows · attributes), many at a time."""
    columns, first, labels, secrets, weights = rows
    held, size = room.held, np.int64(0)
    for begin in range(0, secrets.size, AT_ONCE):
        end = min(begin + AT_ONCE, secrets.size)
        part = marks[: end - begin]
        part[:] = 1
        for a in range(node.size):
            if labels[a, node[a]] > 1:
                column = columns[first[a, node[a]], begin:end]
                wanted = columns[first[a, node[a]], i]
                for j in range(part.size):
                    part[j] &= np.uint16(column[j] == wanted)
        for j in range(part.size):
            if part[j]:
                size += weights[begin + j]
                held[secrets[begin + j]] += weights[begin + j]
    bad = size < k or asked_of(held, size, k, rules, room) >= 0
    held[:] = 0
    return bad
