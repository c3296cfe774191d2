"""Release of a recipe: released table, verdicts, summary, report and files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from html import escape
from itertools import repeat
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import yaml
from pyarrow import csv

from oboro.data.column import Column
from oboro.data.dataset import Dataset, unread_columns
from oboro.data.frames import Frame, exchange_columns
from oboro.data.parameters import at_the_door
from oboro.data.row_order import RowShuffle
from oboro.data.units import person_of_rows
from oboro.disclosure.gate import ColumnStore, Fingerprints, StepRecord, perturbed_columns
from oboro.disclosure.uncovered_columns import LastLook, accepted_cautions, look_findings, unique_by_all
from oboro.errors import UsageError
from oboro.io.places.place import Place, as_place, is_plain_file
from oboro.io.read import Source
from oboro.io.write import dialect_asked, formula_guard, write
from oboro.measures.exposure import CertainSecrets, certain_secrets, near_secret
from oboro.measures.risk import KeyFigures, key_figures, suppressed_records
from oboro.recipe.evidence import files_evidence, hierarchy_roles, report_on
from oboro.report.chosen_levels import chosen_levels_said, rows_said
from oboro.report.chosen_levels import summary_words as _said
from oboro.schema import Schema, TableReference
from oboro.system.files import atomic, check_free
from oboro.text import Message, Words, few, known, say
from oboro.text.language import Progress, RowProgress, silent, system_language
from oboro.text.message import labelled
from oboro.verifier.classes import Classes
from oboro.verifier.promises import Promise
from oboro.verifier.readings import read_strictly
from oboro.verifier.verdict import Verification

if TYPE_CHECKING:
    from oboro.attacks.series import SeriesRisk
    from oboro.hierarchies.labels import NumericLabels
    from oboro.recipe.recipe import Recipe
    from oboro.report.report import Report

__all__ = [
    "FileColumns",
    "Release",
    "fact_lines",
    "near_said",
    "recipe_in_notebook",
    "release_in_notebook",
    "run_summary",
    "spelled_said",
    "store_of",
    "unpromised_said",
]


# Run a recipe (`oboro anonymize`) -------------------------------------------------------------------------------------


MEASURED = 250_000  # rows up to which risk and loss are measured without being asked for


# Disclosed values that no guarantee covers ----------------------------------------------------------------------------
# Where all records of a class have the same sensitive value, the class discloses it, however large it is.


PERSON = "\0person"  # a name that no column has


def unpromised_said(release: Release, secrets: Collection[str], *, measured: bool) -> list[Message]:
    """State for how many people each of these sensitive values is disclosed; where that is not `measured`, that it may be.

    Nothing is said where values were drawn or moved by chance, or where candidates are promised: classes of equal records tell
    nothing there.
    """
    quasi, names = _told_by_classes(release, secrets)
    if not names:
        return []
    if not measured:
        return [Message("exposure.look.secret_unmeasured", columns=names)]
    found = _certain(release, quasi, names)
    return [Message("exposure.look.secret", **vars(one)) for one in found if one.nearly_certain]


def spelled_said(release: Release, secrets: Collection[str]) -> list[Message]:
    """State for how many people each value is disclosed to a reader who equates `flu` and `Flu`, which no guarantee covers."""
    quasi, names = _told_by_classes(release, secrets)
    found = _certain(release, quasi, names) if names else ()
    return [Message("exposure.look.secret_spelled", **vars(one)) for one in found if one.certain]


def near_said(release: Release, secrets: Collection[str]) -> list[Message]:
    """State for how many people all values of their class are close together, which l-diversity counts as different."""
    quasi, names = _told_by_classes(release, secrets)
    if not names:
        return []
    data, person = _read(release, quasi, names)
    classes = Classes.of(data, quasi, person)
    found = [one for name in names if (one := near_secret(classes, name)) is not None]
    return [Message("exposure.look.secret_near", **vars(one)) for one in found if one.near]


def _told_by_classes(release: Release, secrets: Collection[str]) -> tuple[list[str], list[str]]:
    """The quasi-identifiers, and those of the secrets of which classes of equal records tell something."""
    released = release.worked.data
    random = perturbed_columns(release.steps, beside=release.given.quasi)
    names = [name for name in released if name in secrets and name not in random]
    quasi = [name for name in release.given.quasi if name in released]
    by_candidates = any(map(attrgetter("counts_candidates"), release.verification.verdicts))
    return (quasi, [] if not quasi or by_candidates or not random.isdisjoint(quasi) else names)


def _certain(release: Release, quasi: list[str], names: list[str]) -> tuple[CertainSecrets, ...]:
    data, person = _read(release, quasi, names)
    return certain_secrets(data, quasi, names, person)


def _read(release: Release, quasi: list[str], names: list[str]) -> tuple[Dataset, str | None]:
    """The release as its strictest reader takes it, with the column that says whose each row is."""
    released, source, given = release.worked.data, release.source, release.given
    known = [*quasi, *names]
    data = released.select(known) if source is None else source.fill_columns(released, known)
    data = read_strictly(data, quasi, names)  # empty text and a missing value are one secret, not two
    person = person_of_rows(release.original, given.person, released.origin, given.fold(given.person))
    return (data, None) if person is None else (data.with_columns({PERSON: person}), PERSON)


# Summary of a run for the terminal ------------------------------------------------------------------------------------
# Verdicts, numbers of rows and columns, and, where asked for, risk and loss. No module of the report is imported for
# it.


def run_summary(release: Release, *, lang: str = "en", figures: bool = False) -> str:
    """Summarize a run; `figures` also measures risk and loss."""
    verified = release.verification
    # Each names its columns, also where all promises are over the same.
    named = [one if one.over else one.naming(verified.quasi) for one in verified.verdicts]
    lines = [f"  ✓ {one.message().say(lang)}" for one in named]
    lines += [f"  {one.mark} {one.message().say(lang)}" for one in verified.joint]
    quasi = [name for name in release.given.quasi if name in release.original and name in release.worked.data]
    told = [*_table(release, quasi), *zip(repeat("caution"), release.cautions)]
    told += zip(repeat("written"), release.changed_in_writing.values())
    told += zip(repeat("look"), release.looked(figures=figures))
    told += _figures(release, quasi) if figures and quasi else ()
    lines += [labelled(_said(label), said, lang) for label, said in told]
    return "\n".join([_headline(release).say(lang), *lines])


def _headline(release: Release) -> Message:
    if release.original.rows and not release.worked.data.rows:
        return Message("report.verdict.empty")
    if release.verification.apart:
        return Message("report.verdict.holds_apart")
    cautions = set(map(attrgetter("id"), release.cautions))
    if "exposure.rows.perhaps" in cautions:
        return Message("report.verdict.holds_for_rows")
    if not cautions.isdisjoint(("exposure.known_beside", "exposure.known_by")):
        return Message("report.verdict.holds_as_named")
    if release.verification.verdicts:
        return Message("report.verdict.holds")
    by_method = any(step.traits.by_construction for step in release.steps)
    return Message("report.verdict.by_construction" if by_method else "report.verdict.nothing_promised")


def _table(release: Release, quasi: list[str]) -> Iterator[tuple[str, Message]]:
    before, after = release.original, release.worked.data
    suppressed = release.suppressed(quasi)
    steps = [(step.name, step.rows_before, step.rows_after) for step in release.steps]
    yield "rows", rows_said(before.rows, after.rows, suppressed, steps)
    dropped = [name for name in before if name not in after]
    counts = {"before": len(before.columns), "after": len(after.columns)}
    yield "columns", _said("columns_dropped" if dropped else "columns_said", **counts, dropped=few(dropped))
    for step in release.steps:
        yield from chosen_levels_said(step.facts)
    if spending := [step for step in release.recipe.steps if step.spends()]:
        from oboro.privacy.differential import budget_told

        yield from zip(
            repeat("budget"),
            budget_told(
                [one for step in spending for one in step.spends()],
                list(after),
                whole=any(step.promises and step.spends() for step in spending),
            ),
        )
    if release.budget_left is not None:
        yield "budget", release.budget_left


def _figures(release: Release, quasi: list[str]) -> Iterator[tuple[str, Message]]:
    trees = release.given.fitting_hierarchies(release.original)
    found = key_figures(release.original, release.worked.data, quasi, trees)
    yield from _risk(release, found, quasi)
    if found.losses:
        yield "loss", _said("loss_said", measures=[one.said() for one in found.losses])


def _risk(release: Release, found: KeyFigures, quasi: list[str]) -> Iterator[tuple[str, Message]]:
    """Class sizes say how exposed people are, unless candidates are promised instead, or values are random and nothing is."""
    counted = list(filter(attrgetter("counts_candidates"), release.verification.verdicts))
    if counted:
        yield "risk", _said("candidates", least=min(int(one.achieved or 0) for one in counted))
    elif release.verification.verdicts or not _randomized(release, quasi):
        highest, mean, uniques = found.risk_before
        before = {"highest_before": highest, "mean_before": mean, "uniques_before": uniques}
        highest, mean, uniques = found.risk
        yield "risk", _said("risk_said", **before, highest=highest, mean=mean, uniques=uniques)


def _randomized(release: Release, quasi: list[str]) -> bool:
    """Return whether the values of a quasi-identifier were drawn, disturbed or moved to other records by chance."""
    touched = {
        name
        for step in release.steps
        if step.traits.random
        for name in (*(step.changed or ()), *(step.facts.get("attributes") or ()))
    }
    return not touched.isdisjoint(quasi)


def fact_lines(key: str, value: Any, lang: str) -> list[str]:
    """Describe one fact of a step; comparable ones (runners-up) one below the other. Names without words are technical."""
    name = Message(f"fact.{key}").say(lang) if known(f"fact.{key}") else key.replace("_", " ")
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [f"     {name}:", *(f"       {_short(one)}" for one in value)]
    return [f"     {name}: {_short(value)}"]


def _short(value: Any, most: int = 160) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= most else text[: most - 1] + "…"


# Release --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileColumns(ColumnStore):
    """Columns of a release that stayed in the file that was read, or where an engine keeps them."""

    source: Source

    @property
    def large(self) -> bool:
        """Whether the file is too large to be loaded."""
        return self.source.untouched is not None and not self.source.untouched.small

    def first_rows(self, names: Sequence[str], beside: Sequence[str] = ()) -> Mapping[str, pa.Array]:
        """Return the first rows of these columns of the file."""
        return self.source.first_rows(names, beside)

    def read(self, data: Dataset, names: Sequence[str]) -> Dataset:
        """Return these columns; those in the file are read. Of lists and structures only equality is kept."""
        return self.source.fill_columns(data, names)

    def fingerprints(self, released: Dataset) -> Fingerprints | None:
        """Return the numbers that were kept of the columns in a CSV file."""
        known = None if self.source.untouched is None else self.source.untouched.fingerprints
        return None if known is None else Fingerprints(known.names, partial(known.of_rows, released.origin))


def store_of(source: Source | None) -> ColumnStore:
    """Return the columns of a release that are not loaded: those of the file that it came from, if it came from one."""
    return ColumnStore() if source is None else FileColumns(source)


@dataclass(frozen=True, eq=False)
class Release:
    """The result of a recipe. It exists only if every guarantee was verified on it."""

    worked: Frame  # in the order in which the steps left it; `frame` has the order of the release
    original: Dataset
    schema: Schema  # after the last step
    given: Schema  # before the first step
    steps: tuple[StepRecord, ...]
    verification: Verification
    recipe: Recipe
    source: Source | None = None  # the file it came from
    shuffle: RowShuffle | None = None  # the order in which rows are released, where it is another
    cautions: tuple[
        Message, ...
    ] = ()  # an order that is kept, a seed that can be guessed, secrets written nearly alike
    last_look: LastLook | None = None  # who is unique by columns that no promise covers
    identifiers: tuple[Message, ...] = ()  # that stand among other values of a released column
    series: SeriesRisk | None = None  # whom it tells together with the releases before it
    promises: tuple[Promise, ...] = ()  # what its steps promised
    budget_left: Message | None = None  # what the ledger of its people says now
    written: dict[str, str] = field(default_factory=dict, repr=False)  # where it was written, and its ledger
    changed_in_writing: dict[str, Message] = field(default_factory=dict, repr=False)  # by what was asked for

    def __repr__(self) -> str:
        held = self.worked.data
        return f"Release({held.rows} rows, {len(held.columns)} columns; {self.verification.sentence()})"

    def _repr_html_(self) -> str:

        return release_in_notebook(self)

    @cached_property
    def frame(self) -> Frame:
        """The released table in the order of the release, without columns that stayed in a file."""
        data = self.worked.data
        return self.worked if self.shuffle is None else replace(self.worked, data=self.shuffle.shuffled(data))

    @cached_property
    def recipe_text(self) -> str:
        """The recipe as YAML; written when first read, since it may hold hierarchies of many rows."""
        return self.recipe.to_yaml()

    @cached_property
    def dataset(self) -> Dataset:
        """The released table, still encoded; columns that stayed in the file are read now."""
        return self.source.fill(self.frame.data) if self.source is not None else self.frame.data

    @cached_property
    def data(self) -> Any:
        """The released table, as the kind of frame that came in (an Arrow table if a file came in)."""
        if self.source is None:
            return self.frame.write()
        table = self.dataset.to_arrow()
        return table if self.source.given_back is None else self.source.given_back(table)

    def numeric(self) -> Any:
        """The released table with numbers instead of interval labels, for models: `20–29` is 24.5, `*` is missing.

        Of an open interval, such as `≥90`, it is the end. Columns of other labels stay as they are. Nothing is said that `data`
        does not say: the same records look alike, and the promises hold on both.
        """
        return exchange_columns(self.data, {name: one.midpoints() for name, one in self._numeric_labels})

    def ordered(self) -> Any:
        """The released table with interval labels as ordered categories (of pandas, polars or Arrow); `*` is missing."""
        return exchange_columns(self.data, {name: one.ordered() for name, one in self._numeric_labels})

    @property
    def _numeric_labels(self) -> Iterator[tuple[str, NumericLabels]]:
        from oboro.hierarchies.labels import NumericLabels

        for name, column in self.dataset.columns.items():
            if (found := NumericLabels.of(column)) is not None:
                yield name, found

    @cached_property
    def report(self) -> Report:
        """Attacks, risk, utility and evidence; computed when first read."""
        return self.reported()

    def reported(self, progress: Progress = silent, *, files: bool = False) -> Report:
        """Make `report` with a progress display; with `files` those that were read are hashed meanwhile."""
        if "report" not in self.__dict__:
            with ThreadPoolExecutor(1) as pool:
                if files:
                    pool.submit(getattr, self, "_inputs")
                self.__dict__["report"] = report_on(self, progress)
        return self.report

    @property
    def series_of_steps(self) -> SeriesRisk | None:
        """Attacks with the earlier releases that a step knows and verified its guarantee with."""
        if not any(step.earlier_releases for step in self.recipe.steps):
            return None  # columns that stayed in the file are not read for it
        from oboro.recipe.evaluate import series_of_steps

        return series_of_steps(self.recipe, self.dataset, self.given, self.original)

    def suppressed(self, quasi: Sequence[str]) -> int:
        """Return the number of suppressed records: `*` in each of these columns."""
        return suppressed_records(self.worked.data, quasi)

    def looked(self, *, figures: bool = False) -> list[Message]:
        """Return findings of the check; with `figures` also for how many people uncovered sensitive values are disclosed."""
        if self.last_look is None:
            return []
        said = look_findings(self.last_look) + self.look_warnings(figures=figures)
        secrets = [name for name in self.given.sensitive if name in self.worked.data]
        said += self.identifiers
        unpromised = set(secrets)
        for one in self.verification.verdicts:
            unpromised.discard(one.model.values.get("sensitive"))
        if unpromised:
            said += unpromised_said(self, unpromised, measured=figures)
        spelled = {one.values["column"] for one in self.verification.warnings if one.id == "verdict.near_secrets"}
        if figures and (spelled := spelled & set(secrets) - unpromised):
            said += spelled_said(self, spelled)
        return said

    def look_warnings(self, *, figures: bool = False) -> list[Message]:
        """Return accepted findings; with `figures` also people unique by all but the sensitive values, and nearly known values."""
        if self.last_look is None:
            return []
        said = accepted_cautions(self.last_look) if self.last_look.accepted or self.last_look.unneeded else []
        if self.series is not None and self.series.accepted:
            said.append(Message("exposure.look.series", people=self.series.exposed, because=self.series.accepted))
        if figures and (people := self.unique_by_all):
            columns, everybody = self.last_look.known, self.last_look.people
            said.append(Message("exposure.look.by_all", people=people, all=everybody, columns=columns))
        secrets = [name for name in self.given.sensitive if name in self.worked.data] if figures else []
        return said + (near_said(self, secrets) if secrets else [])

    @cached_property
    def unique_by_all(self) -> int:
        """Number of people who are unique by all columns that an attacker may know, where no single guarantee covers them all.

        That is the quasi-identifiers with the columns that no promise covers, and columns of different promises. 0 where one
        promise covers all.
        """
        if self.last_look is None or not self.last_look.known:
            return 0
        released = self.worked.data
        person = person_of_rows(self.original, self.given.person, released.origin, self.given.fold(self.given.person))
        return unique_by_all(released, self.last_look, store_of(self.source), person)

    def with_files(self, output: str | Path) -> Report:
        """The report with evidence of the files: their names, sizes and SHA-256, so that a signature speaks of exactly these."""
        files = {**self._inputs, **files_evidence({"output": Path(output)})}
        warnings = [*self.report.warnings, *self.changed_in_writing.values()]
        return self.report.model_copy(update={"files": files, "warnings": warnings})

    @cached_property
    def _inputs(self) -> dict[str, dict[str, Any]]:
        """Evidence of the files that were read: the table, hierarchies, populations (never keys)."""
        return files_evidence(self._read_from)

    @property
    def _read_from(self) -> dict[Words, Path]:
        table: dict[Words, Path] = {"input": Path(self.source.path)} if self.source else {}
        table |= hierarchy_roles(self.given)
        table |= self._files("population", (one for step in self.recipe.steps for one in step.populations))
        before = [*self.recipe.earlier, *(one for step in self.recipe.steps for one in step.earlier_releases)]
        return table | self._files("earlier", before)

    def _files(self, role: str, tables: Iterable[TableReference]) -> dict[Words, Path]:
        """Files beside the recipe; of what is elsewhere there is no evidence."""
        found = {one.name: one.file(self.given.folder) for one in tables}
        return {Message(f"report.file.{role}", path=name): one for name, one in found.items() if one is not None}

    def explain(self, lang: str = "en") -> str:
        """Describe each step, its changes, and the verdicts."""
        lines = []
        for number, step in enumerate(self.steps, 1):
            lines.append(f"{number}. {step.name}: {say(step.plan, lang)}")
            lines += [f"     {Message('fact.warning').say(lang)}: {one.say(lang)}" for one in step.warnings]
            lines += [line for key, value in step.facts.items() for line in fact_lines(key, value, lang)]
        lines.append(self.verification.sentence(lang))
        return "\n".join(lines)

    @property
    def again(self) -> str:
        """The recipe as YAML with the levels that `k_anonymize` found, so that the next run searches nothing.

        Classes that are too small there are suppressed by the same rule and limit, and every promise is verified again. Whoever has
        both releases can compare them: once this one was written (`write`, or better `write_ledger`), it stands in `earlier`, and
        who came, stayed or left is protected too. Otherwise a first line says so.
        """
        content = yaml.safe_load(self.recipe_text)
        before = self.written.get("ledger", self.written.get("output"))
        for step, asked, record in zip(content.get("steps", []), self.recipe.steps, self.steps, strict=True):
            step[record.name] = {**(step[record.name] or {}), **record.facts.get("again", {})}
            if before is not None and "again" in record.facts and hasattr(asked, "earlier"):
                step[record.name]["earlier"] = [*step[record.name].get("earlier", []), before]
        text = yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=120)
        return text if before is not None else f"# {Message('recipe.again_alone')}\n{text}"

    @at_the_door
    def summary(self, *, lang: str = "en", figures: bool = False) -> str:
        """Summarize the release and its verdicts in a few lines.

        With `figures` also the risk before and after and the main losses; the report measures more, which takes longer.
        """
        return run_summary(self, lang=lang, figures=figures)

    @at_the_door
    def write(
        self,
        path: str | Path,
        *,
        force: bool = False,
        encoding: str | None = None,
        excel_safe: bool = False,
        progress: RowProgress | None = None,
    ) -> None:
        """Write the released table; the name's ending chooses the format. All of it appears at once, or nothing does.

        `path` may be any place: `folder/` (files of Parquet), `s3://bucket/released.csv`, `sqlite:///people.db?table=released`;
        never the place that was read. docs/places.md has them all.

        Only with `force` it replaces a file that is there. CSV is written in the encoding that came in (UTF-8 for a frame), or
        in `encoding`; `excel_safe` puts an apostrophe before every cell that a spreadsheet would run as a formula, which changes
        no promise: different values stay different. `progress` is told how many rows of the input are done, where columns come
        from there.
        """
        place = self._checked(path, force)
        replaced = place.is_plain and os.path.exists(place.path) and os.path.realpath(place.path)
        if replaced and any(os.path.realpath(one) == replaced for one in self._read_from.values()):
            self._inputs  # noqa: B018  (what is about to be replaced is evidence too)
        guard = formula_guard(place) if excel_safe else None
        if self.source is None:
            write(self.frame.data, place, None if encoding is None else dialect_asked(place, None, encoding), guard)
        else:
            self.source.write(self.worked.data, place, progress, encoding, self.shuffle, guard)
        if guard is not None:
            self.changed_in_writing["excel_safe"] = guard.said

    def _checked(self, path: str | Path, force: bool) -> Place:
        """Where it is written; raises if something is there that may not be replaced, or it is the place that was read."""
        place, source = replace(as_place(path), force=force), self.source
        came = (
            None
            if source is None
            else source.place or (as_place(Path(source.path)) if source.path != "bytes" else None)
        )
        if place.is_plain:
            check_free(place.path, force)
        if not place.is_plain or (came is not None and not came.is_plain):
            from oboro.io.write import check_place_out

            check_place_out(place, force, came)
        if place.is_plain and place.path != "-":
            self.written["output"] = os.path.abspath(place.path)  # `earlier` of the next recipe names files only
        return place

    @at_the_door
    def write_ledger(self, path: str | Path, *, force: bool = False) -> None:
        """Write the released table with the person of each row, for `earlier` of the next release (`person:` in the recipe).

        It says who got which label: nobody else may read the CSV file. Where a pseudonym of the person is released, that stands in
        it. Only with `force` it replaces one.
        """
        person = self.given.person
        if person is None:
            raise UsageError(Message("error_recipe.ledger_of_whom"))
        _require_file(path)
        check_free(path, force)
        released = self.dataset
        if person not in released:
            whose = self.original[person]
            released = released.with_columns({person: Column(whose.values, whose.codes[released.origin_rows])})
        texts = {
            name: pa.array(column.texts, pa.string()).take(column.codes) for name, column in released.columns.items()
        }
        with atomic(path, private=True) as file:
            csv.write_csv(pa.table(texts), file)
        self.written["ledger"] = os.path.abspath(path)

    @at_the_door
    def write_truth(self, path: str | Path, *, force: bool = False) -> None:
        """Write the original row (from 1) of each released record, for attacks on a release in another order.

        Whoever has it and the original knows everybody: nobody else may read the file. Only with `force` it replaces one.
        """
        _require_file(path)
        check_free(path, force)
        rows = pa.array(self.frame.data.origin_rows + 1)
        with atomic(path, private=True) as file:
            csv.write_csv(pa.table({"original_row": rows}), file)


def _require_file(path: str | Path) -> None:
    """What must be kept as safe as the original goes to a file of this machine, which only its owner may read."""
    if not is_plain_file(path):
        raise UsageError(Message("error_places.no_ledger", place=as_place(path).shown))


# Notebook views of a recipe and a release -----------------------------------------------------------------------------
# A recipe is shown as its plan in words; a release as its verdicts and its first rows. Columns that stayed in the
# file are not read.


ROWS, COLUMNS = 5, 20  # shown at most
MORE = "…"
PRE = '<pre style="white-space: pre-wrap">'  # long sentences do not run out of the page


def recipe_in_notebook(recipe: Recipe) -> str:
    """Return the plan of a recipe as HTML."""
    return f"{PRE}{escape(recipe.explain(system_language()))}</pre>"


def release_in_notebook(release: Release) -> str:
    """Return the summary and the first rows of the released table as HTML."""
    return f"{PRE}{escape(release.summary(lang=system_language()))}</pre>{_first_rows(release.frame.data)}"


def _first_rows(data: Dataset) -> str:
    names = list(data)[:COLUMNS]
    unread = unread_columns(data)
    rows = np.arange(min(ROWS, data.rows))
    shown = [[MORE] * rows.size if name in unread else _texts(data, name, rows) for name in names]
    more = [MORE] if len(data.columns) > COLUMNS else []
    body = [_row("td", [*cells, *more]) for cells in zip(*shown, strict=True)]
    if data.rows > ROWS:
        body.append(_row("td", [MORE for _ in (*names, *more)]))
    return f"<table><thead>{_row('th', [*names, *more])}</thead><tbody>{''.join(body)}</tbody></table>"


def _texts(data: Dataset, name: str, rows: np.ndarray) -> list[str]:
    return ["" if value is None else str(value) for value in data[name].take(rows).decode().to_pylist()]


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in cells)}</tr>"
