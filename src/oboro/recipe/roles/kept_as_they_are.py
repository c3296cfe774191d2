"""Which columns can be released as they are: together they must not single anybody out.

Columns are added one by one, those that tell records apart least first, as long as every combination of their values belongs to
two people or more. What is left cannot be added: each of them, together with those before it, would single somebody out. Fewer
columns never single out more, so what holds for all of them together holds for each and for any two.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from oboro.measure.exposure.people_in_classes import alone_in_class
from oboro.measure.exposure.separation import Exposure
from oboro.table.dataset import Column, Dataset
from oboro.table.groups import Groups

__all__ = ["kept_as_they_are"]


def kept_as_they_are(
    data: Dataset, exposures: Mapping[str, Exposure], person: str | None = None
) -> tuple[list[str], dict[str, int]]:
    """The columns that can be kept, and for each of the others how many people it would single out beside these.

    Of the largest such sets it is not always the largest, but nothing can be added to it. O(rows · columns).
    """
    order = sorted(exposures, key=lambda name: (exposures[name].separation, exposures[name].distinct))
    classes = Groups.of([], data.rows)
    kept: list[str] = []
    singled: dict[str, int] = {}
    for name in order:
        if exposures[name].unique:
            singled[name] = exposures[name].unique
            continue
        finer = Groups.of([_as_column(classes), data[name]], data.rows)
        alone = _alone(finer, data, person)
        if alone:
            singled[name] = alone
        else:
            classes = finer
            kept.append(name)
    return kept, singled


def _as_column(classes: Groups) -> Column:
    """Classes as a column that can be grouped further."""
    return Column(pa.nulls(len(classes)), classes.labels)


def _alone(classes: Groups, data: Dataset, person: str | None) -> int:
    """How many people stand in a class of their own."""
    if person is not None:
        return alone_in_class(classes, data[person])
    return int(np.count_nonzero(classes.sizes == 1))
