"""What a class says of a column: one value for all its members, made from theirs."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.errors import ColumnError
from oboro.table.dataset import Column
from oboro.table.groups import Groups
from oboro.table.values import Kind, texts_of
from oboro.techniques.columns import group_values
from oboro.techniques.columns.numeric import places, written
from oboro.text import Message

__all__ = ["Aggregate", "ClassAggregate", "aggregated", "category_shared", "is_category", "number_shared"]

Aggregate = Literal["mean", "median", "mode"]
ClassAggregate = Literal["mean", "median", "mode", "interval"]
AGGREGATES = {"mean": group_values.mean, "median": group_values.median, "mode": group_values.mode}


def is_category(name: str, column: Column, aggregate: str) -> bool:
    """Whether a column holds no numbers and no dates; then only its most frequent value can be told of a class."""
    if column.kind.numeric or len(column.values.drop_null()) == 0:
        return False
    if aggregate != "mode":
        try:
            column.numbers(name)
        except ColumnError as error:
            culprit = error.words.values["culprit"] if isinstance(error.words, Message) else None
            raise ColumnError(Message("error_technique.categories", name=name, culprit=culprit)) from None
    return True


def aggregated(name: str, column: Column, groups: Groups, aggregate: ClassAggregate) -> Column:
    """The column with one value for all members of a class. A class of whom half or fewer have a number has none."""
    if is_category(name, column, aggregate) and aggregate == "mode":
        return category_shared(column, groups)
    return (
        _interval(name, column, groups) if aggregate == "interval" else number_shared(name, column, groups, aggregate)
    )


def number_shared(name: str, column: Column, groups: Groups, aggregate: Aggregate) -> Column:
    """The mean, median or most frequent number of each class; whole numbers and dates stay such."""
    before = places(column, name)[column.codes]
    if np.isnan(before).all():
        return column
    shared = AGGREGATES[aggregate](before, groups)
    return Column(written(group_values.without_minority(shared, before, groups), column, name), groups.labels).tidy()


def category_shared(column: Column, groups: Groups) -> Column:
    """The most frequent value of each class."""
    from oboro.decide.space import ranks

    order = ranks(column)
    shared = group_values.mode(order[column.codes].astype(np.float64), groups).astype(np.int64)
    return Column(column.values.take(np.argsort(order)[shared]), groups.labels).tidy()


def _interval(name: str, column: Column, groups: Groups) -> Column:
    """From the smallest to the largest of each class: `31–38`; one value as itself."""
    before = places(column, name)[column.codes]
    if np.isnan(before).all():
        return column
    ends = [np.full(len(groups), end) for end in (np.inf, -np.inf)]
    known = ~np.isnan(before)
    np.minimum.at(ends[0], groups.labels[known], before[known])
    np.maximum.at(ends[1], groups.labels[known], before[known])
    low, high = (group_values.without_minority(np.where(np.isinf(end), np.nan, end), before, groups) for end in ends)
    first, last = (pa.array(texts_of(written(end, column, name)), pa.string()) for end in (low, high))
    from oboro.table.labels.notation import range_marks

    dash = range_marks(first, plain=column.kind in (Kind.INTEGER, Kind.NUMBER))
    labels = pc.binary_join_element_wise(first, dash, last, "", null_handling="emit_null")
    return Column(pc.if_else(pa.array(low == high), first, labels), groups.labels).tidy()
