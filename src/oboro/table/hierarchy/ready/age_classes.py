"""Ages in the classes of official statistics: 5歳階級 → 10歳階級 → 年少・生産年齢・老年人口.

The classes of ten years are those of the labour force survey (15～24歳, 25～34歳 …): only they fit between the classes of five
years and the three groups, which change at 15 and 65.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from oboro.table.hierarchy.levels import Level, span_share
from oboro.table.hierarchy.ready.labelled_values import refuse
from oboro.table.values import Kind, kind_of, numbers_of

__all__ = ["age_levels"]

EDGES = (tuple(range(0, 101, 5)), (0, *range(5, 86, 10)), (0, 15, 65))
OLDEST = 150


def age_levels(name: str, values: pa.Array) -> list[Level]:
    """`35～39歳`, then `35～44歳`, then `15～64歳`; open at the top (`100歳以上`, `85歳以上`, `65歳以上`).

    Given: ages as numbers (`39`, `39歳`). Promises: each level is a function of the one below; an age lies in its class.
    """
    if len(values) and kind_of(values) not in (Kind.INTEGER, Kind.NUMBER):
        single = [kind_of(values.slice(place, 1)) for place in range(len(values))]
        wrong = np.array([kind not in (Kind.INTEGER, Kind.NUMBER) for kind in single])
        refuse("ages", name, values, wrong if wrong.any() else np.ones(len(values), dtype=bool))
    ages = numbers_of(values, name) if len(values) else np.empty(0)
    refuse("ages", name, values, ~((ages >= 0) & (ages <= OLDEST)))
    return [_level(ages, np.array(edges)) for edges in EDGES]


def _level(ages: np.ndarray, edges: np.ndarray) -> Level:
    table = np.searchsorted(edges, ages, side="right") - 1
    ends = np.append(edges[1:], OLDEST)
    labels = [f"{low}～{high - 1}歳" for low, high in pairwise(edges.tolist())]
    share = span_share(edges.astype(np.float64), ends.astype(np.float64), ages, counted=True)
    return Level(pa.array([*labels, f"{edges[-1]}歳以上"]), table, share).compact()
