"""Evidence for a report on a release: roles and hierarchies of its columns, and digests of the files that were read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oboro.data.dataset import Dataset
from oboro.disclosure.column_names import names_household
from oboro.errors import UsageError
from oboro.schema import Role, Schema
from oboro.text import Message, Words

if TYPE_CHECKING:
    from oboro.data.row_order import RowShuffle
    from oboro.recipe.release import Release
    from oboro.report.facts import Provenance, Scope
    from oboro.report.report import Report
    from oboro.text.language import Progress

__all__ = ["file_evidence", "files_evidence", "hierarchy_files", "hierarchy_roles", "measure", "report_on"]


LARGE = 1_000_000  # rows: a report on more is made before they are put in their order, which it does not depend on


def report_on(release: Release, progress: Progress) -> Report:
    """Build the report on a release: attacks, risk, utility and evidence."""
    from oboro.report.facts import Provenance, Scope

    provenance = Provenance(
        verification=release.verification,
        steps=[step.as_dict() for step in release.steps],
        recipe_text=release.recipe_text,
        last_look=release.last_look,
        series=release.series or release.series_of_steps,
        warnings=[*release.cautions, *release.look_warnings(figures=True)],
    )
    moved = release.shuffle is None or release.worked.data.rows < LARGE or "frame" in release.__dict__
    data, order = (release.frame.data, None) if moved else (release.worked.data, release.shuffle)
    return measure(release.original, data, release.given, provenance, Scope(progress=progress), order=order)


def measure(
    original: Dataset,
    released: Dataset,
    schema: Schema,
    provenance: Provenance,
    scope: Scope | None = None,
    *,
    paired: bool = True,
    person: str | None = None,
    foreign: bool = False,
    order: RowShuffle | None = None,
) -> Report:
    """Measure risk and utility of a release, with the roles and hierarchies of `schema`; `foreign` if any tool may have made it.

    `order`: that in which the rows of `released` are released, where they are still in that of the original.
    """
    # Imported here, because it takes half a second to load, and most jobs write no report.
    from oboro.report.facts import Tables
    from oboro.report.make import make_report

    if provenance.private:
        schema = schema.with_labels_of_any_number()  # as such a release writes them
    tables = Tables(
        original,
        released,
        quasi=[name for name in schema.quasi if name in released],
        sensitive=[name for name in schema.sensitive if name in released],
        identifiers=schema.named(Role.IDENTIFIER),
        hierarchies=schema.fitting_hierarchies(original),
        paired=paired,
        person=person or schema.person,
        foreign=foreign,
        order=order,
    )
    if tables.person is not None:
        if tables.people is None:
            raise UsageError(Message("error_recipe.person_not_paired", column=tables.person))
        who = "in_households" if names_household(tables.person) else "in_people"
        told = Message(f"report.warning.{who}", column=tables.person)
        provenance = replace(provenance, warnings=[*provenance.warnings, told])
    return make_report(tables, provenance, scope)


def file_evidence(path: Path) -> dict[str, Any]:
    """Return the name, size and SHA-256 of a file; of a folder, that of the digests of its files, one a line."""
    if path.is_dir():
        return _folder_evidence(path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"path": path.name, "bytes": path.stat().st_size, "sha256": digest}


def _folder_evidence(folder: Path) -> dict[str, Any]:
    """Names below the folder may hold values of the data, so the digest is over what the files hold and over their order only."""
    files = sorted(one for one in folder.rglob("*") if one.is_file() and not one.name.startswith((".", "_")))
    found = [file_evidence(one) for one in files]
    digest = hashlib.sha256("".join(f"{one['sha256']}\n" for one in found).encode()).hexdigest()
    return {"path": f"{folder.name}/", "bytes": sum(one["bytes"] for one in found), "sha256": digest}


def files_evidence(paths: Mapping[Words, Path]) -> dict[str, dict[str, Any]]:
    """Return the evidence of several files by their roles, read at once; inputs that are no files (a database) have none."""
    there = {_role(role): path for role, path in paths.items() if path.is_file() or path.is_dir()}
    with ThreadPoolExecutor() as pool:
        found = pool.map(file_evidence, there.values())
        return {str(role): {"role": role, **facts} for role, facts in zip(there, found, strict=True)}


def _role(role: Words) -> Message:
    return role if isinstance(role, Message) else Message(f"report.file.{role}")


def hierarchy_files(schema: Schema) -> dict[str, Path]:
    """Return the files of hierarchies, by their columns."""
    found = {}
    for name, one in schema.attributes.items():
        named = None if one.hierarchy is None else one.hierarchy.csv or one.hierarchy.tree
        if isinstance(named, str):
            found[name] = schema.folder / named
    return found


def hierarchy_roles(schema: Schema) -> dict[Words, Path]:
    """Return the files of hierarchies, by their role in the evidence."""
    files = hierarchy_files(schema)
    return {Message("report.file.hierarchy", column=name): path for name, path in files.items()}
