"""Answers of a session: plain data with ids and figures, and the version of the session that gave them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextvars import copy_context
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from threading import Thread
from typing import Any, Literal, TypeVar

import numpy as np

from oboro.text import Message

__all__ = [
    "ColumnChange",
    "Comparison",
    "FrontierPoint",
    "NodeFigures",
    "NodeLook",
    "RowWindow",
    "SessionAnswer",
    "Solution",
    "finished",
    "plain",
]


PLAIN = (int, float, str, bool, type(None))
Curve = Literal["k_anonymize", "k_anonymize_local", "local_recode", "k_conceal"]


def plain(value: Any) -> Any:
    """Convert to plain data, ready for JSON: dataclasses as objects, messages with their id, values and English words."""
    if type(value) in PLAIN:  # nearly everything is
        return value
    if isinstance(value, Message):
        return value.as_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Enum):
        return value.value
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class SessionAnswer:
    """An answer of a session; two answers are about the same state where their versions are equal."""

    version: int
    """Of the session that was asked."""

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        found: dict[str, Any] = plain(self)
        return found


@dataclass(frozen=True)
class NodeFigures:
    """One transformation with its information loss and its number of suppressed records."""

    levels: Mapping[str, int]
    loss: float | None
    """None where the levels cannot be released."""
    exact: bool
    """Whether `loss` is the loss; otherwise it is at least so much."""
    suppressed: int
    """Records, or people where these go with all their records. Where that is too many, at least so many."""
    feasible: bool
    """Whether it can be released within the limit."""


@dataclass(frozen=True)
class Solution(SessionAnswer):
    """The best transformation for some demands, with its proof or a bound."""

    demands: Mapping[str, Any]
    """As a recipe writes them."""
    best: NodeFigures | None
    """None where nothing was found."""
    exact: bool
    """Whether it is proved that no better choice exists (or that none exists at all)."""
    bound: float | None
    """No choice that can be released loses less than this (None: not known)."""
    stopped: Literal["time", "interrupt", "size", "joined"] | None
    """What ended the search before it was sure."""
    limit: int
    """How many records (people) may be suppressed."""
    rows: int
    size: int
    """Nodes of the lattice."""
    evaluated: int
    """Nodes that the search asked for."""
    remembered: int
    """Of these, how many were answered without a look at the table."""
    why: Message | None = None
    """Where nothing can be released: how far away the coarsest choice is, and the ways out."""

    @property
    def levels(self) -> Mapping[str, int] | None:
        """The chosen level of each column."""
        return None if self.best is None else self.best.levels

    @property
    def loss(self) -> float | None:
        """Its information loss."""
        return None if self.best is None else self.best.loss


@dataclass(frozen=True)
class FrontierPoint(SessionAnswer):
    """Information loss of one guarantee."""

    curve: Curve
    """Who makes the release: `k_anonymize` with one level for all, or with levels by class, `local_recode` or `k_conceal`."""
    k: int
    suppress: float
    loss: float | None
    """None where this promise cannot be kept, or was not asked for (`why`)."""
    suppressed: int
    exact: bool
    bound: float | None
    levels: Mapping[str, int] | None = None
    why: Message | None = None


@dataclass(frozen=True)
class Neighbour:
    """A transformation one step away."""

    column: str
    level: int
    node: NodeFigures


@dataclass(frozen=True)
class NodeLook(SessionAnswer):
    """Details of one transformation."""

    node: NodeFigures
    extra: int
    """Of the suppressed, those that joined so that the suppressed keep every demand too."""
    class_sizes: tuple[tuple[int, int], ...]
    """(size, classes) over all classes, suppressed ones included; sizes are people where these are counted. The last size may
    stand for larger ones (`largest_counted`)."""
    largest_counted: int | None
    classes: int
    column_loss: Mapping[str, float] | None
    """What each column loses, 0 to 1; None where the loss looks at classes."""
    neighbours: tuple[Neighbour, ...]
    """One step finer and one step coarser in each column."""


@dataclass(frozen=True)
class RowWindow(SessionAnswer):
    """Some records before and after, in the order of the table (a release comes in a random one)."""

    start: int
    total: int
    columns: tuple[str, ...]
    before: tuple[tuple[Any, ...], ...]
    after: tuple[tuple[Any, ...], ...]
    """None where a column is not released."""
    released: tuple[str, ...]
    """The columns that are released."""
    suppressed: tuple[bool, ...]
    left_out: bool = False
    """Whether suppressed records are not in the release at all; then `after` says nothing of them."""


@dataclass(frozen=True)
class ColumnChange:
    """A column whose level differs between two transformations."""

    column: str
    levels: tuple[int, int]
    labels: tuple[int, int]
    """How many different labels it has with each."""
    loss: tuple[float, float] | None


@dataclass(frozen=True)
class Comparison(SessionAnswer):
    """Two transformations side by side."""

    a: NodeLook
    b: NodeLook
    changed: tuple[ColumnChange, ...]

    @property
    def loss(self) -> float | None:
        """Additional information loss of the second (None where one of them cannot be released)."""
        if self.a.node.loss is None or self.b.node.loss is None:
            return None
        return self.b.node.loss - self.a.node.loss


# Interruptible waiting ------------------------------------------------------------------------------------------------
# Wait for work that cannot be interrupted, such as the first layout of a table, only until the caller cancels.


T = TypeVar("T")
ASKED_AGAIN = 0.02  # seconds after which it is asked again whether anybody still waits


def finished(act: Callable[[], T], over: Callable[[], bool] | None) -> T | None:
    """Run an act and return its result; None where the caller cancels before it is done (`over` None: never).

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
