"""Grouping of records into equivalence classes: class labels, class sizes, counts of classes, and values in each class.

From bottom to top: *keys* (one 64-bit number for the codes of a record in several columns), *numbers* (equal keys as 0, 1, 2 …),
*groups* (a label for each row and the size of each group), *class sizes* and *class counts* (without labels, in less memory),
*people counts* (the same where one person has several records), and *tallies* (the values within each group).

Where a counter for each possible combination fits a cache, rows are counted there; else keys are hashed. All of it is exact but
for `fingerprints` of very wide tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple
from weakref import WeakSet

import numpy as np

from oboro.data.column import Column, large_zeros
from oboro.kernels import grouping, hashing
from oboro.kernels.jit import little_work
from oboro.system.process import on_cores

__all__ = [
    "ClassCounts",
    "Digit",
    "Groups",
    "NumberedKeys",
    "Pair",
    "PeopleCounts",
    "RowOrder",
    "Tally",
    "class_counts",
    "class_sizes",
    "clean",
    "combination_counts",
    "counted_pairs",
    "digits_of",
    "exact_keys",
    "fingerprints",
    "key_blocks",
    "key_counts",
    "keys_of",
    "number_alike",
    "number_keys",
    "pair_counts",
    "row_keys",
    "space_of",
    "tally",
]


# Keys -----------------------------------------------------------------------------------------------------------------

DIRECT = 1 << 20  # combinations whose counters fit a cache
COUNTED = 1 << 16  # as many possible keys are always counted
BLOCK = 1 << 16  # rows whose keys are made together, so that they stay in the cache
LARGEST_KEY = 1 << 63


class Digit(NamedTuple):
    """A code per row, and the number of codes there can be: one digit of the key by which rows are grouped."""

    codes: np.ndarray
    width: int


def digits_of(columns: Iterable[Column]) -> list[Digit]:
    """Return the codes of columns as digits."""
    return [Digit(column.codes, len(column.values)) for column in columns]


def space_of(digits: Iterable[Digit]) -> int:
    """Return the number of combinations that are possible."""
    return math.prod(digit.width for digit in digits)


def keys_of(digits: Sequence[Digit], rows: slice, room: np.ndarray | None = None) -> np.ndarray:
    """Return the keys of some rows: one number for the codes of all digits. `room` is memory for as many keys or more. O(rows)."""
    size = rows.stop - rows.start
    if room is not None:
        keys = room[:size]
        keys[:] = 0
    else:
        keys = large_zeros(size, np.uint64) if size > BLOCK else np.zeros(size, dtype=np.uint64)
    for digit in digits:
        grouping.combine(keys, digit.codes[rows], digit.width, keys)
    return keys


def key_blocks(digits: Sequence[Digit], rows: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the keys of all rows block by block; each block is written over the last one."""
    room = np.empty(min(BLOCK, rows), np.uint64)
    for begin in range(0, rows, BLOCK):
        here = slice(begin, min(begin + BLOCK, rows))
        yield here, keys_of(digits, here, room)


def exact_keys(digits: Sequence[Digit], rows: int) -> np.ndarray:
    """Return the keys of all rows; fewer than LARGEST_KEY are possible. O(rows · digits), 8 bytes a row."""
    keys = large_zeros(rows, np.uint64)
    for begin in range(0, rows, BLOCK):
        here = slice(begin, min(begin + BLOCK, rows))
        keys_of(digits, here, keys[here])
    return keys


def row_keys(columns: Sequence[Column], rows: int) -> np.ndarray:
    """Return one key a row: exact, or a fingerprint where combinations are too many. O(rows · columns), 8 bytes a row."""
    digits = digits_of(columns)
    return fingerprints(columns, rows) if space_of(digits) >= LARGEST_KEY else exact_keys(digits, rows)


# A fingerprint is the key of a record where a table is too wide for exact keys.
#
# Every value of every column gets a random number, and a record's fingerprint is the sum of its values' numbers modulo
# 2⁶⁴. Equal records have equal fingerprints. Two different records have the same one with a chance of 2⁻⁶⁴, since one
# of the numbers in which they differ is drawn after all others. So a record with a fingerprint of its own is certainly
# unique. That some unique record among n is missed has a chance below n² / 2⁶⁵ (3 in a million for 10 million records).
# The numbers are drawn for each call, so an attacker cannot choose values that collide.


def fingerprints(columns: Sequence[Column], rows: int, before: np.ndarray | None = None) -> np.ndarray:
    """Return a number for each record, equal for equal records. O(rows · columns), 8 bytes a row.

    They are added to those that stand for other columns, if there were some `before`.
    """
    out, draw = large_zeros(rows, np.uint64) if before is None else before, np.random.default_rng()
    numbers = [draw.integers(0, 1 << 64, len(column.values), np.uint64) for column in columns]
    for begin in range(0, rows, BLOCK):
        here = slice(begin, begin + BLOCK)
        for column, values in zip(columns, numbers, strict=True):
            grouping.add_numbers(values, column.codes[here], out[here])
    return out


# Numbered keys --------------------------------------------------------------------------------------------------------
# Number rows by one 64-bit key each: equal keys get equal numbers, by hashing with exact comparison.


FEW = 1 << 14  # different keys whose table fits a cache: they are numbered at once, not part by part
IN_PART = 1 << 13  # keys in a part, about
MOST_PARTS = 1 << 11  # more would each be written to from another page of memory


@dataclass(frozen=True, eq=False)
class NumberedKeys:
    """A number for each key, 0 … found − 1; `places` says where that of each row stands (None: in the order of the rows)."""

    numbers: np.ndarray
    found: int
    places: np.ndarray | None = None

    def of_rows(self, rows: slice) -> np.ndarray:
        """The numbers of some rows."""
        return self.numbers[rows] if self.places is None else self.numbers[self.places[rows]]


def number_keys(keys: np.ndarray, *, in_rows: bool = True) -> NumberedKeys:
    """Number the keys, in no particular order. The array of keys is used up. Without `in_rows` nobody asks which row has which.

    Exact. O(rows); memory 8 bytes a row beside the keys where few are different, else 16.
    """
    if little_work(keys.size):
        values, places = np.unique(keys, return_inverse=True)
        return NumberedKeys(places.astype(np.uint32), values.size)
    factor = np.random.default_rng().integers(0, 1 << 64, 1, np.uint64) | np.uint64(1)
    parts = 1
    while parts < MOST_PARTS and parts * IN_PART < keys.size:
        parts *= 2
    shift = 65 - parts.bit_length() if parts > 1 else 63  # one bit too few: a shift by all 64 is not defined
    sizes = np.zeros(max(parts, 2), np.int64)
    hashing.mix(keys, factor, shift, sizes)
    if (few := _few(keys)) is not None:
        return few
    starts = np.concatenate([[0], np.cumsum(sizes)])
    spread, places = large_zeros(keys.size, np.uint64), large_zeros(keys.size if in_rows else 0, np.uint32)
    hashing.spread(keys, shift, starts[:-1].copy(), spread, places)
    most = int(sizes.max())
    slots = np.zeros(_slots(most), np.uint32)
    numbers = keys.view(np.uint32)[: keys.size]  # the keys are not needed any more
    found = hashing.number_parts(spread, starts, slots, np.empty(most, np.uint64), numbers)
    return NumberedKeys(numbers, found, places)


def _few(keys: np.ndarray) -> NumberedKeys | None:
    """The numbers, where there are few different keys; of many, it is soon found out."""
    numbers, whole = large_zeros(keys.size, np.uint32), np.array([0, keys.size])
    found = hashing.number_parts(keys, whole, np.zeros(4 * FEW, np.uint32), np.empty(FEW, np.uint64), numbers)
    return None if found == hashing.FULL else NumberedKeys(numbers, found)


def _slots(keys: int) -> int:
    """A power of two, at least twice the number of keys."""
    return 1 << (2 * max(keys, 1) - 1).bit_length()


def number_alike(keys: np.ndarray, space: int) -> tuple[np.ndarray, int]:
    """Number equal keys by first appearance with one table, for keys that fit a cache; return the numbers and their count.

    A counter per possible key where these are few, a hash table otherwise. O(rows).
    """
    labels = np.empty(keys.size, dtype=np.uint32)
    if space <= 4 * keys.size + 1024:
        return labels, grouping.number_by_appearance(keys, np.zeros(space, dtype=np.uint32), labels)
    slots = np.zeros(_slots(max(keys.size, 8)), dtype=np.uint32)
    return labels, hashing.number_by_hash(keys, slots, labels)


# Groups ---------------------------------------------------------------------------------------------------------------
# A label for each row and the size of each group, as used by algorithms, techniques and verification.


FUSED = 1 << 20  # possible keys of several columns that are numbered in one step: their counters fit a cache


@dataclass(frozen=True, eq=False)
class Groups:
    """A partition of rows: `labels[i]` in 0 … len(sizes) − 1, numbered by first appearance."""

    labels: np.ndarray
    sizes: np.ndarray

    def __len__(self) -> int:
        return len(self.sizes)

    @staticmethod
    def of(columns: Sequence[Column], rows: int) -> Groups:
        """Group rows that agree on every column; a missing value is a value like any other. No column: one group.

        Cost O(rows · columns); exact. Memory 4 bytes a row; 28 where keys have to be hashed (`number_keys`), because there are too
        many possible ones for a counter each.
        """
        together: list[Digit] = []
        space = 1
        for column in columns:
            width = len(column.values)
            # Digits are numbered before one more is added where they still can be counted, or the key would be too long.
            # What must be hashed anyhow is hashed once, with all its digits.
            full = space <= max(4 * rows, COUNTED) or space * width >= LARGEST_KEY
            if len(together) > 1 and space * width > FUSED and full:
                together = [_number(together, space, rows)]
                space = together[0].width
            together.append(Digit(column.codes, width))
            space *= width
        return Groups._sized(_number(together, space, rows))

    @staticmethod
    def of_keys(keys: np.ndarray) -> Groups:
        """Group rows with equal 64-bit keys. The array is used up. O(rows), 28 bytes a row."""
        hashed, rows = number_keys(keys), keys.size
        return Groups._sized(_by_appearance(hashed.of_rows, hashed.found, rows))

    @staticmethod
    def _sized(digit: Digit) -> Groups:
        sizes = np.zeros(digit.width, dtype=np.int64)
        grouping.occurrences(digit.codes, sizes)
        return Groups(digit.codes, sizes)

    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows ordered by group, and where each group starts (one more entry at the end)."""
        order = np.argsort(self.labels, kind="stable")
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        return order, starts

    def first_rows(self) -> np.ndarray:
        """Return the first row of each group. O(rows) at most: it ends where every group was met."""
        first, found = np.full(len(self), -1, dtype=np.int64), 0
        for begin in range(0, self.labels.size if len(self) else 0, BLOCK):
            part = self.labels[begin : begin + BLOCK]
            new = np.flatnonzero(first[part] < 0)[::-1]
            first[part[new]] = begin + new  # of a label's rows the one written last stays: the first
            found += int(np.count_nonzero(first[part[new]] == begin + new))
            if found == len(self):
                break
        return first

    def row_sizes(self) -> np.ndarray:
        """Return the size of the group of each row, the row included."""
        return np.asarray(self.sizes[self.labels])


def _number(digits: Sequence[Digit], space: int, rows: int) -> Digit:
    """One digit in place of several: the keys that occur, of `space` possible ones, numbered by first appearance."""
    if not digits or not rows:
        return Digit(np.zeros(rows, dtype=np.uint32), 1 if rows else 0)
    if space <= max(4 * rows, COUNTED):  # a counter for each possible key
        return _by_appearance(partial(keys_of, digits), space, rows)
    # Hashing numbers keys anyhow; numbering them again by appearance keeps the labels independent of the branch.
    hashed = number_keys(exact_keys(digits, rows))
    return _by_appearance(hashed.of_rows, hashed.found, rows)


def _by_appearance(keys: Callable[[slice], np.ndarray], space: int, rows: int) -> Digit:
    """A block of rows at a time, so that its keys stay in the cache."""
    seen, labels, found = large_zeros(space, np.uint32), large_zeros(rows, np.uint32), 0
    for begin in range(0, rows, BLOCK):
        here = slice(begin, min(begin + BLOCK, rows))
        found = grouping.number_by_appearance(keys(here), seen, labels[here], found)
    return Digit(labels, found)


# Class sizes and class counts -----------------------------------------------------------------------------------------
# Sizes of equivalence classes, or four counts of them, without a label for each row.


MANY = 1 << 18  # keys from which on those that are alone are found first


def is_direct(space: int, rows: int) -> bool:
    """Return whether a counter for each of `space` combinations fits a cache and is worth its memory."""
    return space <= min(DIRECT, max(4 * rows, BLOCK))


def combination_counts(digits: Sequence[Digit], rows: int) -> np.ndarray:
    """Count the rows of each possible combination, of which there must be few. O(rows · digits)."""
    counts = np.zeros(space_of(digits), np.uint32)
    for _, keys in key_blocks(digits, rows):
        grouping.occurrences(keys, counts)
    return counts


def class_sizes(columns: Sequence[Column], rows: int) -> np.ndarray:
    """Return the sizes of the classes, in no particular order: without labels it takes half the time.

    O(rows · columns); memory 24 bytes a row where there are many combinations, else none for each row.
    """
    digits = digits_of(columns)
    space = space_of(digits)
    if space >= LARGEST_KEY:
        return Groups.of(columns, rows).sizes
    if space <= max(4 * rows, COUNTED):
        counts = combination_counts(digits, rows)
        return counts[counts > 0].astype(np.int64)
    numbered = number_keys(exact_keys(digits, rows), in_rows=False)
    sizes = np.zeros(numbered.found, np.int64)
    grouping.occurrences(numbered.numbers, sizes)
    return sizes


@dataclass(frozen=True)
class ClassCounts:
    """Four counts of the classes: enough for distinction, separation, uniqueness, and k."""

    distinct: int
    squares: int
    """The sum of the squares of their sizes."""
    alone: int
    """Classes of one record."""
    least: int
    """The size of the smallest; 0 where there is none."""

    @staticmethod
    def of(sizes: np.ndarray) -> ClassCounts:
        """Return the counts for class sizes, of which some may be 0. O(classes)."""
        return _counts(partial(grouping.sum_up, sizes))

    def beside(self, alone: int) -> ClassCounts:
        """Return these counts with additional classes of one record."""
        if not alone:
            return self
        return ClassCounts(self.distinct + alone, self.squares + alone, self.alone + alone, 1)


def class_counts(columns: Sequence[Column], rows: int) -> ClassCounts:
    """Count the classes of records that agree on every column; without a column all are one.

    O(rows · columns); memory 28 bytes a row, or 4 MB where there are few combinations.
    """
    if len(columns) == 1:
        return ClassCounts.of(columns[0].counts)
    digits = digits_of(columns)
    if is_direct(space_of(digits), rows):
        return ClassCounts.of(combination_counts(digits, rows))
    return key_counts(row_keys(columns, rows))


def key_counts(keys: np.ndarray) -> ClassCounts:
    """Count the classes of records with equal keys. The array is overwritten. O(rows), 20 bytes a row beside the keys."""
    shared = _shared(keys) if keys.size >= MANY else keys
    numbered = number_keys(shared)
    sizes = large_zeros(numbered.found, np.uint32)
    grouping.occurrences(numbered.numbers, sizes)
    return ClassCounts.of(sizes).beside(keys.size - shared.size)


def _shared(keys: np.ndarray) -> np.ndarray:
    """Return the keys without most unique ones: a record that is alone in a slot of a table has a unique key.

    Whoever shares one is looked at again. The table has two bits for each of four slots or more a key, so that it fits a cache
    where all keys would not. O(rows), 1 to 2 bytes a row.
    """
    bits = (4 * keys.size - 1).bit_length()
    factor = np.random.default_rng().integers(0, 1 << 64, 1, np.uint64) | np.uint64(1)
    marks = large_zeros(1 << (bits - 2))
    grouping.mark_twice(keys, factor, 64 - bits, marks)
    return keys[: grouping.keep_marked(keys, factor, 64 - bits, marks)]


def _counts(count: Callable[[np.ndarray], None]) -> ClassCounts:
    out = np.zeros(4, np.int64)
    count(out)
    return ClassCounts(*(int(one) for one in out))


# Class counts of pairs of columns -------------------------------------------------------------------------------------
# Where a pair has many combinations, rows are sorted by one column, and counted value by value with a counter for each
# value of the other.


COARSE = 8  # bits: a column is put in order in two steps, so that each writes to few places at a time
THREADS = 4  # at most: each needs memory of its own

Pair = tuple[str, str]


def pair_counts(columns: Mapping[str, Column], pairs: Sequence[Pair], rows: int) -> dict[Pair, ClassCounts]:
    """`class_counts` of each of many pairs, on several cores. O(rows) a pair.

    Memory: 13 bytes a row for each thread, of which there are at most 4.
    """

    def with_first(first: Column, others: Sequence[Column]) -> Iterator[ClassCounts]:
        order = RowOrder.by(first)
        held = np.empty(int(first.counts.max(initial=0)), np.uint32)
        for other in others:
            codes, sizes = order.gather(other.codes), np.zeros(len(other.values), np.uint32)
            yield _counts(partial(grouping.classes_within, order.fine, order.starts, codes, sizes, held))

    return counted_pairs(columns, pairs, rows, lambda both: class_counts(both, rows), with_first)


def counted_pairs(
    columns: Mapping[str, Column],
    pairs: Sequence[Pair],
    rows: int,
    directly: Callable[[Sequence[Column]], ClassCounts],
    with_first: Callable[[Column, Sequence[Column]], Iterator[ClassCounts]],
) -> dict[Pair, ClassCounts]:
    """Pairs of few combinations, each counted `directly`; of the others those that have the column of more values in common.

    That one is put in order once for all of them.
    """
    width = {name: len(column.values) for name, column in columns.items()}
    ordered: dict[str, list[Pair]] = {}
    direct: list[Pair] = []
    little = little_work(rows * len(pairs))
    for pair in pairs:
        few = little or is_direct(width[pair[0]] * width[pair[1]], rows)
        (direct if few else ordered.setdefault(max(pair, key=lambda name: width[name]), [])).append(pair)

    def one(pair: Pair) -> list[tuple[Pair, ClassCounts]]:
        return [(pair, directly([columns[name] for name in pair]))]

    def several(first: str) -> list[tuple[Pair, ClassCounts]]:
        some = ordered[first]
        others = [columns[pair[0] if pair[1] == first else pair[1]] for pair in some]
        return list(zip(some, with_first(columns[first], others), strict=True))

    longest = sorted(ordered, key=lambda first: -len(ordered[first]))
    tasks = [*(partial(several, first) for first in longest), *(partial(one, pair) for pair in direct)]
    done = on_cores(lambda task: task(), tasks, rows=rows, most=THREADS)
    return dict(found for some in done for found in some)


@dataclass(frozen=True, eq=False)
class RowOrder:
    """The rows in the order of one column's values: first in coarse steps, then within each, so that caches are used well."""

    coarse: np.ndarray
    """Of each row the upper bits of its code."""
    steps: np.ndarray
    """Where the rows of each coarse step start."""
    fine: np.ndarray
    """Places in coarse order, in the order of the codes; the rows of one code as they came."""
    starts: np.ndarray
    """Where the rows of each code start, one more entry at the end."""
    room: np.ndarray
    """For another column's codes."""

    @staticmethod
    def by(column: Column) -> RowOrder:
        """O(rows), 9 bytes a row."""
        shift = max(0, (len(column.values) - 1).bit_length() - COARSE)
        coarse = (column.codes >> column.codes.dtype.type(shift)).astype(np.uint8)
        starts, fine, room = _starts(column.counts), *(large_zeros(len(column), np.uint32) for _ in range(2))
        steps = starts[:-1][:: 1 << shift]
        grouping.gather(coarse, column.codes, steps.copy(), room)
        grouping.by_code(room, starts[:-1].copy(), fine)
        return RowOrder(coarse, steps, fine, starts, room)

    def gather(self, codes: np.ndarray, room: np.ndarray | None = None) -> np.ndarray:
        """Another column's codes in coarse order; the next call may use the same room."""
        out = self.room if room is None else room
        grouping.gather(self.coarse, codes, self.steps.copy(), out)
        return out


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)])


# People counts --------------------------------------------------------------------------------------------------------
# `class_counts` where one person may have several rows: the number of people in each class, and of unique people.
#
# Rows are first sorted by person. In every class the rows of a person are then adjacent, so one number for each class,
# its last person, is enough to count its people.


@dataclass(frozen=True, eq=False)
class PeopleCounts:
    """Counts of people in the classes of a table. `ClassCounts.alone` are people who are alone in some class, `least` people too.

    Somebody who is alone in several classes is one person. A class of rows without a person holds somebody whom nobody stands with,
    so each such class counts as one, and as a class of nobody.
    """

    person: Column

    @cached_property
    def order(self) -> np.ndarray:
        """Return the rows in the order of people. O(rows), 4 bytes a row."""
        starts = np.concatenate([[0], np.cumsum(self._held.counts)])
        rows = large_zeros(len(self._held), np.uint32)
        grouping.by_code(self._held.codes, starts[:-1], rows)
        return rows

    @cached_property
    def people(self) -> np.ndarray:
        """Return the person of each row, in the order of people."""
        return np.repeat(np.arange(len(self._held.values), dtype=np.uint32), self._held.counts)

    @cached_property
    def _held(self) -> Column:
        return clean(self.person)

    def _ordered(self, column: Column) -> Column:
        """A column in the order of people. O(rows), its codes once more."""
        return Column(column.values, column.codes[self.order])

    def class_counts(self, columns: Sequence[Column]) -> ClassCounts:
        """Count the classes of records that agree on every column. O(rows · columns); memory 40 bytes a row at most."""
        return self._of([self._ordered(column) for column in columns])

    def pair_counts(self, columns: Mapping[str, Column], pairs: Sequence[Pair]) -> dict[Pair, ClassCounts]:
        """Count the classes of each of many pairs, on several cores. O(rows) a pair.

        Memory: the codes of the columns once more, and 17 bytes a row for each thread, of which there are at most 4.
        """
        named = {name for pair in pairs for name in pair}
        ordered = {name: self._ordered(columns[name]) for name in columns if name in named}
        return counted_pairs(ordered, pairs, self.people.size, self._of, self._with_first)

    def holding(self, column: Column) -> tuple[np.ndarray, np.ndarray]:
        """Count the records and the people that carry each value. O(rows)."""
        classes = self._directly([self._ordered(column)])
        return classes[0], classes[1]

    def _of(self, columns: Sequence[Column]) -> ClassCounts:
        rows, space = self.people.size, space_of(digits_of(columns))
        if len(columns) == 1 or is_direct(space, rows):
            return self._sum_up(self._directly(columns))
        return self.key_counts(row_keys(columns, rows), ordered=True)

    def _directly(self, columns: Sequence[Column]) -> np.ndarray:
        """Of each combination of columns in the order of people what `count_people` counts."""
        digits = digits_of(columns)
        classes = np.zeros((3, space_of(digits)), np.uint32)
        for here, keys in key_blocks(digits, self.people.size):
            grouping.count_people(keys, self.people[here], self._held.missing, classes)
        return classes

    def key_counts(self, keys: np.ndarray, *, ordered: bool = False) -> ClassCounts:
        """Count the classes of records with equal keys, which are overwritten. `ordered`: they are in the order of people."""
        numbered = number_keys(keys if ordered else keys[self.order])
        people = self.people
        if numbered.places is not None:
            people = large_zeros(people.size, np.uint32)
            people[numbered.places] = self.people
        classes = np.zeros((3, numbered.found), np.uint32)
        grouping.count_people(numbered.numbers, people, self._held.missing, classes)
        return self._sum_up(classes)

    def _with_first(self, first: Column, others: Sequence[Column]) -> Iterator[ClassCounts]:
        order, missing = RowOrder.by(first), self._held.missing
        people = order.gather(self.people, large_zeros(self.people.size, np.uint32))
        for other in others:
            codes, classes = order.gather(other.codes), np.zeros((3, len(other.values)), np.uint32)
            unique, out = self._nobody_yet(), np.zeros(4, np.int64)
            grouping.people_within(order.fine, order.starts, codes, people, missing, classes, unique, out)
            yield _counted(unique, out)

    def _sum_up(self, classes: np.ndarray) -> ClassCounts:
        unique, out = self._nobody_yet(), np.zeros(4, np.int64)
        grouping.sum_up_people(classes, unique, out)
        return _counted(unique, out)

    def _nobody_yet(self) -> np.ndarray:
        return np.zeros(len(self._held.values), np.bool_)


def _counted(unique: np.ndarray, out: np.ndarray) -> ClassCounts:
    distinct, squares, nobodys, least = (int(one) for one in out)
    return ClassCounts(distinct, squares, int(np.count_nonzero(unique)) + nobodys, least)


# Value counts (tallies) -----------------------------------------------------------------------------------------------
# Values in each group of records, with their frequencies.


@dataclass(frozen=True, eq=False)
class Tally:
    """Frequencies of values in each class: the distinct codes of each class, one class after the other."""

    codes: np.ndarray  # ascending within a class
    counts: np.ndarray
    starts: np.ndarray  # where each class starts, one more entry at the end
    whole: np.ndarray  # how often each code occurs in the whole table

    @cached_property
    def distinct(self) -> np.ndarray:
        """Return the number of different values in each class."""
        return np.diff(self.starts)

    @cached_property
    def most_frequent(self) -> np.ndarray:
        """Return the frequency of the most frequent value in each class."""
        return self.each(np.maximum, self.counts)

    @cached_property
    def totals(self) -> np.ndarray:
        """The sum of the counts of each class: its rows, or its people, each as often as they have values."""
        return self.each(np.add, self.counts)

    def each(self, reduce: np.ufunc, entries: np.ndarray) -> np.ndarray:
        """Reduce the entries of each class; 0 where it has none (a class without people)."""
        filled = self.distinct > 0
        if filled.size and filled.all():
            return np.asarray(reduce.reduceat(entries, self.starts[:-1]))
        out = np.zeros(filled.size, dtype=entries.dtype)
        if filled.any():
            out[filled] = reduce.reduceat(entries, self.starts[:-1][filled])
        return out


def tally(labels: np.ndarray, sizes: np.ndarray, codes: np.ndarray, width: int) -> Tally:
    """Count the codes (0 … width − 1) among the rows of each label. O(rows), 8 bytes a row and the codes twice.

    >>> found = tally(np.array([0, 1, 0]), np.array([2, 1]), np.array([5, 5, 4]), 6)
    >>> found.codes, found.counts, found.starts
    (array([4, 5, 5]), array([1, 1, 1]), array([0, 2, 3]))
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    gathered = np.empty_like(codes)
    grouping.gather(labels, codes, starts[:-1].copy(), gathered)
    most = min(codes.size, sizes.size * width)
    out = np.empty(most, codes.dtype), np.empty(most, np.int64), np.empty_like(starts)
    written = grouping.tally(gathered, starts, np.zeros(width, np.int64), *out)
    whole = np.zeros(width, np.int64)
    grouping.occurrences(codes, whole)
    return Tally(out[0][:written], out[1][:written], out[2], whole)


def clean(column: Column) -> Column:
    """Return the column with every value exactly once in its dictionary: two codes for one value would overstate diversity."""
    if column in CLEAN:
        return column
    untidy = len(column.values.unique()) < len(column.values) or (column.counts == 0).any()
    found = column.tidy() if untidy else column
    CLEAN.add(found)
    return found


CLEAN: WeakSet[Column] = WeakSet()  # columns never change, and a report asks of each a dozen times
