"""One number for the codes of several columns of a row, made the same way on the driver and where the data is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["TupleKeys", "UnknownTuple", "found_in", "places_in"]

ROOM = 1 << 63  # numbers that a key may take before keys are numbered anew
LARGE, FEW = 1 << 15, 1 << 10  # known keys beyond which those that are looked for are sorted, unless they are few


class UnknownTuple(Exception):
    """Codes that never stood together when the keys were made."""


@dataclass(frozen=True)
class TupleKeys:
    """How codes are put together: in mixed radix; where that would not fit, the keys so far are numbered through."""

    widths: tuple[int, ...]
    renumbered: tuple[np.ndarray | None, ...]
    """For each column the sorted keys of the columns before it, where they were numbered anew."""

    @staticmethod
    def of(columns: Sequence[np.ndarray], widths: Sequence[int], rows: int) -> tuple[TupleKeys, np.ndarray]:
        """The keys of all rows, and how they were made. O(rows), and a sort where the columns are wide."""
        keys, space = np.zeros(rows, np.uint64), 1
        renumbered: list[np.ndarray | None] = []
        for codes, width in zip(columns, widths, strict=True):
            known = None
            if space * max(width, 1) > ROOM:
                known, places = np.unique(keys, return_inverse=True)
                keys, space = places.ravel().astype(np.uint64), len(known)
            renumbered.append(known)
            keys = keys * np.uint64(max(width, 1)) + codes
            space *= max(width, 1)
        return TupleKeys(tuple(widths), tuple(renumbered)), keys

    def keys(self, columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
        """The keys of other rows; `UnknownTuple` where one cannot be known. O(rows · log(keys))."""
        keys = np.zeros(rows, np.uint64)
        for codes, width, known in zip(columns, self.widths, self.renumbered, strict=True):
            if known is not None:
                keys = found_in(known, keys).astype(np.uint64)
            keys = keys * np.uint64(max(width, 1)) + codes
        return keys


def places_in(known: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Where each key stands, or would stand, among the sorted known ones.

    Keys in order meet the same part of a large table one after the other: four times as fast as keys as they come.
    """
    if known.size < LARGE or keys.size < FEW:
        return np.searchsorted(known, keys)
    order = np.argsort(keys)
    places = np.empty(keys.size, np.int64)
    places[order] = np.searchsorted(known, keys[order])
    return places


def found_in(known: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """The place of each key among the sorted known ones; `UnknownTuple` where one is not there."""
    places = places_in(known, keys)
    if keys.size and (not known.size or (known[np.minimum(places, known.size - 1)] != keys).any()):
        raise UnknownTuple
    return places
