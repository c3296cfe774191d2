"""The records that functions are made from, in order of arrival."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from oboro.stream.delay_free.delay_free_settings import DelayFreeSettings
from oboro.stream.delay_free.kernels.release_history import MISSING

__all__ = ["FACTS", "StoredRecords"]

START = 256  # records that there is room for at first
FACTS = np.dtype([("people", np.int64), ("secrets", np.int64), ("times", np.float64), ("numbers", np.int64)])


class StoredRecords:
    """Rows of codes with what belongs to them: person, secret, time, number in the stream. Grows with what is stored.

    Taking a copy of everything is one move of memory, so whoever stores waits for it hardly at all.
    """

    def __init__(self, settings: DelayFreeSettings, bits: int) -> None:
        self.settings = settings
        self._rows = np.empty((START, bits), dtype=np.int32)
        self._facts = np.empty(START, dtype=FACTS)
        self._size = 0
        self._who: set[int] = set()

    def __len__(self) -> int:
        return self._size

    def add(self, row: np.ndarray, person: int, secret: int, now: float, number: int) -> bool:
        """Keep one more; of each person only one, so that k records are k people, and none of a missing person."""
        if person == MISSING or (person >= 0 and person in self._who):
            return False
        if person >= 0:
            self._who.add(person)
        if self._size == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            self._facts = np.concatenate([self._facts, np.empty_like(self._facts)])
        self._rows[self._size] = row
        self._facts[self._size] = (person, secret, now, number)
        self._size += 1
        return True

    def replace(self, row: np.ndarray, person: int, secret: int, now: float, number: int) -> None:
        """Keep one more instead of an earlier one of the same person."""
        if person >= 0 and person in self._who:
            at = int(np.flatnonzero(self._facts["people"][: self._size] == person)[0])
            self._drop(at, at + 1)
        self.add(row, person, secret, now, number)

    def forget(self, now: float, number: int) -> bool:
        """Drop what lies beyond the horizon; whether anything did."""
        horizon, seconds = self.settings.horizon, self.settings.horizon_seconds
        facts, first = self._facts[: self._size], 0
        while first < self._size and (
            (horizon is not None and facts["numbers"][first] < number - horizon)
            or (seconds is not None and facts["times"][first] < now - seconds)
        ):
            first += 1
        if first:
            self._drop(0, first)
        return first > 0

    def _drop(self, start: int, stop: int) -> None:
        """Leave some out; those after them move up."""
        self._who.difference_update(self._facts["people"][start:stop].tolist())
        for array in (self._rows, self._facts):
            array[start : self._size - stop + start] = array[stop : self._size].copy()
        self._size -= stop - start

    def dump(self) -> dict[str, np.ndarray]:
        """Everything as arrays of its own."""
        facts = self._facts[: self._size]
        return {"rows": self._rows[: self._size].copy(), **{name: facts[name].copy() for name in FACTS.fields or ()}}

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take up what `dump` gave."""
        self._size = len(arrays["rows"])
        room = max(START, self._size)
        self._rows = np.empty((room, arrays["rows"].shape[1]), dtype=np.int32)
        self._facts = np.empty(room, dtype=FACTS)
        self._rows[: self._size] = arrays["rows"]
        for name in FACTS.fields or ():
            self._facts[name][: self._size] = arrays[name]
        self._who = {person for person in arrays["people"].tolist() if person >= 0}
