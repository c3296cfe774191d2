"""What a privacy officer signs: what was released, what was promised, whether it holds, what it cost.

A `Report` holds plain facts (counts, parameters, verdicts; never a record), ready for JSON. From them come a page of
HTML that opens without a network, a few lines for the terminal, and a small view for notebooks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from oboro.errors import FileError, UsageError
from oboro.evaluate.report.blocks import count, number, percent
from oboro.evaluate.report.facts import (
    AttackFacts,
    Checklist,
    ColumnFacts,
    Facts,
    PairFacts,
    SpecialFacts,
    TableFacts,
    UniquenessFacts,
)

__all__ = ["LANGUAGES", "Report"]

LANGUAGES = ("en", "ja")


class Report(Facts):
    """Everything there is to say about one release, as data."""

    public: bool = False
    """Whether everything that helps to undo the processing was left out."""
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
    attacks: list[AttackFacts]
    """Attacks that were run against the release."""
    linkage: list[dict[str, Any]]
    """Attacks on a release without groups (k-concealment), each saying what it means."""
    uniqueness: UniquenessFacts | None
    """Who is unique in the population, estimated."""
    special: SpecialFacts | None
    """Records that one or two attributes make unique; None for a table too large to search."""
    utility: list[dict[str, Any]]
    pairs: PairFacts | None
    columns: list[ColumnFacts]
    steps: list[dict[str, Any]]
    recipe: str
    seeded: bool | None
    """Whether random choices can be repeated; None without a recipe."""
    files: dict[str, dict[str, Any]]
    versions: dict[str, str]
    smallest_cell: int = Field(ge=1)
    """Labels held by fewer rows are not shown on their own."""
    checklists: list[Checklist]
    stream: list[dict[str, Any]]
    """The metrics of a stream, one after the other."""
    warnings: list[str]
    """Everything that a reader should know before signing."""

    def to_public(self) -> Report:
        """The report without anything that helps to undo the processing; `docs/report.md` says why, item by item."""
        from oboro.evaluate.report.public import public

        return public(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return self.model_dump(mode="json")

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of `as_dict`, for programs that read it."""
        schema = cls.model_json_schema(mode="serialization")
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "oboro report"}

    def to_html(self, path: str | Path | None = None, *, lang: str = "en") -> str:
        """The report as one self-contained page in English or Japanese (`ja`); written to `path` if one is given."""
        from oboro.evaluate.report.page import render

        if lang not in LANGUAGES:
            raise UsageError(f"lang: must be one of {', '.join(LANGUAGES)}; got {lang!r}")
        html = render(self, lang)
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
            *self._attack_lines(),
            *(f"  {one['title']}: {number(one['value'])}. {one['note']}".rstrip(" .") for one in self.linkage),
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

    def _attack_lines(self) -> list[str]:
        tried = [one for one in self.attacks if one.attack.tried]
        better = [one.name for one in tried if one.better_than_control]
        said = f"{len(better)} better than control: {', '.join(better)}" if better else "none better than its control"
        return [f"Attacks  {len(tried)} run, {said}"] if tried else []

    def _utility_lines(self) -> list[str]:
        found = {one["name"]: one for one in self.utility if one["column"] is None and one["value"] is not None}
        chosen = [found[name] for name in ("ncp", "generalization_intensity", "suppressed_cells") if name in found]
        words = [f"{one['title']} {percent(one['value'])}" for one in chosen]
        return [f"Loss     {', '.join(words)} (0 % is the original)"] if words else []

    def _repr_html_(self) -> str:
        from oboro.evaluate.report.page import render_compact

        return render_compact(self)


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
