"""Values of each attribute as codes, with the label of each on every level of the hierarchy.

A stream's values are not known beforehand. A new one gets the next code and its *path*: itself, its label on each level
of the hierarchy, and at the end `*` (which has no code, being nothing). Looking a known value up is one dictionary access.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.data.column import Column
from oboro.errors import ColumnError, InputError, UsageError
from oboro.hierarchies.dates import FINER_THAN_YEARS
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.intervals import Mask
from oboro.hierarchies.ready import most_levels
from oboro.hierarchies.spec import HierarchySpec, form_alone
from oboro.notations.kinds import STAR
from oboro.notations.ordered_dates import order_matters
from oboro.notations.texts import texts_of
from oboro.stream.anonymizer import require
from oboro.text import Message

__all__ = ["Value", "ValueLevels"]


Value = Hashable
KINDS = (str, int, float, bool, date, datetime)
MISSING = -1
MOST_AHEAD = 1 << 16


@dataclass(eq=False)
class ValueLevels:
    """One attribute: how its values become coarser."""

    name: str
    spec: HierarchySpec
    folder: Path = Path(".")
    missing_is_value: bool = False
    leaves: dict[Any, int] = field(default_factory=dict)
    """The code of each value seen; equal values (1 and 1.0) are one, and are released as first seen."""
    paths: list[tuple[Any, ...]] = field(default_factory=list)
    """For each code its labels, from the value itself to the last level below `*`."""

    def __post_init__(self) -> None:
        self._whole: Hierarchy | None = None
        self._listed: frozenset[str | None] | None = None  # the values that a hierarchy names
        self._ahead: dict[Hashable, tuple[Any, ...]] = {}  # paths that were found and not learned yet
        self.height = self._height()
        self._labels: list[dict[Any, int]] = [{} for _ in range(self.height)]
        self._table = np.empty((16, self.height), dtype=np.int32)
        self.steps: list[tuple[int, ...]] = []  # the rows of the table once more, for one record at a time
        self.nothing = (MISSING,) * self.height

    def _height(self) -> int:
        """How many levels stand below `*`; fixed for the whole stream, so it must not depend on the values."""
        spec = self.spec
        if spec.csv is not None or spec.rows is not None or spec.tree is not None:
            whole = spec.build(self.name, Column.of([None]), self.folder)
            self._whole = whole.whole or whole
            labels = [texts_of(level.labels) for level in self._whole.levels]
            self._listed = frozenset(labels[0])
            return len(labels) - (labels[-1] == [STAR])
        if spec.intervals is not None:
            return 1 + len(spec.intervals if isinstance(spec.intervals, list) else spec.intervals.edges)
        if spec.dates is not None:
            return 1 + len(spec.dates)
        if spec.mask is not None:
            if not isinstance(spec.mask, Mask) or spec.mask.steps is None:
                raise UsageError(Message("error_stream.mask_steps", name=self.name))
            return 1 + len(spec.mask.steps)
        if spec.neighbours is not None or spec.priority is not None:
            raise UsageError(Message("error_stream.of_all_values", name=self.name, hierarchy=spec.plan()))
        if spec.japan is None and spec.icd10 is None:
            return 1
        return 1 + (most_levels("japan", spec.japan) if spec.japan else most_levels("icd10", spec.icd10 or ""))

    @property
    def label_counts(self) -> list[int]:
        """Number of different labels on each level."""
        return [len(self.paths), *(len(labels) for labels in self._labels[1:])]

    @property
    def table(self) -> np.ndarray:
        """`table[code, level]`: the label's number."""
        return self._table[: len(self.paths)]

    def code(self, value: Value) -> int:
        """The code of a value, −1 if it is missing; a new value is learned.

        Raises `ColumnError` where it is no single value, or the hierarchy lacks it.
        """
        try:
            found = self.leaves.get(value)
        except TypeError:
            raise ColumnError(Message("error_stream.single_value", name=self.name, kind=_kind(value))) from None
        return found if found is not None else self.learn([value])[0]

    def learn(self, values: Sequence[Any]) -> list[int]:
        """The codes of values, known or not."""
        values = self.prepare(values)
        for value in values:
            if value in self.leaves:
                continue
            if value is None or value == STAR:
                missing = value is None and self.missing_is_value
                self._remember(value, (None,) * self.height if missing else None)
            else:
                self._remember(value, (value,) if self.height == 1 else self._ahead.pop(_key(value)))
        return [self.leaves[value] for value in values]

    def prepare(self, values: Sequence[Any]) -> list[Any]:
        """Find the paths of new values together and learn none of them: they may be those of records that are refused.

        Raises `ColumnError` where one is no single value, or the hierarchy lacks it. Not-a-number comes back as missing.
        """
        values = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
        for value in values:
            if value is not None and not isinstance(value, KINDS):
                raise ColumnError(Message("error_stream.single_value", name=self.name, kind=_kind(value)))
        if self.height > 1:
            self._look_up([value for value in values if value not in self.leaves and value not in (None, STAR)])
        return values

    def _look_up(self, values: list[Any]) -> None:
        """A label must not depend on what else is new in a block, since another process may see other blocks: by itself 12 is in
        `10–19`, beside 12.5 in `[10, 20)`. So values of one form are looked up together: each has the labels that it has alone.
        """
        if len(self._ahead) > MOST_AHEAD:
            self._ahead.clear()
        forms: dict[Hashable, dict[Hashable, Any]] = {}
        for value in values:
            if (key := _key(value)) not in self._ahead:
                forms.setdefault(form_alone(self.spec, self._listed, value), {})[key] = value
        for alike in forms.values():
            self._ahead.update(zip(alike, self._paths([*alike.values()]), strict=True))

    def _paths(self, values: list[Any]) -> Iterable[tuple[Any, ...]]:
        if self.spec.date_order is None and FINER_THAN_YEARS & set(self.spec.dates or ()) and _order_matters(values):
            raise ColumnError(Message("error_stream.date_order", name=self.name))
        try:
            column = Column.of(values)
            hierarchy = self._whole.bind(column) if self._whole else self.spec.build(self.name, column, self.folder)
        except InputError:
            # Said without the value: the reason goes where values may not be seen.
            reason = "not_taken_empty" if "" in values else "not_taken"
            raise ColumnError(Message(f"error_stream.{reason}", name=self.name, hierarchy=self.spec.plan())) from None
        texts = [texts_of(level.labels) for level in hierarchy.levels[1:]]
        return [self._path(value, hierarchy, texts, code) for value, code in zip(values, column.codes, strict=True)]

    def _path(self, value: Any, hierarchy: Hierarchy, texts: list[list[str | None]], code: int) -> tuple[Any, ...]:
        labels = [text[level.table[code]] for text, level in zip(texts, hierarchy.levels[1:], strict=True)]
        labels = labels[:-1] if texts[-1] == [STAR] else labels
        # Days of a column of dates are its values already: where a level says nothing new, the value stands for it.
        lower = [value] * (self.height - len(labels))
        return (*lower, *labels)[: self.height]

    def _remember(self, value: Any, path: tuple[Any, ...] | None) -> None:
        if path is None:
            self.leaves[value] = MISSING
            return
        if value in self.leaves:
            return
        code = len(self.paths)
        if code == len(self._table):
            self._table = np.concatenate([self._table, np.empty_like(self._table)])
        for level, label in enumerate(path):
            # A label is known by the whole rest of the path: two cities of one name in two countries are two.
            key = (label, *path[level + 1 :]) if level else code
            self._table[code, level] = self._labels[level].setdefault(key, len(self._labels[level]))
        self.leaves[value] = code
        self.steps.append(tuple(self._table[code].tolist()))
        self.paths.append(path)

    def kept(self, used: np.ndarray) -> ValueLevels:
        """The same with only the used codes, numbered anew in their order."""
        fresh = ValueLevels(self.name, self.spec, self.folder, self.missing_is_value)
        fresh.restore([(value, self.paths[code]) for value, code in self.leaves.items() if code >= 0 and used[code]])
        return fresh

    def restore(self, known: Iterable[tuple[Any, Sequence[Any]]]) -> None:
        """Values with their paths, in the order of their codes."""
        for value, path in known:
            require(len(path) == self.height and value not in self.leaves)
            self._remember(value, tuple(path))

    def dump(self) -> list[tuple[Any, tuple[Any, ...]]]:
        """What `restore` takes."""
        return [(value, self.paths[code]) for value, code in self.leaves.items() if code >= 0]

    def released(self, code: int, level: int) -> Any:
        """Return the released form of a value on a level."""
        return STAR if code < 0 or level >= self.height else self.paths[code][level]


def _key(value: Any) -> Hashable:
    """Other than a value itself, different for 1, 1.0 and true, and for both zeros."""
    return type(value), repr(value) if isinstance(value, float) else value


def _order_matters(values: Sequence[Any]) -> bool:
    """Whether day and month could be taken for each other: later values would tell, which a stream does not know."""
    return isinstance(values[0], str) and order_matters(pa.array(values, pa.string()))


def _kind(value: object) -> Message:
    names: dict[type, str] = {list: "list", dict: "object", tuple: "list", bytes: "bytes"}
    known = names.get(type(value))
    if known is None:
        return Message("error_stream.kind.other", kind=type(value).__name__)
    return Message(f"error_stream.kind.{known}")
