"""A release as the strictest reader could take it: one whose tool tells apart what others merge, or merges what others tell apart.

A class is smallest for a reader who tells the most apart: not-a-number from missing (Parquet, polars), `""` from nothing and `"1"`
from `1` (quotes in CSV), 1 from 1.0 and null from no key (JSON). A model of classes that holds on the finest classes holds on
coarser ones, since joining two classes that keep it gives one that keeps it. So quasi-identifiers are read in the finest way.

Sensitive values are fewest for a reader who merges the most: then not-a-number, empty text and missing are one. That is the
strictest way for l-diversity and alpha: merging makes the most frequent value more frequent and the others fewer. A distance
between distributions only shrinks by merging, so t-closeness is judged both ways, and the worse verdict counts.
"""

from __future__ import annotations

from oboro.table.dataset import Column
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.models.class_models import Model, SensitiveModel, TCloseness
from oboro.verifier.verdict import Verdict

__all__ = ["judge_strictly", "told_apart"]


def judge_strictly(model: Model, classes: Classes) -> Verdict:
    """The verdict of the strictest reader of the sensitive column; `classes` are the finest already."""
    if not isinstance(model, SensitiveModel):
        return model.judge(classes)
    column = classes.data[model.sensitive]
    merged = model.judge(_with(classes, model.sensitive, _merged(column)))
    if not isinstance(model, TCloseness) or model.distance == "hierarchical":
        return merged
    apart = model.judge(_with(classes, model.sensitive, column.finest()))
    return apart if (apart.achieved or 0) > (merged.achieved or 0) else merged


def _with(classes: Classes, name: str, column: Column) -> Classes:
    data = classes.data.with_columns({name: column})
    return Classes(data, classes.groups, classes.quasi, classes.person)


def _merged(column: Column) -> Column:
    """Empty text as missing, where there are both: many tools read it so."""
    if column.missing < 0 or "" not in column.texts:
        return column
    return column.where(column.codes == column.texts.index(""), None)


def told_apart(coarse: Classes, finest: Classes) -> list[Message]:
    """What is to be said where some tool sees more classes than the values make."""
    more = len(finest.groups) - len(coarse.groups)
    if not more:
        return []
    names = [name for name in coarse.quasi if len(coarse.data[name].finest().values) > len(coarse.data[name].values)]
    return [Message("verdict.told_apart", classes=more, columns=names or list(coarse.quasi))]
