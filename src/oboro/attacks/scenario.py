"""Who is attacked, who is the control, and how many attempts a table of this size allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oboro.attacks.comparison.attacker_view import AttackerView, ReleasedClasses
from oboro.attacks.comparison.known_people import KnownPeople
from oboro.errors import ColumnError
from oboro.table.dataset import Dataset
from oboro.table.hierarchy import Hierarchy
from oboro.table.named_columns import names_shown
from oboro.table.rows.row_origins import same_rows
from oboro.text import Message

__all__ = ["OWN", "AttackScenario", "prepare"]

MOST_CLASSES = 200_000  # of more, those of as many random records are searched for the nearest one
BUDGET = 200_000_000  # cells looked at by one search for the nearest records: a fraction of a second
PILOT = 32  # people tell how many cells are looked at for each
FEWEST = 200  # attempts; the 95 % interval of a share is then at most ± 7 points wide, of 2,000 ± 2.2
ENOUGH = 200  # people make a control group
MOST_COLUMNS = 20

OWN = Message("attack.control.own_record")
EASIER = Message("attack.note.easier")
ONCE = Message("attack.note.once")


@dataclass(frozen=True, eq=False)
class AttackScenario:
    """Both tables as an attacker sees them. Released record i is that of person `owners[i]`, if that is known."""

    view: AttackerView
    classes: ReleasedClasses
    """The released records by their quasi-identifiers; of very many classes a part, those of the targets among them."""
    owners: np.ndarray | None
    targets: np.ndarray
    """Who is attacked by looking for the nearest record: released rows where owners are known, else original rows."""
    searched: np.ndarray | None
    """Released rows whose classes are searched where there are too many; None: all are, however many."""
    gone: np.ndarray | None
    """Which people of the original have no record in the release; None where it is not known, or nobody is gone."""
    outside: KnownPeople | None
    outside_table: Dataset | None
    outside_is: Message
    attempts: int
    rng: np.random.Generator
    strange: tuple[Message, ...]
    """Which labels are not understood, if any."""
    notes: tuple[Message, ...]
    whose: np.ndarray | None = None
    """For each original row a number, equal for rows of one person; None: each row is a person."""

    @property
    def linking_notes(self) -> tuple[Message, ...]:
        """The notes on attacks that look for one record; what can be inferred from fewer may be more or less."""
        return (*self.notes, EASIER) if len(self.classes) < len(self.classes.groups) else self.notes

    @cached_property
    def inside(self) -> KnownPeople:
        """People who are in the release (all, where it is not known)."""
        return self.view.people if self.gone is None else self.view.people.take(np.flatnonzero(~self.gone))

    def understood(self, names: Sequence[str]) -> list[str]:
        """Those of some columns that descriptions can be made of: in which not every label is strange."""
        return [name for name in names if _strange_part(self.view, name) < 1]

    @cached_property
    def control_rows(self) -> np.ndarray:
        """Who of the control group is asked about, the same in every attack."""
        count = 0 if self.outside is None else len(self.outside)
        return self.rng.permutation(count)[: self.targets.size]

    def alike(self, names: Sequence[str]) -> ReleasedClasses:
        """The released records by some columns."""
        return self.view.select(names).classes(self.searched, MOST_CLASSES)

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
    whose: np.ndarray | None = None,
) -> AttackScenario:
    """Find the control group, and what part of the release is searched for the nearest record."""
    owners = _owners(original, released) if paired else None
    names = list(dict.fromkeys([*quasi, *others]))
    view = AttackerView.of(original, released, names, hierarchies, owners, quasi)
    gone = _gone(original, released, owners)
    outside, table, is_ = _outside(view, gone, control)
    asked = view.select(list(quasi) or names[:1])  # without quasi-identifiers nobody asks for the nearest
    count = original.rows if owners is None else released.rows
    drawn = rng.choice(count, min(count, attempts), replace=False)
    if whose is not None:
        drawn = _one_of_each(whose if owners is None else whose[owners], rng)[:attempts]
    # Without owners a person's own record need not be in the part, and the attack would look weaker than it is.
    searched = None if owners is None else np.append(drawn, rng.choice(count, min(count, MOST_CLASSES), replace=False))
    classes = asked.classes(searched, MOST_CLASSES)
    pilot = drawn[:PILOT] if owners is None else owners[drawn[:PILOT]]
    effort = asked.effort(view.people.at(pilot, view.at(asked.names)), classes, rng)
    targets = np.sort(drawn[: int(np.clip(BUDGET // effort, min(FEWEST, attempts), attempts))])
    strange = _strange(view, quasi)
    once = () if whose is None else (ONCE,)
    part = Message("attack.note.sampled", part=len(classes), whole=len(classes.groups))
    notes = (*strange, *once, *((part,) if len(classes) < len(classes.groups) else ()))
    return AttackScenario(
        view, classes, owners, targets, searched, gone, outside, table, is_, attempts, rng, strange, notes, whose
    )


def _one_of_each(whose: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One row of everybody, by chance, in no order."""
    mixed = rng.permutation(whose.size)
    _, first = np.unique(whose[mixed], return_index=True)
    return mixed[np.sort(first)]


def _strange(view: AttackerView, quasi: Sequence[str]) -> tuple[Message, ...]:
    """Which columns hold labels that nothing explains, and in how many of the released records."""
    parts = {name: _strange_part(view, name) for name in quasi}
    found = [f"{name} ({part:.2%})" for name, part in parts.items() if part]
    return (Message("attack.note.strange", columns=found),) if found else ()


def _strange_part(view: AttackerView, name: str) -> float:
    counts = view.released[name].counts
    return float(counts[view.comparisons[view.names.index(name)].nobody].sum() / max(1, counts.sum()))


def _owners(original: Dataset, released: Dataset) -> np.ndarray | None:
    rows = same_rows(original, released)
    return np.arange(released.rows, dtype=np.uint32) if isinstance(rows, slice) else rows


def _gone(original: Dataset, released: Dataset, owners: np.ndarray | None) -> np.ndarray | None:
    if owners is None or (released.origin is None and released.rows == original.rows):
        return None
    out = np.ones(original.rows, dtype=bool)
    out[owners] = False
    return out if out.any() else None


Outside = tuple[KnownPeople | None, Dataset | None, Message]


def _outside(view: AttackerView, gone: np.ndarray | None, control: Dataset | None) -> Outside:
    if control is not None:
        if lacking := [name for name in view.names if name not in control]:
            raise ColumnError(
                Message("error_attack.control_column", lacking=lacking, columns=names_shown(control, view.names))
            )
        return view.others(control), control, Message("attack.control.given", people=control.rows)
    # A sample leaves out people like those it takes. A few that were dropped are likely to have been unusual.
    if gone is None or gone.sum() < max(ENOUGH, view.released.rows / 2):
        return None, None, OWN
    rows = np.flatnonzero(gone)
    return view.people.take(rows), view.original.take(rows), Message("attack.control.left_out", people=int(rows.size))
