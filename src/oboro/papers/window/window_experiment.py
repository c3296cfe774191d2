"""The window paper's experiment: a window is filled, then heads pass, and one record enters for each that is decided."""

from __future__ import annotations

import numpy as np

from oboro.papers.window import kernels
from oboro.stream.window.window_engine import WindowEngine

__all__ = ["fill", "pass_heads"]


def fill(engine: WindowEngine, points: np.ndarray) -> None:
    """Let points in without deciding anybody: the start of the experiment."""
    kernels.fill(engine.state, engine.incoming(points))
    engine.learn()


def pass_heads(engine: WindowEngine, points: np.ndarray, heads: int) -> None:
    """After `fill`: so many heads pass, and a record enters for each that is decided."""
    progress, rows = np.zeros(2, dtype=np.int64), engine.incoming(points)
    while why := kernels.pass_heads(engine.state, engine.rules, rows, heads, progress):
        engine.provide(why)
