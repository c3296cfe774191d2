"""A release that anybody made: how exposed people are in it, what attacks find, and what it lost.

One function for Python and for the command line; roles come from a recipe, from what is named, or from a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oboro.attacks.comparison.row_linking import link_rows
from oboro.attacks.comparison.row_pairing import correspond
from oboro.disclosure.counted_people import ask_for_person
from oboro.disclosure.earlier_releases import attack_series
from oboro.errors import InputError, UsageError
from oboro.io.files import Source, read
from oboro.io.places.place_names import names_a_place
from oboro.recipe.comparable import comparable, explained
from oboro.recipe.evaluation.concealment_attacks import attacks, owners
from oboro.recipe.evaluation.named_promises import hidden_columns, named_promises
from oboro.recipe.evaluation.series_of_releases import dataset_of, diversity_of, earlier_of, tables_of
from oboro.recipe.evidence import files_evidence, hierarchy_roles, measure
from oboro.recipe.released.released_order import moves_rows
from oboro.recipe.roles.guess_roles import guess_roles
from oboro.recipe.stream_promise import stream_metrics, verified
from oboro.table.dataset import Dataset
from oboro.table.frames import Frame
from oboro.table.named_columns import Names, named_columns, names_shown
from oboro.table.parameters.at_the_door import at_the_door
from oboro.table.rows.row_origins import released_person, same_rows
from oboro.table.schema import Attribute, Role, Schema
from oboro.text import Message
from oboro.verifier.verdict import Verification

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe
    from oboro.report import Report

__all__ = ["evaluate"]

Moments = Sequence[Mapping[str, Any]]


NEEDED = ("input", "output")


@at_the_door
def evaluate(
    original: Any,
    released: Any,
    recipe: Recipe | str | Path | None = None,
    *,
    quasi: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    person: str | None = None,
    k: int | None = None,
    l: float | None = None,  # noqa: E741  (the literature's letter, and what people type)
    kind: str = "distinct",
    c: float | None = None,
    t: float | None = None,
    distance: str = "equal",
    alpha: float | None = None,
    accept: Names = (),
    fraction: float = 1.0,
    control: Any = None,
    target: str | None = None,
    attempts: int = 2000,
    unpaired: bool = False,
    rename: Mapping[str, str] | None = None,
    truth: Any = None,
    stream: str | Path | Moments = (),
    earlier: Any = (),
    reading: Mapping[str, Any] | None = None,
) -> Report:
    """Attack a release, measure the risk that is left in it and what it lost, whoever made it.

    Tables are pandas, polars or pyarrow frames, or files (`reading` says how these are read). Roles come from the `recipe`
    (its steps are not run), from `quasi`, `sensitive` and `identifier`, or are guessed, which the report then says. Columns
    that were renamed are found where only capitals and marks differ; `rename` maps other released names to original ones.
    Whether the n-th released row was made from the n-th original one is found out from the values, unless `truth` (a table
    whose first column gives the original row of each released record, from 1) or `unpaired` says it.

    What the release is said to keep is verified on it: `k`, `l` (of a `kind`, with `c`), `t` (by a `distance`), `alpha`, as in
    `verify`; without them what the steps of the recipe demand. Attacks are judged against what that allows; where nothing is
    said, against the k that the release has. `Report.refused` says whether a promise is broken or somebody is singled out by
    columns that no promise covers.

    - `person`: the column that says whose a record is; people are then counted, not records.
    - `accept`: columns by which people may be unique (those of the recipe are accepted too).
    - `fraction`: the share of the population that the table holds.
    - `control`: a table of people who are in neither, for the attacks, each of which makes at most `attempts` guesses.
    - `target`: a column that models trained on the release and on the original predict.
    - `earlier`: the releases of the same people that are out already, oldest first. The release is then attacked together with
      them: who is in all, who came, who left. `Report.series` has the figures; `refused` also says whether somebody falls below k
      or l by them.
    - `stream`: the metrics of a stream, or the file that `oboro stream --json` wrote.

    >>> people = {"age": [31, 38, 35, 52], "sex": ["F", "F", "M", "M"]}
    >>> report = evaluate(people, {"age": ["30-39", "30-39", "30-39", "50-59"]}, quasi=["age"], attempts=0)
    >>> report.risk["uniques"]
    1
    """
    from oboro.recipe.recipe import Recipe
    from oboro.report import Provenance, Scope

    plan = Recipe.load(recipe) if isinstance(recipe, str | Path) else recipe
    if plan is not None and not isinstance(plan, Recipe):
        raise UsageError(Message("error_recipe.not_a_recipe", name="recipe", kind=type(plan).__name__))
    given = {"input": original, "output": released, "control_group": control, "truth": truth}
    tables = {
        role: _Table.of(table, reading or {})
        for role, table in given.items()
        if table is not None or role in ("input", "output")
    }
    before, after, assumed = comparable(tables["input"].data, tables["output"].data, rename or {})
    roles = {
        Role.QUASI: named_columns(quasi, "quasi"),
        Role.SENSITIVE: named_columns(sensitive, "sensitive"),
        Role.IDENTIFIER: named_columns(identifier, "identifier"),
    }
    schema, guessed = (plan.schema_given, []) if plan is not None else _schema(before, roles)
    schema = schema if person is None else _of_person(schema, before, person)
    _require(before, after, schema, target)
    person = person or (plan.person if plan is not None else None)
    asked = ask_for_person(before, person)
    known = tables["truth"].data if "truth" in tables else None
    linkage = [] if plan is None else attacks(plan, schema, before, after, known)
    after = after if known is None else replace(after, origin=owners(known, before, after))
    moments = stream_metrics(Path(stream)) if isinstance(stream, str | Path) else list(stream)
    paired = _paired(before, after, schema, plan, unpaired, moments)
    rows = None if paired or unpaired or plan is None else _linked(before, after, schema, plan)
    if rows is not None:
        after, paired = replace(after, origin=rows), True
        asked = [*asked, Message("report.warning.linked")]
    schema, understood = explained(before, after, schema, same_rows(before, after) if paired else None)
    models = {"k": k, "l": l, "kind": kind, "c": c, "t": t, "distance": distance, "alpha": alpha}
    whose = released_person(before, after, person, paired)
    promised = verified(plan, before, after, moments)
    if promised is None and not moments:
        promised = named_promises(models, plan, schema, before, after, whose)
    provenance = Provenance(
        verification=promised,
        accepted=_accepted(plan, named_columns(accept, "accept"), after),
        hidden=hidden_columns(plan),
        recipe_text=plan.to_yaml() if plan else "",
        files=_evidence(tables, plan, schema),
        stream=moments,
        warnings=[*guessed, *asked, *assumed, *understood],
        linkage=linkage,
        series=attack_series(
            after,
            [dataset_of(one, reading or {}) for one in tables_of(earlier) or earlier_of(plan)],
            quasi=schema.quasi,
            sensitive=schema.sensitive,
            k=k or _promised_k(promised),
            diverse=diversity_of(plan, l, schema.sensitive),
            person=person,
            original=before,
            hierarchies=schema.fitting_hierarchies(before),
            accepted="" if plan is None else plan.series_accepted,
        ),
    )
    group = tables["control_group"].data if "control_group" in tables else None
    scope = Scope(fraction=fraction, control=group, attempts=attempts, target=target)
    return measure(before, after, schema, provenance, scope, paired=paired, person=person, foreign=True)


def _promised_k(found: Verification | None) -> int | None:
    return max((one.k for one in found.verdicts if one.k is not None), default=None) if found is not None else None


def _accepted(plan: Recipe | None, accept: Sequence[str], released: Dataset) -> list[tuple[list[str], str]]:
    """The columns by which people may be unique: as the recipe says, and as was asked for."""
    if unknown := [name for name in accept if name not in released]:
        raise UsageError(
            Message("error_recipe.accept_column", unknown=unknown[0], columns=names_shown(released, accept))
        )
    said = [(list(one.unique_on), one.because) for one in (plan.accepted if plan else [])]
    return [*said, *([(list(accept), "")] if accept else [])]


@dataclass(frozen=True)
class _Table:
    """A table, and the file it came from."""

    data: Dataset
    path: Path | None = None

    @staticmethod
    def of(table: Any, reading: Mapping[str, Any]) -> _Table:
        """From a frame, a file, or one that was read already."""
        if names_a_place(table):
            table = read(table, **reading)
        return _Table(table.data, Path(table.path)) if isinstance(table, Source) else _Table(Frame.read(table).data)


def _evidence(tables: Mapping[str, _Table], plan: Recipe | None, schema: Schema) -> dict[str, dict[str, Any]]:
    """Names, sizes and SHA-256 of the files that were read."""
    files: dict[Any, Path] = {role: one.path for role, one in tables.items() if one.path is not None}
    if plan is not None and plan.path is not None:
        files["recipe"] = plan.path
    return files_evidence({**files, **hierarchy_roles(schema)})


def _schema(original: Dataset, roles: Mapping[Role, Sequence[str]]) -> tuple[Schema, list[Message]]:
    """The roles that were named, or guessed ones, which is then said."""
    named = {name: role for role, names in roles.items() for name in names}
    if unknown := [name for name in named if name not in original]:
        raise UsageError(
            Message("error_recipe.original_column", unknown=unknown[0], columns=names_shown(original, named))
        )
    if named:
        return Schema({name: Attribute(role=named.get(name, Role.OTHER)) for name in original}), []
    found = guess_roles(original, figures=False)
    said = [
        Message("report.warning.role_of", column=name, role=one.role.value, reasons=list(one.reasons))
        for name, one in found.columns.items()
        if one.role is not Role.OTHER
    ]
    warning = Message("report.warning.roles_guessed", roles=said or "–")
    return Schema({name: Attribute(role=one.role) for name, one in found.columns.items()}), [warning]


def _of_person(schema: Schema, original: Dataset, person: str) -> Schema:
    """The schema with a column that says whose a row is, and so identifies people."""
    schema.require(original, [person], "person")
    if person in (*schema.quasi, *schema.sensitive):
        role = schema.attributes[person].role.value
        raise UsageError(Message("error_verifier.person_has_a_role", column=person, role=role))
    return replace(schema.with_role(person, Role.IDENTIFIER), person=person)


def _require(original: Dataset, released: Dataset, schema: Schema, target: str | None) -> None:
    for what, table in (("original", original), ("release", released)):
        if not table.rows:
            raise InputError(Message(f"error_recipe.empty.{what}"))
    if target is not None and (target not in original or target not in released):
        both = [name for name in released if name in original]
        raise UsageError(Message("error_recipe.target", column=target, both=both))
    schema.require(
        original, (name for name in schema.attributes if name in released), Message("error_recipe.original_table")
    )


def _linked(original: Dataset, released: Dataset, schema: Schema, plan: Recipe) -> np.ndarray | None:
    """Original rows that the released ones may have been made from, where the recipe moved whole rows and nothing else."""
    apart = [  # columns change places by themselves: a step that moves whole records reads all of them
        step
        for step in plan.steps
        if step.traits.moves_records and (not step.reorders or set(step.reads(["any"])) != {"any"})
    ]
    if apart or not moves_rows(plan.order, plan.steps):
        return None
    names = [name for name in released if name in original]
    return link_rows(original, released, names, schema.fitting_hierarchies(original))


def _paired(
    original: Dataset, released: Dataset, schema: Schema, plan: Recipe | None, unpaired: bool, moments: Moments
) -> bool:
    """Whether it is known which original row each released one was made from."""
    if released.origin is not None:
        return True
    if unpaired or (plan is not None and any(step.traits.moves_records for step in plan.steps)):
        return False
    if moments and moments[-1].get("order") == "exchanged" and any(name not in schema.quasi for name in released):
        return False  # a window leaves other fields at the place of another record
    if moments and original.rows == released.rows:  # a stream releases in the order of its input
        return True
    names = [name for name in released if name in original]
    return correspond(original, released, names, schema.fitting_hierarchies(original))
