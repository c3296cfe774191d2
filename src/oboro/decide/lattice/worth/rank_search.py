"""The best node where losses are compared by rank: by the attribute that loses most, among equals by the next one, and so on.

One search for each rank. The first makes the greatest part as small as possible; every later one makes the next part as small as
possible where the greater ones are what was agreed on. So the last one's best node is the best by rank, if every search was exact.
The first that is not ends it: what follows would be ranked by a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Any

from oboro.decide.lattice.node_check import NodeChecker
from oboro.decide.lattice.objective import BEYOND, CellLoss
from oboro.decide.lattice.problem import Problem
from oboro.decide.lattice.search import SearchResult, search
from oboro.decide.lattice.search_progress import SearchProgress
from oboro.decide.lattice.sliced_check import SlicedChecker

__all__ = ["search_by_rank"]


def search_by_rank(
    problem: Problem,
    checker: NodeChecker | SlicedChecker,
    *,
    time_limit: float | None = None,
    tell: Callable[[SearchProgress], None] | None = None,
    **options: Any,
) -> SearchResult:
    """As `search`; the loss of the answer is its greatest part, and bounds are of it."""
    loss = problem.loss
    assert isinstance(loss, CellLoss)
    assert loss.ranked
    start, found = monotonic(), search(problem, checker, time_limit=time_limit, tell=tell, **options)
    first, ranks = found, () if found.best is None else (found.best.loss,)
    while found.exact and found.best is not None and len(loss.agreed) + 1 < len(loss.costs):
        loss = replace(loss, agreed=(*loss.agreed, found.best.loss))
        left = None if time_limit is None else max(time_limit - (monotonic() - start), 1e-9)
        again = {**options, "minimal": False, "time_limit": left, "first": [found.best.levels]}
        following = replace(problem, loss=loss)
        found, kept = _joint(found, search(following, replace(checker, problem=following), **again))
        ranks = (*ranks, found.best.loss) if kept and found.best is not None else ranks
    if found.best is None or first.best is None:
        return found
    others = [node for node in (first.best, *first.runners_up) if node.levels != found.best.levels]
    best = replace(found.best, loss=first.best.loss)
    told = replace(found, bound=first.bound, minimal=first.minimal, top=first.top)
    return replace(told, best=best, runners_up=others, ranks=ranks)


def _joint(before: SearchResult, after: SearchResult) -> tuple[SearchResult, bool]:
    """What two searches looked at; the later one's answer, if it has one that keeps what was agreed on, and whether it has."""
    evaluated = before.evaluated + after.evaluated
    if after.best is None or after.best.loss >= BEYOND:
        return replace(before, evaluated=evaluated, exact=False, stopped=after.stopped), False
    return replace(after, evaluated=evaluated), True
