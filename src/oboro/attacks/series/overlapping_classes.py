"""Which classes of two releases can hold the same person, told by their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oboro.system.extras import bring
from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups
from oboro.table.hierarchy import Hierarchy
from oboro.table.labels.notation import label_range
from oboro.table.labels.possible_values import PossibleValues, possible_values
from oboro.table.labels.starred_values import is_star
from oboro.table.value_counts import clean
from oboro.table.values import STAR
from oboro.verifier.series.old_places import released_classes, suppressed_classes

__all__ = ["Overlap", "overlap"]


@dataclass(frozen=True, eq=False)
class Overlap:
    """The classes of an old and a new release, the pairs of them that share values, and regions that both describe as a whole.

    The fully suppressed records stand for whoever fits no other class: they are a region of their own.
    """

    old: Groups
    new: Groups
    pairs: np.ndarray  # (old class, new class), one below the other
    old_region: np.ndarray
    new_region: np.ndarray


def overlap(
    old: Dataset,
    new: Dataset,
    quasi: Sequence[str],
    *,
    known: Dataset | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Overlap:
    """Compare the labels of both releases. Without `known`, a table whose values they stand for, they speak for themselves."""
    names = [name for name in quasi if name in old and name in new]
    classes = released_classes(old, names), released_classes(new, names)
    reaches = [_reach(clean(old[n]), clean(new[n]), _known(known, n), (hierarchies or {}).get(n)) for n in names]
    starred = suppressed_classes(old, names, classes[0]), suppressed_classes(new, names, classes[1])
    labels = [
        np.stack([clean(table[name]).codes[groups.first_rows()] for name in names], axis=1).astype(np.int64)
        if names
        else np.zeros((len(groups), 0), np.int64)
        for table, groups in zip((old, new), classes, strict=True)
    ]
    pairs = _pairs(labels, reaches, starred)
    both = np.argwhere(starred[0][:, None] & starred[1]) if starred[0].any() and starred[1].any() else pairs[:0]
    pairs = np.concatenate([pairs, both])
    regions = _regions(pairs, len(classes[0]), len(classes[1]))
    return Overlap(classes[0], classes[1], pairs, regions[: len(classes[0])], regions[len(classes[0]) :])


def _known(known: Dataset | None, name: str) -> Column | None:
    return known[name] if known is not None and name in known else None


def _reach(old: Column, new: Column, known: Column | None, hierarchy: Hierarchy | None) -> np.ndarray:
    """Which labels of the old and the new column share a value."""
    if known is None and hierarchy is not None:
        known = Column((hierarchy.whole or hierarchy).levels[0].labels, np.arange(0))
    domain = _atoms(old, new) if known is None else known
    one, other = (_matrix(possible_values(_all(domain), column, hierarchy)) for column in (old, new))
    shared = one.astype(np.float32) @ other.T.astype(np.float32) > 0
    alike = np.equal.outer(np.array(old.texts, dtype=object), np.array(new.texts, dtype=object))
    return np.asarray(shared | alike | is_star(old)[:, None] | is_star(new))


def _all(column: Column) -> Column:
    """Every value of a dictionary once."""
    return Column(column.values, np.arange(len(column.values)))


def _atoms(old: Column, new: Column) -> Column:
    """Values that tell the labels of two columns apart: what they name themselves, ends of ranges and the middles between, masks
    with their marks filled in."""
    texts = [text for text in dict.fromkeys([*old.texts, *new.texts]) if text is not None and text != STAR]
    ranges = [found for found in map(label_range, texts) if found is not None]
    ends = [_number(end) for found in ranges for end in (found.first, found.last) if end is not None]
    if ranges and all(end is not None for end in ends):
        plain = [_number(text) for text in texts if label_range(text) is None]
        line = np.unique([one for one in (*ends, *plain) if one is not None])
        outer = [line[0] - 1, *line, *((line[1:] + line[:-1]) / 2), line[-1] + 1]
        return Column(pa.array(np.unique(outer)), np.arange(0))
    filled = [text.replace("*", "0") if "*" in text else text for text in texts]
    return Column(pa.array(list(dict.fromkeys([*texts, *filled])), pa.string()), np.arange(0))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _matrix(found: PossibleValues) -> np.ndarray:
    """Which label reaches which value."""
    return np.array([found.reaches(label) for label in range(found.low.size)]).reshape(found.low.size, found.width)


def _pairs(
    labels: Sequence[np.ndarray], reaches: Sequence[np.ndarray], starred: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """The pairs of classes whose labels share a value in every column; only within the parts that columns fall apart into."""
    sizes = labels[0].shape[0], labels[1].shape[0]
    parts = [np.zeros((size, 0), np.int64) for size in sizes]
    for a, reach in enumerate(reaches):
        part = _regions(np.argwhere(reach), *reach.shape)
        cut = part[: reach.shape[0]], part[reach.shape[0] :]
        parts = [np.column_stack([one, c[codes[:, a]]]) for one, c, codes in zip(parts, cut, labels, strict=True)]
    _, group = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
    group = group.ravel()
    old, new = (np.flatnonzero(~stars) for stars in starred)
    mine, theirs = group[: sizes[0]][old], group[sizes[0] :][new]
    order = np.argsort(theirs, kind="stable")
    begin, end = (np.searchsorted(theirs[order], mine, side) for side in ("left", "right"))
    times = end - begin
    first = np.repeat(old, times)
    offsets = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
    second = new[order[np.repeat(begin, times) + offsets]]
    fits = np.ones(first.size, dtype=bool)
    for a, reach in enumerate(reaches):
        fits &= reach[labels[0][first, a], labels[1][second, a]]
    return np.column_stack([first[fits], second[fits]])


def _regions(pairs: np.ndarray, old: int, new: int) -> np.ndarray:
    """The connected parts of a graph between old and new ones, numbered; those of the old first."""
    csr_array = bring("scipy.sparse").csr_array
    connected_components = bring("scipy.sparse.csgraph").connected_components
    ones = np.ones(len(pairs), dtype=np.int8)
    graph = csr_array((ones, (pairs[:, 0], pairs[:, 1] + old)), shape=(old + new, old + new))
    return np.asarray(connected_components(graph, directed=False)[1])
