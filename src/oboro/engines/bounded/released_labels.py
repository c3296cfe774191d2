"""What becomes of each value of a generalized column, and the plan that tasks look rows up in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.engines.bounded.bucketed_rows import Suppressing
from oboro.engines.coded.plan import ByValue, Exceptions, KnownValues
from oboro.engines.coded.tuple_keys import TupleKeys
from oboro.engines.coded.value_numbers import RowNumbers
from oboro.table.dataset import Column, smallest_unsigned
from oboro.table.hierarchy import Hierarchy
from oboro.table.hierarchy.levels import text_array
from oboro.table.values import STAR

__all__ = ["ReleasedLabels", "plan_of", "suppressing"]


@dataclass(frozen=True, eq=False)
class ReleasedLabels:
    """The released values of a column, and for each of its own the released one."""

    name: str
    values: pa.Array
    map: np.ndarray
    star: int
    """The released code of `*`; −1 where nobody is suppressed."""
    same: np.ndarray
    """For each value the released code that says the same; −1: none does."""

    @staticmethod
    def of(column: Column, hierarchy: Hierarchy, level: int, some: bool) -> ReleasedLabels:
        """As one machine would release them: each value once, and one suppressed record if there are some."""
        each = np.arange(len(column.values), dtype=smallest_unsigned(len(column.values)))
        made = hierarchy.generalize(Column(column.values, each), level)
        if some:
            last = np.arange(each.size + 1) == each.size
            made = Column(made.values, np.append(made.codes, made.codes[:1])).where(last, STAR)
        place = pc.index_in(text_array(column.values), value_set=text_array(made.values)).fill_null(-1)
        star = int(made.codes[-1]) if some else -1
        same = place.to_numpy(zero_copy_only=False).astype(np.int64)
        return ReleasedLabels(hierarchy.name, made.values, made.codes[: each.size], star, same)


def _strides(labels: Sequence[ReleasedLabels]) -> tuple[int, ...]:
    """As `TupleKeys` puts codes together."""
    strides, room = [], 1
    for one in reversed(labels):
        strides.append(room)
        room *= max(len(one.values), 1)
    return tuple(reversed(strides))


def suppressing(
    labels: Mapping[str, ReleasedLabels], numbers: RowNumbers, k: int, gone: Sequence[np.ndarray] | None
) -> Suppressing:
    """What buckets are asked for. `gone` has, for each column, one code of every class that goes, where that is known already."""
    held = list(labels.values())
    some, strides = any(one.star >= 0 for one in held), _strides(held)
    keys = None
    if gone is not None:
        parts = zip(held, gone, strides, strict=True)
        keys = np.sort(sum(one.map[codes].astype(np.uint64) * np.uint64(stride) for one, codes, stride in parts))
    return Suppressing(
        k,
        tuple(one.map for one in held),
        tuple(one.star for one in held) if some else None,
        tuple(one.same for one in held),
        tuple(numbers.of_values(name, one.values) for name, one in labels.items()),
        numbers,
        strides,
        keys,
    )


def plan_of(
    labels: Mapping[str, ReleasedLabels],
    known: Mapping[str, KnownValues],
    names: Sequence[str],
    gone: np.ndarray,
    rows: int,
) -> ByValue:
    """The plan: every row gets its labels, and those of the classes that go get `*`."""
    held = list(labels.values())
    exceptions = None
    if gone.size:
        widths = tuple(len(one.values) for one in held)
        stars = {name: np.array([one.star], dtype=one.map.dtype) for name, one in labels.items()}
        how = TupleKeys(widths, (None,) * len(widths))
        exceptions = Exceptions(True, how, gone, np.zeros(gone.size, np.uint32), stars, np.zeros(1, bool))
    maps, values = {name: one.map for name, one in labels.items()}, {name: one.values for name, one in labels.items()}
    return ByValue(uuid4().hex, known, maps, values, tuple(names), exceptions, rows)
