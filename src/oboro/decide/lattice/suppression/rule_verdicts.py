"""Which classes break a rule about sensitive values: counted class by class, as soon as enough is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from oboro.decide.lattice.kernels import node_classes as kernels
from oboro.decide.lattice.kernels.counted_rules import judge_counted

if TYPE_CHECKING:
    from oboro.decide.lattice.judged_classes import NodeClasses
    from oboro.decide.lattice.node_check import NodeChecker

__all__ = ["ALL", "UNASKED", "ask_rule"]

ALL = 1 << 62
NOBODY = np.empty(0, dtype=np.int32)
UNASKED = np.empty(0, dtype=np.int64)
MANY = 4096  # tuples from which on values are counted by class; below, no compiled code is worth its loading
COUNTERS = 1 << 22  # counters of a class and a value


def ask_rule(
    checker: NodeChecker, i: int, classes: NodeClasses, verdicts: np.ndarray, most: int, least: np.ndarray = UNASKED
) -> None:
    """Raise the verdicts of classes that break a rule to 1, of those that are undecided to 2.

    The tuples are counted as they come, or class by class where people are counted or there are too many values. The first takes
    half the time. It stops once the classes that break a rule have more than `most` records. `least` gets for each at least how
    many of its records go in every finer node, if that is asked and the rule tells it; then these decide when to stop.
    """
    rule, tuples = checker.problem.rules[i], checker.tuples
    least = least if rule.joinable and not rule.strong else UNASKED
    how = (rule.kind, rule.count, rule.level, rule.whole, rule.tree)
    asked = np.flatnonzero(verdicts == 0)
    if tuples.persons is not None or len(tuples) < MANY or asked.size * rule.whole.size > COUNTERS:
        order, starts = classes.members
        persons = NOBODY if tuples.persons is None else tuples.persons
        kernels.judge(order, starts, tuples.secrets[i], tuples.weights, persons, *how, least, verdicts)
        return
    gone = verdicts == 1
    left = most - int((least[gone] if least.size else classes.sizes[gone]).sum())
    if left < 0:
        return
    place, held = np.full(verdicts.size, -1), np.zeros((asked.size, rule.whole.size), dtype=np.int64)
    place[asked] = np.arange(asked.size)
    rest = (tuples.secrets[i], tuples.weights, classes.sizes, *how, left, held, least, verdicts)
    judge_counted(classes.labels, place, asked, *rest)
