"""Kernels that group rows by their codes: numbering, counting, shuffling, and uniques."""

from __future__ import annotations

import numpy as np

from oboro.kernels.jit import kernel

__all__ = [
    "NOBODY",
    "SEVERAL",
    "add_numbers",
    "bucket_places",
    "by_code",
    "classes_within",
    "combine",
    "count_people",
    "deal",
    "deal_rows",
    "differences",
    "draw_order",
    "gather",
    "keep_distinct",
    "keep_marked",
    "look_up",
    "mark_twice",
    "number_by_appearance",
    "number_whole",
    "occurrences",
    "one_image",
    "only_person",
    "people_within",
    "rearrange",
    "rows_at",
    "shuffle_within",
    "sum_up",
    "sum_up_people",
    "tally",
]


def _combine(labels: np.ndarray, codes: np.ndarray, width: int, out: np.ndarray) -> None:
    out[:] = labels.astype(np.uint64) * np.uint64(width) + codes


@kernel(little=_combine)
def combine(labels: np.ndarray, codes: np.ndarray, width: int, out: np.ndarray) -> None:
    """Compute one key per row: label · width + code, as uint64. O(n)."""
    for i in range(labels.size):
        out[i] = np.uint64(labels[i]) * np.uint64(width) + np.uint64(codes[i])


def _number_by_appearance(keys: np.ndarray, seen: np.ndarray, out: np.ndarray, found: int = 0) -> int:
    new, first = np.unique(keys[seen[keys] == 0], return_index=True)
    seen[new[np.argsort(first)]] = np.arange(found + 1, found + new.size + 1)
    out[:] = seen[keys] - 1
    return found + new.size


@kernel(little=_number_by_appearance)
def number_by_appearance(keys: np.ndarray, seen: np.ndarray, out: np.ndarray, found: int = 0) -> int:
    """Number the keys 0, 1, 2 … in the order in which they first appear; returns how many there are.

    `seen` has one zero per possible key; after earlier keys, of which `found` were different, it says their numbers + 1.
    O(n), one random access per row.
    """
    for i in range(keys.size):
        key = keys[i]
        label = seen[key]
        if label == 0:
            found += 1
            label = found
            seen[key] = label
        out[i] = label - 1
    return found


@kernel()
def number_whole(
    numbers: np.ndarray, missing: np.ndarray, low: int, seen: np.ndarray, known: np.ndarray, found: int, out: np.ndarray
) -> int:
    """Number whole numbers in the order in which they first appear, `found` of them known before; returns how many are now.

    `seen` has a place for the missing value and one for each number from `low` on; `missing` says of each row whether it is, or is
    empty; the numbers go to `known`. O(n).
    """
    for i in range(numbers.size):
        place = 0 if missing.size and missing[i] else numbers[i] - low + 1
        label = seen[place]
        if label == 0:
            known[found] = numbers[i]
            found += 1
            label = found
            seen[place] = label
        out[i] = label - 1
    return found


def _look_up(table: np.ndarray, codes: np.ndarray, out: np.ndarray) -> None:
    out[:] = table[codes]


@kernel(little=_look_up)
def look_up(table: np.ndarray, codes: np.ndarray, out: np.ndarray) -> None:
    """`out[i] = table[codes[i]]`; unlike np.take, without codes of 8 bytes on the way. O(n)."""
    for i in range(codes.size):
        out[i] = table[codes[i]]


def _occurrences(labels: np.ndarray, out: np.ndarray) -> None:
    out += np.bincount(labels.astype(np.intp), minlength=out.size).astype(out.dtype)


@kernel(little=_occurrences)
def occurrences(labels: np.ndarray, out: np.ndarray) -> None:
    """Add to `out` the number of occurrences of each label. O(n)."""
    for i in range(labels.size):
        out[labels[i]] += 1


@kernel()
def differences(table: np.ndarray, codes: np.ndarray, others: np.ndarray) -> int:
    """Count the rows for which `table[codes[i]]` is not `others[i]`. O(n)."""
    found = 0
    for i in range(codes.size):
        found += table[codes[i]] != others[i]
    return found


def _one_image(codes: np.ndarray, images: np.ndarray, out: np.ndarray) -> bool:
    out[codes] = images
    return bool((out[codes] == images).all())


@kernel(little=_one_image)
def one_image(codes: np.ndarray, images: np.ndarray, out: np.ndarray) -> bool:
    """Return whether all rows of a code have the same image, which is then in `out` (−1 before, and for codes of no
    row). O(n).
    """
    for i in range(codes.size):
        known = out[codes[i]]
        if known < 0:
            out[codes[i]] = images[i]
        elif known != images[i]:
            return False
    return True


@kernel(little=True)
def by_code(codes: np.ndarray, cursor: np.ndarray, out: np.ndarray) -> None:
    """Order the rows by code, those of one code as they came. `cursor` holds where each code starts. O(n)."""
    for i in range(codes.size):
        code = codes[i]
        out[cursor[code]] = i
        cursor[code] += 1


# Shuffling ------------------------------------------------------------------------------------------------------------
# A uniformly random order that is drawn and applied bucket by bucket, so that each bucket stays in the cache.
#
# Rows are dealt to buckets at random, and each bucket is shuffled by itself: the result is a uniformly random order
# (Rao 1961, Sandelius 1962). A table larger than memory needs the same buckets to be written in a random order.
#
# Indices are unsigned: numba would ask of every signed one whether it counts from the end, which took half of the time.


U = np.uint64
LOW = np.uint64((1 << 32) - 1)


@kernel()
def deal(draws: np.ndarray, shift: int, counts: np.ndarray, bucket: np.ndarray) -> None:
    """Compute the bucket of each row, by the highest of the 16 bits drawn for it, and the size of each bucket. O(n)."""
    for i in range(bucket.size):
        chosen = draws[i] >> np.uint16(shift)
        bucket[i] = chosen
        counts[U(chosen)] += 1


@kernel()
def draw_order(draws: np.ndarray, first: int, order: np.ndarray) -> int:
    """Draw a uniformly random order of the rows from `first` on with those before them (Fisher and Yates, inside out).
    O(draws).

    Returns the row before which the draws were used up, or all rows. Draws that would favour some places are passed over.
    """
    row, rows = U(first), U(order.size)
    for draw in draws:
        bound = row + U(1)
        drawn = U(draw) * bound
        if (drawn & LOW) < bound and (drawn & LOW) < (U(1) << U(32)) % bound:
            continue
        place = drawn >> U(32)
        order[row] = order[place]
        order[place] = row
        row += U(1)
        if row == rows:
            break
    return np.int64(row)  # type: ignore[return-value]


@kernel()
def bucket_places(order: np.ndarray, width: int, bucket: np.ndarray, rank: np.ndarray, within: np.ndarray) -> None:
    """Cut an order into buckets of `width` places: the bucket of each row, and for each place which row of its bucket stands there.

    `rank` is memory for a number of each row. O(n).
    """
    for place in range(U(order.size)):
        bucket[order[U(place)]] = U(place) // U(width)
    counts = np.zeros(order.size // width + 1, dtype=np.uint32)
    for row in range(U(order.size)):
        b = U(bucket[U(row)])
        rank[U(row)] = counts[b]
        counts[b] += np.uint32(1)
    for place in range(U(order.size)):
        within[U(place)] = rank[order[U(place)]]


@kernel()
def shuffle_within(draws: np.ndarray, starts: np.ndarray, within: np.ndarray) -> bool:
    """For each place which row of its bucket stands there, uniformly at random (Fisher and Yates, inside out). O(n).

    The places of bucket b are `starts[b]` … `starts[b + 1]` of `within`, counted from the first. Of the 32 bits of a draw comes
    a place below j; draws that would favour some places are passed over (Lemire 2019), so that every place has exactly the same
    chance. False if the draws are used up before. Whether that happens has nothing to do with the places that the others gave.
    """
    used = U(0)
    for b in range(starts.size - 1):
        start = U(starts[b] - starts[0])
        for j in range(U(starts[b + 1] - starts[b])):
            bound = U(j) + U(1)
            drawn = U(draws[used]) * bound
            used += U(1)
            while (drawn & LOW) < bound and (drawn & LOW) < (U(1) << U(32)) % bound:
                if used >= U(draws.size):
                    return False
                drawn = U(draws[used]) * bound
                used += U(1)
            if used >= U(draws.size):
                return False
            place = start + (drawn >> U(32))
            within[start + U(j)] = within[place]
            within[place] = j
    return True


@kernel()
def deal_rows(bucket: np.ndarray, starts: np.ndarray, dealt: np.ndarray) -> None:
    """The rows of each bucket, as they come, from its first place on. O(n)."""
    cursor = starts[:-1].astype(np.uint64)
    for i in range(bucket.size):
        b = U(bucket[i])
        place = cursor[b]
        dealt[place] = i
        cursor[b] = place + U(1)


@kernel()
def rows_at(
    dealt: np.ndarray, starts: np.ndarray, within: np.ndarray, begin: int, first_bucket: int, out: np.ndarray
) -> None:
    """Find the rows at the places from `begin`, in `first_bucket`, on. O(size of `out`)."""
    b, place = U(first_bucket), U(begin)
    end = place + U(out.size)
    while place < end:
        start, stop = U(starts[b]), min(U(starts[b + U(1)]), end)
        while place < stop:
            out[place - U(begin)] = dealt[start + U(within[place])]
            place += U(1)
        b += U(1)


@kernel()
def rearrange(
    values: np.ndarray,
    bucket: np.ndarray,
    starts: np.ndarray,
    within: np.ndarray,
    dealt: np.ndarray,
    out: np.ndarray,
) -> None:
    """Deal values to their buckets, then put those of each bucket in their places. `dealt` is memory like `out`. O(n)."""
    cursor = starts[:-1].astype(np.uint64)
    for i in range(values.size):
        b = U(bucket[i])
        place = cursor[b]
        dealt[place] = values[i]
        cursor[b] = place + U(1)
    for b in range(U(starts.size - 1)):
        start = U(starts[U(b)])
        for place in range(start, U(starts[U(b) + U(1)])):
            out[U(place)] = dealt[start + U(within[U(place)])]


# Counts of values by group --------------------------------------------------------------------------------------------


@kernel(little=True)
def gather(labels: np.ndarray, codes: np.ndarray, cursor: np.ndarray, out: np.ndarray) -> None:
    """Order the codes by group. `cursor` holds where each group starts, and ends as where it ends. O(n)."""
    for i in range(labels.size):
        label = labels[i]
        out[cursor[label]] = codes[i]
        cursor[label] += 1


@kernel(little=True)
def tally(
    gathered: np.ndarray,
    starts: np.ndarray,
    scratch: np.ndarray,
    out_codes: np.ndarray,
    out_counts: np.ndarray,
    out_starts: np.ndarray,
) -> int:
    """Count the distinct codes in every group of `gathered`; returns how many entries were written.

    `scratch` has one zero per possible code and is left as it came. O(n + distinct · log distinct).
    """
    written = 0
    out_starts[0] = 0
    for group in range(starts.size - 1):
        first = written
        for i in range(starts[group], starts[group + 1]):
            code = gathered[i]
            if scratch[code] == 0:
                out_codes[written] = code
                written += 1
            scratch[code] += 1
        if written > first + 1:  # most groups may be of one: a sort of one takes longer than all else
            out_codes[first:written].sort()
        for j in range(first, written):
            out_counts[j] = scratch[out_codes[j]]
            scratch[out_codes[j]] = 0
        out_starts[group + 1] = written
    return written


@kernel(little=True)
def keep_distinct(gathered: np.ndarray, starts: np.ndarray, seen: np.ndarray, out_starts: np.ndarray) -> int:
    """Keep each code of every group of `gathered` once, written over it; returns how many entries were written.

    `seen` has one zero per possible code and holds afterwards the last group (from 1) with that code. O(n).
    """
    written = 0
    out_starts[0] = 0
    for group in range(starts.size - 1):
        for i in range(starts[group], starts[group + 1]):
            code = gathered[i]
            if seen[code] != group + 1:
                seen[code] = group + 1
                gathered[written] = code
                written += 1
        out_starts[group + 1] = written
    return written


# Class sizes and uniques ----------------------------------------------------------------------------------------------
# Sizes and uniques of classes, without a list of the classes.


NOBODY, SEVERAL = -1, -2  # what `only_person` says of a class beside a person's code
FEW = 16  # rows of a value that are compared with each other, each with each
NONE = np.int64(1) << np.int64(62)


@kernel(little=True)
def only_person(labels: np.ndarray, people: np.ndarray, missing: int, out: np.ndarray) -> None:
    """Find for each class (one NOBODY each in `out`) the only person in it, or NOBODY, or SEVERAL. O(n).

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
    """Sum up the classes that are not empty: their number, the sum of their squares, how many have one record, the
    least size. O(classes).
    """
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
    """Move the keys that share a slot with another to the front of the array; returns how many. O(n)."""
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
    """Sum up, as `sum_up` does, the classes that a value of one column and one of another make.

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
    """Sum up, as `sum_up_people` does, the classes that a value of one column and one of another make.

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
