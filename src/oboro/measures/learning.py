"""Measures by machine learning: distinguishing the release from the original, and prediction from the release.

Both use gradient-boosted trees, which take numbers, categories and gaps as they are and see spikes that a linear
model does not: our own to tell the tables apart, scikit-learn's, imported when first needed, to predict a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro._lazy import bring, lazy_module
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.parameters import names_shown
from oboro.data.row_order import source_rows
from oboro.errors import ColumnError
from oboro.hierarchies.hierarchy import text_array
from oboro.hierarchies.labels import plain_numbers
from oboro.hierarchies.recoding import RecodedColumn
from oboro.kernels.jit import little_work
from oboro.measures.base import Measure, mean_error
from oboro.text import Message

kernels = lazy_module("oboro.measures.kernels")
threadpoolctl = lazy_module("threadpoolctl")

__all__ = [
    "FEW_CELLS",
    "Features",
    "few_threads",
    "learned",
    "load",
    "out_of_fold",
    "propensity_error",
    "side_by_side",
    "translated",
]


# Threads of linear algebra --------------------------------------------------------------------------------------------
# One thread where a second one only waits.


def few_threads(rows: int, most: int = 50_000) -> Any:
    """A context in which NumPy's matrices and scikit-learn's trees use one thread if there are fewer than `most` rows.

    On small matrices threads wait for each other: a density ratio of 2,000 records took 1.4 s with two threads on a busy
    machine and 0.3 s with one.
    """
    return threadpoolctl.threadpool_limits(1 if rows < most else None)


# Boosted trees --------------------------------------------------------------------------------------------------------
# Gradient-boosted trees that distinguish two kinds of records: compiled, or in NumPy for few records.
#
# The same model as scikit-learn's `HistGradientBoostingClassifier` with the same settings, but trees grow level by
# level. That library takes two seconds to load, and no less time to train. Numbers are cut into bins, gaps are a bin of
# their own, and categories are ordered by the residuals of the trees.


TREES, RATE, DEPTH = 60, 0.1, 5
LEAST = 20  # records in a leaf
FEW_BINS, MANY_BINS = 64, 256
FEW_CELLS = 1 << 14  # records times columns that NumPy does before compiled code is loaded
TINY = 1e-9


class _Tree(NamedTuple):
    """A tree that NumPy grew: for each level and node the column asked, and which of its bins go left; the value of each leaf."""

    columns: list[np.ndarray]
    left: list[np.ndarray]
    values: np.ndarray

    def leaves(self, bins: np.ndarray) -> np.ndarray:
        """The leaf of each record."""
        node = np.zeros(len(bins), dtype=np.intp)
        for columns, left in zip(self.columns, self.left, strict=True):
            node = 2 * node + ~left[node, bins[np.arange(len(bins)), columns[node]]]
        return node


def out_of_fold(
    matrix: np.ndarray, truth: np.ndarray, categorical: np.ndarray, rng: np.random.Generator, folds: int = 3
) -> np.ndarray:
    """Probability that each record is of the second kind (`truth` 1), by a model trained without it and its fold."""
    few = little_work(matrix.size, FEW_CELLS)
    width, trained = (FEW_BINS, _trained) if few else (MANY_BINS, _trained_compiled)
    bins = _binned(matrix, categorical, width)
    fold = np.empty(len(truth), dtype=np.intp)
    for kind in (0, 1):  # as many of each kind in every fold
        mine = np.flatnonzero(truth == kind)
        fold[rng.permutation(mine)] = np.arange(len(mine)) % folds
    found = np.empty(len(truth))
    for one in range(folds):
        out = fold == one
        found[out] = trained(bins[~out], truth[~out].astype(np.float64), bins[out], categorical)
    return found


def _binned(matrix: np.ndarray, categorical: np.ndarray, width: int) -> np.ndarray:
    """Each column in bins from 1, of about as many records each; rare categories share the last one. 0: missing."""
    bins = np.zeros(matrix.shape, dtype=np.uint8)
    for i, column in enumerate(matrix.T):
        there = ~np.isnan(column)
        values = column[there]
        if categorical[i]:
            bins[there, i] = 1 + np.minimum(values.astype(np.intp), width - 2)
        elif values.size:
            edges = np.unique(np.quantile(values, np.linspace(0, 1, width - 1)[1:-1]))
            bins[there, i] = 1 + np.searchsorted(edges, values)
    return bins


def _trained(bins: np.ndarray, truth: np.ndarray, asked: np.ndarray, categorical: np.ndarray) -> np.ndarray:
    """Train on some records; the probabilities of others."""
    bins, asked = bins.astype(np.intp), asked.astype(np.intp)
    start = float(np.log(truth.mean() / (1 - truth.mean())))
    score, guess = np.full(len(truth), start), np.full(len(asked), start)
    for _ in range(TREES):
        likely = 1 / (1 + np.exp(-score))
        tree, leaves = _grown(bins, likely - truth, likely * (1 - likely), categorical, FEW_BINS)
        score += tree.values[leaves]
        guess += tree.values[tree.leaves(asked)]
    return np.asarray(1 / (1 + np.exp(-guess)))


def _trained_compiled(bins: np.ndarray, truth: np.ndarray, asked: np.ndarray, categorical: np.ndarray) -> np.ndarray:
    """`_trained` by compiled loops, with more bins."""
    start = float(np.log(truth.mean() / (1 - truth.mean())))
    score, guess = np.full(len(truth), start), np.full(len(asked), start)
    columns, left = np.empty((1 << DEPTH) - 1, dtype=np.int64), np.empty(((1 << DEPTH) - 1, MANY_BINS), dtype=bool)
    leaf, theirs = np.empty(len(truth), dtype=np.int64), np.empty(len(asked), dtype=np.int64)
    for _ in range(TREES):
        likely = 1 / (1 + np.exp(-score))
        slope, bend = likely - truth, likely * (1 - likely)
        kernels.grow(bins, slope, bend, categorical, LEAST, columns, left, leaf)
        values = _values(leaf, slope, bend)
        score += values[leaf]
        kernels.leaves(asked, columns, left, theirs)
        guess += values[theirs]
    return np.asarray(1 / (1 + np.exp(-guess)))


def _values(leaf: np.ndarray, slope: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """Return the amount that each leaf adds to the score of its records."""
    slopes, bends = (np.bincount(leaf, weights=of, minlength=1 << DEPTH) for of in (slope, bend))
    return np.asarray(-RATE * slopes / (bends + TINY))


def _grown(
    bins: np.ndarray, slope: np.ndarray, bend: np.ndarray, categorical: np.ndarray, width: int
) -> tuple[_Tree, np.ndarray]:
    """One tree: of each node the column and the bins that bring the loss down most (slope and bend: its derivatives).

    Also the leaf of each record that it was grown from.
    """
    tree, node, every = _Tree([], [], np.empty(0)), np.zeros(len(bins), dtype=np.intp), np.arange(len(bins))
    columns = bins.shape[1]
    cells = np.arange(columns) * width + bins
    weights = np.repeat(slope, columns), np.repeat(bend, columns), None  # of records: how many
    for level in range(DEPTH):
        place, shape = (node[:, None] * (columns * width) + cells).ravel(), (3, 1 << level, columns, width)
        sums = np.stack([np.bincount(place, weights=of, minlength=columns * width << level) for of in weights])
        column, left = _splits(sums.reshape(shape), categorical)
        tree.columns.append(column)
        tree.left.append(left)
        node = 2 * node + ~left[node, bins[every, column[node]]]
    return tree._replace(values=_values(node, slope, bend)), node


def _splits(sums: np.ndarray, categorical: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best split of each node: its column and which bins go left (all, where no split is worth it).

    `sums` are the slopes, bends and records of each node, column and bin.
    """
    width = sums.shape[3]
    order = np.broadcast_to(np.arange(width), sums.shape[1:]).copy()
    if categorical.any():
        slopes, bends, records = some = sums[:, :, categorical]
        wrong = np.where(records > 0, slopes / (bends + TINY), np.inf)
        order[:, categorical] = mine = np.argsort(wrong, axis=2, kind="stable")
        sums[:, :, categorical] = np.take_along_axis(some, mine[None], 3)
    left = sums.cumsum(axis=3)
    whole = left[..., -1:]
    right = whole - left
    gain = left[0] ** 2 / (left[1] + TINY) + right[0] ** 2 / (right[1] + TINY)
    gain -= whole[0] ** 2 / (whole[1] + TINY)  # what the node loses without a split
    gain = np.where(np.minimum(left[2], right[2]) >= LEAST, gain, 0.0)
    best = gain.reshape(len(gain), -1).argmax(axis=1)
    column, cut = np.divmod(best, width)
    every = np.arange(len(best))
    rank = np.argsort(order[every, column], axis=1)
    worth = gain[every, column, cut] > TINY
    return column, (rank <= cut[:, None]) | ~worth[:, None]


# Features -------------------------------------------------------------------------------------------------------------
# Tables as matrices of numbers: numbers as they are, categories as codes.


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


# Propensity and prediction --------------------------------------------------------------------------------------------


MOST_ROWS = 50_000  # of each table; more change the third digit and take their time
FEW_VALUES = 20  # a number with so few different values is predicted as a category
HELD_OUT = 0.3


def load() -> None:
    """Import scikit-learn: it takes two seconds, in which compiled loops of other threads go on."""
    bring("sklearn.ensemble")
    bring("sklearn.model_selection")


def propensity_error(
    original: Dataset, released: Dataset, columns: Sequence[str], *, rng: np.random.Generator
) -> Measure:
    """How well a model tells released records from original ones (Woo et al. 2009; pMSE), in three-fold cross-validation.

    The mean squared difference between the predicted probability that a record is a released one and the share of
    released records: 0 if nothing can be told, 0.25 if every record of two equally long tables is recognised.
    """
    if min(original.rows, released.rows) < 10:
        return Measure("propensity_mse", None, "lower", high=0.25, notes=(Message("measure.note.few_records"),))
    both = side_by_side(original, released, columns)
    parts = [_some(matrix, rng) for matrix in (both.original, both.released)]
    matrix = np.concatenate(parts)
    truth = np.repeat([0, 1], [len(part) for part in parts])
    found = out_of_fold(matrix, truth, both.categorical, rng)
    apart = found - truth.mean()
    # A model of few records tells them apart by chance too. That part of its predictions goes not with the truth.
    by_chance = abs(float((apart**2 - apart * (truth - truth.mean())).mean()))
    error = by_chance + (mean_error(apart**2) or 0.0)
    return Measure("propensity_mse", float((apart**2).mean()), "lower", high=0.25, error=error)


def learned(
    original: Dataset,
    released: Dataset,
    target: str,
    columns: Sequence[str],
    *,
    rng: np.random.Generator,
    paired: bool = True,
) -> list[Measure]:
    """Train on released, test on original: predict `target` from `columns` for original records that were held out.

    A model trained on the other original records is tested on the same ones; the difference is what the release cost.
    The released records of those held out are not trained on, where it is known which they are (`paired=False`: it is
    not). Categories are scored by accuracy, numbers by R².
    """
    for name in (target, *columns):
        if name not in original or name not in released:
            raise ColumnError(
                Message("error_measure.learned_column", name=name, columns=names_shown(original, columns))
            )
    predictors = [name for name in columns if name != target]
    task = _Task(original[target], released[target])
    held, kept = _held_out(original.rows, rng)
    rows = source_rows(original, released) if paired else None
    trained = np.arange(released.rows) if rows is None else np.flatnonzero(~np.isin(rows, held))
    theirs = translated(original, released, predictors, paired=paired)
    ours = side_by_side(original, original, predictors)
    seed = int(rng.integers(2**31))
    after = task.score(theirs.released[trained], task.after[trained], theirs, task.before[held], held, seed)
    before = task.score(ours.original[kept], task.before[kept], ours, task.before[held], held, seed)
    notes = () if rows is not None else (Message("measure.note.held_out_unpaired"),)
    score = Message("measure.accuracy" if task.categories else "measure.r_squared")
    shape: dict[str, Any] = {"better": "higher", "column": target, "low": 0.0 if task.categories else -np.inf}
    sides = (("learned_from_released", after, notes), ("learned_from_original", before, ()))
    return [
        Measure(
            name,
            None if found is None else found[0],
            notes=said,
            error=None if found is None else found[1],
            means=Message(f"measure.{name}.meaning", score=score),
            **shape,
        )
        for name, found, said in sides
    ]


class _Task:
    """A column to predict: as categories (the original's and the release's texts) or as a number."""

    def __init__(self, original: Column, released: Column) -> None:
        numbers = [plain_numbers(column) for column in (original, released)]
        self.categories = numbers[0] is None or numbers[1] is None or len(original.values) <= FEW_VALUES
        if self.categories:
            sides = [np.array(text_array(column.values).to_pylist(), dtype=object) for column in (original, released)]
            sides = [np.where(side == None, "", side) for side in sides]  # noqa: E711  (element by element)
        else:
            sides = [side for side in numbers if side is not None]
        self.before, self.after = sides[0][original.codes], sides[1][released.codes]

    def score(
        self, matrix: np.ndarray, goal: np.ndarray, features: Features, truth: np.ndarray, held: np.ndarray, seed: int
    ) -> tuple[float, float | None] | None:
        """How well a model trained on `matrix` and `goal` predicts the held-out original records, and its error."""
        there = np.ones(goal.size, dtype=bool) if self.categories else ~np.isnan(goal)
        asked = np.ones(truth.size, dtype=bool) if self.categories else ~np.isnan(truth)
        matrix, goal, truth = matrix[there][:MOST_ROWS], goal[there][:MOST_ROWS], truth[asked]
        if not goal.size or not truth.size:
            return None
        if (goal == goal[0]).all():
            guess = np.full(truth.size, goal[0], dtype=goal.dtype)
        else:
            model = _model("Classifier" if self.categories else "Regressor", features.categorical, seed)
            with few_threads(len(matrix)):
                guess = model.fit(matrix, goal).predict(features.original[held][asked])
        if self.categories:
            right = (guess == truth).astype(np.float64)
            return float(right.mean()), mean_error(right)
        spread = float(((truth - truth.mean()) ** 2).mean())
        missed = (truth - guess) ** 2 / (spread or 1.0)
        return (1.0 - float(missed.mean()), mean_error(missed)) if spread > 0 else None


def _held_out(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    order = rng.permutation(rows)
    cut = max(1, int(rows * HELD_OUT))
    return order[:cut], order[cut:]


def _some(matrix: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(matrix[rng.permutation(len(matrix))[:MOST_ROWS]])


def _model(kind: str, categorical: np.ndarray, seed: int) -> Any:
    chosen = getattr(bring("sklearn.ensemble"), f"HistGradientBoosting{kind}")
    return chosen(categorical_features=categorical, random_state=seed, early_stopping=False, max_iter=60)
