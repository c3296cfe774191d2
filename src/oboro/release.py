"""What came out: the released table, the proof that every promise holds on it, and the report."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from oboro.errors import InputError
from oboro.evaluate.report import Report, build
from oboro.evaluate.verify import Verification
from oboro.io.files import Source
from oboro.io.output import write
from oboro.table.dataset import Dataset
from oboro.table.frames import Frame
from oboro.table.hierarchy import Hierarchy
from oboro.table.schema import Schema

__all__ = ["Release", "StepRecord", "measure"]


@dataclass(frozen=True)
class StepRecord:
    """What one step did."""

    name: str
    plan: str
    facts: Mapping[str, Any]
    seconds: float
    rows_before: int
    rows_after: int

    def as_dict(self) -> dict[str, Any]:
        """For reports."""
        return {
            "name": self.name,
            "plan": self.plan,
            "facts": dict(self.facts),
            "seconds": self.seconds,
            "rows_before": self.rows_before,
            "rows_after": self.rows_after,
        }


@dataclass(frozen=True, eq=False)
class Release:
    """The result of a recipe. It exists only if every promise was verified on it."""

    frame: Frame
    original: Dataset
    schema: Schema  # after the last step
    given: Schema  # before the first step
    steps: tuple[StepRecord, ...]
    verification: Verification
    recipe_text: str
    source: Source | None = None  # the file it came from

    def __repr__(self) -> str:
        return f"Release({self.dataset.rows} rows, {len(self.dataset.columns)} columns; {self.verification.sentence()})"

    @property
    def dataset(self) -> Dataset:
        """The released table, still encoded."""
        return self.frame.data

    @cached_property
    def data(self) -> Any:
        """The released table, as the kind of frame that came in (an Arrow table if a file came in)."""
        return self.dataset.to_arrow() if self.source is not None else self.frame.write()

    @cached_property
    def report(self) -> Report:
        """Risk, utility and evidence; made when first asked for."""
        return measure(
            self.original,
            self.dataset,
            self.given,
            recipe_text=self.recipe_text,
            verification=self.verification,
            steps=[step.as_dict() for step in self.steps],
        )

    def with_files(self, output: str | Path) -> Report:
        """The report with evidence of the files: their names, sizes and SHA-256, so that a signature speaks of exactly these."""
        paths = {"input": self.source.path if self.source else None, "output": output}
        files = {role: _evidence(Path(path)) for role, path in paths.items() if path and Path(path).is_file()}
        return self.report.model_copy(update={"files": files})

    def explain(self) -> str:
        """What was done, step by step, what it changed, and what was verified."""
        lines = []
        for number, step in enumerate(self.steps, 1):
            lines.append(f"{number}. {step.name}: {step.plan}")
            lines += [f"     {key.replace('_', ' ')}: {_short(value)}" for key, value in step.facts.items()]
        lines.append(self.verification.sentence())
        return "\n".join(lines)

    def write(self, path: str | Path) -> None:
        """Write the released table; the name's ending chooses the format. All of it appears at once, or nothing does."""
        write(self.dataset, path, self.source.dialect if self.source else None)


def measure(original: Dataset, released: Dataset, schema: Schema, **evidence: Any) -> Report:
    """Risk and utility of a release, with the roles and hierarchies of `schema`."""
    return build(
        original,
        released,
        quasi=[name for name in schema.quasi if name in released],
        sensitive=[name for name in schema.sensitive if name in released],
        hierarchies=_hierarchies(original, schema),
        **evidence,
    )


def _hierarchies(original: Dataset, schema: Schema) -> dict[str, Hierarchy]:
    """The hierarchies that fit the original columns; one that needs an earlier step is left out."""
    found = {}
    for name in schema.quasi:
        try:
            found[name] = schema.hierarchy(name, original[name])
        except InputError:
            continue
    return found


def _evidence(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"path": path.name, "bytes": path.stat().st_size, "sha256": digest}


def _short(value: Any, most: int = 160) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= most else text[: most - 1] + "…"
