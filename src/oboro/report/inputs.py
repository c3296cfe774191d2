"""What a report is made from: the two tables, what is known of how the release was made, and what to measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from oboro.attacks.series.series_attack import SeriesRisk
from oboro.measure.exposure.last_look import LastLook
from oboro.measure.metrics import Measure
from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.table.rows.row_origins import released_person
from oboro.table.rows.row_shuffle import RowShuffle
from oboro.text import Message
from oboro.text.progress import Progress, silent
from oboro.verifier.verdict import Verdict, Verification

__all__ = ["Provenance", "Scope", "Tables"]

PRIVATE = "model.differential_privacy"


@dataclass(frozen=True, eq=False)
class Tables:
    """The original and the released table, and what their columns are."""

    original: Dataset
    released: Dataset
    quasi: Sequence[str]
    sensitive: Sequence[str] = ()
    identifiers: Sequence[str] = ()  # of the original: columns that name a person
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)  # bound to the original columns
    paired: bool = True  # whether it is known which released row was made from which original one
    person: str | None = None  # the column that says whose a record is, released or not
    foreign: bool = (
        False  # whether anybody may have written the release: then people are counted as its strictest reader could
    )
    order: RowShuffle | None = None  # in which the rows are released, where `released` is not in it yet

    @cached_property
    def people(self) -> tuple[Column, Column] | None:
        """Whose each original and each released row is, where that is known."""
        found = released_person(self.original, self.released, self.person, self.paired)
        return None if found is None or self.person is None else (self.original[self.person], found)


@dataclass(frozen=True, eq=False)
class Provenance:
    """What is known of how the release was made, and what was found out about it before."""

    verification: Verification | None = None
    steps: Sequence[Mapping[str, Any]] = ()  # each with `name`, `plan`, `facts` and `seconds`
    recipe_text: str = ""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # `path`, `bytes`, `sha256`, by role ("input")
    stream: Sequence[Mapping[str, Any]] = ()  # the metrics of a stream, one after the other
    last_look: LastLook | None = None  # who is unique by columns that no promise covers
    accepted: Sequence[
        tuple[Sequence[str], str]
    ] = ()  # without such a look: columns by which people may be unique, and why
    hidden: Sequence[str] = ()  # without steps: columns that are known to be random or pseudonyms
    warnings: Sequence[Message] = ()
    series: SeriesRisk | None = None  # what it tells together with the releases before it
    linkage: Sequence[Measure] = ()  # what attacks on a release without classes found

    @property
    def private(self) -> Verdict | None:
        """That the release is differentially private, where it is."""
        verdicts = () if self.verification is None else self.verification.verdicts
        return next((one for one in verdicts if one.model.id == PRIVATE and one.holds), None)


@dataclass(frozen=True, eq=False)
class Scope:
    """What to measure, and how much of it."""

    smallest_cell: int | None = None  # labels that fewer rows hold are not shown; by default the promised k, at least 5
    fraction: float = 1.0  # the part of the population that the table holds
    control: Dataset | None = None  # people who are in neither table, for the attacks
    attempts: int = 2000  # guesses that each attack makes at most; 0: none is run
    target: str | None = None  # a column that models learn to predict
    statistics: bool = True  # also what takes a second: models, and estimates of densities
    progress: Progress = silent  # told how many attacks and measures are done
