"""Whether a saved window can be one: kernels follow the numbers in it without looking where they lead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from oboro.stream.snapshot import require, same_form, within
from oboro.stream.window.kernels.window_steps import (
    DRAWN,
    DUE,
    EMPTY,
    ENTRY,
    HEAD,
    REFILLS,
    TAIL,
    WAITERS,
    WAITING,
    WITHHELD,
)
from oboro.stream.window.window_engine import WindowEngine

__all__ = ["check_window"]

MOST = 1 << 60


def check_window(
    arrays: Mapping[str, np.ndarray], engine: WindowEngine, traits: Sequence[int], demands: Sequence[int]
) -> None:
    """Raise `ValueError` unless the engine may go on from these arrays. `traits`, `demands`: how many values of each are known."""
    for name, like in engine.dump().items():
        if not name.startswith("anchor_"):
            same_form(arrays[name], like)
    held = _check_marks(arrays["marks"], engine)
    _check_slots(arrays, engine, held)
    for name in ("buffer", "cache"):
        taken = arrays[f"{name}_number"] >= 0
        require(within(arrays[f"{name}_traits"][taken], 0, np.array(traits, dtype=np.int64)))
        require(within(arrays[f"{name}_lacking"], 0, 2) and within(arrays[f"{name}_alive"], 0, 2))
        require(not np.any(arrays[f"{name}_alive"][~taken]))
    require(within(arrays["demands"][held % engine.spec.window], -1, np.array(demands, dtype=np.int64)))
    require(within(arrays["count"], 0, MOST))
    require(np.isfinite(arrays["centre"]).all() and np.isfinite(arrays["factor"]).all())
    _check_anchors(arrays["anchor_places"], arrays["anchor_radii"], engine)


def _check_marks(marks: np.ndarray, engine: WindowEngine) -> np.ndarray:
    """The numbers of the records that are held."""
    require(within(marks, 0, MOST))
    require(marks[HEAD] <= marks[TAIL] <= marks[HEAD] + engine.spec.window and marks[DRAWN] <= engine.state.chance.size)
    require(marks[REFILLS] < 1 << 60 and (marks[DUE] == 0 or marks[DUE] <= marks[TAIL] + engine.spec.window))
    return np.arange(marks[HEAD], marks[TAIL])


def _check_slots(arrays: Mapping[str, np.ndarray], engine: WindowEngine, held: np.ndarray) -> None:
    """A slot is empty or has the record of its number; who waits can be found."""
    status, number, marks = arrays["status"], arrays["buffer_number"], arrays["marks"]
    expected = np.full(engine.spec.window, -1, dtype=np.int64)
    expected[held % engine.spec.window] = held
    require(within(status, EMPTY, WITHHELD + 1) and np.array_equal(number, expected))
    require(np.array_equal(status != EMPTY, number >= 0))
    waiting = status == WAITING
    require(np.array_equal(arrays["buffer_alive"].astype(bool), waiting) and waiting.sum() == marks[WAITERS])
    entry, cache = arrays["cache_number"], engine.spec.cache
    published = entry[entry >= 0]
    require(
        within(entry, -1, int(marks[ENTRY])) and np.array_equal(np.flatnonzero(entry >= 0), np.sort(published % cache))
    )


def _check_anchors(places: np.ndarray, radii: np.ndarray, engine: WindowEngine) -> None:
    plan = engine.spec.plan
    require(places.dtype == radii.dtype == np.float64 and places.ndim == radii.ndim == 2)
    if places.shape[1]:
        all_of_them = plan.sets * plan.anchors
        require(places.shape == (engine.spec.numbers, all_of_them) and radii.shape == (plan.base - 1, all_of_them))
