"""Who stands alone in a class, and how large classes are, without a list of them."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = [
    "NOBODY",
    "SEVERAL",
    "add_numbers",
    "classes_within",
    "count_people",
    "keep_marked",
    "mark_twice",
    "only_person",
    "people_within",
    "sum_up",
    "sum_up_people",
]

NOBODY, SEVERAL = -1, -2  # what `only_person` says of a class beside a person's code
FEW = 16  # rows of a value that are compared with each other, each with each
NONE = np.int64(1) << np.int64(62)


@kernel(little=True)
def only_person(labels: np.ndarray, people: np.ndarray, missing: int, out: np.ndarray) -> None:
    """For each class (one NOBODY each in `out`) the only person in it, or NOBODY, or SEVERAL. O(n).

    `people` has a person's code for each row; rows with the code `missing` are nobody's.
    """
    for i in range(labels.size):
        person = np.int64(people[i])
        if person == missing:
            continue
        found = out[labels[i]]
        if found == NOBODY:
            out[labels[i]] = person
        elif found != person:
            out[labels[i]] = SEVERAL


def _add_numbers(numbers: np.ndarray, codes: np.ndarray, out: np.ndarray) -> None:
    out += numbers[codes]


@kernel(little=_add_numbers)
def add_numbers(numbers: np.ndarray, codes: np.ndarray, out: np.ndarray) -> None:
    """Add to each row's number that of its code, modulo 2⁶⁴. O(n)."""
    for i in range(codes.size):
        out[i] += numbers[codes[i]]


def _sum_up(sizes: np.ndarray, out: np.ndarray) -> None:
    held = sizes[sizes > 0].astype(np.int64)
    out[:] = held.size, held @ held, np.count_nonzero(held == 1), held.min(initial=NONE) if held.size else 0


@kernel(little=_sum_up)
def sum_up(sizes: np.ndarray, out: np.ndarray) -> None:
    """Of the classes that hold somebody: how many, the sum of their squares, how many hold one, the least. O(classes)."""
    distinct, squares, alone, least = 0, np.int64(0), 0, NONE
    for i in range(sizes.size):
        size = np.int64(sizes[i])
        if size:
            distinct += 1
            squares += size * size
            alone += size == 1
            least = min(least, size)
    out[0], out[1], out[2], out[3] = distinct, squares, alone, least if distinct else 0


@kernel()
def mark_twice(keys: np.ndarray, factor: np.ndarray, shift: int, marks: np.ndarray) -> None:
    """Mark in two bits of `marks` whether no key, one or several fall into each slot: the upper bits of a product. O(n)."""
    for i in range(keys.size):
        slot = keys[i] * factor[0] >> np.uint64(shift)
        byte, place = slot >> np.uint64(2), np.uint8(2) * np.uint8(slot & np.uint64(3))
        mark = marks[byte] >> place & np.uint8(3)
        marks[byte] |= (np.uint8(2) if mark else np.uint8(1)) << place


@kernel()
def keep_marked(keys: np.ndarray, factor: np.ndarray, shift: int, marks: np.ndarray) -> int:
    """The keys that share a slot with another, to the front of the array; returns how many. O(n)."""
    kept = 0
    for i in range(keys.size):
        slot = keys[i] * factor[0] >> np.uint64(shift)
        mark = marks[slot >> np.uint64(2)] >> (np.uint8(2) * np.uint8(slot & np.uint64(3)))
        keys[kept] = keys[i]
        kept += np.int64(mark >> np.uint8(1) & np.uint8(1))
    return kept


@kernel(little=True)
def classes_within(
    order: np.ndarray, starts: np.ndarray, codes: np.ndarray, counts: np.ndarray, held: np.ndarray, out: np.ndarray
) -> None:
    """What `sum_up` says of the classes that a value of one column and one of another make.

    `order` has the rows of each value of the one, from `starts` on; `codes` are the other's. `counts` has a zero for each of
    these, and is left so; `held` has room for the rows of one value. O(n).
    """
    distinct, squares, alone, least = 0, np.int64(0), 0, NONE
    for value in range(starts.size - 1):
        begin, rows = starts[value], starts[value + 1] - starts[value]
        for i in range(rows if rows > 1 else 0):
            held[i] = codes[order[begin + i]]
        if rows == 1:
            distinct, squares, alone, least = distinct + 1, squares + 1, alone + 1, np.int64(1)
        elif rows <= FEW:
            for i in range(rows):
                size, first = np.int64(0), True
                for j in range(rows):
                    same = held[j] == held[i]
                    size += same
                    first &= not (same and j < i)
                squares += size
                alone += size == 1
                distinct += first
                least = min(least, size)
        else:
            for i in range(rows):
                counts[held[i]] += np.uint32(1)
            for i in range(rows):
                size = np.int64(counts[held[i]])
                counts[held[i]] = 0
                squares += size * size
                alone += size == 1
                distinct += size > 0
                least = min(least, size if size else NONE)
    out[0], out[1], out[2], out[3] = distinct, squares, alone, least if distinct else 0


@kernel(little=True)
def count_people(labels: np.ndarray, people: np.ndarray, missing: int, classes: np.ndarray) -> None:
    """Add the rows of each class to `classes[0]`, its people to `classes[1]`, and to `classes[2]` who was its last, plus 1. O(n).

    The rows of a person stand together. Rows with the code `missing` are nobody's.
    """
    for i in range(labels.size):
        label, person = labels[i], np.int64(people[i])
        classes[0, label] += np.uint32(1)
        if person != missing and classes[2, label] != person + 1:
            classes[2, label] = person + 1
            classes[1, label] += np.uint32(1)


@kernel(inner=True, bare=True)
def _add_class(classes: np.ndarray, i: int, unique: np.ndarray, out: np.ndarray) -> None:
    """One class more."""
    size, people = np.int64(classes[0, i]), np.int64(classes[1, i])
    out[0] += 1
    out[1] += size * size
    out[2] += people == 0
    out[3] = people if out[0] == 1 else min(out[3], people)
    if people == 1:
        unique[classes[2, i] - 1] = True


@kernel(little=True)
def sum_up_people(classes: np.ndarray, unique: np.ndarray, out: np.ndarray) -> None:
    """Of the classes that `count_people` counted: how many, the squares of their rows, how many are nobody's, the fewest people.

    Who is the only one of a class is marked in `unique`. O(classes).
    """
    out[:] = 0
    for i in range(classes.shape[1]):
        if classes[0, i]:
            _add_class(classes, i, unique, out)


@kernel(little=True)
def people_within(
    order: np.ndarray,
    starts: np.ndarray,
    codes: np.ndarray,
    people: np.ndarray,
    missing: int,
    classes: np.ndarray,
    unique: np.ndarray,
    out: np.ndarray,
) -> None:
    """What `sum_up_people` says of the classes that a value of one column and one of another make.

    As in `classes_within`, and of each value the rows of a person stand together. `classes` has three zeros for each code of the
    other column, and is left so. O(n).
    """
    out[:] = 0
    for value in range(starts.size - 1):
        for i in range(starts[value], starts[value + 1]):
            code, person = codes[order[i]], np.int64(people[order[i]])
            classes[0, code] += np.uint32(1)
            if person != missing and classes[2, code] != person + 1:
                classes[2, code] = person + 1
                classes[1, code] += np.uint32(1)
        for i in range(starts[value], starts[value + 1]):
            code = codes[order[i]]
            if classes[0, code]:
                _add_class(classes, code, unique, out)
                classes[0, code], classes[1, code], classes[2, code] = 0, 0, 0
