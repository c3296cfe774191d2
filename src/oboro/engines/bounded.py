"""Bounded run: a recipe on an engine without rows on the driver, from sums over buckets of coded rows.

A bucket holds all rows that agree on the labels of one node, the *cut* (the lattice's top, where that divides the rows
finely enough). So every class of every node that is nowhere coarser than the cut lies in one bucket, and our own kernels
count it there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, prod
from typing import Any, ClassVar, Protocol
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.algorithms.lattice.evaluator import DistinctTuples, NodeChecker
from oboro.algorithms.lattice.losses import CellLoss
from oboro.algorithms.lattice.nodes import Levels
from oboro.algorithms.lattice.problem import Node, Problem
from oboro.algorithms.lattice.sliced import SlicedChecker
from oboro.algorithms.lattice.suppression import MAX_GROUPS_TRIED
from oboro.data.column import Column, NestedColumn, UnreadColumn, smallest_unsigned, why_unusable
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.disclosure.gate import ColumnStore, NeedsRows, ReleaseCandidate, StepRecord, check_release
from oboro.engines.base import Buckets, EngineRelease, EngineTable, Phases, Seal, Staged, first_rows
from oboro.engines.coded import (
    COUNT,
    ByValue,
    ChangedData,
    CombinationCounts,
    Exceptions,
    KnownValues,
    RowNumbers,
    TupleKeys,
    drawn_key,
    encoded,
    in_chunks,
    in_order,
    packed,
    prepared,
    rows_of_tally,
    shared_out,
    summed,
)
from oboro.errors import PromiseError
from oboro.hierarchies.hierarchy import Hierarchy, Level, text_array
from oboro.io.read import read_data
from oboro.notations.kinds import STAR
from oboro.privacy.base import MODELS
from oboro.recipe.randomness import moves_rows, warning_of_order, warning_of_seed
from oboro.recipe.recipe import Recipe
from oboro.recipe.run import admitted, record_of
from oboro.schema import Schema
from oboro.techniques.base import Outcome, Work
from oboro.techniques.drop_columns import DropColumns
from oboro.techniques.k_anonymize import KAnonymize
from oboro.text import Message
from oboro.text.language import Progress
from oboro.verifier.promises import Promise
from oboro.verifier.verdict import WORST_SHOWN, Verdict, Verification

__all__ = [
    "HELD",
    "BoundedRun",
    "Bucket",
    "BucketChecker",
    "BucketCoding",
    "BucketLook",
    "ClassesAt",
    "ColumnTallies",
    "NotBounded",
    "ReleasedLabels",
    "RemoteColumns",
    "SmallClasses",
    "Suppressed",
    "Suppressing",
    "Survey",
    "TalliedColumn",
    "cut_of",
    "distinct_rows",
    "generalizing",
    "lean",
    "plan_of",
    "suppressing",
    "unique_rows",
    "verified",
    "why_rows",
]


# Recipes for a bounded run --------------------------------------------------------------------------------------------
# They need no rows on the driver: one `k_anonymize` that asks for class sizes alone, and columns that are dropped.


LOOKED_INTO = (
    "recoding",
    "suppressed",
    "suppress_also",
    "suppress_people",
    "alternatives",
    "aggregates",
    "earlier",
    "population",
)
"""Parameters of `k_anonymize` by which it looks into classes or at several tables, unless they are at their defaults."""
PAID_BY_CLASS = ("ambiguity", "kl", "classification", "payout")


def why_rows(recipe: Recipe, names: Sequence[str]) -> Message | None:
    """Return the reason why a recipe needs all rows on the driver, or None where it does not."""
    for step in recipe.steps:
        if not isinstance(step, KAnonymize | DropColumns):
            return Message("error_engine.rows_step", step=step.step)
    steps = [step for step in recipe.steps if isinstance(step, KAnonymize)]
    if len(steps) != 1:
        return Message("error_engine.rows_step", step="k_anonymize")
    fields = type(steps[0]).model_fields
    for parameter in (*LOOKED_INTO, "target", *MODELS.in_recipes()):  # sizes of classes decide no model but k
        if getattr(steps[0], parameter) != fields[parameter].get_default(call_default_factory=True):
            return Message("error_engine.rows_asked", parameter=parameter)
    if steps[0].loss in PAID_BY_CLASS or steps[0].aggregate == "rank":
        return Message("error_engine.rows_asked", parameter="loss")
    for parameter in ("person", "earlier", "budget", "together"):
        if getattr(recipe, parameter):
            return Message("error_engine.rows_asked", parameter=parameter)
    return None if set(generalizing(recipe)) <= _released(recipe, names) else Message("error_engine.rows_dropped")


def generalizing(recipe: Recipe) -> list[str]:
    """Return the columns that the one step generalizes."""
    step = next(one for one in recipe.steps if isinstance(one, KAnonymize))
    return list(recipe.schema_given.chosen(step.quasi, step.step))


def _released(recipe: Recipe, names: Sequence[str]) -> set[str]:
    gone = {name for step in recipe.steps for name in step.removes_identity}
    return {name for name in names if name not in gone}


# Buckets of coded rows ------------------------------------------------------------------------------------------------


GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class BucketCoding:
    """Coding of rows, and the bucket of each. It travels to tasks."""

    token: str
    known: Mapping[str, KnownValues]
    cut: tuple[np.ndarray, ...]
    """For each of these columns, by code: its part of the number of the row's class at the cut."""
    parts: int
    numbers: RowNumbers
    others: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return [*self.known, *self.others]

    def scatter(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
        """Make blocks of rows, each with its bucket. O(rows)."""
        ready = prepared(self)
        for table in in_chunks(ready.coded(batch) for batch in batches):
            yield from shared_out(table, self._buckets(table), self.parts)

    def coded(self, batch: pa.RecordBatch) -> pa.Table:
        """One code a column, and one number for all other columns of a row."""
        columns = {}
        for place, (name, known) in enumerate(self.known.items()):
            columns[f"{place}"] = pa.array(known.codes(batch[name]).astype(smallest_unsigned(len(known.values))))
        if self.others:
            arrays = {name: batch[name] for name in self.others}
            columns["others"] = pa.array(self.numbers.of_arrays(arrays, batch.num_rows))
        return pa.table(columns)

    def _buckets(self, table: pa.Table) -> np.ndarray:
        keys = np.zeros(table.num_rows, np.uint64)
        for place, part in enumerate(self.cut):
            keys += part[table[f"{place}"].to_numpy()]
        return np.asarray(((keys * GOLDEN) >> np.uint64(32)) % np.uint64(self.parts), dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class Bucket:
    """The rows of one bucket."""

    codes: tuple[np.ndarray, ...]
    others: np.ndarray | None
    rows: int

    @staticmethod
    def of(blocks: Iterable[Any]) -> Bucket:
        """Join the blocks of a bucket, in any order."""
        table = pa.concat_tables([pa.ipc.open_stream(block).read_all() for block in blocks])
        codes = tuple(table[name].to_numpy() for name in table.column_names if name != "others")
        others = table["others"].to_numpy() if "others" in table.column_names else None
        return Bucket(codes, others, table.num_rows)


class BucketLook(Protocol):
    """A question to every bucket. It travels to tasks."""

    def of(self, bucket: Bucket) -> bytes:
        """Return the answer of one bucket."""


def lean(problem: Problem) -> Problem:
    """Return the problem without columns and texts: the part that a task needs."""
    hierarchies = []
    for hierarchy in problem.hierarchies:
        levels = tuple(Level(pa.nulls(len(one.labels)), one.table, one.share) for one in hierarchy.levels)
        hierarchies.append(replace(hierarchy, levels=levels, whole=None))
    return replace(problem, columns=(), hierarchies=tuple(hierarchies))


def _asked_of(problem: Problem, bucket: Bucket) -> Problem:
    widths = [one.levels[0].table.size for one in problem.hierarchies]
    columns = [Column(pa.nulls(width), codes) for width, codes in zip(widths, bucket.codes, strict=True)]
    return replace(problem, columns=tuple(columns))


@dataclass(frozen=True)
class SmallClasses:
    """The records of classes of fewer than k, at some nodes, none coarser than the cut: all that most nodes are asked for."""

    problem: Problem
    nodes: tuple[Levels, ...]

    def of(self, bucket: Bucket) -> bytes:
        """Answer for one bucket."""
        checker = SlicedChecker(_asked_of(self.problem, bucket))
        found = map(checker.small_classes, self.nodes)
        return b"".join(small.to_bytes(8, "little") + tally.tobytes() for small, tally in found)

    def together(self, said: Sequence[bytes]) -> list[tuple[int, np.ndarray]]:
        """Sum over all buckets: for each node how many, and these by attribute and cost."""
        every = np.sum([np.frombuffer(one, np.int64).reshape(len(self.nodes), -1) for one in said], axis=0)
        return [(int(one[0]), one[1:].reshape(len(self.problem.hierarchies), -1)) for one in every]


@dataclass(frozen=True)
class Survey:
    """Sums over the classes of some nodes, none of them coarser than the cut."""

    problem: Problem
    nodes: tuple[Levels, ...]

    def of(self, bucket: Bucket) -> bytes:
        """Answer for one bucket."""
        checker, found = NodeChecker.of(_asked_of(self.problem, bucket)), []
        for levels in self.nodes:
            sums, tally = checker.survey(levels)
            found.append(np.concatenate([sums, tally.ravel()]))
        return np.concatenate(found).tobytes()

    def together(self, said: Sequence[bytes]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Sum over all buckets: the sums of `NodeChecker.survey` for each node."""
        every = np.stack([np.frombuffer(one, np.int64).reshape(len(self.nodes), -1) for one in said])
        added, least = every.sum(axis=0), every[:, :, 5].min(axis=0)
        added[:, 5] = least
        return [(one[:6], one[6:].reshape(len(levels), -1)) for one, levels in zip(added, self.nodes, strict=True)]


@dataclass(frozen=True)
class ClassesAt:
    """The classes of one node, any node: the numbers of their labels, and how many records each has."""

    problem: Problem
    levels: Levels

    def of(self, bucket: Bucket) -> bytes:
        """Answer for one bucket, which may hold parts of classes."""
        checker = NodeChecker.of(_asked_of(self.problem, bucket))
        classes = checker.classes(self.levels)
        labels = checker.labels_of(classes, np.arange(classes.sizes.size)).astype(np.uint32)
        columns = {f"{a}": pa.array(np.ascontiguousarray(labels[:, a])) for a in range(labels.shape[1])}
        return packed(pa.table({**columns, "sizes": pa.array(classes.sizes)}))

    def together(self, said: Sequence[bytes]) -> tuple[list[np.ndarray], np.ndarray]:
        """Join all buckets: for each attribute the label of each class, and the sizes."""
        every = pa.concat_tables([pa.ipc.open_stream(one).read_all() for one in said])
        names = [name for name in every.column_names if name != "sizes"]
        found = every.group_by(names).aggregate([("sizes", "sum")])
        return [found[name].to_numpy() for name in names], found["sizes_sum"].to_numpy()


@dataclass(frozen=True)
class Joinable:
    """Classes of fewer than k at one node no coarser than the cut, and the classes that may join them where one is enough.

    Of classes that cost alike, record by record, the smallest comes, and of equal ones the first by the text of its labels.
    """

    problem: Problem
    levels: Levels
    ranks: tuple[np.ndarray, ...]
    """For each attribute the place of each label in the order of their text."""

    def of(self, bucket: Bucket) -> bytes:
        """Answer for one bucket."""
        checker = NodeChecker.of(_asked_of(self.problem, bucket))
        classes = checker.classes(self.levels)
        labels = checker.labels_of(classes, np.arange(classes.sizes.size))
        some = self._chosen(labels, classes.sizes)
        return np.column_stack([labels[some], classes.sizes[some]]).astype(np.int64).tobytes()

    def _chosen(self, labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Select the classes to return. O(classes · log(classes))."""
        loss, large = self.problem.loss, np.flatnonzero(sizes >= self.problem.k)
        assert isinstance(loss, CellLoss), "others look into classes"
        prices = []
        for a, level in enumerate(self.levels):
            one_each = self.problem.hierarchies[a].levels[level].one_each
            prices.append(loss.costs[a][level].step[one_each][labels[large, a]])
        texts = [rank[labels[large, a]] for a, rank in enumerate(self.ranks)]
        order = np.lexsort([*reversed(texts), sizes[large], *prices])
        priced = np.column_stack(prices)[order]
        first = np.append(True, (priced[1:] != priced[:-1]).any(axis=1))[: order.size]
        return np.concatenate([np.flatnonzero(sizes < self.problem.k), large[order[first]]])

    def together(self, said: Sequence[bytes]) -> tuple[list[np.ndarray], np.ndarray]:
        """Join all buckets: for each attribute the label of each class, and the sizes."""
        every = np.concatenate([np.frombuffer(one, np.int64) for one in said]).reshape(-1, len(self.levels) + 1)
        some = every[self._chosen(every[:, :-1], every[:, -1])]
        return [some[:, a] for a in range(len(self.levels))], some[:, -1]


@dataclass(frozen=True)
class Suppressed:
    """Result of releasing a node: suppressed records, changes by column, one number for all rows, and the suppressed classes."""

    rows: int
    changed: tuple[int, ...]
    counts: tuple[np.ndarray, ...]
    """For each column, by released code, how many released records have it."""
    total: int
    keys: np.ndarray


@dataclass(frozen=True)
class Suppressing:
    """A node is released: every row gets its labels, or `*` where its class goes."""

    k: int
    maps: tuple[np.ndarray, ...]
    """For each column, from codes to released codes."""
    stars: tuple[int, ...] | None
    """For each column the released code of `*`; None where nobody is suppressed."""
    same: tuple[np.ndarray, ...]
    """For each column, by code, the released code that says the same (−1: none does)."""
    values: tuple[np.ndarray, ...]
    """For each column, by released code, the number of the value, for the sum over all rows."""
    numbers: RowNumbers
    strides: tuple[int, ...]
    gone: np.ndarray | None
    """The keys of the classes that go, sorted; None: those with fewer than k records, which lie in one bucket each."""

    def of(self, bucket: Bucket) -> bytes:
        """Answer for one bucket."""
        released = [table[codes] for table, codes in zip(self.maps, bucket.codes, strict=True)]
        rows, keys = self._gone(released, bucket.rows)
        total = np.zeros(bucket.rows, np.uint64) if bucket.others is None else bucket.others.copy()
        changed, counts = [], []
        for a, codes in enumerate(released):
            if self.stars is not None:
                codes = np.where(rows, self.stars[a], codes)
            total += self.values[a][codes]
            changed.append(int((self.same[a][bucket.codes[a]] != codes).sum()))
            counts.append(np.bincount(codes, minlength=self.values[a].size))
        figures = np.concatenate([[int(rows.sum()), *changed], *counts]).astype(np.int64)
        return figures.tobytes() + self.numbers.total(total).to_bytes(8, "little") + keys.tobytes()

    def _gone(self, released: Sequence[np.ndarray], rows: int) -> tuple[np.ndarray, np.ndarray]:
        nobody = np.zeros(0, np.uint64)
        if self.stars is None:
            return np.zeros(rows, bool), nobody
        keys = np.zeros(rows, np.uint64)
        for codes, stride in zip(released, self.strides, strict=True):
            keys += codes.astype(np.uint64) * np.uint64(stride)
        if self.gone is not None:
            places = np.minimum(np.searchsorted(self.gone, keys), self.gone.size - 1)
            return self.gone[places] == keys, nobody
        found, which, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        return (sizes < self.k)[which.ravel()], found[sizes < self.k]

    @cached_property
    def _figures(self) -> int:
        return 8 * (1 + len(self.maps) + sum(one.size for one in self.values))

    def together(self, said: Sequence[bytes]) -> Suppressed:
        """Sum over all buckets."""
        figures = np.sum([np.frombuffer(one[: self._figures], np.int64) for one in said], axis=0)
        total = summed(int.from_bytes(one[self._figures : self._figures + 8], "little") for one in said)
        keys = [np.frombuffer(one[self._figures + 8 :], np.uint64) for one in said]
        known = np.sort(np.concatenate(keys)) if self.gone is None else self.gone
        ends = np.cumsum([1, len(self.maps), *(one.size for one in self.values)])
        _, changed, *counts, _ = np.split(figures, ends)
        return Suppressed(int(figures[0]), tuple(changed.tolist()), tuple(counts), total, known)


# Evaluation of nodes from buckets -------------------------------------------------------------------------------------
# A few nodes are evaluated in one job; small sets of classes are counted on the driver.


HELD = 1 << 21  # classes that the driver holds: about 100 MB with what the search makes of them
AT_ONCE = 8  # nodes that are asked for in one job


class NotBounded(Exception):
    """This recipe needs all rows on the driver; `why` has the reason."""

    def __init__(self, why: Message) -> None:
        super().__init__(why)
        self.why = why


def cut_of(problem: Problem, most: int) -> Levels:
    """Return the coarsest node where certainly no class has more than `most` records: some column has no label of more.

    Where there is none, the one whose largest label is least. O(levels).
    """
    largest = [[int(counts.max(initial=0)) for counts in levels] for levels in problem.label_counts]
    cut = list(problem.lattice.top)
    while min(largest[a][level] for a, level in enumerate(cut)) > most and any(cut):
        below = [(largest[a][level - 1], a) for a, level in enumerate(cut) if level]
        _, lowered = min(below)
        cut[lowered] -= 1
    return tuple(cut)


@dataclass(frozen=True, eq=False)
class BucketChecker(NodeChecker):
    """A checker whose rows are in buckets. `asks` brings a look to them, and what they said back."""

    at_a_time: ClassVar[int | None] = AT_ONCE

    cut: Levels
    asks: Callable[[BucketLook, str], list[bytes]]
    known: dict[Levels, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    small: dict[Levels, tuple[int, np.ndarray]] = field(default_factory=dict)
    """Nodes of which only the small classes were counted."""
    held: list[NodeChecker] = field(default_factory=list)
    """Checkers of classes that are on the driver."""
    joinable: dict[Levels, NodeChecker] = field(default_factory=dict)
    """Of some nodes the classes that go or may join them: such a checker knows that one node."""

    @staticmethod
    def asking(problem: Problem, cut: Levels, asks: Callable[[BucketLook, str], list[bytes]]) -> BucketChecker:
        """A checker of every node."""
        widths = [one.levels[0].table.size for one in problem.hierarchies]
        if prod(width + 1 for width in widths) > 1 << 62:
            raise NotBounded(Message("error_engine.rows_wide"))
        none = DistinctTuples.counted([np.zeros(0, np.uint32) for _ in widths], widths, np.zeros(0, np.int64))
        return BucketChecker(problem, none, problem.lattice.bottom, cut, asks)

    def rebased(self, levels: Levels) -> BucketChecker:
        """Buckets stay as they are."""
        return self

    @property
    def weight(self) -> int:
        """Number of rows that a check reads."""
        return self.problem.rows

    def closed(self, levels: Levels) -> bool:
        """Return whether every class of a node lies in one bucket."""
        return all(level <= highest for level, highest in zip(levels, self.cut, strict=True))

    def at_once(self, levels: Levels) -> bool:
        """Return whether a node needs no job."""
        return levels in self.known or levels in self.small or self._holding(levels) is not None

    def prepare(self, several: Sequence[Levels]) -> None:
        """Evaluate the nodes that are not known, a few a job."""
        open_ = [one for one in several if not self.at_once(one) and self.closed(one)]
        for first in range(0, len(open_), AT_ONCE):
            self._ask(tuple(open_[first : first + AT_ONCE]), whole=not self._by_small)

    def _ask(self, nodes: tuple[Levels, ...], *, whole: bool) -> None:
        """One job."""
        if whole:
            survey = Survey(lean(self.problem), nodes)
            self.known.update(zip(nodes, survey.together(self.asks(survey, "nodes")), strict=True))
        else:
            counts = SmallClasses(lean(self.problem), nodes)
            self.small.update(zip(nodes, counts.together(self.asks(counts, "nodes")), strict=True))

    @cached_property
    def _by_small(self) -> bool:
        """Whether small classes tell all of a node, unless its suppressed are too few to be a class."""
        problem = self.problem
        return isinstance(problem.loss, CellLoss) and problem.most_classes is None and problem.kept_risk is None

    def _sums(self, levels: Levels) -> tuple[np.ndarray, np.ndarray]:
        """As `NodeChecker.survey` says them; of classes that are large enough only where that matters."""
        if levels in self.small:
            small, tally = self.small[levels]
            return np.array([small, 0, 0, 0, 0, 0]), tally
        return self.known[levels]

    def _too_few(self, levels: Levels) -> bool:
        """Whether the suppressed are too few to be a class, and any class that joins them makes them one."""
        small = self.small.get(levels, (0, None))[0]
        return 0 < small < self.problem.k and not self.problem.relaxed

    def _joinable(self, levels: Levels) -> NodeChecker:
        """What checks this one node."""
        if levels not in self.joinable:
            ranks = tuple(self.problem.label_ranks(a, level) for a, level in enumerate(levels))
            asked = Joinable(lean(self.problem), levels, ranks)
            self.joinable[levels] = self._of_classes(levels, *asked.together(self.asks(asked, "classes")))
        return self.joinable[levels]

    def check(self, levels: Levels, hurdle: float = inf, steps: int = MAX_GROUPS_TRIED) -> Node:
        """Check one node: from sums over its classes, or from the classes themselves."""
        if self._holding(levels) is None and self._space(self.problem.lattice.bottom) <= HELD:
            self._hold(self.problem.lattice.bottom)
        if self._holding(levels) is None and self.closed(levels):
            self.prepare([levels, *([] if self.known or self.small else self._first(levels))])
            if self._too_few(levels):
                return self._joinable(levels).check(levels, hurdle, steps)
            node = self.problem.node_of_sizes(levels, *self._sums(levels))
            if node is not None:
                return node
        return self.holding(levels).check(levels, hurdle, steps)

    def _first(self, levels: Levels) -> list[Levels]:
        """What is asked for with the first node: some from the finest to the coarsest, and what is next to them."""
        lattice = self.problem.lattice
        steps = [tuple(round(height * part / 7) for height in lattice.top) for part in range(1, AT_ONCE - 1)]
        near = [one for step in steps for one in (*lattice.parents(step), *lattice.children(step))]
        found = [one for one in dict.fromkeys([*steps, *near]) if one != levels and self.closed(one)]
        return found[: AT_ONCE - 1]

    def _holding(self, levels: Levels) -> NodeChecker | None:
        return next((one for one in self.held if one.can_check(levels)), None)

    def holding(self, levels: Levels) -> NodeChecker:
        """A checker of this node whose classes are here."""
        found = self._holding(levels)
        return found if found is not None else self._hold(self._finer(levels))

    def _hold(self, levels: Levels) -> NodeChecker:
        """Bring the classes of a node here."""
        if self._space(levels) > HELD:
            if levels not in self.known:
                self._ask((levels,), whole=True)
            classes = int(self.known[levels][0][1])
            if classes > HELD:
                raise NotBounded(Message("error_engine.rows_classes", classes=classes, most=HELD))
        asked = ClassesAt(lean(self.problem), levels)
        made = self._of_classes(levels, *asked.together(self.asks(asked, "classes")))
        self.held.append(made)
        return made

    def _of_classes(self, levels: Levels, labels: list[np.ndarray], sizes: np.ndarray) -> NodeChecker:
        codes = [self.code_of_label(a, level)[labels[a]] for a, level in enumerate(levels)]
        widths = [one.levels[0].table.size for one in self.problem.hierarchies]
        return NodeChecker(self.problem, DistinctTuples.counted(codes, widths, sizes), levels)

    def code_of_label(self, a: int, level: int) -> np.ndarray:
        """For each label one code that has it: it stands for all of them."""
        chosen = self.problem.hierarchies[a].levels[level]
        one = np.zeros(len(chosen.labels), np.int64)
        one[chosen.table] = np.arange(chosen.table.size)
        return one

    def _space(self, levels: Levels) -> int:
        """Return the largest possible number of classes of a node."""
        return prod(len(h.levels[level].labels) for h, level in zip(self.problem.hierarchies, levels, strict=True))

    def _finer(self, levels: Levels) -> Levels:
        """As fine as surely fits, so that other nodes are known with it."""
        found = list(levels)
        for a in range(len(found)):
            while found[a] and self._space((*found[:a], found[a] - 1, *found[a + 1 :])) <= HELD:
                found[a] -= 1
        return tuple(found)

    def classes_gone(self, node: Node) -> tuple[np.ndarray, ...] | None:
        """For each attribute the label of every class that goes; None where these are just the classes of fewer than k."""
        held = self._holding(node.levels) or self.joinable.get(node.levels)
        if held is None:
            return None
        classes = held.classes(node.levels)
        gone = np.unique(classes.labels[held.suppressed_tuples(node)])
        labels = held.labels_of(classes, gone)
        return tuple(labels[:, a] for a in range(labels.shape[1]))

    def suppressed_rows(self, node: Node) -> Any:
        """Not available: there are no rows here."""
        raise RuntimeError("rows are in buckets: ask for `classes_gone`")


# Verification without rows on the driver ------------------------------------------------------------------------------
# Each class is in one part, judged there by the verifier; unique and distinct rows are counted there too.


def _parts(rows: int) -> int:
    return max(1, -(-rows // BUCKET))


@dataclass(frozen=True)
class _Classes:
    """Classes of the released rows, each at the part that its values say. It travels to tasks."""

    promise: Promise
    names: tuple[str, ...]
    parts: int
    numbers: RowNumbers

    def scatter(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
        """Count how often each occurs, some hundred thousand rows together."""
        for table in in_chunks(pa.table(batch) for batch in batches):
            counts = CombinationCounts(self.names)
            counts.add(table)
            found = counts.together()
            arrays = {name: found[name] for name in found.column_names if name != COUNT}
            numbers = self.numbers.of_arrays(arrays, found.num_rows)
            yield from shared_out(found, (numbers % np.uint64(self.parts)).astype(np.uint32), self.parts)

    def judged(self, part: int, blocks: list[Any]) -> bytes:
        """Return the verdict of the verifier on the whole classes of one part."""
        counts = CombinationCounts(self.names)
        for block in blocks:
            counts.merge(pa.ipc.open_stream(block).read_all())
        data = rows_of_tally(counts.together(), self.names)
        (one,) = self.promise.verify(data).verdicts
        said = [one.holds, one.achieved, one.groups, one.broken_groups, one.broken_records, one.worst_sizes, data.rows]
        return json.dumps(said).encode()


def verified(settled: EngineTable, promise: Promise, rows: int) -> Verification:
    """Verify the guarantee on the written rows, class by class; raises a `PromiseError` where it is violated."""
    names = tuple(name for name in settled.types if name in promise.quasi)
    how = _Classes(promise, names, _parts(rows), RowNumbers(drawn_key()))
    buckets = settled.bucketed(names, how.scatter, how.parts)
    try:
        said = [json.loads(one) for one in buckets.told(how.judged, "verify")]
    finally:
        buckets.done()
    assert sum(one[-1] for one in said) == rows, "every row was judged once"
    (model,) = promise.models
    worst = sorted(size for one in said for size in one[5])[:WORST_SHOWN]
    verdict = Verdict(
        holds=all(one[0] for one in said),
        model=model.describe(),
        required=model.required,
        achieved=min(one[1] for one in said),
        groups=sum(one[2] for one in said),
        broken_groups=sum(one[3] for one in said),
        broken_records=sum(one[4] for one in said),
        worst_sizes=tuple(worst),
    )
    if not verdict.holds:
        raise PromiseError(Message("error_verifier.broken", step=promise.step, verdicts=[verdict.message()]))
    return Verification.of([verdict], [name for name in promise.quasi if name in names])


@dataclass(frozen=True)
class _Numbered:
    """One number for some columns of each row, at the part that it says."""

    names: tuple[str, ...]
    parts: int
    numbers: RowNumbers

    def scatter(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
        for table in in_chunks(pa.table(batch) for batch in batches):
            numbers = self.numbers.of_arrays({name: table[name] for name in self.names}, table.num_rows)
            part = (numbers % np.uint64(self.parts)).astype(np.uint32)
            yield from shared_out(pa.table({"number": pa.array(numbers)}), part, self.parts)

    def counted(self, part: int, blocks: list[Any]) -> bytes:
        """Return how many different numbers a part has, and how many of them once."""
        tables = [pa.ipc.open_stream(block).read_all() for block in blocks]
        _, sizes = np.unique(pa.concat_tables(tables)["number"].to_numpy(), return_counts=True)
        return np.array([sizes.size, int((sizes == 1).sum())], np.int64).tobytes()


def unique_rows(table: EngineTable, names: Sequence[str], rows: int) -> int:
    """Return how many rows share all these columns with no other; two different rows count as one with a chance of 2⁻⁶⁴."""
    return _combinations(table, names, rows)[1]


def distinct_rows(table: EngineTable, names: Sequence[str], rows: int) -> int:
    """Return how many combinations of values these columns have, with the same chance of error."""
    return _combinations(table, names, rows)[0]


def _combinations(table: EngineTable, names: Sequence[str], rows: int) -> tuple[int, int]:
    how = _Numbered(tuple(names), _parts(rows), RowNumbers(drawn_key()))
    buckets = table.bucketed(how.names, how.scatter, how.parts)
    try:
        found = [np.frombuffer(one, np.int64) for one in buckets.told(how.counted, "last look")]
        distinct, unique = np.sum([np.zeros(2, np.int64), *found], axis=0)
        return int(distinct), int(unique)
    finally:
        buckets.done()


# Released values and plan ---------------------------------------------------------------------------------------------
# The released value of each original value of a generalized column, and the plan in which tasks look rows up.


@dataclass(frozen=True, eq=False)
class ReleasedLabels:
    """The released values of a column, and for each of its own the released one."""

    name: str
    values: pa.Array
    map: np.ndarray
    star: int
    """The released code of `*`; −1 where nobody is suppressed."""
    same: np.ndarray
    """For each value the released code that says the same; −1: none does."""

    @staticmethod
    def of(column: Column, hierarchy: Hierarchy, level: int, some: bool) -> ReleasedLabels:
        """Return the labels that one machine would release: each value once, and one suppressed record if there are some."""
        each = np.arange(len(column.values), dtype=smallest_unsigned(len(column.values)))
        made = hierarchy.generalize(Column(column.values, each), level)
        if some:
            last = np.arange(each.size + 1) == each.size
            made = Column(made.values, np.append(made.codes, made.codes[:1])).where(last, STAR)
        place = pc.index_in(text_array(column.values), value_set=text_array(made.values)).fill_null(-1)
        star = int(made.codes[-1]) if some else -1
        same = place.to_numpy(zero_copy_only=False).astype(np.int64)
        return ReleasedLabels(hierarchy.name, made.values, made.codes[: each.size], star, same)


def _strides(labels: Sequence[ReleasedLabels]) -> tuple[int, ...]:
    """As `TupleKeys` puts codes together."""
    strides, room = [], 1
    for one in reversed(labels):
        strides.append(room)
        room *= max(len(one.values), 1)
    return tuple(reversed(strides))


def suppressing(
    labels: Mapping[str, ReleasedLabels], numbers: RowNumbers, k: int, gone: Sequence[np.ndarray] | None
) -> Suppressing:
    """Return the question that releases a node. `gone` has, for each column, one code of every suppressed class, if known."""
    held = list(labels.values())
    some, strides = any(one.star >= 0 for one in held), _strides(held)
    keys = None
    if gone is not None:
        parts = zip(held, gone, strides, strict=True)
        keys = np.sort(sum(one.map[codes].astype(np.uint64) * np.uint64(stride) for one, codes, stride in parts))
    return Suppressing(
        k,
        tuple(one.map for one in held),
        tuple(one.star for one in held) if some else None,
        tuple(one.same for one in held),
        tuple(numbers.of_values(name, one.values) for name, one in labels.items()),
        numbers,
        strides,
        keys,
    )


def plan_of(
    labels: Mapping[str, ReleasedLabels],
    known: Mapping[str, KnownValues],
    names: Sequence[str],
    gone: np.ndarray,
    rows: int,
) -> ByValue:
    """Build the plan: every row gets its labels, and those of suppressed classes get `*`."""
    held = list(labels.values())
    exceptions = None
    if gone.size:
        widths = tuple(len(one.values) for one in held)
        stars = {name: np.array([one.star], dtype=one.map.dtype) for name, one in labels.items()}
        how = TupleKeys(widths, (None,) * len(widths))
        exceptions = Exceptions(True, how, gone, np.zeros(gone.size, np.uint32), stars, np.zeros(1, bool))
    maps, values = {name: one.map for name, one in labels.items()}, {name: one.values for name, one in labels.items()}
    return ByValue(uuid4().hex, known, maps, values, tuple(names), exceptions, rows)


# Columns without rows on the driver -----------------------------------------------------------------------------------
# As release checks ask for them.


@dataclass(frozen=True)
class RemoteColumns(ColumnStore):
    """Columns that stay where the engine has them; they are counted there, and a check that needs their rows gets `NeedsRows`."""

    table: EngineTable
    generalized: tuple[str, ...]
    rows: int
    _first: dict[str, pa.Array] = field(default_factory=dict, compare=False)
    _distinct: dict[str, int] = field(default_factory=dict, compare=False)

    @property
    def counted(self) -> Collection[str]:
        """The generalized columns."""
        return self.generalized

    def first_rows(self, names: Sequence[str], beside: Sequence[str] = ()) -> Mapping[str, pa.Array]:
        """Return the first rows of each part of the table. They are fetched once, of all columns, for each question is a job."""
        if not self._first:
            self._first.update(first_rows(self.table, list(self.table.types)))
        return {name: self._first[name] for name in (*names, *beside) if name in self._first}

    def read(self, data: Dataset, names: Sequence[str]) -> Dataset:
        """Raise `NeedsRows`: the driver has none."""
        raise NeedsRows(names)

    def unique(self, names: Sequence[str]) -> int:
        """Return how many records are unique by columns that are released as they came. One job."""
        if not set(self.generalized).isdisjoint(names):
            raise NeedsRows(names)
        return unique_rows(self.table, names, self.rows)

    def distinct(self, name: str) -> int:
        """Return how many values a column has. One job for each column."""
        if name not in self._distinct:
            self._distinct[name] = distinct_rows(self.table, [name], self.rows)
        return self._distinct[name]


# Columns as counts of distinct values ---------------------------------------------------------------------------------
# The driver has the distinct values and the number of occurrences of each, and no rows.


COMBINED = 32  # tallies of batches that are put together at once


class TalliedColumn(Column):
    """Distinct values with their number. It has no codes: those would need the rows."""

    def __init__(self, values: pa.Array, tally: np.ndarray) -> None:
        object.__setattr__(self, "values", values)
        self.__dict__["counts"] = tally

    def __len__(self) -> int:
        return int(self.counts.sum())

    def __repr__(self) -> str:
        return f"TalliedColumn({len(self.values)} values of {len(self)} rows)"

    @property
    def codes(self) -> np.ndarray:
        """Not available without rows."""
        raise RuntimeError("the rows of a tallied column are where the data is; only recipes that need none come here")

    def tidy(self) -> TalliedColumn:
        """Every value occurs, and once."""
        return self

    @property
    def nbytes(self) -> int:
        """Memory of the values and counts."""
        return int(self.values.nbytes + self.counts.nbytes)


@dataclass(frozen=True)
class ColumnTallies:
    """Counts of column values. They travel to tasks; each returns its part: for every column one table of values and counts."""

    names: tuple[str, ...]

    def part(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Count some batches."""
        held = [_Tally() for _ in self.names]
        for batch in batches:
            for name, one in zip(self.names, held, strict=True):
                values, codes = encoded(batch[name])
                one.add(values, np.bincount(codes, minlength=len(values)))
        for place, one in enumerate(held):
            if one.waiting:
                values, counts = one.together()
                yield bytes([place]) + packed(pa.table({"values": values, "counts": pa.array(counts)}))

    def together(self, blobs: Iterable[Any], types: Mapping[str, pa.DataType]) -> dict[str, TalliedColumn]:
        """Sum over all tasks. Values are in one order, whatever the order of rows and tasks."""
        held = [_Tally() for _ in self.names]
        for blob in map(bytes, blobs):
            table = pa.ipc.open_stream(blob[1:]).read_all().combine_chunks()
            held[blob[0]].add(_whole(table["values"]), table["counts"].to_numpy())
        return {name: one.column(types[name]) for name, one in zip(self.names, held, strict=True)}


class _Tally:
    def __init__(self) -> None:
        self.waiting: list[tuple[pa.Array, np.ndarray]] = []

    def add(self, values: pa.Array, counts: np.ndarray) -> None:
        self.waiting.append((values, counts))
        if len(self.waiting) >= COMBINED:
            self.waiting = [self.together()]

    def together(self) -> tuple[pa.Array, np.ndarray]:
        every = pa.concat_arrays([values for values, _ in self.waiting]).dictionary_encode(null_encoding="encode")
        counts = np.zeros(len(every.dictionary), np.int64)
        np.add.at(counts, every.indices.to_numpy(zero_copy_only=False), _joined(self.waiting))
        return every.dictionary, counts

    def column(self, type_: pa.DataType) -> TalliedColumn:
        if not self.waiting:
            return TalliedColumn(Column.encode(pa.array([], type_)).values, np.zeros(0, np.int64))
        values, counts = self.together()
        order = in_order(values)
        return TalliedColumn(values.take(pa.array(order)), counts[order])


def _joined(parts: Sequence[tuple[pa.Array, np.ndarray]]) -> np.ndarray:
    return np.concatenate([counts for _, counts in parts])


def _whole(array: pa.ChunkedArray) -> pa.Array:
    return array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()


# Bounded run ----------------------------------------------------------------------------------------------------------
# 1. Tasks count how often each value of the generalized columns occurs.
# 2. Rows go, as codes, to buckets that no class crosses; the search asks these for sums over the classes of a few
#    nodes a job.
# 3. The best node is released, verified class by class on what was written, and only then gets its name.
#
# Memory on the driver grows with distinct values and with the classes that are suppressed, not with rows.


BUCKET = 1 << 20  # rows of a bucket, about
LARGEST = 1 << 22  # rows of a class at the cut, at most, where that can be had


@dataclass(frozen=True)
class _Asking:
    """Brings looks to buckets. Every bucket must be seen once, with all its rows, each time: else a worse node, or none that holds,
    would be chosen silently."""

    buckets: Buckets
    rows: int
    seen: list[list[tuple[int, int]]]

    def __call__(self, look: BucketLook, job: str) -> list[bytes]:
        def said(part: int, blocks: list[Any]) -> bytes:
            bucket = Bucket.of(blocks)
            return part.to_bytes(4, "big") + bucket.rows.to_bytes(8, "big") + look.of(bucket)

        found = sorted(self.buckets.told(said, job), key=lambda one: one[:4])
        heads = [(int.from_bytes(one[:4], "big"), int.from_bytes(one[4:12], "big")) for one in found]
        once = len(dict(heads)) == len(heads) and sum(rows for _, rows in heads) == self.rows
        if not once or heads != (self.seen or [heads])[0]:
            raise ChangedData()
        self.seen[:] = [heads]
        return [one[12:] for one in found]


@dataclass(frozen=True)
class _Decided:
    """Released values of the generalized columns."""

    outcome: Outcome
    labels: Mapping[str, ReleasedLabels]
    known: Mapping[str, KnownValues]
    suppressed: Suppressed
    promise: Promise


@dataclass(frozen=True)
class BoundedRun:
    """One run, from the rows to the release. Raises `NotBounded` where it turns out that the driver needs rows."""

    recipe: Recipe
    table: EngineTable
    folder: Staged | None
    say: Progress
    phases: Phases

    def run(self) -> EngineRelease:
        """Run the recipe as `Recipe.run` does."""
        recipe, table, phase = self.recipe, self.table, self.phases.phase
        numbers = RowNumbers(drawn_key())
        self.say(Message("progress.gathering", engine=table.engine))
        with phase("values"):
            original = self._tallied()
        data, given = admitted(recipe, original)
        others = tuple(name for name in recipe_released(recipe, data) if name not in generalizing(recipe))
        with phase("decide"):
            steps, schema, decided = self._stepped(data, given, numbers, others)
        with phase("last look"):
            found = check_release(self._candidate(data, given, schema, steps, decided))
        settled, seal = self._written(numbers, decided, [*recipe_released(recipe, data)])
        with phase("verify"):
            seal.check(settled)
            verification = verified(settled, decided.promise, seal.rows)
        released = Dataset({name: UnreadColumn(seal.rows) for name in settled.types}, seal.rows)
        return EngineRelease(
            worked=Frame.read(released),
            original=original,
            schema=schema,
            given=given,
            steps=tuple(steps),
            verification=found.added_to(verification),
            recipe=recipe,
            cautions=(
                *(warning_of_order(recipe.steps) if recipe.order == "kept" else ()),
                *warning_of_seed(recipe),
                *found.cautions,
            ),
            last_look=found.look,
            identifiers=found.identifiers,
            promises=(decided.promise,),
            table=settled,
            phases=dict(self.phases.seconds),
            seal=seal,
            gone=decided.suppressed.rows,
            driver=Message("error_engine.driver_classes", rows=seal.rows),
        )

    def _tallied(self) -> Dataset:
        names, types = tuple(generalizing(self.recipe)), self.table.types
        how = ColumnTallies(names)
        columns = how.together(self.table.told(names, how.part, "values"), types)
        rows = len(columns[names[0]])
        if not rows:
            raise NotBounded(Message("error_engine.rows_none"))
        return Dataset({name: columns.get(name) or _elsewhere(name, types[name], rows) for name in types}, rows)

    def _stepped(
        self, data: Dataset, schema: Schema, numbers: RowNumbers, others: tuple[str, ...]
    ) -> tuple[list[StepRecord], Schema, _Decided]:
        """Every step; all but one only leave columns out."""
        records: list[StepRecord] = []
        decided: _Decided | None = None
        for step in self.recipe.steps:
            self.say(step.step)
            started = dict(self.phases.seconds)
            work = Work(data, schema, np.random.default_rng(0), None, read_data, self.say)
            changed: dict[str, int] = {}
            with self.phases.phase("step"):
                if isinstance(step, KAnonymize):
                    decided = self._decided(step, work, numbers, others)
                    outcome = replace(decided.outcome, data=data)
                    counts = zip(decided.labels, decided.suppressed.changed, strict=True)
                    changed = {name: count for name, count in counts if count}
                else:
                    outcome = step.run(work)
            seconds = self.phases.seconds.pop("step") - started.get("step", 0.0)
            records.append(record_of(step, work, outcome, seconds, (data.rows, data.rows), changed))
            data, schema = outcome.data, outcome.schema
        assert decided is not None
        return records, schema, decided

    def _decided(self, step: KAnonymize, work: Work, numbers: RowNumbers, others: tuple[str, ...]) -> _Decided:
        asked = step.pose(work)
        problem = asked.problem
        assert problem is not None
        known = {name: KnownValues(work.data[name].values, drawn_key()) for name in asked.hierarchies}
        cut = cut_of(problem, max(LARGEST, work.data.rows // 8))
        coding = _coding(problem, cut, known, numbers, others)
        buckets = self.table.bucketed(coding.names, coding.scatter, coding.parts)
        try:
            ask = _Asking(buckets, work.data.rows, [])
            checker = BucketChecker.asking(problem, cut, ask)
            found = step.decide(asked, problem, checker, work.say)
            node = found.best
            assert node is not None
            found = step.as_sure(asked.allowed.found(found))
            assert found.best is not None
            labels = {
                name: ReleasedLabels.of(work.data[name], hierarchy, level, node.suppressed + node.extra > 0)
                for (name, hierarchy), level in zip(asked.hierarchies.items(), found.best.levels, strict=True)
            }
            look = suppressing(labels, numbers, problem.k, _codes_gone(checker, node))
            suppressed = look.together(ask(look, "suppress"))
        finally:
            buckets.done()
        if suppressed.rows != node.suppressed + node.extra:
            raise ChangedData()
        outcome = step.told(work.schema, problem, found, asked.hierarchies, suppressed.rows)
        return _Decided(outcome, labels, known, suppressed, asked.promise)

    def _candidate(
        self, data: Dataset, given: Schema, schema: Schema, steps: Sequence[StepRecord], decided: _Decided
    ) -> ReleaseCandidate:
        """Return the release as checks see it: values and counts of the generalized columns, and the others where they are."""
        released: dict[str, Column] = {name: UnreadColumn(data.rows) for name in recipe_released(self.recipe, data)}
        for (name, labels), counts in zip(decided.labels.items(), decided.suppressed.counts, strict=True):
            used = np.flatnonzero(counts)
            released[name] = TalliedColumn(labels.values.take(pa.array(used)), counts[used])
        return ReleaseCandidate(
            original=data,
            released=Dataset(released, data.rows),
            given=given,
            schema=schema,
            guarantees=(decided.promise,),
            steps=tuple(steps),
            accept=tuple(self.recipe.acceptances) if self.recipe.accept else (),
            together=self.recipe.together,
            store=RemoteColumns(self.table, tuple(decided.labels), data.rows),
        )

    def _written(self, numbers: RowNumbers, decided: _Decided, names: list[str]) -> tuple[EngineTable, Seal]:
        recipe, table, rows = self.recipe, self.table, decided.outcome.facts["suppressed"]["of"]
        self.say(Message("progress.publishing", engine=table.engine))
        moved = moves_rows(recipe.order, recipe.steps) or recipe.order is None
        types: dict[str, pa.DataType] = {
            name: decided.labels[name].values.type if name in decided.labels else table.types[name] for name in names
        }
        plan = plan_of(decided.labels, decided.known, names, decided.suppressed.keys, rows)
        with self.phases.phase("publish"):
            settled = table.published(plan, types, "random" if moved else "kept").settled(self.folder)
        self.say(Message("progress.verifying_files"))
        return settled, Seal(numbers, rows, decided.suppressed.total)


def _elsewhere(name: str, type_: pa.DataType, rows: int) -> UnreadColumn:
    """Return a column that stays where it is; one of lists or structures cannot be counted there either."""
    why = why_unusable(name, type_)
    return UnreadColumn(rows) if why is None else NestedColumn(rows, why)


def recipe_released(recipe: Recipe, data: Dataset) -> list[str]:
    """Return the released columns, in their order."""
    gone = {name for step in recipe.steps for name in step.removes_identity}
    return [name for name in data if name not in gone]


def _coding(
    problem: Problem, cut: Levels, known: Mapping[str, KnownValues], numbers: RowNumbers, others: tuple[str, ...]
) -> BucketCoding:
    chosen = [hierarchy.levels[level] for hierarchy, level in zip(problem.hierarchies, cut, strict=True)]
    widths = [len(one.labels) for one in chosen]
    parts = [
        one.table.astype(np.uint64) * np.uint64(prod(widths[place + 1 :]) % (1 << 64))
        for place, one in enumerate(chosen)
    ]
    return BucketCoding(uuid4().hex, known, tuple(parts), max(1, -(-problem.rows // BUCKET)), numbers, others)


def _codes_gone(checker: BucketChecker, node: Node) -> list[np.ndarray] | None:
    """For each column one code of every class that goes, where the driver knows these classes."""
    if node.suppressed + node.extra == 0:
        return None
    labels = checker.classes_gone(node)
    if labels is None:
        return None
    return [checker.code_of_label(a, level)[labels[a]] for a, level in enumerate(node.levels)]
