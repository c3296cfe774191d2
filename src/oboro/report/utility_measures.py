"""What a release is still good for, measured once: losses, resemblance, columns together, what can be learned from it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from oboro.measure.metrics import Measure
from oboro.measure.statistics.associations import Pairs, pairs
from oboro.measure.statistics.fidelity import fidelity
from oboro.measure.utility import utility
from oboro.report.inputs import Scope
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.report.measured_release import Subject

__all__ = ["utility_measures"]

AVERAGED = ("total_variation", "kolmogorov_smirnov", "wasserstein")


def utility_measures(subject: Subject, scope: Scope, sizes: np.ndarray | None) -> tuple[list[Measure], Pairs | None]:
    """All measures and the pairs of columns; `sizes` are those of the equivalence classes of the release."""
    names = _compared(subject, scope.target)
    original, released = subject.before.select(names), subject.after.select(names)
    known: dict[str, Any] = {"hierarchies": subject.tables.hierarchies, "paired": subject.tables.paired}
    with ThreadPoolExecutor(1) as pool:
        estimating = None
        if scope.statistics and names:
            estimate = partial(fidelity, columns=names, target=scope.target, **known)
            estimating = pool.submit(estimate, original, released)
        pair = pairs(original, released, names)
        sure = subject.tables.order is not None
        measures = utility(original, released, quasi=subject.quasi, k=subject.k or 1, sizes=sizes, sure=sure, **known)
        measures += _averages(measures)
        measures += [] if pair is None else pair.measures()
        return measures + (estimating.result() if estimating else []), pair


def _compared(subject: Subject, target: str | None) -> list[str]:
    """The columns of both tables without pseudonyms, which say nothing of what was lost; quasi-identifiers first."""
    quasi, sensitive, identifiers = subject.quasi, subject.sensitive, subject.tables.identifiers
    hidden = [name for name in identifiers if name not in (*quasi, *sensitive, target)]
    both = [name for name in [*quasi, *sensitive, *subject.after] if name in subject.before and name in subject.after]
    return [name for name in dict.fromkeys(both) if name not in hidden]


def _averages(measures: Sequence[Measure]) -> list[Measure]:
    """Over all columns: the mean of what was measured of each."""
    out = []
    for name in AVERAGED:
        mine = [one for one in measures if one.name == name and one.value is not None]
        if mine:
            value = sum(one.value or 0.0 for one in mine) / len(mine)
            means = Message("measure.mean_over_columns", meaning=mine[0].meaning)
            out.append(replace(mine[0], value=value, column=None, means=means, notes=()))
    return out
