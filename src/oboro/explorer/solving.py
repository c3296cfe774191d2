"""Solving: the best choice of levels, found with everything that earlier searches saw."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from oboro.decide.lattice.search import SearchResult, search
from oboro.errors import PromiseError
from oboro.explorer.answers import NodeFigures, Solution
from oboro.explorer.waiting import finished
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.decide.lattice.nodes import Levels
    from oboro.decide.lattice.search_progress import SearchProgress
    from oboro.explorer.question import Question
    from oboro.explorer.session import Session
    from oboro.techniques.base import Work
    from oboro.techniques.k_anonymize import KAnonymize

__all__ = ["Cancel", "asks", "only_by_running", "ready", "solved"]

Cancel = threading.Event | Callable[[], bool]


def solved(
    session: Session,
    technique: KAnonymize,
    over: Callable[[], bool] | None,
    tell: Callable[[SearchProgress], None] | None,
    first: Sequence[Sequence[int]],
) -> Solution:
    """The best choice of levels of a session's table for some demands."""
    version, rows = session.version, session.table.data.rows
    if only_by_running(technique):
        technique.require_people(session.person)
        return finished(lambda: _by_running(technique, session.work, version), over) or _given_up(
            technique, version, rows
        )
    question = finished(lambda: ready(session, technique), over)
    if question is None:
        return _given_up(technique, version, rows)
    return _searched(question, version, over, tell, [question.levels(one) for one in first])


def ready(session: Session, technique: KAnonymize) -> Question:
    """A question with everything that is made once: hierarchies, the layout of the rows. One at a time makes it."""
    with session.table.preparing:
        question = session.question(technique)
        question.prepare()
    return question


def _searched(
    question: Question,
    version: int,
    cancelled: Callable[[], bool] | None,
    tell: Callable[[SearchProgress], None] | None,
    first: Sequence[Levels],
) -> Solution:
    """Search; where levels are given, only these are checked."""
    asked, memory = question.technique, question.table.looks
    hits = memory.hits
    if asked.levels is None:
        options: dict[str, Any] = {"strategy": asked.search, "minimal": False, "time_limit": asked.time_limit}
        options["prove"] = asked.optimum
        found = search(question.problem, question.checker, **options, tell=tell, cancelled=cancelled, first=first)
    else:
        node = question.node(question.levels(asked.levels))
        size = question.problem.lattice.size
        found = SearchResult(node if node.feasible else None, None, [], size, 1, 0, size - 1, node, exact=False)
    return _solution(question, version, found, memory.hits - hits)


def _solution(question: Question, version: int, found: SearchResult, remembered: int) -> Solution:
    nothing = found.best is None and found.stopped is None
    return Solution(
        version,
        demands=question.demands,
        best=None if found.best is None else question.figures(found.best),
        exact=found.exact and found.stopped is None,
        bound=found.bound,
        stopped=found.stopped,
        limit=question.problem.limit,
        rows=question.problem.rows,
        size=found.size,
        evaluated=found.evaluated,
        remembered=min(remembered, found.evaluated),
        why=question.why_not(found.top) if nothing else None,
    )


def only_by_running(asked: KAnonymize) -> bool:
    """Whether a search over levels cannot answer: levels by class, chosen blindly, in a series, by rank, of several trees."""
    return (
        asked.recoding == "local"
        or asked.blind
        or asked.aggregate == "rank"
        or bool(asked.earlier or asked.alternatives)
    )


def _by_running(technique: KAnonymize, work: Work, version: int) -> Solution:
    """Where levels are chosen by class, blindly or in a series: what the step itself finds."""
    best, why, facts = None, None, {}
    try:
        facts = dict(technique.run(work).facts)
        levels = {name: one["level"] for name, one in facts["levels"].items() if "level" in one}
        best = NodeFigures(levels, facts["loss"]["value"], True, facts["suppressed"]["records"], True)
    except PromiseError as error:
        why = error.words if isinstance(error.words, Message) else Message("text.remarks", said=[str(error)])
    return Solution(
        version,
        demands=technique.model_dump(mode="json", exclude_defaults=True),
        best=best,
        exact=bool(facts.get("loss", {}).get("exact", False)),
        bound=facts.get("loss", {}).get("bound"),
        stopped=facts.get("stopped"),
        limit=facts.get("suppressed", {}).get("limit", 0),
        rows=work.data.rows,
        size=facts.get("lattice", {}).get("nodes", 0),
        evaluated=facts.get("lattice", {}).get("evaluated", 0),
        remembered=0,
        why=why,
    )


def _given_up(technique: KAnonymize, version: int, rows: int) -> Solution:
    """The answer where the wish to end came before the search began."""
    return Solution(
        version,
        demands=technique.model_dump(mode="json", exclude_defaults=True),
        best=None,
        exact=False,
        bound=None,
        stopped="interrupt",
        limit=0,
        rows=rows,
        size=0,
        evaluated=0,
        remembered=0,
    )


def asks(cancel: Cancel | None) -> Callable[[], bool] | None:
    """Whether somebody wishes to end the search, as a function; None where nobody will."""
    if cancel is None:
        return None
    return cancel.is_set if isinstance(cancel, threading.Event) else cancel
