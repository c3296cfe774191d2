"""Records and attributes for local recoding: codes, points, distinct records, and their division into groups.

Every attribute is either *ordered* (numbers and dates; a group has a smallest and a largest in common) or a *tree*
(categories; a group has the lowest common ancestor in common; without a hierarchy that is the value or everything).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.algorithms.lattice.constraints import Rule
from oboro.algorithms.lattice.kernels.attributes import T_TREE
from oboro.algorithms.partitioning.kernels import closures, division
from oboro.data.column import Column
from oboro.data.date_columns import days_alike
from oboro.data.grouping import Groups
from oboro.errors import ColumnError, InputError
from oboro.hierarchies.hierarchy import Hierarchy, text_array
from oboro.text import Message

__all__ = ["GRID", "LocalAttribute", "OrderedAttribute", "Records", "Space", "TreeAttribute", "divide", "ranks"]


# Records as points ----------------------------------------------------------------------------------------------------
# Numbers in standard deviations, categories as codes.


# Coordinates are rounded to 2⁻²⁴ of one standard deviation; sums of up to 2²⁹ of them are then exact in a float64.
# Centres do not depend on the order in which records are added or taken away, nor on the number of threads.
GRID = 2.0**24


@dataclass(frozen=True, eq=False)
class Space:
    """Records as points: `points[j, i]` for numbers (NaN: missing), `categories[j, i]` for everything else.

    Two records are as far apart as the root of the sum of squared differences; two different categories are at distance
    1; a missing number is as far from every number as the smallest from the largest (`gaps`, squared; 0: nothing is
    missing).
    """

    points: np.ndarray
    gaps: np.ndarray
    categories: np.ndarray

    @property
    def records(self) -> int:
        """Number of records."""
        return int(self.points.shape[1])

    @staticmethod
    def of(columns: Mapping[str, Column], *, categorical: frozenset[str] = frozenset()) -> Space:
        """Standardise every column (mean 0, standard deviation 1); those named in `categorical` become codes.

        O(rows) a column; codes follow the order of the values, so that nothing depends on the order of the rows.
        """
        rows = len(next(iter(columns.values()), ()))
        numeric = {name: column for name, column in columns.items() if name not in categorical}
        points = np.empty((len(numeric), rows))
        gaps = np.zeros(len(numeric))
        for j, (name, column) in enumerate(numeric.items()):
            places, gaps[j] = _standardise(name, column)
            points[j] = places[column.codes]
        names = [name for name in columns if name in categorical]
        categories = np.empty((len(names), rows), dtype=np.uint32)
        for j, name in enumerate(names):
            categories[j] = ranks(columns[name])[columns[name].codes]
        return Space(points, gaps, categories)

    def order(self) -> np.ndarray:
        """The records sorted by all attributes, missing last; only equal records stand as the rows stood."""
        keys = [*self.points, *self.categories]
        return np.lexsort(keys[::-1]) if keys else np.arange(self.records)


def _standardise(name: str, column: Column) -> tuple[np.ndarray, float]:
    """Per dictionary entry its place, in standard deviations from the mean; and the squared gap to a missing value."""
    numbers = column.numbers(name)
    present = ~np.isnan(numbers)
    if not present.any():
        return np.full(numbers.size, np.nan), 1.0
    if np.isinf(numbers[present]).any():
        raise ColumnError(Message("error_decide.infinite_value", name=name))
    low, high = numbers[present].min(), numbers[present].max()
    if low == high:
        return np.where(present, 0.0, np.nan), 0.0 if present.all() else 1.0
    if high > np.finfo(np.float64).max / 2 or low < np.finfo(np.float64).min / 2:
        numbers, low, high = numbers / 4, low / 4, high / 4  # else their difference might overflow
    unit = (numbers - low) / (high - low)  # to 0 … 1, so that no square overflows or vanishes
    order = np.argsort(numbers)[
        : present.sum()
    ]  # sums in ascending order: the rows' order must not show in the last digit
    centre = np.average(unit[order], weights=column.counts[order])
    spread = np.sqrt(np.average((unit[order] - centre) ** 2, weights=column.counts[order]))
    places = np.rint((unit - centre) / spread * GRID) / GRID
    return places, 0.0 if present.all() else float(1.0 / spread**2)


def ranks(column: Column) -> np.ndarray:
    """Return for each dictionary entry its place in the sorted dictionary, missing last."""
    texts = column.texts
    ordered = sorted(range(len(texts)), key=lambda code: (texts[code] is None, texts[code] or ""))
    ranks = np.empty(len(texts), dtype=np.uint32)
    ranks[ordered] = np.arange(len(texts), dtype=np.uint32)
    return ranks


# Attributes and distinct records --------------------------------------------------------------------------------------


PARALLEL = 100_000  # records; below, threads cost more than they save
KEYS = 1 << 62


@dataclass(frozen=True, eq=False)
class OrderedAttribute:
    """An attribute with a place on a line: `codes` are ranks, `places` where the ranks lie (0 to `weight`).

    Missing numbers have one rank of their own, the last (`missing`; −1: there are none), and no place.
    """

    codes: np.ndarray
    places: np.ndarray
    missing: int
    weight: float
    texts: pa.Array
    """What each rank looks like, missing as null."""

    @staticmethod
    def of(column: Column, name: str = "column", weight: float = 1.0) -> OrderedAttribute:
        """Numbers or dates, by size. O(rows + distinct values · log)."""
        numbers = column.numbers(name)
        if np.isinf(numbers).any():
            raise ColumnError(Message("error_decide.infinite_number", name=name))
        distinct, rank = np.unique(numbers[~np.isnan(numbers)], return_inverse=True)
        table = np.full(numbers.size, distinct.size, dtype=np.int64)
        table[~np.isnan(numbers)] = rank
        places = _unit(distinct) * weight
        missing = distinct.size if np.isnan(numbers).any() else -1
        return OrderedAttribute(table[column.codes], places, missing, weight, _texts(column, table, missing))

    @property
    def width(self) -> int:
        """Number of different codes."""
        return self.places.size + (self.missing >= 0)

    def flat(self) -> tuple[np.ndarray, np.ndarray]:
        """Table and values as the kernels take them."""
        values = np.append(self.places, np.zeros(self.width - self.places.size))
        return np.zeros(values.size, dtype=np.int32), values


def _unit(distinct: np.ndarray) -> np.ndarray:
    """Sorted numbers, from 0 for the smallest to 1 for the largest."""
    if distinct.size < 2:
        return np.zeros(distinct.size)
    quarter = distinct / 4  # else the difference of two huge numbers might overflow
    return np.asarray((quarter - quarter[0]) / (quarter[-1] - quarter[0]))


def _texts(column: Column, table: np.ndarray, missing: int) -> pa.Array:
    """One text for each rank; of several that mean the same number the shortest, then the first."""
    texts = days_alike(text_array(column.values), column.kind)
    if missing >= 0:
        texts = pc.if_else(pa.array(table == missing), None, texts)
    if len(texts) == table.max(initial=-1) + 1:  # nothing is written in two ways
        return texts.take(pa.array(np.argsort(table)))
    length = pc.fill_null(pc.utf8_length(texts), 0).to_numpy(zero_copy_only=False)
    by_text = pc.sort_indices(texts).to_numpy(zero_copy_only=False)
    order = by_text[np.lexsort((length[by_text], table[by_text]))]
    first = np.ones(order.size, dtype=bool)
    first[1:] = table[order][1:] != table[order][:-1]
    return texts.take(pa.array(order[first]))


@dataclass(frozen=True, eq=False)
class TreeAttribute:
    """An attribute with levels: `table[level, code]` is the label on that level, `losses[level, code]` what it leaves
    open, times the weight. The last level has one label for all.
    """

    codes: np.ndarray
    table: np.ndarray
    losses: np.ndarray
    weight: float
    labels: tuple[pa.Array, ...]
    """What each label looks like, level by level; the last may be the `*` that the hierarchy itself lacks."""

    @staticmethod
    def of(column: Column, hierarchy: Hierarchy, weight: float = 1.0) -> TreeAttribute:
        """Categories with a hierarchy bound to the column. Codes and labels are numbered in the order of their texts."""
        order = ranks(column)
        codes_at = np.argsort(order)
        tables, losses, labels = [], [], []
        for level in hierarchy.levels:
            rank = ranks(Column(level.labels, level.table))
            tables.append(rank[level.table].astype(np.int32)[codes_at])
            losses.append(level.share[level.table][codes_at] * weight)
            labels.append(text_array(level.labels).take(pa.array(np.argsort(rank))))
        if len(labels[-1]) > 1:
            tables.append(np.zeros(order.size, dtype=np.int32))
            losses.append(np.full(order.size, weight))
            labels.append(pa.array(["*"]))
        return TreeAttribute(
            order[column.codes].astype(np.int64), np.stack(tables), np.stack(losses), weight, tuple(labels)
        )

    @staticmethod
    def plain(codes: np.ndarray, width: int, *, weight: float = 1.0) -> TreeAttribute:
        """Codes 0 … width − 1 that are kept or given up."""
        table = np.stack([np.arange(width, dtype=np.int32), np.zeros(width, dtype=np.int32)])
        losses = np.stack([np.zeros(width), np.full(width, weight)])
        labels = (pa.array([str(code) for code in range(width)]), pa.array(["*"]))
        return TreeAttribute(codes, table, losses, weight, labels)

    @property
    def width(self) -> int:
        """Number of different codes."""
        return int(self.table.shape[1])

    def flat(self) -> tuple[np.ndarray, np.ndarray]:
        """Table and values as the kernels take them."""
        return self.table.ravel(), self.losses.ravel()


LocalAttribute = OrderedAttribute | TreeAttribute


@dataclass(frozen=True, eq=False)
class Records:
    """Distinct records (items), sorted, with the number of rows equal to each and these rows."""

    codes: np.ndarray
    loads: np.ndarray
    rows: np.ndarray
    shape: closures.AttributeTables
    rules: closures.SensitiveRules

    @staticmethod
    def of(
        attributes: Sequence[LocalAttribute], rules: Sequence[Rule] = (), rows: int = 0, *, person: Rule | None = None
    ) -> Records:
        """Build items from rows: rows that agree on every attribute and every sensitive value become one. O(rows ·
        log(rows)).

        The values of the rule `person` are people: every other rule then counts these, not rows.
        """
        rules = [*rules, person] if person else rules
        rows = attributes[0].codes.size if attributes else rows
        columns = [attribute.codes for attribute in attributes]
        widths = [attribute.width for attribute in attributes]
        secrets = [(rule.codes.astype(np.int64), rule.whole.size) for rule in rules]
        keys = _keys([*zip(columns, widths, strict=True), *secrets], rows)
        _, first, loads = np.unique(keys, return_index=True, return_counts=True)
        codes = np.ascontiguousarray(np.stack([column[first] for column in columns], axis=1).astype(np.int32))
        known = -1 if person is None else len(rules) - 1
        return Records(codes, loads, np.argsort(keys, kind="stable"), _shape(attributes), _rules(rules, first, known))

    @staticmethod
    def each(attributes: Sequence[LocalAttribute], rules: Sequence[Rule] = ()) -> Records:
        """Every row an item of its own, in the order of the rows. O(rows)."""
        codes = np.ascontiguousarray(np.stack([attribute.codes for attribute in attributes], axis=1).astype(np.int32))
        rows = np.arange(codes.shape[0])
        return Records(codes, np.ones(rows.size, dtype=np.int64), rows, _shape(attributes), _rules(rules, rows))

    @property
    def count(self) -> int:
        """Number of records, equal ones included."""
        return int(self.rows.size)

    def problem(self, k: int) -> closures.LocalProblem:
        """Return the records as the kernels take them, with the rules of each group."""
        return closures.LocalProblem(self.codes, self.shape, self.rules, k)

    def keeps(self) -> bool:
        """Return whether the whole table satisfies every rule."""
        return bool(closures.keeps(self.rules, np.arange(self.loads.size), self.loads))

    def require(self, k: int) -> None:
        """Raise `InputError` where not even all records together may be a group."""
        if self.count < k:
            raise InputError(Message("error_decide.no_group", records=self.count, k=k))
        if not self.keeps():
            raise InputError(Message("error_decide.whole_table"))


def _keys(columns: Sequence[tuple[np.ndarray, int]], rows: int) -> np.ndarray:
    """One number per row that sorts as the columns do, one after the other."""
    keys, size = np.zeros(rows, dtype=np.int64), 1
    for codes, width in columns:
        if size * width > KEYS:
            distinct, keys = np.unique(keys, return_inverse=True)
            size = distinct.size
        keys = keys * width + codes
        size *= width
    return keys


def _shape(attributes: Sequence[LocalAttribute]) -> closures.AttributeTables:
    flat = [attribute.flat() for attribute in attributes]
    lengths = np.array([values.size for _, values in flat], dtype=np.int64)
    return closures.AttributeTables(
        ordered=np.array([isinstance(one, OrderedAttribute) for one in attributes]),
        offset=np.cumsum(lengths) - lengths,
        width=np.array([one.width for one in attributes], dtype=np.int64),
        missing=np.array(
            [one.missing if isinstance(one, OrderedAttribute) else -1 for one in attributes], dtype=np.int64
        ),
        weight=np.array([one.weight for one in attributes], dtype=np.float64),
        table=np.concatenate([table for table, _ in flat]),
        value=np.concatenate([values for _, values in flat]),
    )


def _rules(rules: Sequence[Rule], first: np.ndarray, person: int = -1) -> closures.SensitiveRules:
    widths = np.array([rule.whole.size for rule in rules], dtype=np.int64)
    # Only the distance by a tree has a height: the others look at the values alone.
    trees = [rule.tree if rule.kind == T_TREE else rule.tree[:1] for rule in rules]
    sizes = np.array([tree.size for tree in trees], dtype=np.int64)
    secrets = [rule.codes[first].astype(np.int32) for rule in rules]
    nothing = [np.zeros(0, dtype=np.int64)]
    return closures.SensitiveRules(
        person=person,
        secrets=np.stack(secrets) if rules else np.zeros((0, first.size), dtype=np.int32),
        kind=np.array([rule.kind for rule in rules], dtype=np.int64),
        least=np.array([rule.count for rule in rules], dtype=np.int64),
        level=np.array([rule.level for rule in rules], dtype=np.float64),
        width=widths,
        height=np.array([tree.shape[0] for tree in trees], dtype=np.int64),
        whole=np.concatenate([*(rule.whole.astype(np.int64) for rule in rules), *nothing]),
        whole_offset=np.cumsum(widths) - widths,
        tree=np.concatenate([*(tree.ravel().astype(np.int64) for tree in trees), *nothing]),
        tree_offset=np.cumsum(sizes) - sizes,
    )


def divide(records: Records, items: np.ndarray, method: int, k: int) -> Groups:
    """Split all records by one method (of `kernels.group_division`), the items taken in the given order.

    Large tables are split a few times first; then the parts go on side by side on all cores. The groups are the same.
    """
    records.require(k)
    grain = records.count // 16 if records.count > PARALLEL else 0
    parts = [_Part(items, records.loads[items])]
    for grain_ in [grain, 0] if grain else [0]:
        with ThreadPoolExecutor(max_workers=None if len(parts) > 1 else 1) as pool:
            results = pool.map(lambda part, grain=grain_: _divide(records, part, method, k, grain), parts)
            parts = [part for result in results for part in result]
    return _groups(records, parts)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some items, and how many records of each."""

    items: np.ndarray
    loads: np.ndarray


def _divide(records: Records, part: _Part, method: int, k: int, grain: int) -> list[_Part]:
    most = int(part.loads.sum()) // k + 1
    room = part.items.size + most
    out = division.DividedGroups(
        np.empty(room, dtype=part.items.dtype), np.empty(room, dtype=np.int64), np.empty(most, dtype=np.int64)
    )
    found = division.divide(method, records.problem(k), grain, part.items, part.loads, out)
    ends = out.ends[:found]
    if grain:
        starts = np.append(0, ends[:-1])
        return [_Part(out.items[a:b].copy(), out.loads[a:b].copy()) for a, b in zip(starts, ends, strict=True)]
    # One part with all groups and where they end, so that a million groups are not a million objects.
    return [_Grouped(out.items[: ends[-1]], out.loads[: ends[-1]], ends)]


@dataclass(frozen=True, eq=False)
class _Grouped(_Part):
    """The same in groups that are not split any further, and where each ends."""

    ends: np.ndarray


def _groups(records: Records, parts: Sequence[_Part]) -> Groups:
    grouped = [part for part in parts if isinstance(part, _Grouped)]
    offsets = np.cumsum([0, *(part.items.size for part in grouped)])
    ends = np.concatenate([part.ends + offset for part, offset in zip(grouped, offsets[:-1], strict=True)])
    items = np.concatenate([part.items for part in grouped])
    loads = np.concatenate([part.loads for part in grouped])
    labels = np.empty(records.count, dtype=np.uint32)
    firsts = np.cumsum(records.loads) - records.loads
    division.deal(firsts, records.rows, items, loads, ends, labels)
    return Groups.of([Column(pa.nulls(len(ends)), labels)], records.count)
