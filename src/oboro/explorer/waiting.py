"""Waiting for what cannot be stopped half-way, such as the first layout of a table, only as long as somebody wishes to."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

__all__ = ["finished"]

T = TypeVar("T")
ASKED_AGAIN = 0.02  # seconds after which it is asked again whether anybody still waits


def finished(act: Callable[[], T], over: Callable[[], bool] | None) -> T | None:
    """What an act gives; None where somebody wishes to end before it is done (`over` None: nobody will).

    Then the act comes to its end by itself: what it makes is kept, and the next question needs it.
    """
    if over is None:
        return act()
    if over():
        return None
    made, context = Future[T](), copy_context()
    Thread(target=_act, args=(made, lambda: context.run(act)), daemon=True, name="oboro-explore").start()
    while not wait([made], ASKED_AGAIN).done:
        if over():
            return None
    return made.result()


def _act(made: Future[T], act: Callable[[], T]) -> None:
    try:
        made.set_result(act())
    except BaseException as error:  # told to whoever waits
        made.set_exception(error)
