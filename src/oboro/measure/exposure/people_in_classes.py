"""How many people stand in each class, and which of them stand alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oboro.measure.exposure import kernels
from oboro.table.dataset import Column
from oboro.table.groups import Groups
from oboro.table.value_counts import clean

__all__ = ["alone_in_class", "first_rows", "label_column", "people_in", "people_per_class"]


def people_in(column: Column) -> int:
    """How many people a column names; a missing name is nobody's."""
    held = clean(column)
    return len(held.values) - (held.missing >= 0)


def people_per_class(groups: Groups, person: Column) -> np.ndarray:
    """How many different people stand in each class. Rows without a person add nobody. O(rows), or O(rows · log rows)."""
    held = clean(person)
    named = np.flatnonzero(held.codes != held.missing) if held.missing >= 0 else slice(None)
    labels, codes = groups.labels[named], held.codes[named]
    pairs = Groups.of([label_column(labels, len(groups)), Column(held.values, codes)], labels.size)
    return np.bincount(labels[first_rows(pairs)], minlength=len(groups))


def first_rows(groups: Groups) -> np.ndarray:
    """The first row of each class. O(rows)."""
    highest = np.maximum.accumulate(groups.labels.astype(np.int64)) if groups.labels.size else groups.labels
    return np.flatnonzero(np.diff(highest, prepend=-1))  # classes are numbered as they appear


def alone_in_class(groups: Groups, person: Column) -> int:
    """How many people stand in a class that holds nobody else. O(rows).

    Somebody who is alone in several classes is one person. A class of rows without a person holds somebody whom nobody stands
    with, so each such class counts as one.
    """
    held = clean(person)
    only = np.full(len(groups), kernels.NOBODY, np.int64)
    kernels.only_person(groups.labels, held.codes, held.missing, only)
    return int(np.unique(only[only >= 0]).size + np.count_nonzero(only == kernels.NOBODY))


def label_column(labels: np.ndarray, classes: int) -> Column:
    """The classes as a column, to be grouped further."""
    return Column(pa.nulls(classes), labels)  # of its values only their number is asked
