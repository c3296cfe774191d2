"""Whether a window kept its promise, from what came out alone.

The condition of the paper (Yamayoshi et al., 2.4): for every released record U_i, at least k of U_1 … U_{i + W − 1} are equal to it
in all attributes. Without `window`: among all that was released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from oboro.errors import ColumnError, UsageError
from oboro.table.dataset import Dataset
from oboro.table.frames import Frame
from oboro.table.spelling.folding import merged_missing
from oboro.table.value_counts import clean
from oboro.table.values import tells_nothing
from oboro.text import Message
from oboro.verifier.verdict import Verdict, Verification

__all__ = ["verify_window"]


def verify_window(
    released: Any,
    *,
    attributes: Sequence[str],
    k: int,
    window: int | None = None,
    sensitive: str | None = None,
    l: int = 1,  # noqa: E741  (the literature's letter)
    people: Sequence[Any] | None = None,
) -> Verification:
    """Check that every released combination of the attributes occurs k times, and within the window. O(n log n).

    `released` are the records in the order in which they came out, a list or a frame. With `sensitive` they must also have `l`
    different values of it; with `people` (whose record each is, in the same order) be of k different people. A missing person
    protects nobody.

    >>> verify_window([{"x": 1.5}, {"x": 1.5}], attributes=["x"], k=2, window=2).holds
    True
    >>> verify_window([{"x": 1.5}, {"x": 3.0}, {"x": 1.5}, {"x": 3.0}], attributes=["x"], k=2, window=2).sentence()
    '2-anonymity within 2 records is broken in 2 of 2 groups (4 records; required 2, achieved 1; sizes of the worst groups: 2, 2).'
    """
    if k < 1 or (window is not None and window < 1):
        raise UsageError(Message("error_verifier.window", k=k, window=window))
    data = _data(released, [*attributes, *([sensitive] if sensitive else [])])
    if not data.rows:
        return Verification.of(
            [Verdict.vacuous(_anonymity(k, window), k, Message("verdict.nothing_released"))], attributes
        )
    label = _labels(np.stack([data[name].codes.astype(np.int64) for name in attributes], axis=1))
    sizes = np.bincount(label)
    counted = _counted(label, window)
    who = np.arange(data.rows) if people is None else _numbers(people, data.rows)
    verdicts = [_verdict(_anonymity(k, window), k, _different(label, who, counted & (who >= 0)), sizes)]
    if sensitive:
        secrets = clean(merged_missing(data[sensitive])).codes.astype(np.int64)  # as the reader who merges the most
        verdicts.append(_verdict(_diversity(l, sensitive, window), l, _different(label, secrets, counted), sizes))
    return Verification.of(verdicts, attributes)


def _data(released: Any, names: Sequence[str]) -> Dataset:
    if isinstance(released, Sequence) and all(isinstance(record, Mapping) for record in released):
        lacking = [name for name in names if any(name not in record for record in released)]
        data = Dataset.of({name: [record.get(name) for record in released] for name in names})
    else:
        data = Frame.read(released).data
        lacking = [name for name in names if name not in data]
    if lacking:
        raise ColumnError(Message("error_verifier.released_lacks", lacking=lacking))
    return data


def _labels(rows: np.ndarray) -> np.ndarray:
    """Equal rows have equal numbers, from 0 on."""
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def _counted(label: np.ndarray, window: int | None) -> np.ndarray:
    """Which records count for their group: those that came out within the window of its first one.

    If the first one has k equals by then, every later one has them too: its own window reaches farther.
    """
    position = np.arange(label.size)
    first = np.full(label.max() + 1, label.size)
    np.minimum.at(first, label, position)
    return position >= 0 if window is None else position <= first[label] + window - 1


def _different(label: np.ndarray, values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """How many different values each group has among those that count."""
    pairs = np.unique(np.stack([label[counted], values[counted]], axis=1), axis=0)
    return np.bincount(pairs[:, 0], minlength=int(label.max()) + 1)


def _numbers(people: Sequence[Any], rows: int) -> np.ndarray:
    """People as numbers; −1 for a missing one, who protects nobody."""
    if len(people) != rows:
        raise UsageError(Message("error_verifier.people", people=len(people), rows=rows))
    known: dict[Any, int] = {}
    return np.array([-1 if tells_nothing(one) else known.setdefault(one, len(known)) for one in people], dtype=np.int64)


def _anonymity(k: int, window: int | None) -> Message:
    if window is None:
        return Message("model.k_anonymity", k=k)
    return Message("model.k_anonymity_within", k=k, window=window)


def _diversity(l: int, sensitive: str, window: int | None) -> Message:  # noqa: E741
    if window is None:
        return Message("model.distinct_l_diversity", l=l, sensitive=sensitive)
    return Message("model.distinct_l_diversity_within", l=l, sensitive=sensitive, window=window)


def _verdict(model: Message, required: int, scores: np.ndarray, sizes: np.ndarray) -> Verdict:
    return Verdict.of(model, required, scores.astype(np.float64), scores < required, sizes, most=False)
