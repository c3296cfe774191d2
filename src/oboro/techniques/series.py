"""Guarantees over sequential releases: levels that split no old class, and withheld rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import clean
from oboro.errors import InputError, PromiseError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.recoding import possible_values
from oboro.techniques.base import Outcome, Work
from oboro.techniques.requirements import ClassDemands
from oboro.text import Message
from oboro.verifier.series import (
    STEADY,
    EarlierRelease,
    RowChanges,
    SeriesAnonymity,
    Wanted,
    known_series,
    released_classes,
    suppressed_classes,
)

__all__ = ["held_back", "keep_in_series"]


# Withheld rows --------------------------------------------------------------------------------------------------------
# Rows to withhold, so that the people who come, stay or leave between two releases are many.


def held_back(changes: RowChanges, wanted: Wanted, rng: np.random.Generator) -> np.ndarray:
    """The new rows (a mask) that stand in the way; none where everything is kept.

    Who came among too few waits for the next release. Who stayed among too few waits too, so that their old class is gone as a
    whole. Where too few left, others of the same old class stay away with them.
    """
    pair, _, counts, each = changes.cells
    want = np.zeros(pair.size, dtype=np.int64)
    came = changes.came.small(wanted)[changes.came.group]
    want[came] = changes.came.number[came]
    want[changes.loose] = counts[changes.loose]
    stayed = changes.broken_stayed(wanted)[changes.stayed.group] & (changes.was[pair] > 0)
    want[stayed] = counts[stayed]
    if not want.any():
        want += _with_them(changes, wanted, rng)
    rows = _some(each, want, rng)
    if changes.once:  # with all rows of a person in the class
        rows = (want > 0)[each]
    return rows


def _with_them(changes: RowChanges, wanted: Wanted, rng: np.random.Generator) -> np.ndarray:
    """How many rows of each cell stay away, so that enough leave each old class that somebody left."""
    pair, _, _, _ = changes.cells
    want = np.zeros(pair.size, dtype=np.int64)
    group = changes.left.group[pair]
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(changes.left.groups + 1))
    lefts = np.argsort(changes.left.group, kind="stable")
    bounds = np.searchsorted(changes.left.group[lefts], np.arange(changes.left.groups + 1))
    for one in np.flatnonzero(changes.left.small(wanted)):
        cells = rng.permutation(order[starts[one] : starts[one + 1]])
        gone = lefts[bounds[one] : bounds[one + 1]]
        want[cells] = _enough(changes, cells, gone, wanted)
    return want


def _enough(changes: RowChanges, cells: np.ndarray, gone: np.ndarray, wanted: Wanted) -> np.ndarray:
    """How many rows of each of these cells go: first new secrets, then any; all, where the rest would be too few."""
    stay, left = changes.stayed, changes.left
    have = stay.number[cells].copy()
    take = np.zeros(cells.size, dtype=np.int64)
    for name, least in wanted.diverse.items():
        held = set(left.secrets[name][gone[left.number[gone] > 0]].tolist()) - {-1}
        for i in range(cells.size):
            value = int(stay.secrets[name][cells[i]])
            if len(held) >= least:
                break
            if value >= 0 and value not in held and have[i] > take[i]:
                take[i] += 1
                held.add(value)
    lacking = wanted.k - int(left.number[gone].sum() + take.sum())
    for i in range(cells.size):
        more = min(max(0, lacking), int(have[i] - take[i]))
        take[i] += more
        lacking -= more
    rest = have - take
    few = rest.sum() < wanted.k or any(
        np.unique(stay.secrets[name][cells][rest > 0]).size < least for name, least in wanted.diverse.items()
    )
    return have if few else take


def _some(each: np.ndarray, want: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """So many rows of each cell, by chance."""
    shuffled = rng.permutation(each.size)
    order = shuffled[np.argsort(each[shuffled], kind="stable")]
    first = np.searchsorted(each[order], np.arange(want.size))
    rows = np.zeros(each.size, dtype=bool)
    rows[order] = np.arange(each.size) - first[each[order]] < want[each[order]]
    return rows


# Step over sequential releases ----------------------------------------------------------------------------------------


Series = tuple[EarlierRelease, ...]


def keep_in_series(step: ClassDemands, work: Work) -> Outcome:
    """Do the step so that whoever comes, stays or leaves does so among many; rows are held back until that is so."""
    return _Run(step, work).kept()


@dataclass(frozen=True, eq=False)
class _Run:
    step: ClassDemands
    work: Work

    def kept(self) -> Outcome:
        """Generalize to levels that split no old class, and hold rows back until every part of the series is many."""
        names, k, diverse = self.step.in_series(self.work.schema)
        data, schema = self.work.data, self.work.schema
        schema.require(data, [*names, *diverse, *self.step.changing], self.step.step)
        tables = self._tables(names)
        hierarchies = {name: schema.hierarchy(name, data[name]) for name in names}
        asked = {"secrets": list(diverse), "changing": self.step.changing, "person": self._person(tables)}
        series = known_series(data, tables, names, hierarchies=hierarchies, **asked)  # type: ignore[arg-type]
        steady = [name for name in names if name not in self.step.changing]
        floor = {name: _floor(data[name], hierarchies[name], name, tables, names, name in steady) for name in names}
        outcome, gone = self._until_many(self._raised(hierarchies, floor), floor, names, series, Wanted(k, diverse))
        model = SeriesAnonymity(k=k, releases=len(tables), diverse=diverse, earlier=series)
        promises = tuple(replace(one, models=(*one.models, model)) for one in outcome.promises)
        facts = _above(outcome.facts, floor) | {"held_back": {"records": gone, "of": data.rows}}
        told = (*outcome.warnings, *self._warnings(outcome.data, names, gone, series))
        return replace(outcome, promises=promises, facts=facts, warnings=told)

    def _until_many(
        self, work: Work, floor: Mapping[str, int], names: Sequence[str], series: Series, wanted: Wanted
    ) -> tuple[Outcome, int]:
        step = _lowered(self.step, floor)
        while True:
            if self.work.data.rows and not work.data.rows:
                raise PromiseError(
                    Message("error_technique.all_held_back", step=self.step.step, rows=self.work.data.rows)
                )
            outcome = step.once(work)
            gone = self._gone(outcome.data, names, series, wanted)
            if not gone.any():
                return outcome, self.work.data.rows - work.data.rows
            work = _without(work, np.isin(work.data.origin_rows, outcome.data.origin_rows[gone]))

    def _gone(self, data: Dataset, names: Sequence[str], series: Series, wanted: Wanted) -> np.ndarray:
        """The rows that the first release which is not kept makes hold back."""
        classes = released_classes(data, names).labels
        gone = np.zeros(data.rows, dtype=bool)
        for changes in (look for one in series for look in one.changes(data, classes)):
            gone = held_back(changes, wanted, self.work.rng)
            if gone.any():
                break
        return gone

    def _tables(self, names: Sequence[str]) -> list[Dataset]:
        given = self.step.earlier
        tables = [one.load(self.work.read, self.work.schema.folder) for one in given]
        for number, table in enumerate(tables, 1):
            lacking = [name for name in names if name not in table]
            if lacking:
                where = given[number - 1].name or str(number)
                raise InputError(
                    Message("error_technique.earlier_column", where=where, lacking=lacking, columns=list(table))
                )
        return tables

    def _person(self, tables: Sequence[Dataset]) -> str | None:
        """The column by which people are followed, where all releases have it; without it nobody may have several rows."""
        person, schema = self.work.person, self.work.schema
        name = schema.person
        if name is not None and name in self.work.data and all(name in one for one in tables):
            if not any(set(self.work.data[name].texts) & set(one[name].texts) for one in tables):
                raise UsageError(Message("error_technique.earlier_pseudonym", step=self.step.step, person=name))
            return name
        if person is not None and person.counts.max(initial=0) > 1:
            raise UsageError(Message("error_technique.earlier_people", step=self.step.step, person=name))
        return None

    def _raised(self, hierarchies: Mapping[str, Hierarchy], floor: Mapping[str, int]) -> Work:
        """The table on the lowest levels that are allowed."""
        data, schema = self.work.data, self.work.schema
        for name, level in floor.items():
            if level:
                data = data.with_columns({name: hierarchies[name].generalize(data[name], level)})
                schema = schema.with_remaining(name, hierarchies[name].above(level))
        return replace(self.work, data=data, schema=schema)

    def _warnings(self, data: Dataset, names: Sequence[str], gone: int, series: Series) -> Iterator[Message]:
        if gone:
            yield Message("technique.series.held_back", rows=gone, of=self.work.data.rows)
        classes = released_classes(data, names).labels
        share = min(max(look.followed for look in one.changes(data, classes)) for one in series)
        if share < STEADY:
            yield Message("technique.series.lost_sight", share=share)
        if len(self.step.earlier) > 1 and series[0].who is None:
            yield Message("technique.series.pairs", releases=len(self.step.earlier))


def _floor(
    column: Column, hierarchy: Hierarchy, name: str, tables: Sequence[Dataset], quasi: Sequence[str], steady: bool
) -> int:
    """The lowest level on which no label of an earlier release is split; some label fits a column whose values stay."""
    every = Column(column.values, np.arange(len(column.values)))
    lowest = 0
    for number, table in enumerate(tables, 1):
        classes = released_classes(table, quasi)
        shown = Column(
            table[name].values, table[name].codes[~suppressed_classes(table, quasi, classes)[classes.labels]]
        )
        found = possible_values(every, clean(shown), hierarchy)
        labels = range(found.low.size)
        if steady and len(every) and labels and not any(found.reaches(label)[found.ranks].any() for label in labels):
            # To the promise everybody would have left and come: it would hold of people whom nobody looks for.
            raise InputError(Message("error_technique.earlier_labels", number=number, column=name))
        for label in labels:
            lowest = _whole(found, label, hierarchy, lowest)
    return lowest


def _whole(found: Any, label: int, hierarchy: Hierarchy, level: int) -> int:
    """The lowest level from this one on that says the same of all values under a label."""
    under = np.flatnonzero(found.reaches(label)[found.ranks])
    while under.size and level < hierarchy.height and np.unique(hierarchy.levels[level].table[under]).size > 1:
        level += 1
    return level


def _lowered(step: ClassDemands, floor: Mapping[str, int]) -> ClassDemands:
    """The step with the levels that it was given counted from the lowest that are allowed."""
    given: dict[str, int] | None = getattr(step, "levels", None)
    if given is None or not any(floor.values()):
        return step
    if low := [name for name, level in given.items() if level < floor.get(name, 0)]:
        raise UsageError(
            Message("error_technique.levels_split", step=step.step, columns=low, levels=[floor[name] for name in low])
        )
    return step.model_copy(update={"levels": {name: level - floor.get(name, 0) for name, level in given.items()}})


def _above(facts: Mapping[str, Any], floor: Mapping[str, int]) -> dict[str, Any]:
    """The facts of a search with levels counted from the ground."""
    out, add = dict(facts), list(floor.values())
    for name, level in (out.get("levels") or {}).items():
        out["levels"] = {**out["levels"], name: {**level, **{x: level[x] + floor[name] for x in ("level", "of")}}}
    if out.get("minimal"):
        out["minimal"] = [[a + b for a, b in zip(one, add, strict=True)] for one in out["minimal"]]
    for one in out.get("runners_up") or ():
        one["levels"] = [a + b for a, b in zip(one["levels"], add, strict=True)]
    if "again" in out:
        out["again"] = {"levels": {name: level + floor[name] for name, level in out["again"]["levels"].items()}}
    return out


def _without(work: Work, gone: np.ndarray) -> Work:
    data = work.data.take(~gone)
    person = None if work.person is None else Column(work.person.values, work.person.codes[~gone])
    return replace(work, data=data, person=person)
