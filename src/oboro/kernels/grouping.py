"""Grouping rows by their codes."""

from __future__ import annotations

import numpy as np

from oboro.kernels import kernel

__all__ = [
    "by_code",
    "combine",
    "differences",
    "look_up",
    "number_by_appearance",
    "number_whole",
    "occurrences",
    "one_image",
]


def _combine(labels: np.ndarray, codes: np.ndarray, width: int, out: np.ndarray) -> None:
    out[:] = labels.astype(np.uint64) * np.uint64(width) + codes


@kernel(little=_combine)
def combine(labels: np.ndarray, codes: np.ndarray, width: int, out: np.ndarray) -> None:
    """One key per row: label · width + code, as uint64. O(n)."""
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
    """Add to `out` how often each label occurs. O(n)."""
    for i in range(labels.size):
        out[labels[i]] += 1


@kernel()
def differences(table: np.ndarray, codes: np.ndarray, others: np.ndarray) -> int:
    """For how many rows `table[codes[i]]` is not `others[i]`. O(n)."""
    found = 0
    for i in range(codes.size):
        found += table[codes[i]] != others[i]
    return found


def _one_image(codes: np.ndarray, images: np.ndarray, out: np.ndarray) -> bool:
    out[codes] = images
    return bool((out[codes] == images).all())


@kernel(little=_one_image)
def one_image(codes: np.ndarray, images: np.ndarray, out: np.ndarray) -> bool:
    """Whether all rows of a code have the same image, which is then in `out` (−1 before, and for codes of no row). O(n)."""
    for i in range(codes.size):
        known = out[codes[i]]
        if known < 0:
            out[codes[i]] = images[i]
        elif known != images[i]:
            return False
    return True


@kernel(little=True)
def by_code(codes: np.ndarray, cursor: np.ndarray, out: np.ndarray) -> None:
    """Rows ordered by code, those of one code as they came. `cursor` holds where each code starts. O(n)."""
    for i in range(codes.size):
        code = codes[i]
        out[cursor[code]] = i
        cursor[code] += 1
