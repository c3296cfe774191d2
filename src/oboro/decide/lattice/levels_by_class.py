"""Local recoding: every class takes the finest levels that it can, instead of one choice of levels for all.

Nodes are visited from the least loss to the greatest. At each one, the classes that the records still left form there
and that keep every rule are released as they are; their records are out. So nobody is generalized further than to the
first node where enough others are left to stand with. What is left in the end, if it is no safe class, is joined by
the class released last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from oboro.decide.lattice.kernels import node_classes as kernels
from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.objective import CellLoss, ClassLoss
from oboro.decide.lattice.problem import Problem
from oboro.errors import UsageError
from oboro.text import Message

__all__ = ["Recoding", "recode"]

ORDERED = 1 << 22
VISITS = 20_000  # in larger lattices only so many nodes, evenly spread over the order of loss, are visited


@dataclass(frozen=True, eq=False)
class Recoding:
    """Which node each record is released at."""

    nodes: list[Levels]
    """The nodes in use, from the least loss to the greatest."""
    rows: np.ndarray
    """For each record the number of its node; −1: suppressed."""
    classes: int
    loss: float

    @property
    def suppressed(self) -> int:
        """How many records are suppressed."""
        return int((self.rows < 0).sum())


def recode(problem: Problem) -> Recoding | None:
    """Give every class its own levels; None where what is left in the end cannot be made safe within the limit."""
    if problem.lattice.size > ORDERED:
        raise UsageError(Message("error_decide.too_many_nodes", nodes=problem.lattice.size, most=ORDERED))
    whole = NodeChecker.of(replace(problem, limit=problem.rows))  # every class is judged, however many go
    top, nodes = problem.lattice.top, list(_visits(problem))
    at, number, weights = np.full(len(whole.tuples), -1), np.full(len(whole.tuples), -1), whole.tuples.weights
    left, checker, classes = np.arange(len(whole.tuples)), whole, 0
    for visit, levels in enumerate(nodes):
        if not left.size:
            break
        if not checker.any_kept(levels):
            continue
        found = checker.judge(checker.classes(levels))
        kept = ~found.gone[found.labels]
        at[left[kept]] = visit
        number[left[kept]] = classes + found.labels[kept].astype(np.int64)
        classes += found.sizes.size
        left = left[~kept]
        checker = replace(checker, tuples=checker.tuples.taken(~kept))
    starred = all(len(hierarchy.levels[-1].labels) == 1 for hierarchy in problem.hierarchies)
    if problem.relaxed:
        if int(weights[left].sum()) > problem.limit:
            return None
    elif left.size and not _join(problem, whole, at, number, left, starred):
        return None
    if starred and not problem.relaxed:
        at[at < 0] = len(nodes) - 1  # the top says no more than a suppressed record does
    used = np.unique(at[at >= 0])
    place = np.full(len(nodes) + 1, -1)
    place[used] = np.arange(used.size)
    chosen = [nodes[visit] for visit in used]
    rows = place[at] if whole.tuples.rows is None else place[at][whole.tuples.rows]
    sizes = np.bincount(np.unique(number, return_inverse=True)[1].ravel(), weights=weights).astype(np.int64)
    assert nodes[-1] == top
    return Recoding(chosen, rows, sizes.size, _loss(problem, whole, chosen, place[at], sizes))


def _visits(problem: Problem) -> Iterator[Levels]:
    """Nodes by the loss of their levels, then lexicographically; the top last."""
    lattice, loss = problem.lattice, problem.loss
    bases = loss.bounds(0)[0] if isinstance(loss, CellLoss) else [-part for part in problem.entropies]
    order = np.argsort(lattice.sums(bases).ravel().round(12), kind="stable")
    if order.size > VISITS:
        order = order[np.unique(np.linspace(0, order.size - 1, VISITS).astype(np.int64))]
    for place in order:
        levels = tuple(int(level) for level in np.unravel_index(place, lattice.shape))
        if levels != lattice.top:
            yield levels
    yield lattice.top


def _join(
    problem: Problem, checker: NodeChecker, at: np.ndarray, number: np.ndarray, left: np.ndarray, starred: bool
) -> bool:
    """Let classes join what is left, those released last first and small ones first, until it is a safe class."""
    weights = checker.tuples.weights
    numbers, inverse = np.unique(number, return_inverse=True)
    sizes = np.bincount(inverse, weights=weights)
    last = np.full(numbers.size, -1)
    last[inverse] = at
    texts = _text_order(problem, checker, inverse)
    waiting = [c for c in np.lexsort((texts, sizes, -last)) if numbers[c] >= 0]
    limit = problem.rows if starred else problem.limit
    gone = np.zeros(at.size, dtype=bool)
    gone[left] = True
    while int(weights[gone].sum()) <= limit:
        if checker.safe(np.flatnonzero(gone)):
            at[gone], number[gone] = -1, -1
            return True
        if not waiting:
            return False
        gone |= inverse == waiting.pop(0)
    return False


def _text_order(problem: Problem, checker: NodeChecker, classes: np.ndarray) -> np.ndarray:
    """A rank for each class that depends on its values as text, never on the order of the rows: its least tuple's."""
    ranks = []
    for codes, block in zip(checker.tuples.codes, checker.tuples.blocks, strict=True):
        ranks += [problem.text_ranks(a, 0)[codes[:, j] - checker.tuples.offsets[a]] for j, a in enumerate(block)]
    order = np.lexsort(ranks[::-1])
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    least = np.full(int(classes.max(initial=-1)) + 1, order.size)
    np.minimum.at(least, classes, place)
    return least


def _loss(problem: Problem, checker: NodeChecker, nodes: list[Levels], at: np.ndarray, sizes: np.ndarray) -> float:
    """What the release loses: each record pays by its own levels."""
    loss, tuples = problem.loss, checker.tuples
    suppressed = int(tuples.weights[at < 0].sum())
    if not isinstance(loss, CellLoss):
        assert isinstance(loss, ClassLoss), "what classes pay is not asked of local recoding"
        return loss.value(sizes.size - (suppressed > 0), int(np.dot(sizes, sizes)) - suppressed**2, suppressed)
    parts = np.ones(len(problem.columns))  # everything suppressed, minus what each record keeps
    for visit, levels in enumerate(nodes):
        here = np.flatnonzero(at == visit)
        steps, counts = checker.steps(levels), np.zeros((len(levels), loss.width), dtype=np.int64)
        for codes, block in zip(tuples.codes, tuples.blocks, strict=True):
            out = counts[block.start : block.stop]
            all_ = np.zeros(here.size, dtype=np.uint32)
            kernels.tally(codes[here], all_, np.ones(1, dtype=bool), tuples.weights[here], steps, out)
        for a, level in enumerate(levels):
            extra = loss.costs[a][level].extra
            parts[a] -= float((counts[a, : extra.size] * extra).sum())
    return loss.mean(np.round(parts, 15).clip(0.0).tolist())
