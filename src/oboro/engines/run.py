"""Run a recipe on an engine: the driver decides on codes, and the rows are released where they are.

The driver runs the recipe on the codes of the touched columns, exactly as one machine does: search, verification,
release check. Its decisions become a plan that is looked up row by row. The result is written, counted again and
compared with what the driver verified, and only then released.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.data.column import Column, NestedColumn, UnreadColumn, why_unusable
from oboro.data.dataset import Dataset, unread_columns
from oboro.data.row_order import RowShuffle
from oboro.disclosure.gate import NeedsRows
from oboro.engines.base import EngineRelease, EngineTable, Phases, Published, Seal, Staged, first_rows
from oboro.engines.bounded import NotBounded, why_rows
from oboro.engines.coded import (
    OURS,
    GatheredRows,
    Packer,
    RowNumbers,
    by_place,
    by_value,
    drawn_key,
    released_columns,
    rows_of_tally,
    unpacked,
)
from oboro.errors import ColumnError, FileError, UsageError
from oboro.io.bytes import FileState
from oboro.io.column_store import FileFingerprints, UntouchedColumns
from oboro.io.places.place import as_place
from oboro.io.read import Source
from oboro.io.write import slices
from oboro.recipe.randomness import entropy_of
from oboro.recipe.recipe import Recipe
from oboro.recipe.release import Release
from oboro.recipe.run import check_names, run
from oboro.text import Message
from oboro.text.language import Progress, silent
from oboro.verifier.promises import Promise, verify_promises

__all__ = ["BOUNDED", "anonymize_place", "open_place", "run_frame", "run_on_engine"]


# Tables of Spark and DuckDB as input ----------------------------------------------------------------------------------


def open_place(place: str, engine: str) -> EngineTable:
    """Open a table that an engine can read."""
    refuse_lists_of_files(place, engine)
    if engine == "spark":
        from oboro.engines.spark import spark_table

        return spark_table(place)
    if engine == "duckdb":
        try:
            from oboro.engines.duckdb import duck_table

            return duck_table(place)
        except ImportError:
            raise UsageError(Message("error_engine.not_installed", engine="duckdb", extra="duckdb")) from None
    raise UsageError(Message("error_engine.unknown", engine=engine))


def refuse_lists_of_files(place: str, engine: str) -> None:
    """Raise where a path is no set of plain files: deleted rows of a Delta or Iceberg table would come back."""
    named = as_place(place)
    if named.kind == "table":
        raise UsageError(Message("error_engine.no_table", place=named.shown, engine=engine))
    folder = Path(named.path)
    if named.is_local and (folder / "_delta_log").is_dir():
        raise FileError(Message("error_places.delta", place=named.shown))
    if named.is_local and any(folder.glob("metadata/*.metadata.json")):
        raise FileError(Message("error_places.iceberg", place=named.shown))


def run_frame(recipe: Recipe, frame: Any, progress: Progress | None = None) -> EngineRelease:
    """Run a recipe on a Spark DataFrame: the release has one too, and the same facts, verdicts and report as on one machine."""
    from oboro.engines.coded import speaking_for
    from oboro.engines.spark import SparkTable

    with speaking_for("spark"):
        return run_on_engine(recipe, SparkTable.of(frame), progress=progress)


def anonymize_place(
    recipe: Recipe,
    place: str,
    output: str,
    *,
    engine: str,
    force: bool = False,
    progress: Progress | None = None,
    measured: bool = False,
    held_rows: int | None = None,
) -> EngineRelease:
    """Anonymize from a data source to a data sink: written, verified, and only then visible under the name of `output`.

    `measured`: its report will be asked for, so that the driver must hold codes of all rows; `held_rows`: of how many it may.
    """
    from oboro.engines.base import check_apart, check_folder, staged
    from oboro.engines.coded import speaking_for

    check_apart(place, check_folder(output, force))
    with speaking_for(engine):
        table = open_place(place, engine)
        with staged(output, force) as folder, speaking_for(engine):
            release = run_on_engine(
                recipe, table, folder=folder, progress=progress, measured=measured, held_rows=held_rows
            )
        return release.published_at(output, open_place)


# Run on an engine -----------------------------------------------------------------------------------------------------


BOUNDED = 50_000_000  # rows that the driver may hold codes of
FEW = 1 << 20  # rows of which identifiers that no step reads come to the driver too


@dataclass(frozen=True)
class _EngineSource(Source):
    table: EngineTable | None = None
    seen: dict[str, pa.Array] = field(default_factory=dict, compare=False)

    def first_rows(self, names: Sequence[str], beside: Sequence[str] = ()) -> dict[str, pa.Array]:
        """Return the first rows of each part of the table. All columns at once, for every question is a job."""
        if self.table is None:
            return {}
        if not self.seen:
            types = self.table.types
            self.seen.update(
                first_rows(self.table, [name for name in types if why_unusable(name, types[name]) is None])
            )
        return {name: self.seen[name] for name in (*names, *beside) if name in self.seen}

    def fill(self, data: Dataset) -> Dataset:
        """The columns stayed where they are."""
        if unread := unread_columns(data):
            raise NeedsRows(unread)
        return data


def run_on_engine(
    recipe: Recipe,
    table: EngineTable,
    *,
    folder: Staged | None = None,
    progress: Progress | None = None,
    measured: bool = False,
    held_rows: int | None = None,
) -> EngineRelease:
    """Apply a recipe; with `folder` the release is written there, not visible yet. Raises as `Recipe.run` does.

    `measured`: a report will be asked for, whose figures need the codes of all rows. `held_rows`: so many rows the driver may hold;
    with more it holds none, where the recipe allows that.
    """
    check_engine(recipe, table)
    say, phases, names = progress or silent, Phases(), list(table.types)
    why = Message("error_engine.rows_report") if measured else why_rows(recipe, names)
    needed: Sequence[str] = ()
    most = BOUNDED if held_rows is None else held_rows
    if why is None and table.count() > most:
        from oboro.engines.bounded import BoundedRun

        try:
            return BoundedRun(recipe, table, folder, say, phases).run()
        except NotBounded as known:
            why = known.why
        except NeedsRows as known:
            needed, why = known.columns, Message("error_engine.rows_check", columns=known.columns)
    release = _with_rows(recipe, table, folder, say, phases, needed)
    rows = release.original.rows
    told = Message("error_engine.driver_rows", rows=rows, why=why) if rows > most and why is not None else None
    return replace(release, driver=told)


def _with_rows(
    recipe: Recipe, table: EngineTable, folder: Staged | None, say: Progress, phases: Phases, needed: Sequence[str] = ()
) -> EngineRelease:
    """Run the recipe with the codes of all rows on the driver; `needed`: columns of which a check needs them too."""
    names = list(table.types)
    with phases.phase("count"):
        touched, large = {*recipe.reads(names)}, _is_large(recipe, table)
    usable = {name for name, one in table.types.items() if why_unusable(name, one) is None}  # no array, map or struct
    looked = set() if large else {*recipe.checks(names)} & usable
    released = {*recipe.looks_at(names)}
    touched |= released.intersection(needed)
    looked |= usable.intersection(needed) - touched
    work = _Work(recipe, table, folder, say, phases, large)
    try:
        return work.run(touched, looked)
    except NeedsRows:
        return work.run(touched | released, looked)


def _is_large(recipe: Recipe, table: EngineTable) -> bool:
    """Whether identifiers that are dropped stay where they are. Of few rows they come too, to see whether a person has several."""
    return bool(recipe.checks(list(table.types)) and table.count() > FEW)


def check_engine(recipe: Recipe, table: EngineTable) -> None:
    """Raise, before any work, where the recipe does not fit the table, or asks for what no engine does."""
    types = table.types
    ours = [name for name in types if name.casefold().startswith(OURS)]
    if ours:
        raise ColumnError(Message("error_engine.our_name", names=ours, prefix=OURS))
    check_names(recipe, list(types))
    if recipe.earlier or any(step.earlier_releases for step in recipe.steps):
        raise UsageError(Message("error_engine.earlier", engine=table.engine))
    if recipe.budget is not None and recipe.budget.ledger is not None:
        raise UsageError(Message("error_engine.ledger", engine=table.engine))
    used = {*recipe.reads(list(types)), *recipe.looks_at(list(types))}
    for name in types:
        if name in used and (why := why_unusable(name, types[name])) is not None:
            raise ColumnError(Message("error_engine.unusable", engine=table.engine, why=why))


@dataclass(frozen=True)
class _Work:
    """One run, from the rows to the release."""

    recipe: Recipe
    table: EngineTable
    folder: Staged | None
    say: Progress
    phases: Phases
    large: bool

    def run(self, touched: Collection[str], looked: Collection[str]) -> EngineRelease:
        """Run the recipe on codes of the touched columns, and of some that are only read by checks."""
        recipe, table, phase = self.recipe, self.table, self.phases.phase
        names = list(table.types)
        held = [name for name in names if name in touched or name in looked]
        others = tuple(name for name in recipe.looks_at(names) if name not in set(held))
        numbers = RowNumbers(_key(recipe))
        self.say(Message("progress.gathering", engine=table.engine))
        with phase("gather"):
            gathered = unpacked(table.gather(Packer(tuple(held), others, numbers)), held, table.types)
            gathered = gathered if all(step.by_value for step in recipe.steps) else in_one_order(gathered)
        with phase("decide"):
            release = run(recipe, _source(table, gathered, others, self.large), progress=self.say)
            assert set(unread_columns(release.worked.data)) == set(others), (
                "a column is released that was not looked at"
            )
        self.say(Message("progress.publishing", engine=table.engine))
        with phase("plan"):
            published = _published(table, _only(gathered, touched), release, numbers, others)
        with phase("publish"):
            settled = published.settled(self.folder)
        self.say(Message("progress.verifying_files"))
        with phase("verify"):
            seal = _seal(release, gathered, numbers)
            _verify_again(settled, release, seal)
        given = {one.name: getattr(release, one.name) for one in fields(Release)}
        return EngineRelease(**given, table=settled, phases=dict(self.phases.seconds), seal=seal)


def _only(gathered: GatheredRows, names: Collection[str]) -> GatheredRows:
    return replace(gathered, columns={name: one for name, one in gathered.columns.items() if name in names})


def _key(recipe: Recipe) -> bytes:
    """The key of rows' numbers: drawn; where the recipe draws by a seed too, made from it, so that a run can be repeated."""
    entropy = None if all(step.by_value for step in recipe.steps) else entropy_of(recipe)
    return drawn_key() if entropy is None else blake2b(str(entropy).encode(), digest_size=16).digest()


def in_one_order(gathered: GatheredRows) -> GatheredRows:
    """Sort rows by their values alone, so that the same random draws meet the same rows whatever the original order."""
    keys = [one.codes for one in gathered.columns.values()] + ([] if gathered.others is None else [_still(gathered)])
    if not keys:
        return gathered
    order = np.lexsort(keys[::-1])
    columns = {name: Column(one.values, one.codes[order]) for name, one in gathered.columns.items()}
    others = None if gathered.others is None else gathered.others[order]
    return GatheredRows(columns, others, gathered.rows)


def _still(gathered: GatheredRows) -> np.ndarray:
    assert gathered.others is not None
    return gathered.others


def _source(table: EngineTable, gathered: GatheredRows, others: tuple[str, ...], large: bool) -> Source:
    columns: dict[str, Column] = {}
    for name, type_ in table.types.items():
        why = why_unusable(name, type_)
        unread = UnreadColumn(gathered.rows) if why is None else NestedColumn(gathered.rows, why)
        columns[name] = gathered.columns.get(name, unread)
    parts = [] if gathered.others is None else [gathered.others]
    nowhere = FileState(0, 0, 1 << 62 if large else 0, 0)
    untouched = UntouchedColumns(
        table.shown, list(table.types), gathered.rows, nowhere, FileFingerprints(others, parts)
    )
    left = untouched if others or large else None
    return _EngineSource(Dataset(columns, gathered.rows), table.shown, untouched=left, table=table)


def _published(
    table: EngineTable, gathered: GatheredRows, release: Release, numbers: RowNumbers, others: tuple[str, ...]
) -> Published:
    released = release.worked.data
    held = released_columns(released)
    types = {name: held[name].values.type if name in held else table.types[name] for name in released}
    order = "kept" if release.shuffle is None else "random"
    placed = any(step.reorders for step in release.recipe.steps) and order == "random"
    if table.near and not others and not placed:
        return table.lent(_blocks(Dataset(held, released.rows), release.shuffle), types)
    plan = None if placed else by_value(gathered, released, drawn_key())
    if plan is not None:
        return table.published(plan, types, order)
    if not others:  # the driver has all that is released
        arrow = release.frame.data.to_arrow()
        return table.uploaded(arrow)
    sequence = None if release.shuffle is None else release.shuffle.order
    return table.published(by_place(gathered, released, sequence, numbers, drawn_key(), others), types, order)


def _blocks(data: Dataset, shuffle: RowShuffle | None) -> Iterator[pa.Table]:
    """Return the rows that the driver has, some at a time, in the order of the release."""
    return (one.to_arrow() for one in slices(data, shuffle))


def _seal(release: Release, gathered: GatheredRows, numbers: RowNumbers) -> Seal:
    """The rows that the driver verified, in one number."""
    released = release.worked.data
    expected = np.zeros(released.rows, np.uint64)
    if gathered.others is not None:
        expected += gathered.others if released.origin is None else gathered.others[released.origin]
    return Seal(numbers, released.rows, numbers.total(numbers.of_columns(released_columns(released), expected)))


def _verify_again(settled: EngineTable, release: Release, seal: Seal) -> None:
    """That it is what was verified, and the promises on it, counted once more. Whose rows they are is not released: people
    the driver counted.
    """
    wanted: list[tuple[Promise, list[str]]] = []
    for promise in release.promises if release.given.person is None else ():
        secrets = [getattr(model, "sensitive", None) for model in promise.models]
        names = [name for name in settled.types if name in {*promise.quasi, *secrets}]
        if names and not any(model.every_column for model in promise.models):
            wanted.append((promise, names))
    counted = seal.check(settled, [names for _, names in wanted])
    for (promise, names), found in zip(wanted, counted, strict=True):
        verify_promises(rows_of_tally(found, names), [promise], [one.name for one in release.steps])
