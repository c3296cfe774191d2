"""Population table of k-map and δ-presence: put into the codes of the table, and checked to hold every person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from oboro.algorithms.lattice.search import checker_for
from oboro.data.column import Column, smallest_unsigned
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups
from oboro.data.matching import matched
from oboro.data.parameters import names_shown
from oboro.errors import InputError
from oboro.hierarchies.hierarchy import text_array
from oboro.schema import TableReference
from oboro.techniques.base import Work
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.algorithms.lattice.problem import Problem
    from oboro.algorithms.lattice.search import SearchResult

__all__ = ["PopulationCodes", "sure_of_labels"]


@dataclass(frozen=True, eq=False)
class PopulationCodes:
    """The table's quasi-identifiers over a dictionary that also holds the population's values, and its codes."""

    table: Dataset
    """The population as it was given."""
    columns: Mapping[str, Column]
    codes: tuple[np.ndarray, ...]

    @staticmethod
    def read(given: TableReference, work: Work, names: list[str]) -> PopulationCodes:
        """Put both tables into the same codes; raises an `InputError` where somebody of the table is not in the
        population. O(records + people).
        """
        table = given.load(work.read, work.schema.folder)
        lacking = [name for name in names if name not in table]
        if lacking:
            raise InputError(
                Message("error_technique.population_column", lacking=lacking, columns=names_shown(table, names))
            )
        columns, codes = {}, []
        for name in names:
            columns[name], people = _extended(name, work.data[name], table[name])
            codes.append(people)
        _require_everybody([columns[name] for name in names], codes, work.data.rows)
        return PopulationCodes(table, columns, tuple(codes))


def _extended(name: str, column: Column, people: Column) -> tuple[Column, np.ndarray]:
    """The column over its own values and then the population's other ones, and the population in those codes."""
    if pa.types.is_null(column.values.type):  # every value of the table is missing
        column = Column(column.values.cast(people.values.type), column.codes)
    own = text_array(column.values)
    place = matched(people.values, column.values)
    if people.missing >= 0:
        place[people.missing] = column.missing
    new = place < 0
    place[new] = len(own) + np.arange(int(new.sum()))
    try:
        added = people.values.filter(pa.array(new)).cast(column.values.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            Message(
                "error_technique.population_type",
                name=name,
                theirs=str(people.values.type),
                ours=str(column.values.type),
            )
        ) from None
    values = pa.concat_arrays([column.values, added])
    kind = smallest_unsigned(len(values))
    return Column(values, column.codes.astype(kind, copy=False)), place.astype(kind)[people.codes]


def _require_everybody(columns: list[Column], codes: list[np.ndarray], rows: int) -> None:
    both = [
        Column(column.values, np.concatenate([column.codes, people]))
        for column, people in zip(columns, codes, strict=True)
    ]
    labels = Groups.of(both, rows + codes[0].size).labels
    held = np.bincount(labels[:rows])
    people = np.bincount(labels[rows:], minlength=held.size)[: held.size]
    outside = int(np.maximum(held - people, 0).sum())
    if outside:
        raise InputError(Message("error_technique.not_in_population", outside=outside, rows=rows))


def sure_of_labels(found: SearchResult, problem: Problem, find: Callable[..., SearchResult]) -> SearchResult:
    """What a search found; whether it is the best where labels stand on two levels, so that it is open whom they cover.

    The search counts whoever such a label may not cover on the unsafe side, whichever labels are released beside it. Counted as if
    every reader knew the levels, nothing can be lost less than `find` finds: if that is no less, the best is certain.
    """
    population = problem.population
    if population is None or population.unclear is None or found.best is None:
        return found
    known = replace(problem, population=replace(population, unclear=None))
    least = find(known, checker_for(known), minimal=False)
    if least.exact and (least.best is None or _ranks(least) >= _ranks(found)):  # none: only a table of stars is safe
        return found
    return replace(found, exact=False, bound=None if least.ranks else least.bound)


def _ranks(found: SearchResult) -> list[float]:
    assert found.best is not None
    return [round(loss, 10) for loss in found.ranks or (found.best.loss,)]
