"""`oboro evaluate`: a release that anybody made, with a recipe, with named roles, or with guessed ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from oboro.attacks.comparison.row_pairing import correspond
from oboro.errors import FileError, InputError, UsageError
from oboro.recipe.comparable import comparable, explained
from oboro.recipe.concealment_attacks import attacks, owners
from oboro.recipe.evidence import bound_hierarchies, files_evidence, hierarchy_files, measure
from oboro.recipe.preparing.starter import guess
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream_promise import verified
from oboro.report import Provenance, Report, Scope
from oboro.table.dataset import Dataset
from oboro.table.row_origins import same_rows
from oboro.table.schema import Attribute, Role, Schema
from oboro.text import Message
from oboro.verifier.verdict import Verification

__all__ = ["Question", "evaluate", "stream_metrics"]


@dataclass(frozen=True)
class Question:
    """What is asked about two tables."""

    recipe: Path | None = None
    roles: Mapping[Role, Sequence[str]] = field(default_factory=dict)
    fraction: float = 1.0
    control: Dataset | None = None
    stream: Path | None = None
    unpaired: bool = False
    attempts: int = 2000
    truth: Dataset | None = None
    target: str | None = None
    rename: Mapping[str, str] = field(default_factory=dict)  # from released to original names


def evaluate(original: Dataset, released: Dataset, question: Question, paths: Mapping[str, Path]) -> Report:
    """Measure it. Roles come from the recipe, from what was named, or from a guess, which the report then says."""
    recipe = Recipe.load(question.recipe) if question.recipe else None
    original, released, taken = comparable(original, released, question.rename)
    schema, guessed = _schema(original, recipe, question)
    if question.target is not None and (question.target not in original or question.target not in released):
        both = ", ".join(name for name in released if name in original)
        raise UsageError(f"--target: both tables must have the column {question.target!r}; both have {both}")
    schema.require(original, (name for name in schema.attributes if name in released), "the original table")
    found = [] if recipe is None else attacks(recipe, schema, original, released, question.truth)
    if question.truth is not None:
        released = replace(released, origin=owners(question.truth, original, released))
    moments = stream_metrics(question.stream) if question.stream else []
    moved = question.unpaired or (recipe is not None and any(step.moves_records for step in recipe.steps))
    in_order = bool(moments) and original.rows == released.rows  # a stream releases in the order of its input
    paired = released.origin is not None or (not moved and (in_order or _correspond(original, released, schema)))
    schema, read = explained(original, released, schema, same_rows(original, released) if paired else None)
    read_from = [*paths.items(), *hierarchy_files(schema).items()]
    provenance = Provenance(
        verification=_stream_verified(recipe, question, original, released, moments),
        recipe_text=recipe.to_yaml() if recipe else "",
        files=files_evidence(dict(read_from)),
        stream=moments,
        warnings=[*guessed, *taken, *read],
        linkage=found,
    )
    scope = Scope(
        fraction=question.fraction, control=question.control, attempts=question.attempts, target=question.target
    )
    return measure(original, released, schema, provenance, scope, paired=paired)


def _stream_verified(
    recipe: Recipe | None,
    question: Question,
    original: Dataset,
    released: Dataset,
    moments: Sequence[Mapping[str, Any]],
) -> Verification | None:
    if recipe is None or question.recipe is None or not moments:
        return None
    return verified(recipe, question.recipe.parent, original, released, moments)


def _correspond(original: Dataset, released: Dataset, schema: Schema) -> bool:
    names = [name for name in released if name in original]
    return correspond(original, released, names, bound_hierarchies(original, schema))


def _schema(original: Dataset, recipe: Recipe | None, question: Question) -> tuple[Schema, list[Message]]:
    if recipe is not None:
        return Schema(recipe.attributes, question.recipe.parent if question.recipe else Path(".")), []
    named = {name: role for role, names in question.roles.items() for name in names}
    if unknown := [name for name in named if name not in original]:
        raise UsageError(f"the original table has no column {unknown[0]!r}; it has {', '.join(original)}")
    if any(question.roles.values()):
        return Schema({name: Attribute(role=named.get(name, Role.OTHER)) for name in original}), []
    guessed = {name: guess(name, original[name]).role for name in original}
    roles = [
        Message("report.warning.role_of", column=name, role=role.value)
        for name, role in guessed.items()
        if role is not Role.OTHER
    ]
    warning = Message("report.warning.roles_guessed", roles=roles or "–")
    return Schema({name: Attribute(role=role) for name, role in guessed.items()}), [warning]


def stream_metrics(path: Path) -> list[dict[str, Any]]:
    """The metrics that `oboro stream --json` printed, one JSON object a line, in the order of time."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise FileError(f"{path}: cannot read the metrics: {error.strerror}") from None
    try:
        found = [json.loads(line) for line in lines if line.strip()]
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: not the metrics of a stream, one JSON object a line: {error.msg}") from None
    if not all(isinstance(one, dict) for one in found):
        raise InputError(f"{path}: not the metrics of a stream: each line must be one JSON object")
    return found
