"""Run a recipe on a table: read it, apply every step, and verify every guarantee on the result."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from oboro.data.column import Column, UnreadColumn
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.data.parameters import names_known, names_shown
from oboro.data.row_order import RowShuffle
from oboro.data.units import person_of_rows
from oboro.disclosure.column_names import names_household
from oboro.disclosure.gate import ReleaseCandidate, StepRecord, check_release
from oboro.disclosure.weak_noise import changed_cells
from oboro.errors import ColumnError, HierarchyError, RecipeError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.io.places.place import is_plain_file, names_a_place
from oboro.io.read import Source, column_names, read, read_data
from oboro.recipe.randomness import entropy_of, moves_rows, released_order, warning_of_order, warning_of_seed
from oboro.recipe.release import Release, store_of
from oboro.schema import Attribute, Role, Schema
from oboro.techniques import Technique
from oboro.techniques.base import Outcome, Work
from oboro.text import Message, Raw
from oboro.text.language import READING, ByteProgress, Progress, silent
from oboro.verifier.promises import Promise, verify_promises

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

__all__ = ["admitted", "before_step", "check_names", "record_of", "run"]


UNCLEAR = re.compile(r"\d{1,2}[/-]\d")  # may be a date that begins with its day or its month
ENGINES = ("pyspark",)  # packages whose frames are anonymized where they are


def run(
    recipe: Recipe, source: Any, *, progress: Progress | None = None, reading: Mapping[str, Any] | None = None
) -> Release:
    """Apply a recipe to a frame or a file; see `Recipe.run`."""
    if type(source).__module__.partition(".")[0] in ENGINES:
        engines = import_module("oboro.engines.run")  # they stand above recipes, and most jobs need none of them
        return cast(Release, engines.run_frame(recipe, source, progress))
    say: Progress = progress or silent
    frame, origin, coming = _opened(recipe, source, progress, reading or {})
    data, given = admitted(recipe, frame.data)
    given = replace(given, coming=coming)
    frame.require_whole()
    if recipe.accept:
        from oboro.disclosure.accept import check_accept  # most jobs accept nothing

        check_accept(recipe.acceptances, frame.data)
    if recipe.budget is not None:
        from oboro.recipe.ledger import check_ledger  # most jobs have no budget

        check_ledger(recipe)
    _check_steps(recipe, given)
    unclear = _check_hierarchies(recipe, data, given)
    whose = None
    if recipe.person is not None:
        whose = person_of_rows(frame.data, recipe.person, fold=given.fold(recipe.person))
    table = _Table(data, given, whose=whose)
    # Each step has random numbers of its own, so that a change of one does not change the others' draws; order has the last.
    *seeds, last = np.random.SeedSequence(entropy_of(recipe)).spawn(len(recipe.steps) + 1)
    for step, seed in zip(recipe.steps, seeds, strict=True):
        say(step.step)
        table.take(step, seed, say)
    identifiers = table.schema.named(Role.IDENTIFIER)
    if not table.data.columns.keys().isdisjoint(identifiers):
        raise RecipeError(_leak([name for name in identifiers if name in table.data]))
    order = _order_coming(recipe, table, last)
    say(Message("progress.verifying"))
    names = list(map(attrgetter("step"), recipe.steps))
    verification = verify_promises(table.data, table.promises, names, table.person, given.sensitive)
    say(Message("progress.last_look"))
    found = check_release(
        ReleaseCandidate(
            original=frame.data,
            released=table.data,
            given=given,
            schema=table.schema,
            guarantees=tuple(table.promises),
            steps=tuple(table.records),
            person=table.person,
            accept=tuple(recipe.acceptances) if recipe.accept else (),
            together=recipe.together,
            verification=verification,
            earlier=tuple(one.load(read_data, recipe.folder) for one in recipe.earlier),
            store=store_of(origin),
        )
    )
    verification = found.added_to(verification)
    if recipe.person is not None and names_household(recipe.person):
        verification = verification.in_households()
    return Release(
        budget_left=None if recipe.budget is None else _charged(recipe),
        worked=replace(frame, data=table.data),
        shuffle=order.result(),
        cautions=(
            *(warning_of_order(recipe.steps) if recipe.order == "kept" else ()),
            *warning_of_seed(recipe),
            *verification.warnings,
            *found.cautions,
            *unclear,
        ),
        original=frame.data,
        schema=table.schema,
        given=given,
        steps=tuple(table.records),
        verification=verification,
        recipe=recipe,
        source=origin,
        last_look=found.look,
        identifiers=found.identifiers,
        series=found.series,
        promises=tuple(table.promises),
    )


def _charged(recipe: Recipe) -> Message | None:
    """Return the rest of these people's budget after this release has spent its part; None without a ledger."""
    from oboro.recipe.ledger import charge  # most jobs have no budget

    return charge(recipe)


def before_step(recipe: Recipe, data: Dataset, number: int, say: Progress = silent) -> Work:
    """Return the input of one step: the table after all earlier steps. Nothing is released by that."""
    found, given = admitted(recipe, data)
    _check_person(recipe)
    table = _Table(found, given, whose=person_of_rows(data, recipe.person, fold=given.fold(recipe.person)))
    seeds = np.random.SeedSequence(entropy_of(recipe)).spawn(len(recipe.steps) + 1)
    for step, seed in zip(recipe.steps[:number], seeds, strict=False):
        table.take(step, seed, say)
    return Work(table.data, table.schema, np.random.default_rng(seeds[number]), table.person, read_data, say)


def record_of(
    step: Technique, work: Work, outcome: Outcome, seconds: float, rows: tuple[int, int], changed: Mapping[str, int]
) -> StepRecord:
    """Return what a step did to `work`, as plain facts for checks and reports."""
    facts = dict(outcome.facts)
    return StepRecord(
        name=step.step,
        plan=step.plan(work.schema),
        traits=step.traits,
        facts=facts,
        seconds=seconds,
        rows_before=rows[0],
        rows_after=rows[1],
        changed=changed,
        warnings=outcome.warnings,
        moved_together=step.moved_together,
        left_in_place=step.left_in_place(facts, rows[0]),
        k=getattr(step, "k", None),
    )


@dataclass
class _Table:
    """The table between two steps, and what the steps so far did and promised."""

    data: Dataset
    schema: Schema
    records: list[StepRecord] = field(default_factory=list)
    promises: list[Promise] = field(default_factory=list)
    whose: Column | None = None  # of each row of the table as it came

    @property
    def person(self) -> Column | None:
        """Return the person of each current row, even if the person column was dropped."""
        if self.whose is None or self.data.origin is None:
            return self.whose
        return Column(self.whose.values, self.whose.codes[self.data.origin])

    def take(self, step: Technique, seed: np.random.SeedSequence, say: Progress) -> None:
        """Apply one step."""
        started = time.perf_counter()
        before, schema = self.data, self.schema
        work = Work(before, schema, np.random.default_rng(seed), self.person, read_data, say)
        outcome = step.run(work)
        seconds = time.perf_counter() - started
        self.data, self.schema = outcome.data, outcome.schema
        stayed = self.data.origin is before.origin and self.data.rows == before.rows
        changed = changed_cells(before, self.data) if step.changes_values or stayed else {}
        rows = (before.rows, self.data.rows)
        self.records.append(record_of(step, work, outcome, seconds, rows, changed))
        self.promises += outcome.promises


def _order_coming(recipe: Recipe, table: _Table, seed: np.random.SeedSequence) -> Future[RowShuffle | None]:
    """The order in which the rows are released, where it is another than that in which they stand.

    It depends on nothing that is still to be checked: another thread draws it meanwhile.
    """
    moved = moves_rows(recipe.order, recipe.steps) or bool(recipe.order is None and table.promises)
    coming: Future[RowShuffle | None] = Future()
    if not moved:
        coming.set_result(None)
        return coming
    pool = ThreadPoolExecutor(1)
    coming = pool.submit(released_order, recipe.steps, table.data, np.random.default_rng(seed))
    pool.shutdown(wait=False)
    return coming


# Reading the input table ----------------------------------------------------------------------------------------------

Coming = dict[str, "Future[Hierarchy | None]"]


def _opened(
    recipe: Recipe, source: Any, progress: Progress | None, reading: Mapping[str, Any]
) -> tuple[Frame, Source | None, Coming]:
    """The table, its file if it came from one, and the hierarchies that are being read meanwhile."""
    if isinstance(source, Source):
        return Frame.read(source.data), source, {}
    if not names_a_place(source):
        return Frame.read(source), None, {}
    counted = None
    if progress is not None and progress is not silent:
        progress(READING)
        counted = partial(progress, READING)
    coming = _hierarchies_coming(recipe)
    return *_held(recipe, source, counted, reading), coming


def _held(
    recipe: Recipe, source: Any, progress: ByteProgress | None, reading: Mapping[str, Any]
) -> tuple[Frame, Source]:
    """The columns that the recipe reads, and those that the last look must see; the others stay where they are."""
    opened = None
    if not is_plain_file(source):
        from oboro.io.open import open_place

        opened = open_place(source, reading)
    names = column_names(source, **reading) if opened is None else opened.columns
    held, looked = (None, ()) if names is None else (recipe.reads(names), recipe.looks_at(names))
    if opened is None:
        found = read(source, held=held, fingerprinted=looked, progress=progress, **reading)
    else:
        from oboro.io.places.batches import WantedColumns

        checked = () if names is None else recipe.checks(names)
        found = opened.read(WantedColumns(held=held, fingerprinted=looked, checked=checked, progress=progress))
    return Frame.read(found.data), found


def _hierarchies_coming(recipe: Recipe) -> Coming:
    """Hierarchy files, read by another thread while this one reads the table."""
    pool, coming = ThreadPoolExecutor(1), {}
    for name, one in recipe.attributes.items():
        if one.hierarchy is not None and one.hierarchy.csv:
            coming[name] = pool.submit(one.hierarchy.whole, name, recipe.folder)
    pool.shutdown(wait=False)
    return coming


def admitted(recipe: Recipe, data: Dataset, *, unread: bool = False) -> tuple[Dataset, Schema]:
    """Return the table with the columns that the recipe knows, and its schema. `unread`: its number of rows is not known yet."""
    attributes, header = recipe.columns, list(data) if unread else data
    if not attributes.keys() <= data.columns.keys():
        unknown = [name for name in attributes if name not in data]
        raise ColumnError(
            Message("error_recipe.unknown_columns", unknown=unknown, columns=names_shown(header, attributes))
        )
    if recipe.unnamed == "error" and not data.columns.keys() <= attributes.keys():
        unnamed = [name for name in data if name not in attributes]
        known = names_known(header, attributes)
        shown = unnamed if known else [Raw(name) for name in unnamed]
        raise ColumnError(Message("error_recipe.unnamed_columns", unnamed=shown))
    if recipe.unnamed == "drop":
        data = data.select([name for name in data if name in attributes])
    given = dict.fromkeys(data, Attribute()) | attributes
    return data, Schema(given, recipe.folder, person=recipe.person)


def check_names(recipe: Recipe, names: Sequence[str]) -> None:
    """Raise, before any row is read, where a recipe does not fit a table with these columns."""
    _, given = admitted(recipe, Dataset({name: UnreadColumn(0) for name in names}, 0), unread=True)
    if recipe.accept:
        from oboro.disclosure.accept import check_accept

        check_accept(recipe.accepted, names)
    _check_steps(recipe, given)


# Checks before the run ------------------------------------------------------------------------------------------------


def _check_steps(recipe: Recipe, schema: Schema) -> None:
    """Check each guarantee for people and against earlier steps, and that every identifier is dropped or pseudonymized."""
    _check_person(recipe)
    open_ = dict.fromkeys(schema.named(Role.IDENTIFIER)).keys() - recipe.identities_removed
    if open_:
        raise RecipeError(_leak([name for name in schema.attributes if name in open_]))


def _check_person(recipe: Recipe) -> None:
    """Every step can count people, where the recipe says whose a row is, and follows steps that leave its promise true."""
    for i, step in enumerate(recipe.steps):
        if recipe.person is not None:
            step.require_people(recipe.person)
        step.require_before(recipe.steps[:i])


def _leak(names: list[str]) -> Message:
    return Message("error_recipe.leak", names=names, first=names[0])


def _check_hierarchies(recipe: Recipe, data: Dataset, schema: Schema) -> list[Message]:
    """Every hierarchy can be read and fits the column, unless an earlier step may still mend it; which dates are only text."""
    unclear: list[Message] = []
    for name in schema.quasi:
        try:
            schema.hierarchy(name, data[name])
        except HierarchyError:
            first = next((i for i, step in enumerate(recipe.steps) if step.uses_hierarchies), None)
            if first is None or not any(step.changes_values for step in recipe.steps[:first]):
                raise
        one = next(
            iter(data[name].values.slice(0, 2).drop_null()), ""
        )  # most columns of text are no dates, which one value tells
        if schema.attributes[name].hierarchy is None and UNCLEAR.match(str(one)):
            from oboro.data.date_columns import unclear_dates

            if (found := unclear_dates(data[name])) is not None:
                why = Message(f"recipe.unclear.{found[0]}")  # without rows: a report may be read by many
                unclear.append(Message("recipe.unclear.dates", column=name, why=why))
    return unclear
