"""What a release is still good for, measured once: losses, resemblance, columns together, what can be learned from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from oboro.measure.metrics import Measure
from oboro.measure.statistics.associations import Pairs, pairs
from oboro.measure.statistics.fidelity import fidelity
from oboro.measure.utility import utility
from oboro.report.facts import PairFacts
from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.text import Message

__all__ = ["pair_facts", "usefulness"]

AVERAGED = ("total_variation", "kolmogorov_smirnov", "wasserstein")


def usefulness(
    original: Dataset,
    released: Dataset,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    identifiers: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    k: int,
    paired: bool,
    sizes: np.ndarray | None,
    target: str | None,
    statistics: bool,
) -> tuple[list[Measure], Pairs | None]:
    """All measures and the pairs of columns; `statistics`: also what takes a second, the estimates of `fidelity`."""
    hidden = [name for name in identifiers if name not in (*quasi, *sensitive, target)]
    both = [name for name in [*quasi, *sensitive, *released] if name in original and name in released]
    names = [name for name in dict.fromkeys(both) if name not in hidden]
    original, released = original.select(names), released.select(names)  # pseudonyms say nothing of what was lost
    with ThreadPoolExecutor(1) as pool:
        estimating = None
        if statistics and names:
            estimate = partial(fidelity, columns=names, hierarchies=hierarchies, target=target, paired=paired)
            estimating = pool.submit(estimate, original, released)  # half of it is loading scikit-learn
        pair = pairs(original, released, names)
        measures = utility(original, released, quasi=quasi, hierarchies=hierarchies, k=k, paired=paired, sizes=sizes)
        measures += _averages(measures)
        if pair is not None:
            measures += pair.measures()
        return measures + (estimating.result() if estimating else []), pair


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


def pair_facts(pair: Pairs | None) -> PairFacts | None:
    """The matrices, to four digits."""
    if pair is None:
        return None
    sides = {side: np.round(getattr(pair, side), 4).tolist() for side in ("before", "after")}
    return PairFacts(columns=list(pair.columns), sampled=pair.sampled, error=round(pair.error, 4), **sides)
