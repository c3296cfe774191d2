"""Linkage by row order: the position of a row identifies its person where the release keeps the order of the original.

Rows sorted by name, by age or by date are in an order that others know too, whether these columns are released,
generalized or dropped. An attacker who knows all values of them knows the range of rows that a person's row is in: that
of the people who are equal in all of them. Of these rows the attacker takes one whose quasi-identifiers match.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import lgamma, log

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.attacks.base import Attack, AttackKind, AttackMethod, AttackTarget, Rate, people_table
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.row_order import RowShuffle
from oboro.notations.kinds import typed
from oboro.notations.texts import is_text
from oboro.text import Message

__all__ = ["ATTACK", "KnownOrder", "RowOrder", "count_rows", "known_order"]


CONTROL = Message("attack.control.anywhere")
SURE = 20.0  # bits: rows stand in such an order by chance once in a million tables
HEAD = 4096  # rows
MOST_KEYS = 6  # columns that the rows may be sorted by, one after the other


@dataclass(frozen=True, eq=False)
class KnownOrder:
    """Columns by which rows are sorted, and the first row of each run of rows that are equal in all of them."""

    by: tuple[str, ...]
    starts: np.ndarray

    def places(self, rows: np.ndarray, whole: int, released: int) -> tuple[np.ndarray, np.ndarray]:
        """From where to where in the release a row of the original must stand, where fewer were released about in proportion."""
        run = np.searchsorted(self.starts, rows, side="right") - 1
        first, last = self.starts[run], np.append(self.starts[1:], whole)[run]
        low = np.floor((first + 0.5) * released / whole).astype(np.int64)
        high = np.floor((last - 0.5) * released / whole).astype(np.int64) + 1
        return low, high


def known_order(data: Dataset) -> KnownOrder | None:
    """Find the columns by which the rows are sorted, most important first, up or down; None if there are none.

    Greedy: of the columns by which the rows of every run stand, the one that makes the most runs. What chance would make once in a
    million tables at most counts as order. O(rows · columns · keys).
    """
    leading = {name: column for name, column in data.columns.items() if _may_lead(column)}
    left = _ranked(leading)
    starts, by = np.zeros(min(1, data.rows), dtype=np.int64), list[str]()
    while left and len(by) < MOST_KEYS:
        cuts = {name: _cuts(ranks, data[name].codes, starts) for name, ranks in left.items()}
        found = {name: cut for name, cut in cuts.items() if cut is not None}
        if not found:
            break
        best = max(found, key=lambda name: found[name].size)
        starts = found[best]
        if not by:  # within runs others may be in order too; they are ranked only now
            left |= _ranked({name: column for name, column in data.columns.items() if name not in leading})
        by.append(best)
        del left[best]
    return KnownOrder(tuple(by), starts) if by else None


def count_rows(
    original: Dataset,
    owners: np.ndarray,
    people: np.ndarray,
    alike: tuple[np.ndarray, np.ndarray] | None,
    whose: np.ndarray | None,
    rng: np.random.Generator,
    shuffle: RowShuffle | None = None,
) -> list[Attack]:
    """Take for each of some `people` (original rows) a record where theirs must stand; `owners` say whose each record is.

    `alike`: the class of each released record, and the class that fits each of the people best; without it only places tell.
    `whose`: who the original rows belong to, where people have several. Nothing where the rows are in no order. The control takes a
    record of the same class wherever it stands. `shuffle`: the order of the release, where `owners` and `alike` stand in another.
    """
    order = known_order(original)
    if order is None:
        return []
    if shuffle is not None:
        owners = owners[shuffle.order]
        alike = alike and (alike[0][shuffle.order], alike[1])
    released = owners.size
    labels, wanted = alike if alike is not None else (np.zeros(released), np.zeros(people.size))
    low, high = order.places(people.astype(np.int64), original.rows, released)
    choice, wanted = _Choice.of(labels.astype(np.int64)), wanted.astype(np.int64)
    guess, left = choice.pick(wanted, low, high, rng)
    blind, _ = choice.pick(wanted, np.zeros_like(low), np.full_like(high, released), rng)
    persons = np.arange(original.rows) if whose is None else whose
    right = [int((persons[owners[one]] == persons[people]).sum()) for one in (guess, blind)]
    note = Message("attack.note.rows_left", middle=int(np.median(left)), one=int((left == 1).sum()), people=people.size)
    found, control = (Rate(one, int(people.size)) for one in right)
    return [ATTACK.kinds[0].attack(order.by, found, control, CONTROL, notes=(note,))]


@dataclass(frozen=True, eq=False)
class _Choice:
    """The released rows by class, each class in the order of the release."""

    keys: np.ndarray  # class · rows + place, ascending

    @staticmethod
    def of(labels: np.ndarray) -> _Choice:
        return _Choice(np.sort(labels * labels.size + np.arange(labels.size)))

    def pick(
        self, wanted: np.ndarray, low: np.ndarray, high: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """A row of the wanted class between two places, by chance (of any class, where none is there), and how many there are."""
        rows = self.keys.size
        first, last = (np.searchsorted(self.keys, wanted * rows + end) for end in (low, high))
        drawn, some = rng.random(wanted.size), last > first
        inside = self.keys[np.minimum(first + (drawn * (last - first)).astype(np.int64), rows - 1)] % rows
        other = np.minimum(low + (drawn * (high - low)).astype(np.int64), rows - 1)
        return np.where(some, inside, other), np.where(some, last - first, high - low)


def _ranked(columns: Mapping[str, Column]) -> dict[str, np.ndarray]:
    return {name: ranks for name, column in columns.items() if (ranks := _ranks(column)) is not None}


def _ranks(column: Column) -> np.ndarray | None:
    """The rank of each distinct value, the missing one last. None where values cannot be compared, are one, or stayed in a file."""
    if not column.loaded or len(column.values) < 2:
        return None
    try:
        ranks = pc.rank(typed(column.values), sort_keys="ascending", tiebreaker="dense")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return None
    return np.asarray(ranks.to_numpy(zero_copy_only=False).astype(np.int32))


def _may_lead(column: Column) -> bool:
    """Whether the first rows may stand by a column. To rank these takes no time; 500,000 addresses took a third of a second."""
    if not column.loaded or len(column.values) < 2:
        return False
    codes, place = np.unique(column.codes[:HEAD], return_inverse=True)
    first = Column(column.values.take(pa.array(codes)), place)
    if is_text(column.values) and not is_text(typed(first.values)):
        return True  # these may be numbers where others are not, and then all stand as text
    ranks = _ranks(first)
    return ranks is None or _steps(ranks[first.codes], np.zeros(1, dtype=np.int64)) is not None


def _cuts(ranks: np.ndarray, codes: np.ndarray, starts: np.ndarray) -> np.ndarray | None:
    """Where the runs begin if each is cut where the value changes; None where the values of a run stand neither up nor down."""
    if _steps(ranks[codes[:HEAD]], starts) is None:  # most columns are in no order, which the first rows show
        return None
    steps = _steps(ranks[codes], starts)
    if steps is None or not steps.any():
        return None
    begins = np.zeros(codes.size, dtype=bool)
    begins[starts] = True
    begins[1:] |= steps != 0
    cuts = np.flatnonzero(begins)
    return cuts if _surprise(starts, cuts, codes.size) >= SURE else None


def _steps(ranks: np.ndarray, starts: np.ndarray) -> np.ndarray | None:
    """From each row to the next one of its run; None where some go up and some go down."""
    steps = np.diff(ranks)
    steps[starts[1 : np.searchsorted(starts, ranks.size)] - 1] = 0
    return None if (steps < 0).any() and (steps > 0).any() else steps


def _surprise(starts: np.ndarray, cuts: np.ndarray, rows: int) -> float:
    """Of how many orders of the rows of each run this is one, in bits: their number is a multinomial coefficient."""
    whole, parts = (_log_orders(np.diff(np.append(edges, rows))) for edges in (starts, cuts))
    return (whole - parts) / log(2)


def _log_orders(lengths: np.ndarray) -> float:
    """In how many orders runs of these lengths can stand, as a logarithm; few lengths are different."""
    different, often = np.unique(lengths, return_counts=True)
    return float(sum(times * lgamma(one + 1) for one, times in zip(different.tolist(), often.tolist(), strict=True)))


class RowOrder(AttackMethod):
    """Take a record that stands where the person's must stand. The control takes one of the same class anywhere."""

    kinds = (AttackKind("row_order", "linkability", "identity", limit_by_link=lambda link: link),)
    knows = "the quasi-identifiers of all people, and the columns by which the original is sorted"
    needs = ("records", "owners")

    def run(self, target: AttackTarget) -> list[Attack]:
        """Guess once for each target; nothing where the rows of the original are in no order."""
        scenario, known = target.scenario, target.nearest
        if scenario.owners is None:
            return []
        people = scenario.owners[scenario.targets] if known is None else known.people
        alike = None if known is None else (known.classes.groups.labels, known.found)
        return count_rows(target.original, scenario.owners, people, alike, scenario.whose, scenario.rng, target.order)

    def example(self) -> AttackTarget:
        """A table that is sorted by a column that the release drops."""
        table = people_table()
        age = table["age"].decode().to_pylist()
        ordered = table.take(np.argsort(np.array(age), kind="stable"))
        ordered = replace(ordered, origin=None)
        return AttackTarget(ordered, ordered.select(["town", "sex"]), quasi=["town", "sex"])


ATTACK = RowOrder()
