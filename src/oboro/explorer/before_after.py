"""One choice of levels before and after: how often each label stands, which columns hang together, what can be learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from oboro.explorer.answers import SessionAnswer
from oboro.explorer.column_values import NUMBERS, in_parts
from oboro.table.values import STAR, kind_of

if TYPE_CHECKING:
    from oboro.decide.lattice.nodes import Levels
    from oboro.explorer.question import Question
    from oboro.measure.metrics import Measure
    from oboro.table.dataset import Column, Dataset

__all__ = ["ColumnCounts", "LabelCount", "PairStrength", "distribution", "learned_from", "pair_strengths"]

SHOWN = 24  # labels of a column; rarer ones are counted together
BINS = 20


@dataclass(frozen=True)
class LabelCount:
    """A released label: how many records had a value under it, and how many are released with it."""

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
    """How strongly two columns hang together, by Cramér's V: 0 not at all, 1 one follows from the other."""

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
    """The same where classes have levels of their own: labels as they came, and as they would be released."""
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
    """Pairs of columns that are released, the strongest first; sampled where rows are many."""
    from oboro.measure.statistics.associations import pairs

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
    """How well a model that learns from the release predicts a column of the original, beside one that learns from that."""
    from oboro.measure.statistics.learning import learned

    released, original = question.released(levels), question.work.data
    columns = [name for name in released if name != target]
    return learned(original, released, target, columns, rng=np.random.default_rng(0))


def plain_measure(one: Measure, lang: str) -> dict[str, Any]:
    """A measure for programs and pages, in one language."""
    said = {"title": one.title.say(lang), "meaning": one.meaning.say(lang)}
    return {"name": one.name, "value": one.value, "error": one.error, **said}
