"""`class_counts` where one person may have several rows: how many people stand in a class, and who stands alone.

The rows are put in the order of people first. In every class the rows of a person then stand together, so one number for each
class, who was its last, is enough to count its people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oboro.kernels import grouping
from oboro.measure.exposure import kernels
from oboro.measure.exposure.class_counts import (
    ClassCounts,
    Pair,
    RowOrder,
    combinations_of,
    combined,
    counted_pairs,
    is_direct,
    row_keys,
)
from oboro.table.dataset import Column
from oboro.table.large_arrays import large_zeros
from oboro.table.numbered_keys import number_keys
from oboro.table.value_counts import clean

__all__ = ["PeopleCounts"]


@dataclass(frozen=True, eq=False)
class PeopleCounts:
    """Counts people in the classes of a table. `ClassCounts.alone` are people who are alone in some class, `least` people too.

    Somebody who is alone in several classes is one person. A class of rows without a person holds somebody whom nobody stands with,
    so each such class counts as one, and as a class of nobody.
    """

    person: Column

    @cached_property
    def order(self) -> np.ndarray:
        """The rows in the order of people. O(rows), 4 bytes a row."""
        starts = np.concatenate([[0], np.cumsum(self._held.counts)])
        rows = large_zeros(len(self._held), np.uint32)
        grouping.by_code(self._held.codes, starts[:-1], rows)
        return rows

    @cached_property
    def people(self) -> np.ndarray:
        """Whose each row is, in that order."""
        return np.repeat(np.arange(len(self._held.values), dtype=np.uint32), self._held.counts)

    @cached_property
    def _held(self) -> Column:
        return clean(self.person)

    def _ordered(self, column: Column) -> Column:
        """A column in the order of people. O(rows), its codes once more."""
        return Column(column.values, column.codes[self.order])

    def class_counts(self, columns: Sequence[Column]) -> ClassCounts:
        """The classes of records that agree on every column. O(rows · columns); memory 40 bytes a row at most."""
        return self._of([self._ordered(column) for column in columns])

    def pair_counts(self, columns: Mapping[str, Column], pairs: Sequence[Pair]) -> dict[Pair, ClassCounts]:
        """The same of each of many pairs, on several cores. O(rows) a pair.

        Memory: the codes of the columns once more, and 17 bytes a row for each thread, of which there are at most 4.
        """
        named = {name for pair in pairs for name in pair}
        ordered = {name: self._ordered(columns[name]) for name in columns if name in named}
        return counted_pairs(ordered, pairs, self.people.size, self._of, self._with_first)

    def holding(self, column: Column) -> tuple[np.ndarray, np.ndarray]:
        """How many records and how many people hold each value. O(rows)."""
        classes = self._directly([self._ordered(column)])
        return classes[0], classes[1]

    def _of(self, columns: Sequence[Column]) -> ClassCounts:
        rows, space = self.people.size, combinations_of(columns)
        if len(columns) == 1 or is_direct(space, rows):
            return self._sum_up(self._directly(columns))
        return self.key_counts(row_keys(columns, rows), ordered=True)

    def _directly(self, columns: Sequence[Column]) -> np.ndarray:
        """Of each combination of columns in the order of people what `count_people` counts."""
        classes = np.zeros((3, combinations_of(columns)), np.uint32)
        for here, keys in combined(columns, self.people.size):
            kernels.count_people(keys, self.people[here], self._held.missing, classes)
        return classes

    def key_counts(self, keys: np.ndarray, *, ordered: bool = False) -> ClassCounts:
        """The classes of records with equal keys; they are used up. `ordered`: they stand in the order of people already."""
        numbered = number_keys(keys if ordered else keys[self.order])
        people = self.people
        if numbered.places is not None:
            people = large_zeros(people.size, np.uint32)
            people[numbered.places] = self.people
        classes = np.zeros((3, numbered.found), np.uint32)
        kernels.count_people(numbered.numbers, people, self._held.missing, classes)
        return self._sum_up(classes)

    def _with_first(self, first: Column, others: Sequence[Column]) -> Iterator[ClassCounts]:
        order, missing = RowOrder.by(first), self._held.missing
        people = order.gather(self.people, large_zeros(self.people.size, np.uint32))
        for other in others:
            codes, classes = order.gather(other.codes), np.zeros((3, len(other.values)), np.uint32)
            unique, out = self._nobody_yet(), np.zeros(4, np.int64)
            kernels.people_within(order.fine, order.starts, codes, people, missing, classes, unique, out)
            yield _counted(unique, out)

    def _sum_up(self, classes: np.ndarray) -> ClassCounts:
        unique, out = self._nobody_yet(), np.zeros(4, np.int64)
        kernels.sum_up_people(classes, unique, out)
        return _counted(unique, out)

    def _nobody_yet(self) -> np.ndarray:
        return np.zeros(len(self._held.values), np.bool_)


def _counted(unique: np.ndarray, out: np.ndarray) -> ClassCounts:
    distinct, squares, nobodys, least = (int(one) for one in out)
    return ClassCounts(distinct, squares, int(np.count_nonzero(unique)) + nobodys, least)
