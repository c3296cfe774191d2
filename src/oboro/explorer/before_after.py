"""One choice of levels before and after: how often each label stands, which columns hang together, what can be learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from oboro.explorer.answers import SessionAnswer
from oboro.explorer.column_values import NUMBERS, in_parts
from oboro.table.values import kind_of

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
    lost = np.bincount(codes[gone], minlength=len(texts)) if gone is not None and name in chosen else 0 * before
    counts = [LabelCount(text, int(b), int(b - s)) for text, b, s in zip(texts, before, lost, strict=True) if b]
    if len(counts) > SHOWN and not ordered:
        counts.sort(key=lambda one: -one.before)
        rest = counts[SHOWN - 1 :]
        others = LabelCount(str(len(rest)), sum(one.before for one in rest), sum(one.after for one in rest))
        return ColumnCounts(version, name, tuple(counts[: SHOWN - 1]), others, int(lost.sum()), False)
    return ColumnCounts(version, name, tuple(counts), None, int(lost.sum()), ordered)


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


def released_by(question: Question, levels: Levels) -> Dataset:
    """What the step makes of the table with these levels. Nothing is released by that."""
    fixed = question.technique.model_copy(update={"levels": question.named(levels)})
    return fixed.run(question.work).data


def pair_strengths(question: Question, levels: Levels) -> list[PairStrength]:
    """Pairs of columns that are released, the strongest first; sampled where rows are many."""
    from oboro.measure.statistics.associations import pairs

    released = released_by(question, levels)
    found = pairs(question.work.data, released, list(released))
    if found is None:
        return []
    upper = zip(*np.triu_indices(len(found.columns), 1), strict=True)
    strengths = [
        PairStrength((found.columns[i], found.columns[j]), float(found.before[i, j]), float(found.after[i, j]))
        for i, j in upper
    ]
    return sorted(strengths, key=lambda one: -one.before)


def learned_from(question: Question, levels: Levels, target: str) -> list[Measure]:
    """How well a model that learns from the release predicts a column of the original, beside one that learns from that."""
    from oboro.measure.statistics.learning import learned

    released, original = released_by(question, levels), question.work.data
    columns = [name for name in released if name != target]
    return learned(original, released, target, columns, rng=np.random.default_rng(0))


def plain_measure(one: Measure, lang: str) -> dict[str, Any]:
    """A measure for programs and pages, in one language."""
    said = {"title": one.title.say(lang), "meaning": one.meaning.say(lang)}
    return {"name": one.name, "value": one.value, "error": one.error, **said}
