"""What a model can learn: to tell the two tables apart, and to predict a column of the original from the release.

Both use gradient-boosted trees, which take numbers, categories and gaps as they are and see spikes that a linear model does not:
our own to tell the tables apart, scikit-learn's, imported when first needed, to predict a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oboro.errors import ColumnError
from oboro.measure.metrics import Measure, mean_error
from oboro.measure.statistics.blas_threads import few_threads
from oboro.measure.statistics.boosted_trees import out_of_fold
from oboro.measure.statistics.features import Features, side_by_side, translated
from oboro.system.extras import bring
from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy.levels import text_array
from oboro.table.labels.starred_values import plain_numbers
from oboro.table.named_columns import names_shown
from oboro.table.rows.row_origins import source_rows
from oboro.text import Message

__all__ = ["learned", "load", "propensity_error"]

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
