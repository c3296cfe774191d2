"""Generalization hierarchy bound to a column: labels, and one small lookup table per level.

Two values are outside every hierarchy that does not list them: the missing value (null) and the suppressed one (`*`).
Each keeps its own label until a level has that very label, a missing one also until a level has one label for everything;
there it joins, and follows from then on.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.data.column import Column, smallest_unsigned
from oboro.data.matching import matched
from oboro.errors import HierarchyError
from oboro.notations.kinds import STAR, Kind, kind_of
from oboro.notations.texts import is_text, texts_of
from oboro.text import Message, Raw, Words

__all__ = ["Hierarchy", "Level"]


HIERARCHY = Message("error_table.source.hierarchy")


@dataclass(frozen=True, eq=False)
class Level:
    """One level: its distinct labels, each code's label, and how much of the attribute's domain each label covers.

    Every label is used by some code. `share` is 0 for a label that stands for one value and 1 for one that says nothing
    (`*`). Labels of level 0 are the column's own values, higher ones are text; a null label is a value that is missing.
    """

    labels: pa.Array
    table: np.ndarray
    share: np.ndarray

    @staticmethod
    def ground(values: pa.Array) -> Level:
        """Level 0: the values themselves."""
        return Level(values, np.arange(len(values), dtype=smallest_unsigned(len(values))), np.zeros(len(values)))

    @staticmethod
    def star(count: int) -> Level:
        """The coarsest level: `*` for each of `count` values."""
        return Level(pa.array([STAR]), np.zeros(count, dtype=np.uint8), np.ones(1))

    @cached_property
    def one_each(self) -> np.ndarray:
        """For each label one code that has it; it stands for all of them where a higher level is asked."""
        one = np.zeros(len(self.labels), dtype=np.int64)
        one[self.table] = np.arange(self.table.size)
        return one

    def compact(self) -> Level:
        """The same level without labels that no code uses, in the smallest unsigned type that fits."""
        used = np.zeros(len(self.labels), dtype=bool)
        used[self.table] = True
        if used.all():
            return Level(self.labels, self.table.astype(smallest_unsigned(used.size), copy=False), self.share)
        renumber = np.cumsum(used) - 1
        table = renumber[self.table].astype(smallest_unsigned(int(used.sum())))
        return Level(self.labels.filter(pa.array(used)), table, self.share[used])


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Levels over one dictionary, from the values themselves (level 0) to the coarsest.

    Given: levels over the same codes. Promises: each level is a function of the one below, so going up never separates
    two records. Checked by: `conflict`, on every construction; `tests/data/test_hierarchy.py`.

    `whole` is the same hierarchy over every value that it knows, also those that the column lacks; other columns bind
    to it. `listed` says that those values are all there are, so that a level with one label covers everything.
    """

    name: str
    levels: tuple[Level, ...]
    source: Words = HIERARCHY
    listed: bool = False
    whole: Hierarchy | None = None
    _counted: list[tuple[np.ndarray, list[np.ndarray]]] = field(init=False, default_factory=list, repr=False)

    def __post_init__(self) -> None:
        for number, (below, above) in enumerate(pairwise(self.levels)):
            pair = conflict(below, above)
            if pair is not None:
                found = describe_conflict(self.levels, number, pair)
                raise HierarchyError(Message("error_table.conflict", name=self.name, conflict=found))

    @property
    def height(self) -> int:
        """Number of generalizations from the values to the coarsest level."""
        return len(self.levels) - 1

    @property
    def unlisted_missing(self) -> int:
        """The code of the missing value if the hierarchy lists neither it nor an empty text in its place; else −1."""
        missing = self.levels[0].labels.is_null().to_numpy(zero_copy_only=False)
        if self.whole is None or not missing.any():
            return -1
        leaves = self.whole.levels[0].labels
        listed = leaves.null_count > 0 or pc.index(text_array(leaves), pa.scalar("", pa.string())).as_py() >= 0
        return -1 if listed else int(missing.argmax())

    def generalize(self, column: Column, level: int) -> Column:
        """Generalize the column to a level; level 0 is the column itself."""
        self._require(level)
        if level == 0:
            return column
        fitting = self if self.levels[0].labels.equals(column.values) else self.bind(column)
        chosen = fitting.levels[level]
        return column.recode(chosen.table, chosen.labels)

    def label_counts(self, column: Column) -> list[np.ndarray]:
        """Count the records of each label on each level; `column` has the codes of the levels.

        What was counted last is kept: losses and entropies ask for the same.
        """
        if self._counted and self._counted[0][0] is column.counts:
            return self._counted[0][1]
        found: list[np.ndarray] = []
        for number, level in enumerate(self.levels):
            own, held = level.table, column.counts
            if found and own.size:  # of the level below, which has fewer labels than there are codes
                below, held = self.levels[number - 1].one_each, found[-1]
                own = own if below.size == own.size and held is column.counts else own[below]
            if not found and own.size == len(level.labels) and (own == np.arange(own.size)).all():
                found.append(held)
                continue
            found.append(np.bincount(own, weights=held, minlength=len(level.labels)).astype(np.int64))
        self._counted[:] = [(column.counts, found)]
        return found

    def above(self, level: int) -> Hierarchy:
        """Return the rest of the hierarchy for a column that was generalized to `level`."""
        self._require(level)
        one = self.levels[level].one_each
        levels = []
        for upper in self.levels[level:]:
            # Without any known value only levels of `*` have a label.
            table = upper.table[one] if upper.table.size else one.astype(np.uint8)
            levels.append(replace(upper, table=table))
        whole = self.whole.above(level) if self.whole else None
        return Hierarchy(self.name, tuple(levels), self.source, self.listed, whole)

    def picking(self, levels: Sequence[int]) -> Hierarchy:
        """Return a hierarchy of only some levels, ascending, to select from.

        Its first need not be the values: generalize with the whole one."""
        return self if len(levels) == len(self.levels) else replace(self, levels=tuple(self.levels[i] for i in levels))

    def bind(self, column: Column) -> Hierarchy:
        """The same hierarchy for another dictionary, matched by text, else by what it means (39.0 is 39). O(known values +
        dictionary).

        Raises `HierarchyError` that shows values which the hierarchy lacks.
        """
        whole = self.whole or self
        asked, leaves = text_array(column.values), text_array(whole.levels[0].labels)
        place = matched(column.values, whole.levels[0].labels)
        if column.missing >= 0:
            place[column.missing] = (
                pc.index_in(asked.slice(column.missing, 1), value_set=leaves).fill_null(-1)[0].as_py()
            )
        if column.missing >= 0 and place[column.missing] < 0:
            place[column.missing] = pc.index(leaves, pa.scalar("", pa.string())).as_py()
        lacking = asked.filter(pa.array((place < 0) & ~outside(column)))
        if len(lacking):
            with column.placing():
                raise HierarchyError(_lacking_values(self, lacking, asked, leaves))
        return whole.placed(column.values, place)

    def placed(self, values: pa.Array, place: np.ndarray) -> Hierarchy:
        """The same hierarchy over other values; `place`: which known value each one is, −1 if missing or suppressed."""
        place = place.copy()
        suppressed = (place < 0) & values.is_valid().to_numpy(zero_copy_only=False)
        share = np.where(place < 0, suppressed, np.append(self.levels[0].share, 0.0)[place])
        levels = [replace(Level.ground(values), share=share)]  # a suppressed value says nothing from the start
        levels.extend(map(partial(_level_of, values, place, self.listed), self.levels[1:]))
        return Hierarchy(self.name, tuple(levels), self.source, self.listed, self)

    def to_rows(self) -> list[list[str]]:
        """One row per value, `[value, level 1, level 2, …]`, a missing one as empty text: ARX's format.

        A listed hierarchy gives all that it knows. Where a column has an empty text too, that one speaks for both.
        """
        base = self.whole if self.listed and self.whole else self
        columns = [_texts_by_code(level) for level in base.levels]
        if pc.any(pc.equal(columns[0], "")).as_py():
            columns = [column.filter(columns[0].is_valid()) for column in columns]
        return [list(row) for row in zip(*(column.fill_null("").to_pylist() for column in columns), strict=True)]

    def to_csv(self) -> str:
        """The hierarchy as the text of an ARX hierarchy file; reading it back gives the same levels."""
        rows = self.to_rows()
        # The csv module leaves a carriage return without quotes, and then takes it for the end of a line.
        awkward = any("\r" in cell for row in rows for cell in row)
        text = io.StringIO()
        style: Any = {"quoting": csv.QUOTE_ALL if awkward else csv.QUOTE_MINIMAL, "lineterminator": "\n"}
        csv.writer(text, delimiter=";", **style).writerows(rows)
        return text.getvalue()

    def _require(self, level: int) -> None:
        if not 0 <= level <= self.height:
            raise HierarchyError(Message("error_table.no_level", name=self.name, level=level, height=self.height))


# Levels over a dictionary ---------------------------------------------------------------------------------------------


def text_array(values: pa.Array) -> pa.Array:
    """A dictionary as Arrow text, the same texts as `Column.texts`."""
    if pa.types.is_string(values.type):
        return values
    try:
        return (
            pa.array(texts_of(values), pa.string())
            if pa.types.is_duration(values.type)
            else pc.cast(values, pa.string())
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array(texts_of(values), pa.string())


def outside(column: Column) -> np.ndarray:
    """Mark the dictionary entries that are outside every hierarchy: the missing and the suppressed one."""
    values = column.values
    found = pc.fill_null(pc.equal(values, STAR), True) if is_text(values) else values.is_null()
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def odd_one(values: pa.Array, kinds: tuple[Kind, ...]) -> str | None:
    """The text of a value that is of none of these kinds, found by halving; the last one if only the mixture is odd."""
    while len(values) > 1:
        half = values.slice(0, len(values) // 2)
        values = values.slice(len(half)) if kind_of(half) in kinds else half
    return text_array(values)[0].as_py()  # type: ignore[no-any-return]


def span_share(starts: np.ndarray, ends: np.ndarray, numbers: np.ndarray, *, counted: bool) -> np.ndarray:
    """The part of the data's range that each span covers.

    Counted (integers, days), it is the part of the possible values, and a span that holds one of them says it exactly,
    so 0. Measured, it is the part of the length.
    """
    finite = numbers[np.isfinite(numbers)]
    unit = 1.0 if counted else 0.0
    lowest, highest = finite.min(initial=np.inf), finite.max(initial=-np.inf) + unit
    if not lowest < highest:
        return np.zeros(starts.size)
    covered = np.clip(np.minimum(ends, highest) - np.maximum(starts, lowest), 0.0, None)
    return np.where(covered <= unit, 0.0, covered / (highest - lowest))


def leaf_share(table: np.ndarray, labels: int) -> np.ndarray:
    """For each label the part of the values under it; a label over one value says it exactly: 0."""
    under = np.bincount(table, minlength=labels)
    return np.where(under <= 1, 0.0, under / max(table.size, 1))


def conflict(below: Level, above: Level) -> tuple[int, int] | None:
    """Two codes that share a label below but not above, or None if `above` is a function of `below`. O(codes)."""
    partner = below.one_each[below.table]
    wrong = np.flatnonzero(above.table[partner] != above.table)
    return (int(wrong[0]), int(partner[wrong[0]])) if wrong.size else None


def describe_conflict(levels: tuple[Level, ...], number: int, pair: tuple[int, int]) -> Message:
    """The words for a `conflict` between level `number` and the next."""
    below, above = levels[number], levels[number + 1]
    shared = below.labels[int(below.table[pair[0]])].as_py()
    parents = [above.labels[int(above.table[code])].as_py() for code in sorted(pair)]
    finer = len(above.labels) > len(below.labels)
    return Message(
        "error_table.finer_level" if finer else "error_table.two_parents",
        label=shared if number else Raw(shared),  # labels above the values are the hierarchy's own words
        level=number,
        next=number + 1,
        parents=parents,
    )


def _lacking_values(hierarchy: Hierarchy, lacking: pa.Array, asked: pa.Array, leaves: pa.Array) -> Message:
    spaced = pc.is_in(pc.utf8_trim_whitespace(lacking), value_set=pc.utf8_trim_whitespace(leaves))
    return Message(
        "error_table.lacking_but_for_spaces" if pc.all(spaced).as_py() else "error_table.lacking",
        name=hierarchy.name,
        source=hierarchy.source,
        lacking=len(lacking),
        distinct=len(asked),
        values=[Raw(value) for value in lacking.to_pylist()],
    )


def _level_of(values: pa.Array, place: np.ndarray, listed: bool, level: Level) -> Level:
    """One level over other values; outsiders that join a label are noted in `place`, so that they follow it."""
    labels, share = level.labels, level.share
    table = np.append(level.table, 0).astype(np.int64)[place]
    for code in np.flatnonzero(place < 0).tolist():
        own = text_array(values.slice(code, 1))
        found = _joined(own, level, listed)
        if found is None:
            table[code], labels = len(labels), pa.concat_arrays([labels, own])
            share = np.append(share, float(own[0].is_valid))
            continue
        table[code] = found
        under = np.flatnonzero(level.table == found)
        place[code] = under[0] if under.size else -1
    return Level(labels, table, share).compact()


def _joined(own: pa.Array, level: Level, listed: bool) -> int | None:
    """The label that an outsider joins: its own, or, if it is missing, the only one where that covers everything.

    One label alone is not enough: where all ages happen to lie in 20–39, a missing age is still missing.
    """
    found: int | None = pc.index_in(own, value_set=level.labels)[0].as_py()
    covers_all = len(level.labels) == 1 and (listed or level.labels[0].as_py() == STAR)
    return 0 if covers_all and not own[0].is_valid else found


def _texts_by_code(level: Level) -> pa.Array:
    return text_array(level.labels).take(pa.array(level.table))
