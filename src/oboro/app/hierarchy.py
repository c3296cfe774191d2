"""One column's hierarchy, level by level, for people to look at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from oboro.errors import UsageError
from oboro.io.output import atomic
from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy import Hierarchy, HierarchySpec, propose

__all__ = ["View", "examine"]


@dataclass(frozen=True)
class View:
    """A built and checked hierarchy with the column that it generalizes."""

    column: Column
    hierarchy: Hierarchy
    spec: HierarchySpec
    proposed: bool

    def show(self, console: Any) -> None:
        """A table with one line a level, and the line to put into a recipe."""
        from rich.table import Table

        table = Table(box=None, header_style="dim", pad_edge=False)
        for heading in ("level", "labels", "rows per label: least", "median", "most"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("most frequent labels (rows)", overflow="fold")
        for level in self.hierarchy.preview(self.column):
            examples = "  ".join(
                f"{'(missing)' if label is None else label} ({count})" for label, count in level.examples
            )
            counts = (level.labels, level.smallest, f"{level.median:g}", level.largest)
            table.add_row(str(level.level), *[str(count) for count in counts], examples)
        console.print(
            f"{self.hierarchy.name}: {self.spec.explain()}" + (" (proposed)" if self.proposed else ""), markup=False
        )
        console.print(table)
        console.print(f"In a recipe:  {self._line()}", markup=False, highlight=False)

    def _line(self) -> str:
        content = self.spec.model_dump(mode="json", exclude_defaults=True)
        flow = yaml.safe_dump(
            {"role": "quasi", **({"hierarchy": content} if content else {})}, default_flow_style=True, width=10_000
        )
        return f"{self.hierarchy.name}: {flow.strip()}"

    def save(self, path: Path) -> None:
        """Write it as a file that a recipe can name: `value;level 1;level 2;…`."""
        with atomic(path) as file:
            file.write(self.hierarchy.to_csv().encode())

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "column": self.hierarchy.name,
            "proposed": self.proposed,
            "hierarchy": self.spec.model_dump(mode="json", exclude_defaults=True),
            "levels": [asdict(level) for level in self.hierarchy.preview(self.column)],
        }


def examine(data: Dataset, name: str, spec: str | None) -> View:
    """Build and check the hierarchy of one column: as `spec` says (YAML), or as proposed."""
    column = data[name]
    given = _parse(spec) if spec is not None else propose(name, column) or HierarchySpec()
    return View(column, given.build(name, column, Path(".")), given, proposed=spec is None)


def _parse(text: str) -> HierarchySpec:
    try:
        return HierarchySpec.model_validate(yaml.safe_load(text) or {})
    except yaml.YAMLError:
        raise UsageError(f"--spec: not valid YAML: {text!r}; write for example '{{intervals: [5, 10]}}'") from None
    except ValidationError as error:
        raise UsageError(
            "--spec: " + "; ".join(found["msg"].removeprefix("Value error, ") for found in error.errors())
        ) from None
