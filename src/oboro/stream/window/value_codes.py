"""Values as numbers, counted in the order of coming; those that nobody has any more can be forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oboro.errors import ColumnError
from oboro.table.values import is_missing
from oboro.text import Message

__all__ = ["ValueCodes"]


class ValueCodes:
    """The values of one field. Equal values (1, 1.0 and true) are one, in the form first seen; missing is one of them,
    unless it does not count (`missing_counts`): then its number is −1. `none` says which values are missing: empty text is a
    value of a category, but no person, and no secret, which `NA` and the like are not either.

    >>> codes = ValueCodes("sex")
    >>> [codes.code(value) for value in ("F", "M", "F", None)], codes.values
    ([0, 1, 0, 2], ['F', 'M', None])
    """

    def __init__(self, name: str, missing_counts: bool = True, none: Callable[[object], bool] = is_missing) -> None:
        self.name = name
        self._is_none = none
        self.missing_counts = missing_counts
        self.values: list[Any] = []
        self._codes: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self.values)

    @property
    def different(self) -> int:
        """How many different values there are: as many as there are values, unless somebody wrote them down wrongly."""
        return len(self._codes)

    def checked(self, value: Any) -> Any:
        """A value that can be one; NaN is missing."""
        if isinstance(value, list | dict | set):
            raise ColumnError(Message("error_stream.one_value", name=self.name))
        return None if self._is_none(value) else value

    def code(self, value: Any) -> int:
        """The number of a value, a new one for a new value."""
        if value is None and not self.missing_counts:
            return -1
        code = self._codes.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code

    def load(self, values: Sequence[Any]) -> None:
        """Known values, in order."""
        self.values = list(values)
        self._codes = {value: code for code, value in enumerate(self.values)}

    def renumber(self, uses: Sequence[np.ndarray]) -> None:
        """Forget every value whose number occurs in none of the arrays, and write the new numbers into them. Order stays."""
        used = np.zeros(max(len(self.values), 1), dtype=bool)
        for codes in uses:
            used[codes[codes >= 0]] = True
        place = np.append(np.cumsum(used) - 1, -1)
        for codes in uses:
            codes[...] = place[codes]
        self.load([value for value, keep in zip(self.values, used, strict=False) if keep])
