"""One thread where a second one only waits."""

from __future__ import annotations

from typing import Any

__all__ = ["few_threads"]


def few_threads(rows: int, most: int = 50_000) -> Any:
    """A context in which NumPy's matrices and scikit-learn's trees use one thread if there are fewer than `most` rows.

    On small matrices threads wait for each other: a density ratio of 2,000 records took 1.4 s with two threads on a busy
    machine and 0.3 s with one.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    return threadpool_limits(1 if rows < most else None)
