"""Who is attacked, who is the control, and how many attempts a table of this size allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oboro.errors import ColumnError, listing
from oboro.evaluate.attacks.people import People
from oboro.evaluate.attacks.view import Classes, View
from oboro.evaluate.meaning import same_rows
from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy

__all__ = ["OWN", "Scene", "prepare"]

MOST_CLASSES = 200_000  # of a release with more, a random part is searched for the nearest record
BUDGET = 200_000_000  # comparisons of two cells by one attack: a fraction of a second
FEWEST = 200  # attempts; the 95 % interval of a share is then at most ± 7 points wide, of 2,000 ± 2.2
ENOUGH = 50  # people make a control group
MOST_COLUMNS = 20

OWN = "the same people, each with their own record taken out of the release"
GIVEN = "{count} people who are not in the table, given as the control group"
LEFT_OUT = "{count} people of the original table of whom no record was released"


@dataclass(frozen=True, eq=False)
class Scene:
    """Both tables as an attacker sees them. Released record i of `near` is that of person `owners[i]`, if that is known."""

    view: View
    near: View
    """The release, or of a large one a part, in which the nearest records are looked for."""
    classes: Classes
    """The records of `near` by their quasi-identifiers."""
    owners: np.ndarray | None
    gone: np.ndarray | None
    """Which people of the original have no record in the release; None where it is not known, or nobody is gone."""
    outside: People | None
    outside_table: Dataset | None
    outside_is: str
    attempts: int
    nearest_attempts: int
    rng: np.random.Generator
    note: str

    @cached_property
    def inside(self) -> People:
        """People who are in the release (all, where it is not known)."""
        return self.view.people if self.gone is None else self.view.people.take(np.flatnonzero(~self.gone))

    @cached_property
    def control_rows(self) -> np.ndarray:
        """Who of the control group is asked about, the same in every attack."""
        count = 0 if self.outside is None else len(self.outside)
        return self.rng.permutation(count)[: self.nearest_attempts]

    def draw(self, count: int, attempts: int) -> np.ndarray:
        """Which of `count` things are tried."""
        return np.sort(self.rng.choice(count, min(count, attempts), replace=False))


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
    """Find the control group, and what part of the release is searched for the nearest record."""
    owners = _owners(original, released) if paired else None
    names = list(dict.fromkeys([*quasi, *others]))
    view = View.of(original, released, names, hierarchies)
    gone = _gone(original, released, owners)
    outside, table, is_ = _outside(view, gone, control)
    near, note = view, ""
    classes = view.select(quasi).classes()
    # Without owners a person's record need not be in the part, and the attack would look weaker than it is.
    if owners is not None and len(classes) > MOST_CLASSES:
        rows = np.sort(rng.choice(released.rows, MOST_CLASSES, replace=False))
        near, owners = view.part(rows), owners[rows]
        classes = near.select(quasi).classes()
        note = SAMPLED.format(part=f"{MOST_CLASSES:,}", rows=f"{released.rows:,}")
    cells = max(1, len(classes)) * max(1, len(quasi))
    tries = int(np.clip(BUDGET // cells, min(FEWEST, attempts), attempts))
    return Scene(view, near, classes, owners, gone, outside, table, is_, attempts, tries, rng, note)


SAMPLED = (
    "run on a random {part} of {rows} released records; among fewer records each is easier to tell apart, "
    "so the rate of the whole table is at most this one, within the interval"
)


def _owners(original: Dataset, released: Dataset) -> np.ndarray | None:
    rows = same_rows(original, released)
    return np.arange(released.rows, dtype=np.uint32) if isinstance(rows, slice) else rows


def _gone(original: Dataset, released: Dataset, owners: np.ndarray | None) -> np.ndarray | None:
    if owners is None or (released.origin is None and released.rows == original.rows):
        return None
    out = np.ones(original.rows, dtype=bool)
    out[owners] = False
    return out if out.any() else None


def _outside(view: View, gone: np.ndarray | None, control: Dataset | None) -> tuple[People | None, Dataset | None, str]:
    if control is not None:
        if lacking := [name for name in view.names if name not in control]:
            raise ColumnError(f"control: the control group has no column {listing(lacking)}; it has {listing(control)}")
        return view.others(control), control, GIVEN.format(count=f"{control.rows:,}")
    if gone is None or gone.sum() < ENOUGH:
        return None, None, ""
    rows = np.flatnonzero(gone)
    return view.people.take(rows), view.original.take(rows), LEFT_OUT.format(count=f"{rows.size:,}")
