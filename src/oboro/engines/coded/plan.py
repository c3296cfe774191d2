"""What is done to each row, as tables that travel to where the data is: label maps, and the combinations that differ from them.

A plan is made on the driver from what the recipe did to the codes of all rows. Where the data is, it is only looked up: a task that
is run again says the same. A row that the driver never saw is an error there, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.engines.coded.tuple_keys import TupleKeys, UnknownTuple, found_in, places_in
from oboro.engines.coded.value_numbers import encoded, value_numbers
from oboro.engines.engine_errors import ChangedData
from oboro.table.dataset import missing_for_nan

__all__ = [
    "FIRST",
    "OURS",
    "PLACE",
    "ROW",
    "SECOND",
    "ByValue",
    "Exceptions",
    "KnownValues",
    "Places",
    "prepared",
]

OURS = "_oboro_"  # how the names of our own columns begin, which no table may have
FIRST, SECOND, ROW, PLACE = (OURS + name for name in ("first", "second", "row", "place"))


@dataclass(frozen=True)
class KnownValues:
    """The distinct values of a column, to be found again: by their numbers, which are sorted once in every process."""

    values: pa.Array
    key: bytes

    def __reduce__(self) -> tuple[Any, ...]:
        """Only the values travel; they are sorted where they arrive."""
        return KnownValues, (self.values, self.key)

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        numbers = value_numbers(self.values, self.key)
        order = np.argsort(numbers, kind="stable")
        return numbers[order], order

    def codes(self, array: pa.Array) -> np.ndarray:
        """The code of each row; `ChangedData` where a value is not known. O(rows), and a search for each distinct value."""
        values, places = encoded(array)
        numbers, order = self._sorted
        try:
            return np.asarray(order[found_in(numbers, value_numbers(values, self.key))][places])
        except UnknownTuple:
            raise ChangedData() from None


@dataclass(frozen=True)
class Exceptions:
    """Combinations of codes whose rows get other codes than the maps say, or are left out."""

    of_released: bool
    """Whether the combinations are of codes that the maps give, else of the original codes."""
    how: TupleKeys
    keys: np.ndarray
    """Sorted."""
    outcome: np.ndarray
    """Which outcome each has."""
    outcomes: Mapping[str, np.ndarray]
    """For each released column the code of each outcome."""
    dropped: np.ndarray
    """For each outcome, whether the row is left out."""


@dataclass(frozen=True)
class ByValue:
    """What is released of a row follows from the codes of its touched columns."""

    token: str
    """Names the plan, so that a process prepares it once."""
    known: Mapping[str, KnownValues]
    maps: Mapping[str, np.ndarray]
    """For each touched column that is released: from original codes to released ones."""
    released: Mapping[str, pa.Array]
    """The released values of these columns."""
    names: tuple[str, ...]
    """All released columns, in order."""
    exceptions: Exceptions | None
    rows: int
    """Of the table that it was made for."""

    def publish(self, batch: pa.RecordBatch) -> pa.Table:
        """The rows of a batch as they are released, in their order."""
        return self.decoded(self.coded(batch))

    def coded(self, batch: pa.RecordBatch) -> pa.Table:
        """The same as codes, which are small to send: columns `0`, `1` … in the order of `names`; others as they are.

        Not-a-number is missing there as everywhere: told apart, either could single somebody out whom nobody counted.
        """
        original = {name: known.codes(batch[name]) for name, known in self.known.items()}
        codes = {name: table[original[name]] for name, table in self.maps.items()}
        kept = None
        if self.exceptions is not None:
            codes, kept = self._except(self.exceptions, original, codes, batch.num_rows)
        columns = {
            f"{place}": pa.array(codes[name]) if name in self.released else missing_for_nan(batch[name])
            for place, name in enumerate(self.names)
        }
        table = pa.table(columns) if columns else pa.table({"rows": pa.nulls(batch.num_rows)}).select([])
        return table if kept is None else table.filter(pa.array(kept))

    def decoded(self, table: pa.Table) -> pa.Table:
        """Codes as the values that they stand for."""
        columns = {}
        for place, name in enumerate(self.names):
            own, held = self.released.get(name), table[f"{place}"]
            columns[name] = held if own is None else own.take(held)
        return pa.table(columns) if columns else table

    def _except(
        self, one: Exceptions, original: Mapping[str, np.ndarray], codes: dict[str, np.ndarray], rows: int
    ) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
        try:
            keys = one.how.keys(list((codes if one.of_released else original).values()), rows)
        except UnknownTuple:
            raise ChangedData() from None
        places = np.minimum(places_in(one.keys, keys), max(one.keys.size - 1, 0))
        found = one.keys[places] == keys
        outcome = one.outcome[places[found]]
        for name, table in one.outcomes.items():
            changed = codes[name].copy()
            changed[found] = table[outcome]
            codes[name] = changed
        if not one.dropped.any():
            return codes, None
        kept = np.ones(rows, bool)
        kept[found] = ~one.dropped[outcome]
        return codes, kept


@dataclass(frozen=True)
class Places:
    """What is released of a row depends on more than its values (chance, or its neighbours): each row has its place in a table.

    Rows that agree on all touched columns are put in the order of their other columns' numbers. Those that agree on all columns may
    change places: nobody can tell them apart.
    """

    token: str
    known: Mapping[str, KnownValues]
    how: TupleKeys
    keys: np.ndarray
    """The sorted keys of all combinations."""
    starts: np.ndarray
    """For each, the place of its first row."""
    numbers: Any
    """`RowNumbers` of the other columns."""
    others: tuple[str, ...]
    outcomes: pa.Table
    """For each place that is released: its number, the released values, and where it stands in the release."""

    def numbered(self, batch: pa.RecordBatch) -> pa.Table:
        """The batch's other columns, with the place of each combination's first row and the number that orders its rows."""
        original = [known.codes(batch[name]) for name, known in self.known.items()]
        try:
            places = found_in(self.keys, self.how.keys(original, batch.num_rows))
        except UnknownTuple:
            raise ChangedData() from None
        arrays = {name: missing_for_nan(batch[name]) for name in self.others}
        numbers = self.numbers.of_arrays(arrays, batch.num_rows).view(np.int64)
        return pa.table({**arrays, FIRST: pa.array(self.starts[places]), SECOND: pa.array(numbers)})


_held: dict[str, Any] = {}


def prepared(plan: Any) -> Any:
    """The same plan as was prepared in this process before, if it was: its sorted values are made once."""
    if plan.token not in _held:
        _held.clear()
        _held[plan.token] = plan
    return _held[plan.token]
