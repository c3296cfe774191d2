"""What a privacy officer signs: what was released, what was promised, whether it holds, what it cost.

A `Report` holds plain facts (counts, parameters, verdicts; never a record), ready for JSON. From them come a page of
HTML that opens without a network, a few lines for the terminal, and a small view for notebooks.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field

from oboro.errors import FileError
from oboro.evaluate.meaning import is_star
from oboro.evaluate.report.blocks import count, percent
from oboro.evaluate.report.distributions import Distribution, compare
from oboro.evaluate.risk import risk
from oboro.evaluate.utility import utility
from oboro.evaluate.verdict import Verification
from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy import Hierarchy

__all__ = ["ColumnFacts", "Report", "TableFacts", "build"]

SMALLEST_CELL = 5
PACKAGES = ("oboro", "numpy", "numba", "pyarrow", "scipy", "scikit-learn")


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class TableFacts(_Facts):
    """Both tables, counted."""

    rows_before: int
    rows_after: int
    columns_before: int
    columns_after: int
    dropped: list[str]
    """Columns that are not released."""
    added: list[str]
    """Columns that the original does not have."""
    rows_suppressed: int
    """Released rows with `*` in every quasi-identifier."""
    bytes_before: int
    bytes_after: int
    """What the tables take in memory: codes and dictionaries."""


class ColumnFacts(_Facts):
    """One column before and after; None where it does not exist."""

    name: str
    role: str
    kind: str
    """What it holds now, or held if it is gone."""
    distinct_before: int | None
    distinct_after: int | None
    missing_before: int | None
    missing_after: int | None
    suppressed_after: int | None
    """Rows with `*`."""
    bytes_before: int | None
    bytes_after: int | None
    distribution: Distribution | None
    """Only of released columns; small cells are merged."""


class Report(_Facts):
    """Everything there is to say about one release, as data."""

    holds: bool | None
    """Whether every promise holds; None if nothing was promised."""
    table: TableFacts
    quasi: list[str]
    sensitive: list[str]
    verification: dict[str, Any] | None
    risk: dict[str, Any] | None
    """None where there is no quasi-identifier."""
    risk_before: dict[str, Any] | None
    risk_measures: list[dict[str, Any]]
    """The figures of `risk`, each saying what it means."""
    utility: list[dict[str, Any]]
    columns: list[ColumnFacts]
    steps: list[dict[str, Any]]
    recipe: str
    seeded: bool | None
    """Whether random choices can be repeated; None without a recipe."""
    files: dict[str, dict[str, Any]]
    versions: dict[str, str]
    smallest_cell: int = Field(ge=1)
    """Labels held by fewer rows are not shown on their own."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return self.model_dump(mode="json")

    def to_html(self, path: str | Path | None = None) -> str:
        """The report as one self-contained page; written to `path` if one is given."""
        from oboro.evaluate.report.page import render

        html = render(self)
        if path is not None:
            _write(Path(path), html)
        return html

    def summary(self) -> str:
        """A few lines for the terminal."""
        from oboro.evaluate.report.sections import headline

        table = self.table
        verdicts = (self.verification or {}).get("verdicts", [])
        rows = f"{count(table.rows_before)} in, {count(table.rows_after)} out"
        dropped = f" (dropped: {', '.join(table.dropped)})" if table.dropped else ""
        lines = [
            headline(self),
            *(f"  {'✓' if one['holds'] else '✗'} {one['sentence']}" for one in verdicts),
            f"Rows     {rows}, {count(table.rows_suppressed)} suppressed",
            f"Columns  {table.columns_before} in, {table.columns_after} out{dropped}",
            *self._risk_lines(),
            *self._utility_lines(),
        ]
        return "\n".join(lines)

    def _risk_lines(self) -> list[str]:
        before, after = self.risk_before, self.risk
        if before is None or after is None:
            return []
        pairs = [
            f"{words} {percent(before[name])} → {percent(after[name])}"
            for words, name in (("highest", "prosecutor_max"), ("mean", "prosecutor_mean"))
        ]
        return [f"Risk     {', '.join(pairs)}; unique rows {count(before['uniques'])} → {count(after['uniques'])}"]

    def _utility_lines(self) -> list[str]:
        found = {one["name"]: one for one in self.utility if one["column"] is None and one["value"] is not None}
        chosen = [found[name] for name in ("ncp", "generalization_intensity", "suppressed_cells") if name in found]
        words = [f"{one['title']} {percent(one['value'])}" for one in chosen]
        return [f"Loss     {', '.join(words)} (0 % is the original)"] if words else []

    def _repr_html_(self) -> str:
        from oboro.evaluate.report.page import render_compact

        return render_compact(self)


def build(
    original: Dataset,
    released: Dataset,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    verification: Verification | None = None,
    steps: Iterable[Mapping[str, Any]] = (),
    recipe_text: str = "",
    files: Mapping[str, Mapping[str, Any]] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    smallest_cell: int | None = None,
    paired: bool = True,
) -> Report:
    """Collect the facts about a release.

    `steps` have `name`, `plan`, `facts` and `seconds`; `files` says for each role ("input", "output") what is known of
    the file (`path`, `bytes`, `sha256`); `hierarchies` are bound to the original columns. Labels held by fewer rows
    than `smallest_cell` (by default the promised k, at least 5) are not shown. `paired=False` says that released rows
    do not stand in the order of the original, and measures of loss that need to know are not taken.
    """
    done = [plain(step) for step in steps]
    k = _promised_k(done)
    both = [name for name in quasi if name in original and name in released]
    after = risk(released, quasi=both, k=k or SMALLEST_CELL) if both else None
    smallest = smallest_cell if smallest_cell is not None else max(SMALLEST_CELL, k or 0)
    roles = {**dict.fromkeys(quasi, "quasi"), **dict.fromkeys(sensitive, "sensitive")}
    return Report(
        holds=None if verification is None or not verification.verdicts else verification.holds,
        table=_table(original, released, both),
        quasi=list(quasi),
        sensitive=list(sensitive),
        verification=None if verification is None else plain(verification.as_dict()),
        risk=None if after is None else plain(after.as_dict()),
        risk_before=plain(risk(original, quasi=both, k=k or SMALLEST_CELL).as_dict()) if both else None,
        risk_measures=[] if after is None else [plain(one.as_dict()) for one in after.measures()],
        utility=_utility(original, released, both, hierarchies=hierarchies, k=k or 1, paired=paired),
        columns=_columns(original, released, roles, hierarchies or {}, smallest),
        steps=done,
        recipe=recipe_text,
        seeded=_seeded(recipe_text),
        files={role: plain(facts) for role, facts in (files or {}).items()},
        versions=_versions(),
        smallest_cell=smallest,
    )


def _write(path: Path, text: str) -> None:
    """All of it appears under the name at once, or nothing does."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise FileError(f"{path}: cannot write the report: {error.strerror or type(error).__name__}") from None
    finally:
        part.unlink(missing_ok=True)


def plain(value: Any) -> Any:
    """The same as JSON knows it: numpy's numbers become Python's, tuples lists, what is not finite null."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | np.ndarray):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if isinstance(value, str | int | bool | None.__class__) else str(value)


def _promised_k(steps: Iterable[Mapping[str, Any]]) -> int | None:
    found = [step.get("facts", {}).get("k") for step in steps]
    return max((k for k in found if isinstance(k, int)), default=None)


def _seeded(recipe_text: str) -> bool | None:
    try:
        recipe = yaml.safe_load(recipe_text)
    except yaml.YAMLError:
        return None
    return recipe.get("seed") is not None if isinstance(recipe, dict) else None


def _table(original: Dataset, released: Dataset, quasi: Sequence[str]) -> TableFacts:
    suppressed = np.full(released.rows, bool(quasi))
    for name in quasi:
        suppressed &= is_star(released[name])[released[name].codes]
    return TableFacts(
        rows_before=original.rows,
        rows_after=released.rows,
        columns_before=len(original.columns),
        columns_after=len(released.columns),
        dropped=[name for name in original if name not in released],
        added=[name for name in released if name not in original],
        rows_suppressed=int(suppressed.sum()),
        bytes_before=sum(original.memory().values()),
        bytes_after=sum(released.memory().values()),
    )


def _utility(original: Dataset, released: Dataset, quasi: Sequence[str], **options: Any) -> list[dict[str, Any]]:
    if not quasi:
        return []
    return [plain(one.as_dict()) for one in utility(original, released, quasi=quasi, **options)]


def _columns(
    original: Dataset, released: Dataset, roles: Mapping[str, str], hierarchies: Mapping[str, Hierarchy], smallest: int
) -> list[ColumnFacts]:
    names = [*original, *(name for name in released if name not in original)]
    return [
        _column(
            name,
            roles.get(name, "other"),
            original.columns.get(name),
            released.columns.get(name),
            hierarchies.get(name),
            smallest,
        )
        for name in names
    ]


def _column(
    name: str, role: str, before: Column | None, after: Column | None, hierarchy: Hierarchy | None, smallest: int
) -> ColumnFacts:
    now = after if after is not None else before
    return ColumnFacts(
        name=name,
        role=role if after is not None else "dropped",
        kind="" if now is None else now.kind.value,
        distinct_before=None if before is None else len(before.values),
        distinct_after=None if after is None else len(after.values),
        missing_before=_missing(before),
        missing_after=_missing(after),
        suppressed_after=None if after is None else int(after.counts[is_star(after)].sum()),
        bytes_before=None if before is None else before.nbytes,
        bytes_after=None if after is None else after.nbytes,
        distribution=None if after is None else compare(before, after, smallest=smallest, hierarchy=hierarchy),
    )


def _missing(column: Column | None) -> int | None:
    if column is None:
        return None
    return int(column.counts[column.missing]) if column.missing >= 0 else 0


def _versions() -> dict[str, str]:
    """What made the release, so that it can be made again."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a folder that was never installed
            continue
    return found
