"""Readings of a release: the values as the strictest reader could take them, by merging or separating spellings.

Classes are smallest for a reader who separates the most: not-a-number from missing (Parquet, polars), `""` from nothing
and `"1"` from `1` (quotes in CSV), 1 from 1.0 and null from no key (JSON). A model of classes that the finest classes
satisfy is satisfied by coarser ones, since two joined classes that satisfy it give one that does. So quasi-identifiers
are read in the finest way.

Sensitive values are fewest for a reader who merges the most: then not-a-number, empty text, missing, and the words that
`pandas.read_csv` takes for missing (`NA`, `null`, `None` …, quoted or not) are one. That is the strictest way for
l-diversity and alpha: merging makes the most frequent value more frequent and the others fewer. Distances and ratios of
shares may be greater either way, so t-closeness, δ-disclosure and β-likeness are judged both ways, and the worse
verdict counts. A model that may break by joining classes is judged on the coarser classes too, also on those of a
reader who merges these words.

People are fewest for a reader to whom empty text is a missing person, who does not count.

One rule for every table that another program wrote: `verify`, `evaluate` and `assess` read it so. A run needs no second
reading of its own release: each value is written in one spelling, so the values are what the strictest reader sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.folding import empty_as_missing, folded, merged_missing, near_duplicates, words_read_as_missing
from oboro.privacy.base import MODELS
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.identity import Model, SensitiveModel
from oboro.verifier.verdict import Verdict

__all__ = ["fewest_people", "judge_strictly", "read_strictly", "secret_readings", "spelling_warnings", "told_apart"]


# Warnings about spellings ---------------------------------------------------------------------------------------------
# Sensitive values and people that count as different but differ only in their spelling.


def spelling_warnings(data: Dataset, models: Iterable[Model], person: Column | None = None) -> list[Message]:
    """List the sensitive columns of the models, and the person, with values written nearly as another one or read as missing."""
    folds = {model.sensitive: model.fold for model in models if isinstance(model, SensitiveModel)}
    said = []
    for name, fold in folds.items():
        if name in data and (found := near_duplicates(folded(data[name], fold))):
            said.append(Message("verdict.near_secrets", column=name, values=found))
        if name in data and (words := words_read_as_missing(data[name], fold)):
            said.append(Message("verdict.read_as_missing", column=name, words=words))
    if person is not None and (found := near_duplicates(person)):
        said.append(Message("verdict.near_people", values=found))
    return said


# Strictest reading ----------------------------------------------------------------------------------------------------


def read_strictly(
    data: Dataset, known: Sequence[str], secrets: Sequence[str] = (), person: str | None = None
) -> Dataset:
    """The table by what the strictest reader sees: columns that an attacker knows in the finest way, secrets and people merged."""
    found = data.finest([*known, *secrets])
    whose = {} if person is None else {person: fewest_people(data[person])}
    return found.with_columns({**{name: merged_missing(data[name]) for name in secrets}, **whose})


def fewest_people(person: Column) -> Column:
    """Empty text as a missing person: many tools read it so."""
    return empty_as_missing(person)


def secret_readings(classes: Classes, name: str) -> list[Classes]:
    """Return the classes with a sensitive value merged the most and, where that differs, separated the most."""
    column = classes.data[name]
    merged, finest = merged_missing(column), column.finest()
    readings = [merged] if len(finest.values) == len(merged.values) else [merged, finest]
    return [_with(classes, name, one) for one in readings]


def judge_strictly(model: Model, classes: Classes) -> Verdict:
    """The verdict of the strictest reader of the sensitive column; `classes` are the finest already."""
    if not isinstance(model, SensitiveModel):
        return model.judge(classes)
    column = classes.data[model.sensitive]
    views = [classes] if model.joinable else [classes, *_coarser(classes)]
    readings = [merged_missing(column, model.fold)]
    if _both_ways(model):
        by_tree = getattr(model, "hierarchy", None) is not None
        # A hierarchy knows values and no names of them, so nothing finer than those is bound to it.
        readings.append(_merged(column) if by_tree else column.finest())
    found = [model.judge(_with(view, model.sensitive, reading)) for view in views for reading in readings]
    return max(found, key=lambda verdict: (not verdict.holds, verdict.achieved or 0)) if len(found) > 1 else found[0]


def _coarser(classes: Classes) -> list[Classes]:
    """Form the classes of readers who merge quasi-identifiers: by their values, and with words read as missing."""
    data = classes.data
    merged = data.with_columns({name: merged_missing(data[name]) for name in classes.quasi})
    readings = [data] if all(merged[name] is data[name] for name in classes.quasi) else [data, merged]
    return [Classes.of(one, classes.quasi, classes.person) for one in readings]


def _both_ways(model: SensitiveModel) -> bool:
    """Whether a reader who tells more values apart may see it broken where one who merges them does not."""
    return MODELS.by_words[model.message].compares_with_table


def _with(classes: Classes, name: str, column: Column) -> Classes:
    data = classes.data.with_columns({name: column})
    return Classes(data, classes.groups, classes.quasi, classes.person, classes.exempt)


def _merged(column: Column) -> Column:
    """Empty text as missing, where there are both: many tools read it so."""
    return column if column.missing < 0 else empty_as_missing(column)


def told_apart(coarse: Classes, finest: Classes) -> list[Message]:
    """Return warnings where some tool sees more classes than the values make."""
    more = len(finest.groups) - len(coarse.groups)
    if not more:
        return []
    names = [name for name in coarse.quasi if len(coarse.data[name].finest().values) > len(coarse.data[name].values)]
    return [Message("verdict.told_apart", classes=more, columns=names or list(coarse.quasi))]
