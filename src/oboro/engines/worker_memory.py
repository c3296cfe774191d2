"""Tasks in a Python worker of Spark: what the worker holds between them, and their errors."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pyarrow as pa

from oboro.engines.task_errors import KEY, sealed_error

__all__ = ["settled_task"]

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
OFTEN = 3  # tasks after which all modules that tasks need are there
_begun = 0


def settled_task(act: Task) -> Task:
    """Return the same task for a worker that no longer looks for garbage among its modules; its errors are sealed.

    Spark's workers look for it after every task. With the libraries that are loaded here that takes longer than a small task itself
    (43 ms; 2 ms without them). A task begins when the garbage of the last one is gone, so nothing but what is in use is left out.
    """
    key = KEY  # the driver's: in a worker the module has another

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _settle()
        try:
            yield from act(batches)
        except Exception as problem:
            raise sealed_error(problem, key) from None

    return task


def _settle() -> None:
    global _begun
    _begun += 1
    if _begun <= OFTEN:
        gc.freeze()
