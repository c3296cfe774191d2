"""Local recoding on the lattice: every class gets the finest levels possible, instead of one transformation for all.

Nodes are visited in ascending order of loss. At each one, the classes that the remaining records form there and that
satisfy every rule are released; their records are done. So no record is generalized beyond the first node where enough
remaining records match it. The records left in the end, if they are no safe class, are joined by the class released
last.

A lattice that is too large to be sorted is not listed. Then nodes on chains are visited, from the finest node to the
coarsest one step at a time: first the steps that lose least for the classes they join, in every further chain more at
random (the same on every machine). They are visited in ascending order of loss as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.kernels import nodes as kernels_nodes
from oboro.algorithms.lattice.losses import CellLoss, ClassLoss
from oboro.algorithms.lattice.nodes import Lattice, Levels
from oboro.algorithms.lattice.problem import Problem

__all__ = ["Recoding", "recode"]


ORDERED = 1 << 22  # lattices with more nodes are not listed
CHAINS = 17  # what their chance begins with
WILD = 3.0  # how far chance goes in the last chain, on the scale of logarithms
VISITS = 20_000  # in larger lattices only so many nodes, evenly spread over the order of loss, are visited


@dataclass(frozen=True, eq=False)
class Recoding:
    """Node at which each record is released."""

    nodes: list[Levels]
    """The nodes in use, from the least loss to the greatest."""
    rows: np.ndarray
    """For each record the number of its node; −1: suppressed."""
    classes: int
    loss: float

    @property
    def suppressed(self) -> int:
        """Number of suppressed records."""
        return int((self.rows < 0).sum())


def recode(problem: Problem) -> Recoding | None:
    """Choose levels for every class; None where the records left in the end cannot be made safe within the limit."""
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
    nodes = _listed(lattice, bases) if lattice.size <= ORDERED else _on_chains(problem, bases)
    for node in nodes:
        levels = tuple(node.tolist())
        if levels != lattice.top:
            yield levels
    yield lattice.top


def _listed(lattice: Lattice, bases: list[np.ndarray]) -> np.ndarray:
    """All nodes in order, or some of them at equal distances."""
    order = np.argsort(lattice.sums(bases).ravel().round(12), kind="stable")
    if order.size > VISITS:
        order = order[np.unique(np.linspace(0, order.size - 1, VISITS).astype(np.int64))]
    return np.stack(np.unravel_index(order, lattice.shape), axis=1)


def _on_chains(problem: Problem, bases: list[np.ndarray]) -> np.ndarray:
    """Nodes on chains from the bottom to the top, in order."""
    heights = problem.lattice.heights
    steps = np.repeat(np.arange(len(heights)), heights)
    prices = np.concatenate([_prices(*one) for one in zip(bases, problem.entropies, strict=True)])
    chance, count = np.random.default_rng(CHAINS), max(1, VISITS // max(steps.size, 1))
    found = [np.zeros((1, len(heights)), dtype=np.int64)]
    for spread in np.linspace(0.0, WILD, count):
        drawn = (
            prices + spread * chance.standard_normal(len(heights))[steps] + spread * chance.standard_normal(steps.size)
        )
        order = steps[np.argsort(drawn, kind="stable")]  # of one attribute its steps come in turn, whatever was drawn
        found.append(np.cumsum(order[:, np.newaxis] == np.arange(len(heights)), axis=0))
    nodes = np.unique(np.concatenate(found), axis=0)
    paid = sum((part[nodes[:, a]] for a, part in enumerate(bases)), np.zeros(len(nodes)))
    return np.asarray(nodes[np.argsort(paid.round(12), kind="stable")])


def _prices(base: np.ndarray, entropy: np.ndarray) -> np.ndarray:
    """For each step of an attribute, what it loses for what it joins, as a logarithm."""
    return np.asarray(np.log(np.maximum(np.diff(base), 1e-6) / np.maximum(-np.diff(entropy), 1e-6)))


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
    values = (checker.tuples.codes - checker.tuples.offsets[:-1]).T
    ranks = [problem.text_ranks(a, 0)[codes] for a, codes in enumerate(values)]
    order = np.lexsort(ranks[::-1])
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    least = np.full(int(classes.max(initial=-1)) + 1, order.size)
    np.minimum.at(least, classes, place)
    return least


def _loss(problem: Problem, checker: NodeChecker, nodes: list[Levels], at: np.ndarray, sizes: np.ndarray) -> float:
    """Return the loss of the release: each record pays by its own levels."""
    loss, tuples = problem.loss, checker.tuples
    suppressed = int(tuples.weights[at < 0].sum())
    if not isinstance(loss, CellLoss):
        assert isinstance(loss, ClassLoss), "what classes pay is not asked of local recoding"
        return loss.value(sizes.size - (suppressed > 0), int(np.dot(sizes, sizes)) - suppressed**2, suppressed)
    parts = np.ones(len(problem.columns))  # everything suppressed, minus what each record keeps
    for visit, levels in enumerate(nodes):
        here = np.flatnonzero(at == visit)
        steps, counts = checker.steps(levels), np.zeros((len(levels), loss.width), dtype=np.int64)
        all_ = np.zeros(here.size, dtype=np.uint32)
        kernels_nodes.tally(tuples.codes[here], all_, np.ones(1, dtype=bool), tuples.weights[here], steps, counts)
        for a, level in enumerate(levels):
            extra = loss.costs[a][level].extra
            parts[a] -= float((counts[a, : extra.size] * extra).sum())
    return loss.mean(np.round(parts, 15).clip(0.0).tolist())
