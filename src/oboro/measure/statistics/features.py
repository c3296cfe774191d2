"""Tables as matrices of numbers, for models that learn: numbers as they are, categories as codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy.levels import text_array
from oboro.table.labels.recoded_column import RecodedColumn
from oboro.table.rows.row_origins import source_rows

__all__ = ["Features", "side_by_side", "translated"]

MOST_CATEGORIES = 200  # the trees take 255 values a column; rarer categories share one code

Pair = tuple[np.ndarray, np.ndarray]  # of the original and of the released column: a number for each dictionary entry


@dataclass(frozen=True, eq=False)
class Features:
    """Both tables as records × columns, NaN where missing, and which columns are categories."""

    original: np.ndarray
    released: np.ndarray
    categorical: np.ndarray


def side_by_side(original: Dataset, released: Dataset, columns: Sequence[str]) -> Features:
    """Both tables as they are: the same number or the same text is the same feature on both sides."""
    return _features(original, released, columns, _same_text, source_rows(original, released))


def translated(original: Dataset, released: Dataset, columns: Sequence[str], *, paired: bool = True) -> Features:
    """The original in the words of the released table, so that what was learned there can be asked about it.

    Numbers stay numbers where the released column has numbers. Otherwise a value is written as the label that most
    released records with that value have (`35` as `30–39`); where records are not paired, as itself.
    """
    return _features(original, released, columns, _usual_label, source_rows(original, released) if paired else None)


def _features(
    original: Dataset,
    released: Dataset,
    columns: Sequence[str],
    coded: Callable[[RecodedColumn], Pair],
    rows: np.ndarray | None,
) -> Features:
    pairs = [RecodedColumn.of(original[name], released[name], None, rows) for name in columns]
    numbers = [coded(pair) if pair.numbers is None else pair.numbers for pair in pairs]
    before = [of[0][pair.original.codes] for of, pair in zip(numbers, pairs, strict=True)]
    after = [of[1][pair.released.codes] for of, pair in zip(numbers, pairs, strict=True)]
    return Features(
        np.column_stack(before), np.column_stack(after), np.array([pair.numbers is None for pair in pairs], dtype=bool)
    )


def _same_text(recoded: RecodedColumn) -> Pair:
    columns = (recoded.original, recoded.released)
    union = pa.concat_arrays([text_array(column.values) for column in columns]).dictionary_encode(
        null_encoding="encode"
    )
    label = union.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    weight = np.bincount(label, weights=np.concatenate([column.counts for column in columns]))
    codes = _by_frequency(weight)[label]
    cut = len(recoded.original.values)
    return _with_gaps(codes[:cut], recoded.original), _with_gaps(codes[cut:], recoded.released)


def _usual_label(recoded: RecodedColumn) -> Pair:
    codes = _with_gaps(_by_frequency(recoded.released.counts), recoded.released)
    label = _label_of(recoded)
    return np.where(label < 0, np.nan, codes[np.maximum(label, 0)]), codes


def _label_of(recoded: RecodedColumn) -> np.ndarray:
    """For each original entry the released code that most of its records have, −1 where there is none."""
    behind = recoded.behind
    if behind is None:
        found = pc.index_in(text_array(recoded.original.values), value_set=text_array(recoded.released.values))
        return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    label = np.repeat(np.arange(len(behind.starts) - 1), np.diff(behind.starts))
    order = np.lexsort((-label, behind.counts, behind.codes))  # the last of each original code has the most records
    out = np.full(len(recoded.original.values), -1)
    out[behind.codes[order]] = label[order]
    return out


def _by_frequency(weight: np.ndarray) -> np.ndarray:
    """A code for each label, the most common first; rare ones share the last."""
    rank = np.empty(weight.size)
    rank[np.lexsort((np.arange(weight.size), -weight))] = np.arange(weight.size)
    return np.minimum(rank, MOST_CATEGORIES)


def _with_gaps(codes: np.ndarray, column: Column) -> np.ndarray:
    return np.where(column.values.is_null().to_numpy(zero_copy_only=False), np.nan, codes)
