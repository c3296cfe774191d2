"""Who is attacked, who is the control, and how many attempts a table of this size allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow.compute as pc

from oboro.errors import ColumnError, listing
from oboro.evaluate.attacks.view import View
from oboro.evaluate.meaning import source_rows, text_array
from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy

__all__ = ["OWN", "Scene", "prepare"]

MOST_ROWS = 200_000  # of a larger table a random part is attacked; fewer people are easier to tell apart
BUDGET = 200_000_000  # comparisons of two cells by one attack: a fraction of a second
FEWEST = 200  # attempts; the 95 % interval of a share is then at most ± 7 points wide, of 2,000 ± 2.2
ENOUGH = 50  # people make a control group
MOST_COLUMNS = 20

OWN = "the same people, each with their own record taken out of the release"
GIVEN = "{count} people who are not in the table, given as the control group"
LEFT_OUT = "{count} people of the original table of whom no record was released"


@dataclass(frozen=True, eq=False)
class Scene:
    """Both tables as an attacker sees them. Released record i is that of person `owners[i]`, if that is known."""

    view: View
    quasi: tuple[str, ...]
    original: Dataset
    released: Dataset
    owners: np.ndarray | None
    outside: np.ndarray | None  # places of the control group, people × columns of the view
    outside_table: Dataset | None
    outside_is: str
    attempts: int
    rng: np.random.Generator
    note: str
    whole: Dataset  # the release of which `released` may be a part

    def counts(self, name: str) -> np.ndarray:
        """How many records of the whole release hold each entry of a column of the view."""
        here, there = self.view.released[name], self.whole[name]
        if self.whole is self.released:
            return here.counts
        place = pc.index_in(text_array(here.values), value_set=text_array(there.values))
        return np.asarray(there.counts[place.to_numpy(zero_copy_only=False)])

    @cached_property
    def places(self) -> np.ndarray:
        """Everybody's places over all columns of the view."""
        return self.view.people()

    def at(self, names: Sequence[str]) -> np.ndarray:
        """The positions of columns in the view."""
        return np.array([self.view.names.index(name) for name in names])

    @cached_property
    def inside(self) -> np.ndarray:
        """The original rows of people who are in the release (all, where it is not known)."""
        return np.arange(self.original.rows) if self.owners is None else np.unique(self.owners)

    @cached_property
    def control_rows(self) -> np.ndarray:
        """Who of the control group is asked about, the same in every attack."""
        count = 0 if self.outside is None else len(self.outside)
        return self.rng.permutation(count)[: self.attempts]

    def draw(self, count: int) -> np.ndarray:
        """Which of `count` things are tried."""
        return np.sort(self.rng.choice(count, min(count, self.attempts), replace=False))


def prepare(
    original: Dataset,
    released: Dataset,
    quasi: Sequence[str],
    others: Sequence[str],
    hierarchies: Mapping[str, Hierarchy] | None,
    control: Dataset | None,
    paired: bool,
    attempts: int,
    rng: np.random.Generator,
) -> Scene:
    """Draw the part that is attacked and find the control group."""
    owners = source_rows(original, released) if paired else None
    note, whole = "", released
    if owners is not None and released.rows > MOST_ROWS:
        rows = np.sort(rng.choice(released.rows, MOST_ROWS, replace=False))
        note = SAMPLED.format(part=f"{MOST_ROWS:,}", rows=f"{released.rows:,}")
        original, released, owners = _part(original, released, owners, rows, rng)
    names = list(dict.fromkeys([*quasi, *others]))[: max(MOST_COLUMNS, len(quasi))]
    view = View.of(original, released, names, hierarchies)
    outside, table, is_ = _outside(view, original, owners, control, quasi)
    cells = max(1, len(view.select(list(quasi)).classes()) if quasi else released.rows) * max(1, len(quasi))
    tries = int(np.clip(BUDGET // max(cells, original.rows), min(FEWEST, attempts), attempts))
    return Scene(view, tuple(quasi), original, released, owners, outside, table, is_, tries, rng, note, whole)


SAMPLED = (
    "run on a random {part} of {rows} released records; among fewer people each is easier to tell apart, "
    "so the rate of the whole table is at most this one, within the interval"
)


def _part(
    original: Dataset, released: Dataset, owners: np.ndarray, rows: np.ndarray, rng: np.random.Generator
) -> tuple[Dataset, Dataset, np.ndarray]:
    """Some released records, the people whose they are, and as many who have none (if there are)."""
    mine = np.unique(owners[rows])
    gone = np.ones(original.rows, dtype=bool)
    gone[owners] = False
    left = np.flatnonzero(gone)
    left = left if left.size <= mine.size else np.sort(rng.choice(left, mine.size, replace=False))
    kept = np.sort(np.concatenate([mine, left]))
    return original.take(kept), released.take(rows), np.searchsorted(kept, owners[rows])


def _outside(
    view: View, original: Dataset, owners: np.ndarray | None, control: Dataset | None, quasi: Sequence[str]
) -> tuple[np.ndarray | None, Dataset | None, str]:
    if control is not None:
        if lacking := [name for name in view.names if name not in control]:
            raise ColumnError(f"control: the control group has no column {listing(lacking)}; it has {listing(control)}")
        return view.people(control), control, GIVEN.format(count=f"{control.rows:,}")
    if owners is None:
        return None, None, ""
    gone = np.ones(original.rows, dtype=bool)
    gone[owners] = False
    if gone.sum() < ENOUGH:
        return None, None, ""
    rows = np.flatnonzero(gone)
    return view.people()[rows], original.take(rows), LEFT_OUT.format(count=f"{rows.size:,}")
