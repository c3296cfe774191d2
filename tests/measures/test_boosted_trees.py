"""Our trees, compiled or not, are as good as scikit-learn's, and never see the record that they judge."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from oboro.kernels import jit
from oboro.measures import learning
from oboro.measures.kernels import grow, leaves
from oboro.measures.learning import out_of_fold

CATEGORICAL = np.array([False, False, True])


def records(apart: float, seed: int, rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Two kinds of records that differ in a number, in a number with gaps and in a category, more or less."""
    draw = np.random.default_rng(seed)
    truth = np.arange(rows) % 2
    number = draw.normal(apart * truth, 1.0)
    gaps = np.where(draw.random(rows) < 0.1 + 0.2 * min(apart, 1.0) * truth, np.nan, draw.normal(size=rows))
    category = np.where(draw.random(rows) < 0.3 * min(apart, 1.0), 4 * truth, draw.integers(0, 5, rows))
    return np.column_stack([number, gaps, category.astype(float)]), truth


@cache
def peer(apart: float, seed: int) -> np.ndarray:
    """What scikit-learn's trees guess of the same records."""
    matrix, truth = records(apart, seed)
    model = HistGradientBoostingClassifier(
        categorical_features=CATEGORICAL, early_stopping=False, max_iter=60, random_state=0
    )
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return cross_val_predict(model, matrix, truth, cv=folds, method="predict_proba")[:, 1]


@pytest.fixture(params=["by NumPy", "compiled"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_compile_all", request.param == "compiled")


@pytest.mark.parametrize("apart", [0.0, 0.5, 2.0])
def test_what_they_tell_apart_is_what_scikit_learn_tells_apart(apart: float) -> None:
    ours, theirs = [], []
    for seed in range(3):
        matrix, truth = records(apart, seed)
        for found, guess in (
            (ours, out_of_fold(matrix, truth, CATEGORICAL, np.random.default_rng(seed))),
            (theirs, peer(apart, seed)),
        ):
            assert ((guess >= 0) & (guess <= 1)).all()
            found.append(((guess > 0.5) == truth).mean())
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=0.05)


@pytest.mark.usefixtures("either_way")
def test_a_record_is_judged_by_trees_that_never_saw_it() -> None:
    """Kinds drawn by chance: whoever trained on the record would be right far more often than in half of the cases."""
    draw = np.random.default_rng(1)
    matrix, truth = draw.normal(size=(300, 3)), draw.permutation(np.arange(300) % 2)
    guess = out_of_fold(matrix, truth, np.zeros(3, dtype=bool), draw)
    assert ((guess > 0.5) == truth).mean() < 0.62


@pytest.mark.parametrize("seed", range(8))
def test_the_compiled_tree_is_the_one_that_numpy_grows(seed: int) -> None:
    """Few records and few bins: nodes without any record, and splits that are not worth it."""
    draw = np.random.default_rng(seed)
    rows, width, levels = int(draw.integers(30, 400)), 6, learning.DEPTH
    bins = draw.integers(0, width, (rows, 3)).astype(np.uint8)
    slope, bend, categorical = draw.normal(size=rows), draw.uniform(0.1, 0.25, rows), draw.random(3) < 0.5
    naive, leaf = learning._grown(bins.astype(np.intp), slope, bend, categorical, width)
    columns, left = np.empty((1 << levels) - 1, np.int64), np.empty(((1 << levels) - 1, width), bool)
    found, again = np.empty(rows, np.int64), np.empty(rows, np.int64)
    grow(bins, slope, bend, categorical, learning.LEAST, columns, left, found)
    leaves(bins, columns, left, again)
    assert found.tolist() == leaf.tolist() == again.tolist()
    assert (left == np.concatenate(naive.left)).all()


def test_columns_that_say_nothing_are_no_error() -> None:
    matrix = np.column_stack([np.full(60, np.nan), np.zeros(60), np.zeros(60)])
    guess = out_of_fold(matrix, np.arange(60) % 2, CATEGORICAL, np.random.default_rng(0))
    assert guess == pytest.approx(0.5)
