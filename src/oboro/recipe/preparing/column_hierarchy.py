"""One column's hierarchy, built, checked and counted level by level, before it goes into a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import yaml

from oboro.system.atomic_file import atomic, check_free
from oboro.table.dataset import Column
from oboro.table.frames import Frame
from oboro.table.hierarchy import Hierarchy, HierarchySpec, Level
from oboro.table.hierarchy.propose import propose
from oboro.table.parameters.at_the_door import at_the_door
from oboro.table.values import texts_of

__all__ = ["ColumnHierarchy", "LevelPreview", "column_hierarchy", "previews", "propose_hierarchy"]


@dataclass(frozen=True)
class ColumnHierarchy:
    """A built and checked hierarchy with the column that it generalizes."""

    column: Column
    hierarchy: Hierarchy
    spec: HierarchySpec
    proposed: bool

    @property
    def levels(self) -> list[LevelPreview]:
        """How many labels each level has, how many rows a label has, and the most frequent labels."""
        return previews(self.hierarchy, self.column)

    @property
    def line(self) -> str:
        """The line to put under `attributes:` in a recipe."""
        content = self.spec.model_dump(mode="json", exclude_defaults=True)
        flow = yaml.safe_dump(
            {"role": "quasi", **({"hierarchy": content} if content else {})}, default_flow_style=True, width=10_000
        )
        return f"{self.hierarchy.name}: {flow.strip()}"

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write it as a file that a recipe can name: `value;level 1;level 2;…`. Only with `force` it replaces a file."""
        check_free(path, force)
        with atomic(path) as file:
            file.write(self.hierarchy.to_csv().encode())

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "column": self.hierarchy.name,
            "proposed": self.proposed,
            "hierarchy": self.spec.model_dump(mode="json", exclude_defaults=True),
            "levels": [asdict(level) for level in self.levels],
        }


def column_hierarchy(
    frame: Any, name: str, spec: HierarchySpec | Mapping[str, Any] | None = None, folder: Path = Path(".")
) -> ColumnHierarchy:
    """Build and check the hierarchy of one column of a table: as `spec` says (as in a recipe), or as proposed.

    >>> column_hierarchy({"age": [31, 38, 45]}, "age", {"intervals": [10]}).line
    'age: {hierarchy: {intervals: [10]}, role: quasi}'
    """
    column = Frame.read(frame).data[name]
    given = propose(name, column) or HierarchySpec() if spec is None else HierarchySpec.model_validate(spec)
    return ColumnHierarchy(column, given.build(name, column, folder), given, proposed=spec is None)


@at_the_door
def propose_hierarchy(values: Any, column: str | None = None) -> HierarchySpec:
    """A hierarchy that suits a column: of a frame or file-like table (`column` names it), or of plain values.

    Where nothing lies between the value and `*`, the hierarchy is empty. The name of a column matters: numbers called zip or
    code are masked, not put into intervals.

    >>> import pandas as pd
    >>> propose_hierarchy(pd.DataFrame({"age": range(17, 91)}), "age").intervals
    [5, 10, 20]
    >>> propose_hierarchy(["2024-01-31", "2025-02-01"]).dates
    ['day', 'month', 'quarter', 'year']
    """
    if column is None:
        column = str(getattr(values, "name", None) or "values")
        values = {column: values}
    return propose(column, Frame.read(values).data[column]) or HierarchySpec()


@dataclass(frozen=True)
class LevelPreview:
    """What a level does to a column: how many labels, how many rows they hold, and the most frequent ones."""

    level: int
    labels: int
    smallest: int
    median: float
    largest: int
    examples: tuple[tuple[str | None, int], ...]


def previews(hierarchy: Hierarchy, column: Column, examples: int = 5) -> list[LevelPreview]:
    """What each level does to the rows of the column, with the most frequent labels as examples."""
    fits = hierarchy.levels[0].labels.equals(column.values)
    levels = (hierarchy if fits else hierarchy.bind(column)).levels
    return [_preview(number, level, column.counts, examples) for number, level in enumerate(levels)]


def _preview(number: int, level: Level, counts: np.ndarray, examples: int) -> LevelPreview:
    rows = np.bincount(level.table, weights=counts, minlength=len(level.labels)).astype(np.int64)
    used = rows[rows > 0]
    most = np.argsort(-rows, kind="stable")[: min(examples, used.size)]
    labels = texts_of(level.labels.take(pa.array(most)))
    return LevelPreview(
        level=number,
        labels=int(used.size),
        smallest=int(used.min()) if used.size else 0,
        median=float(np.median(used)) if used.size else 0.0,
        largest=int(used.max(initial=0)),
        examples=tuple(zip(labels, rows[most].tolist(), strict=True)),
    )
