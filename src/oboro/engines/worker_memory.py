"""What a Python worker of Spark holds between its tasks."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pyarrow as pa

__all__ = ["settled_task"]

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
OFTEN = 3  # tasks after which all modules that tasks need are there
_begun = 0


def settled_task(act: Task) -> Task:
    """The same task in a worker that no longer looks for garbage among its modules.

    Spark's workers look for it after every task. With the libraries that are loaded here that takes longer than a small task itself
    (43 ms; 2 ms without them). A task begins when the garbage of the last one is gone, so nothing but what is in use is left out.
    """

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _settle()
        yield from act(batches)

    return task


def _settle() -> None:
    global _begun
    _begun += 1
    if _begun <= OFTEN:
        gc.freeze()
