"""Suppressing whole people: whoever has one record in a class that must go, goes with all records.

The classes that these leave may become too small in turn, so the rest is counted again until nothing changes. What is left is the
largest set of people of whom every class holds at least k. A coarser node only joins classes, so such a set is one there too, and
the largest is no smaller: the number of people who go never rises with the levels. (With rules about sensitive values that is not
so, and the search draws no conclusion from it.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from oboro.decide.lattice.kernels import node_classes as kernels

if TYPE_CHECKING:
    from oboro.decide.lattice.judged_classes import NodeClasses
    from oboro.decide.lattice.node_check import NodeChecker

__all__ = ["complete", "judge", "kept_sizes"]


def judge(checker: NodeChecker, classes: NodeClasses) -> NodeClasses:
    """Say who goes: first by k alone, then by the rules too, unless k suppresses too many."""
    assert checker.problem.person is not None
    return _let_go(checker, classes, np.zeros(len(checker.problem.person.values), dtype=bool))


def _let_go(checker: NodeChecker, classes: NodeClasses, gone: np.ndarray) -> NodeClasses:
    """Who goes after those of a mask; `surely` are those whom k alone lets go."""
    by_k = _settled(checker, classes, gone, ())
    surely = by_k.suppressed
    if surely > checker.problem.limit or not checker.problem.rules:
        return replace(by_k, surely=surely)
    rules = range(len(checker.problem.rules))
    return replace(_settled(checker, classes, _people(checker, by_k), rules), surely=surely)


def complete(checker: NodeChecker, classes: NodeClasses) -> NodeClasses | None:
    """Let the people of further classes go, those of the smallest first, until the suppressed are a safe class too.

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
    """How many records each class keeps, of those that keep any."""
    if classes.leaving is None:
        return np.asarray(classes.sizes[~classes.gone])
    sizes = _sizes(checker, classes)
    return np.asarray(sizes[sizes > 0])


def _settled(checker: NodeChecker, classes: NodeClasses, gone: np.ndarray, rules: Sequence[int]) -> NodeClasses:
    """Who goes beside those of a mask; count the rest again until nothing changes. O(tuples) a round."""
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
    """How many records stay in each class."""
    out = np.zeros(classes.sizes.size, dtype=np.int64)
    kernels.sizes(classes.labels, np.where(classes.out, 0, checker.tuples.weights), out)
    return out
