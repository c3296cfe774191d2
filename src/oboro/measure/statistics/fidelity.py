"""How much a release resembles the original as a source of statistics.

`utility` says what was generalized away; this says what an analyst would notice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from oboro.errors import ColumnError, UsageError
from oboro.measure.metrics import Measure
from oboro.measure.statistics.correlations import correlation_difference
from oboro.measure.statistics.density_ratio import kullback_leibler
from oboro.measure.statistics.divergence import divergences
from oboro.measure.statistics.learning import learned, propensity_error
from oboro.table.dataset import Dataset
from oboro.table.frames import Frame
from oboro.table.hierarchy import Hierarchy
from oboro.table.labels.recoded_column import RecodedColumn
from oboro.table.labels.starred_values import plain_numbers
from oboro.table.named_columns import Names, named_columns, names_shown
from oboro.table.parameters.at_the_door import at_the_door
from oboro.table.rows.row_origins import Rows, same_rows
from oboro.text import Message

__all__ = ["fidelity"]

MOST_ROWS = 10_000  # of each table, for what is estimated; the errors say what that costs
MOST_COLUMNS = 12  # for the same


@at_the_door
def fidelity(
    original: Any,
    released: Any,
    *,
    columns: Names = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    target: str | None = None,
    paired: bool = True,
    seed: int = 0,
    most: int = MOST_ROWS,
) -> list[Measure]:
    """Compare two tables (frames or datasets) over `columns`, all that both have where not given.

    Counted on all records, per column and as their mean: Kullback–Leibler over a histogram, Jensen–Shannon. Estimated,
    with an error, from at most `most` records of each table and the first dozen columns: Kullback–Leibler by density ratio
    of each numeric column and of all together, differences of correlations, how well a model tells the tables apart and,
    with `target`, how well one that was trained on the release predicts that column of the original.

    `hierarchies` (bound to original columns) spread released labels over the values under them; with `paired=False` rows
    do not correspond, else those that belong together are drawn together. Everything that is drawn is drawn from `seed`.
    O(dictionaries) and a second or two.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["F", "F", "M", "M"]})
    >>> one = fidelity(people, people.assign(sex="F"), columns="sex")[1]
    >>> one.name, round(one.value, 4)
    ('jensen_shannon', 0.3113)
    """
    before, after = Frame.read(original).data, Frame.read(released).data
    names = [name for name in after if name in before] if columns is None else named_columns(columns, "columns")
    return _compared(before, after, names, hierarchies or {}, target, paired, seed, most)


def _compared(
    original: Dataset,
    released: Dataset,
    names: Sequence[str],
    known: Mapping[str, Hierarchy],
    target: str | None,
    paired: bool,
    seed: int,
    most: int,
) -> list[Measure]:
    _require(original, released, [*names, *([target] if target is not None else [])], most)
    rows = same_rows(original, released) if paired else None
    each = [
        one
        for name in names
        for one in divergences(name, RecodedColumn.of(original[name], released[name], known.get(name), None))
    ]
    rng = np.random.default_rng(seed)
    chosen = _chosen(names, target)
    before, after, together = _sampled(original.select(chosen), released.select(chosen), rows, most, rng)
    found = _estimated(before, after, chosen, target, together, rng)
    if max(original.rows, released.rows) > most:
        drawn = Message("measure.note.drawn", original=before.rows, released=after.rows)
        found = [replace(one, notes=(*one.notes, drawn)) for one in found]
    return [*_means(each), *each, *found]


def _require(original: Dataset, released: Dataset, names: Sequence[str], most: int) -> None:
    if unknown := [name for name in names if name not in original or name not in released]:
        raise ColumnError(
            Message("error_measure.fidelity_columns", unknown=unknown, columns=names_shown(original, names))
        )
    if most < 10:
        raise UsageError(Message("error_measure.most", most=most))


def _chosen(names: Sequence[str], target: str | None) -> list[str]:
    """The columns that models look at; the target is always one."""
    some = [name for name in names if name != target][: MOST_COLUMNS - (target is not None)]
    return [name for name in names if name in some or name == target]


def _means(measures: Sequence[Measure]) -> list[Measure]:
    """Each measure over all columns: its mean."""
    out = []
    for name in dict.fromkeys(one.name for one in measures):
        mine = [one for one in measures if one.name == name]
        values = [one.value for one in mine if one.value is not None]
        value = sum(values) / len(values) if values else None
        means = Message("measure.mean_over_columns", meaning=mine[0].meaning)
        out.append(replace(mine[0], value=value, column=None, means=means))
    return out


def _estimated(
    original: Dataset,
    released: Dataset,
    names: Sequence[str],
    target: str | None,
    paired: bool,
    rng: np.random.Generator,
) -> list[Measure]:
    numeric = [name for name in names if all(plain_numbers(table[name]) is not None for table in (original, released))]
    measures = [kullback_leibler(original, released, [name], rng=rng) for name in numeric]
    if len(numeric) > 1:
        measures.insert(0, kullback_leibler(original, released, numeric, rng=rng))
    measures += correlation_difference(original, released, names)
    measures.append(propensity_error(original, released, names, rng=rng))
    return measures + (learned(original, released, target, names, paired=paired, rng=rng) if target is not None else [])


def _sampled(
    original: Dataset, released: Dataset, rows: Rows | None, most: int, rng: np.random.Generator
) -> tuple[Dataset, Dataset, bool]:
    """At most so many rows of each table, and whether the n-th released row belongs to the n-th original one."""
    if max(original.rows, released.rows) <= most:
        return original, released, rows is not None
    chosen = _drawn(released.rows, most, rng)
    sources = chosen if isinstance(rows, slice) else None if rows is None else rows[chosen]
    if sources is None or np.unique(sources).size < sources.size:
        rows, sources = None, _drawn(original.rows, most, rng)
    before, after = (_alone(table, at) for table, at in ((original, sources), (released, chosen)))
    return before, after, rows is not None


def _drawn(rows: int, most: int, rng: np.random.Generator) -> np.ndarray:
    return np.sort(rng.choice(rows, min(rows, most), replace=False))


def _alone(table: Dataset, rows: np.ndarray) -> Dataset:
    """Some rows as a table that does not remember where they came from."""
    return Dataset({name: column.take(rows) for name, column in table.columns.items()}, int(rows.size))
