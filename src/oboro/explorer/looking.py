"""Looking closely: one choice of levels, some rows before and after, two choices side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from oboro.decide.lattice.objective import CellLoss
from oboro.explorer.answers import ColumnChange, Comparison, Neighbour, NodeFigures, NodeLook, RowWindow
from oboro.table.values import STAR

if TYPE_CHECKING:
    from oboro.decide.lattice.memory.class_sizes import Look
    from oboro.decide.lattice.nodes import Levels
    from oboro.explorer.question import Question
    from oboro.table.dataset import Column, Dataset

__all__ = ["compare", "known_nodes", "look", "released_window", "row_window"]

LISTED = 200_000  # nodes of a lattice that is gone through for what is known of it


def look(question: Question, levels: Levels, version: int) -> NodeLook:
    """Class sizes, what goes, what each column loses, and what the neighbours would."""
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
    """Two choices of levels, and the columns in which they differ."""
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
    """Every node that somebody has looked at, the best first. Nothing is looked at now.

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
    """Some rows as they came and as they would be released; O(rows) for the first of a choice, then O(n)."""
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
    """The same where classes have levels of their own: from what the step makes of the table."""
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
