"""Question of a session: demands on a table with roles and hierarchies, ready to be evaluated on nodes of the lattice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import inf
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from oboro.algorithms.lattice.cache import Look, RememberingChecker, RememberingSlices
from oboro.algorithms.lattice.losses import CellLoss
from oboro.algorithms.lattice.search import SearchResult, search
from oboro.errors import PromiseError, UsageError
from oboro.explorer.answers import (
    ColumnChange,
    Comparison,
    Neighbour,
    NodeFigures,
    NodeLook,
    RowWindow,
    SessionAnswer,
    Solution,
    finished,
)
from oboro.explorer.table import NUMBERS, in_parts
from oboro.notations.kinds import STAR, kind_of
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.algorithms.lattice.limits import SearchProgress
    from oboro.algorithms.lattice.nodes import Levels
    from oboro.algorithms.lattice.problem import Node, Problem
    from oboro.data.column import Column
    from oboro.data.dataset import Dataset
    from oboro.explorer.session import Session
    from oboro.explorer.table import ExploredTable
    from oboro.hierarchies.hierarchy import Hierarchy
    from oboro.measures.base import Measure
    from oboro.techniques.base import Work
    from oboro.techniques.k_anonymize import KAnonymize
    from oboro.techniques.level_limits import AllowedLevels

__all__ = [
    "Cancel",
    "ColumnCounts",
    "LabelCount",
    "PairStrength",
    "Question",
    "asks",
    "compare",
    "distribution",
    "known_nodes",
    "learned_from",
    "look",
    "only_by_running",
    "pair_strengths",
    "ready",
    "released_window",
    "row_window",
    "solved",
]


# Columns before and after a transformation ----------------------------------------------------------------------------
# Counts of generalized values, associations of columns, and the accuracy of models learned from the release.


SHOWN = 24  # labels of a column; rarer ones are counted together
BINS = 20


@dataclass(frozen=True)
class LabelCount:
    """A generalized value: how many records had a value below it, and how many are released with it."""

    label: str | None
    """None: the value is missing."""
    before: int
    after: int


@dataclass(frozen=True)
class ColumnCounts(SessionAnswer):
    """One column before and after."""

    column: str
    labels: tuple[LabelCount, ...]
    others: LabelCount | None
    """All labels that are not listed, together (their number is the label)."""
    suppressed: int
    """Records whose value became `*`."""
    ordered: bool
    """Whether labels stand in the order of their values; otherwise the most frequent first."""


@dataclass(frozen=True)
class PairStrength:
    """Association of two columns, by Cramér's V: 0 independent, 1 one determines the other."""

    columns: tuple[str, str]
    before: float
    after: float


def distribution(question: Question, levels: Levels, name: str, version: int) -> ColumnCounts:
    """Count the labels of a column. O(rows)."""
    node, data = question.node(levels), question.work.data
    gone = question.gone(node) if node.feasible and node.suppressed + node.extra else None
    chosen = question.named(levels)
    texts, codes, ordered = _labelled(question, name, chosen.get(name, 0), data)
    before = np.bincount(codes, minlength=len(texts))
    goes = name in chosen or name in question.technique.suppress_also or question.drops
    lost = np.bincount(codes[gone], minlength=len(texts)) if gone is not None and goes else 0 * before
    counts = [LabelCount(text, int(b), int(b - s)) for text, b, s in zip(texts, before, lost, strict=True) if b]
    return _shown(version, name, counts, int(lost.sum()), ordered)


def released_distribution(question: Question, name: str, version: int) -> ColumnCounts:
    """Count the labels where classes have levels of their own: the original ones, and the released ones."""
    came, released = question.work.data[name], question.released()[name]
    before = dict(zip(_texts(came), came.counts.tolist(), strict=True))
    after = dict(zip(_texts(released), released.counts.tolist(), strict=True))
    starred = after.pop(STAR, 0) - before.get(STAR, 0)
    labels = dict.fromkeys([*after, *before])
    counts = [LabelCount(label, before.get(label, 0), after.get(label, 0)) for label in labels]
    return _shown(version, name, [one for one in counts if one.before or one.after], starred, False)


def _shown(version: int, name: str, counts: list[LabelCount], starred: int, ordered: bool) -> ColumnCounts:
    """At most so many labels; the others are put together."""
    if len(counts) <= SHOWN or ordered:
        return ColumnCounts(version, name, tuple(counts), None, starred, ordered)
    counts.sort(key=lambda one: -max(one.before, one.after))
    rest = counts[SHOWN - 1 :]
    others = LabelCount(str(len(rest)), sum(one.before for one in rest), sum(one.after for one in rest))
    return ColumnCounts(version, name, tuple(counts[: SHOWN - 1]), others, starred, False)


def _labelled(question: Question, name: str, level: int, data: Dataset) -> tuple[list[str | None], np.ndarray, bool]:
    """Labels, the label of each record, and whether labels are in order. Numbers of many values are put into equal parts."""
    column = data[name]
    if level:
        held = question.hierarchies[name].levels[level]
        a = question.names.index(name)
        labels = [None if one is None else str(one) for one in held.labels.to_pylist()]
        return labels, held.table[question.problem.columns[a].codes], len(labels) <= 2 * SHOWN
    texts = _texts(column)
    if len(texts) > SHOWN and kind_of(column.values) in NUMBERS:
        return *in_parts(column, BINS), True
    return texts, column.codes, False


def _texts(column: Column) -> list[str | None]:
    return [None if one is None else str(one) for one in column.values.to_pylist()]


def pair_strengths(question: Question, levels: Levels | None) -> list[PairStrength]:
    """Measure the association of pairs of released columns, the strongest first; sampled where rows are many."""
    from oboro.measures.statistics import pairs

    released = question.released(levels)
    found = pairs(question.work.data, released, list(released))
    if found is None:
        return []
    upper = zip(*np.triu_indices(len(found.columns), 1), strict=True)
    strengths = [
        PairStrength((found.columns[i], found.columns[j]), float(found.before[i, j]), float(found.after[i, j]))
        for i, j in upper
    ]
    return sorted(strengths, key=lambda one: -one.before)


def learned_from(question: Question, levels: Levels | None, target: str) -> list[Measure]:
    """Measure how well a model learned from the release predicts an original column, beside a model learned from the original."""
    from oboro.measures.learning import learned

    released, original = question.released(levels), question.work.data
    columns = [name for name in released if name != target]
    return learned(original, released, target, columns, rng=np.random.default_rng(0))


def plain_measure(one: Measure, lang: str) -> dict[str, Any]:
    """Convert a measure to plain data in one language, for programs and pages."""
    said = {"title": one.title.say(lang), "meaning": one.meaning.say(lang)}
    return {"name": one.name, "value": one.value, "error": one.error, **said}


# Details of a transformation ------------------------------------------------------------------------------------------
# Its classes and losses, some rows before and after, and the comparison of two transformations.


LISTED = 200_000  # nodes of a lattice that is gone through for what is known of it


def look(question: Question, levels: Levels, version: int) -> NodeLook:
    """Return class sizes, suppressed records, the loss of each column, and the figures of neighbouring nodes."""
    node = question.node(levels)
    gone = question.gone(node) if node.feasible and node.suppressed + node.extra else None
    sizes = question.checker.sizes(levels)
    return NodeLook(
        version,
        node=question.figures(node),
        extra=node.extra,
        class_sizes=tuple(sizes.by_size),
        largest_counted=sizes.most,
        classes=sizes.classes,
        column_loss=question.column_loss(levels, gone) if node.feasible else None,
        neighbours=tuple(_neighbours(question, levels)),
    )


def _neighbours(question: Question, levels: Levels) -> Iterator[Neighbour]:
    lattice = question.problem.lattice
    for node in question.checker.check_all([*lattice.children(levels), *lattice.parents(levels)]):
        a = next(a for a, level in enumerate(levels) if node.levels[a] != level)
        column = question.names[a]
        yield Neighbour(column, question.named(node.levels)[column], question.figures(node))


def compare(question: Question, a: Levels, b: Levels, version: int) -> Comparison:
    """Compare two transformations by their figures and the columns in which they differ."""
    one, other = look(question, a, version), look(question, b, version)
    changed = []
    for name, first in one.node.levels.items():
        second, tree = other.node.levels[name], question.hierarchies[name].levels
        if first != second:
            lost = one.column_loss and other.column_loss and (one.column_loss[name], other.column_loss[name])
            labels = len(tree[first].labels), len(tree[second].labels)
            changed.append(ColumnChange(name, (first, second), labels, lost or None))
    return Comparison(version, one, other, tuple(changed))


def known_nodes(question: Question) -> list[NodeFigures]:
    """Return every node that was evaluated, the best first. No node is evaluated now.

    Losses that were not asked for are bounded from below. Of a lattice that is too large to be gone through, nothing is told.
    """
    lattice = question.problem.lattice
    if lattice.size > LISTED:
        return []
    found = []
    for levels in product(*(range(size) for size in lattice.shape)):
        figures = _known(question, levels)
        if figures is not None:
            found.append((not figures.feasible, figures.loss or 0.0, levels, figures))
    return [figures for *_, figures in sorted(found, key=lambda one: one[:3])]


def _known(question: Question, levels: Levels) -> NodeFigures | None:
    memory, key = question.table.looks, question.checker.division.question(levels)
    node = memory.nodes.get((*key, question.problem.limit)) or memory.nodes.get(key)
    if node is not None and node.suppressed <= question.problem.limit:
        return question.figures(node)
    seen = question.known(levels)
    return None if seen is None or not seen.answers(question.problem.k) else _bounded(question, levels, seen)


def _bounded(question: Question, levels: Levels, seen: Look) -> NodeFigures:
    """From the sizes of its classes alone: what goes, and what it loses at least."""
    problem, loss = question.problem, question.problem.loss
    small = seen.small(problem.k) + seen.gone
    if small > problem.limit:
        return NodeFigures(question.named(levels), None, True, small, False)
    least = loss.value(levels, None) if isinstance(loss, CellLoss) else loss.floor(seen.classes, seen.squares)
    return NodeFigures(question.named(levels), least, False, small, True)


def row_window(question: Question, levels: Levels, start: int, n: int, version: int) -> RowWindow:
    """Return some rows, original and as they would be released; O(rows) for the first of a transformation, then O(n)."""
    node, prepared, original = question.node(levels), question.work.data, question.table.data
    first = min(max(start, 0), prepared.rows)
    rows = np.arange(first, min(first + max(n, 0), prepared.rows))
    some = node.feasible and node.suppressed + node.extra
    gone = question.gone(node)[rows] if some else np.zeros(rows.size, dtype=bool)
    came = rows if prepared.origin is None else prepared.origin[rows]
    before = [_cells(original[name], came) for name in original]
    after = [_after(question, levels, name, rows, gone, prepared) for name in original]
    return RowWindow(
        version,
        start=int(rows[0]) if rows.size else start,
        total=prepared.rows,
        columns=tuple(original),
        before=tuple(zip(*before, strict=True)),
        after=tuple(zip(*after, strict=True)),
        released=tuple(name for name in original if name in prepared),
        suppressed=tuple(gone.tolist()),
        left_out=question.drops,
    )


def released_window(question: Question, start: int, n: int, version: int) -> RowWindow:
    """Return some rows where classes have levels of their own, from the result of the step."""
    prepared, original, released = question.work.data, question.table.data, question.released()
    first = min(max(start, 0), prepared.rows)
    rows = np.arange(first, min(first + max(n, 0), prepared.rows))
    came = prepared.origin_rows[rows]
    place = np.searchsorted(released.origin_rows, came)
    there = np.append(released.origin_rows, -1)[np.minimum(place, released.rows)] == came
    after = {name: _cells(released[name], np.where(there, place, 0)) for name in original if name in released}
    cells = [[cell if here else None for cell, here in zip(after[name], there, strict=True)] if name in after
             else [None] * rows.size for name in original]  # fmt: skip
    starred = [all(after[name][i] == STAR for name in question.names) for i in range(rows.size)]
    return RowWindow(
        version,
        start=int(rows[0]) if rows.size else start,
        total=prepared.rows,
        columns=tuple(original),
        before=tuple(zip(*(_cells(original[name], came) for name in original), strict=True)),
        after=tuple(zip(*cells, strict=True)),
        released=tuple(after),
        suppressed=tuple(star or not here for star, here in zip(starred, there.tolist(), strict=True)),
        left_out=question.drops,
    )


def _after(
    question: Question, levels: Levels, name: str, rows: np.ndarray, gone: np.ndarray, prepared: Dataset
) -> list[Any]:
    if name not in prepared:
        return [None] * rows.size
    chosen: Mapping[str, int] = question.named(levels)
    if question.drops:
        return [
            None if out else cell for cell, out in zip(_kept(question, name, chosen, rows), gone.tolist(), strict=True)
        ]
    if name not in chosen and name not in question.technique.suppress_also:
        return _cells(prepared[name], rows)
    cells = _kept(question, name, chosen, rows)
    return [STAR if out else cell for cell, out in zip(cells, gone.tolist(), strict=True)]


def _kept(question: Question, name: str, chosen: Mapping[str, int], rows: np.ndarray) -> list[Any]:
    """What rows that are not suppressed say in a column."""
    if not chosen.get(name):
        return _cells(question.work.data[name], rows)
    a, level = question.names.index(name), question.hierarchies[name].levels[chosen[name]]
    codes = np.asarray(level.table[question.problem.columns[a].codes[rows]], np.int64)
    found: list[Any] = level.labels.take(codes).to_pylist()
    return found


def _cells(column: Column, rows: np.ndarray) -> list[Any]:
    found: list[Any] = column.values.take(np.asarray(column.codes[rows], dtype=np.int64)).to_pylist()
    return found


# Question -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Question:
    """Demands of `k_anonymize` on a table, with the checker that answers them. Every evaluated node is remembered."""

    table: ExploredTable
    technique: KAnonymize
    work: Work
    problem: Problem
    hierarchies: Mapping[str, Hierarchy]
    allowed: AllowedLevels
    """Among which levels the problem chooses; a node counts among these, an answer as the hierarchies do."""

    @staticmethod
    def of(table: ExploredTable, technique: KAnonymize, work: Work) -> Question:
        """Prepare a question; raises what the step would raise."""
        technique.require_people(work.schema.person)
        asked = technique.pose(work)
        if asked.problem is None:
            raise UsageError(Message("error_explorer.no_records"))
        return Question(table, technique, work, asked.problem, asked.hierarchies, asked.allowed)

    @property
    def names(self) -> list[str]:
        """The columns that are generalized, in the order of the levels."""
        return list(self.hierarchies)

    @cached_property
    def checker(self) -> RememberingChecker | RememberingSlices:
        """Checks nodes, and remembers them."""
        return self.table.looks.checker(self.problem)

    def prepare(self) -> None:
        """Make what a search needs and other questions share: digests, distinct tuples or laid out rows."""
        if self.technique.levels is None:
            self.node(self.problem.lattice.top)

    def levels(self, given: Mapping[str, int] | Sequence[int]) -> Levels:
        """Levels by column, or in the order of the columns, as a node; a `UsageError` where they are no node."""
        if not isinstance(given, Mapping | Sequence) or isinstance(given, str | bytes):
            raise UsageError(Message("error_explorer.levels_of", names=self.names, given=[repr(given)]))
        named = dict(given) if isinstance(given, Mapping) else dict(zip(self.names, given, strict=False))
        heights = {name: hierarchy.height for name, hierarchy in self.hierarchies.items()}
        if len(given) != len(heights) or set(named) != set(heights):
            raise UsageError(Message("error_explorer.levels_of", names=self.names, given=list(map(str, named))))
        odd = next((name for name, level in named.items() if not isinstance(level, Integral)), None)
        if odd is not None:
            raise UsageError(
                Message("error_explorer.no_whole_level", column=odd, level=repr(named[odd]), top=heights[odd])
            )
        wrong = [name for name, level in named.items() if not 0 <= int(level) <= heights[name]]
        if wrong:
            raise UsageError(
                Message("error_explorer.no_level", column=wrong[0], level=int(named[wrong[0]]), top=heights[wrong[0]])
            )
        levels = tuple(int(named[name]) for name in self.names)
        return self.allowed.relative(levels, self.names, self.technique.step)

    def named(self, levels: Levels) -> dict[str, int]:
        """A node's levels by column, as the hierarchies count them."""
        return dict(zip(self.names, self.allowed.absolute(levels), strict=True))

    def node(self, levels: Levels) -> Node:
        """Check a node for certain."""
        return self.checker.check(levels, inf)

    def figures(self, node: Node) -> NodeFigures:
        """Return the figures of a node for an answer."""
        loss = node.loss if node.feasible else None
        gone = node.suppressed + node.extra
        return NodeFigures(self.named(node.levels), loss, node.settled and node.feasible, gone, node.feasible)

    def known(self, levels: Levels) -> Look | None:
        """Return the remembered classes of a node."""
        return self.table.looks.looks.get(self.checker.division.of(levels))

    def gone(self, node: Node) -> np.ndarray:
        """Return the suppressed records of a node; the latest few results are kept."""
        key = self.checker.division.question(node.levels), self.problem.limit
        return self.table.kept("gone", key, lambda: self.checker.suppressed_rows(node))

    def column_loss(self, levels: Levels, gone: np.ndarray | None) -> dict[str, float] | None:
        """Return the information loss of each column, with the suppressed records."""
        loss, out = self.problem.loss, {}
        if not isinstance(loss, CellLoss):
            return None
        for a, (name, level) in enumerate(zip(self.names, levels, strict=True)):
            one, codes = loss.costs[a][level], self.problem.columns[a].codes
            steps = np.zeros(0, dtype=np.int64) if gone is None else one.step[codes[gone]]
            out[name] = one.base + one.of_suppressed(np.bincount(steps, minlength=one.extra.size))
        return out

    @property
    def by_running(self) -> bool:
        """Whether no single transformation gives the release: classes have their own, or columns several hierarchies."""
        return self.technique.recoding == "local" or bool(self.technique.alternatives)

    @property
    def drops(self) -> bool:
        """Whether suppressed records are left out of the release."""
        return self.technique.suppressed == "drop"

    def released(self, levels: Levels | None = None) -> Dataset:
        """Run the step with these levels or its own choice; the latest few results are kept. Nothing is released by that."""
        fixed = self.technique if levels is None else self.technique.model_copy(update={"levels": self.named(levels)})
        return self.table.kept("released", (id(self), levels), lambda: (self, fixed.run(self.work).data))[1]

    def why_not(self, top: Node) -> Message:
        """Return the reason why nothing can be released."""
        return self.technique.why_not(self.problem, top.suppressed, top.satisfying, self.names)

    @property
    def demands(self) -> dict[str, Any]:
        """Demands as a recipe writes them."""
        written: dict[str, Any] = self.technique.model_dump(mode="json", exclude_defaults=True)
        return written


# Search for the best transformation -----------------------------------------------------------------------------------
# It uses all nodes that earlier searches evaluated.


Cancel = threading.Event | Callable[[], bool]


def solved(
    session: Session,
    technique: KAnonymize,
    over: Callable[[], bool] | None,
    tell: Callable[[SearchProgress], None] | None,
    first: Sequence[Sequence[int]],
) -> Solution:
    """Search the best transformation of a session's table for some demands."""
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
    """Prepare a question with everything that is made once: hierarchies, the layout of the rows. One thread at a time makes it."""
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
    """Return whether only a run of the step answers: levels by class, data-independent, sequential, by rank, of several trees."""
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
    """Return a function that returns whether the caller cancels the search; None where it cannot be cancelled."""
    if cancel is None:
        return None
    return cancel.is_set if isinstance(cancel, threading.Event) else cancel
