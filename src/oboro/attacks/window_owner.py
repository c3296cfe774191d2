"""Attack on the windows of a stream: guess the person of the record around which a group was formed.

The attacker knows all tuples and who is in each group, but not who came when. The first place at which a group's
centroid is released is that of the record that the group was formed around, if places are kept. With groups that `grow`
it lies farthest from the centroid; with the paper's groups it is the one whose greatest distance to the others is
least. Of the two guesses the better one is reported. The other fields at that place tell the true member; groups in
which it is not clear, or that a record joined later, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oboro.attacks.base import Attack, AttackKind, AttackMethod, AttackTarget, Rate, ReleaseFacts
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups, clean
from oboro.text import Message

__all__ = ["ATTACK", "WindowOwner", "guess_first_owners"]


BLIND = Message("attack.control.member_at_random")


def guess_first_owners(original: Dataset, released: Dataset, quasi: Sequence[str], k: int) -> Attack | None:
    """Success rate of naming the owner of a group's first place; None if no owner is clear. O(rows · columns).

    The n-th released record must be of the place of the n-th original one, as a window releases them.
    """
    others = [name for name in released if name in original and name not in quasi]
    names = [name for name in quasi if original[name].kind.numeric and released[name].kind.numeric]
    if original.rows != released.rows or not others or not names or not released.rows:
        return None
    points, centres = (_numbers(table, names) for table in (original, released))
    spread = points.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    groups = Groups.of([clean(released[name]) for name in quasi], released.rows)
    order, starts = groups.members()
    keys = _row_keys(original, released, others)
    outlying, central, blind, tried = 0, 0, 0.0, 0
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        rows = order[begin:end]
        if not k <= rows.size < 2 * k or not np.allclose(points[rows].mean(axis=0), centres[rows[0]], rtol=1e-6):
            continue
        owner = np.flatnonzero(keys[0][rows] == keys[1][rows[0]])
        if owner.size != 1:
            continue
        members = points[rows] / scale
        apart = ((members - members.mean(axis=0)) ** 2).sum(axis=1)
        greatest = ((members[:, None] - members[None]) ** 2).sum(axis=2).max(axis=1)
        outlying += int(np.argmax(apart) == owner[0])
        central += int(np.argmin(greatest) == owner[0])
        blind += 1 / rows.size
        tried += 1
    found = Rate(max(outlying, central), tried)
    return ATTACK.kinds[0].attack(names, found, Rate(round(blind), tried), BLIND) if tried else None


def _numbers(table: Dataset, names: Sequence[str]) -> np.ndarray:
    return np.column_stack([table[name].numbers(name)[table[name].codes] for name in names])


def _row_keys(original: Dataset, released: Dataset, others: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """A number for each row of the two tables, the same where their other fields are."""
    joined = []
    for name in others:
        both = Column.of([*original[name].texts, *released[name].texts])
        shift = len(original[name].values)
        codes = np.concatenate([original[name].codes.astype(np.int64), released[name].codes.astype(np.int64) + shift])
        joined.append(Column(both.values, both.codes[codes]))
    labels = Groups.of(joined, original.rows + released.rows).labels
    return labels[: original.rows], labels[original.rows :]


class WindowOwner(AttackMethod):
    """Name the owner of the first record of each group of a window. The control names a member at random."""

    kinds = (AttackKind("window_owner", "linkability", "identity"),)
    knows = "the records of all people, the members of each group, and how groups are formed"
    needs = ("window",)

    def run(self, target: AttackTarget) -> list[Attack]:
        """Guess once for each group."""
        original, released = target.made.loaded_late or (target.original, target.released)
        k = target.made.k
        found = None if k is None else guess_first_owners(original, released, target.quasi, k)
        return [] if found is None else [found]

    def example(self) -> AttackTarget:
        """Groups of three, each with the record first that lies farthest from the centroid."""
        rng = np.random.default_rng(0)
        ages = [[float(100 * group), 100.0 * group + 1, 100.0 * group + 9] for group in range(60)]
        members = [rng.permutation(3) for _ in ages]  # the order in which they came
        names = [f"person {3 * group + member}" for group, order in enumerate(members) for member in order]
        first = [f"person {3 * group + member}" for group in range(60) for member in (2, 0, 1)]
        original: dict[str, list[Any]] = {
            "age": [ages[group][member] for group, order in enumerate(members) for member in order],
            "visit": names,
        }
        released: dict[str, list[Any]] = {"age": [sum(group) / 3 for group in ages for _ in group], "visit": first}
        before, after = (
            Dataset({name: Column.of(values) for name, values in table.items()}, 180) for table in (original, released)
        )
        return AttackTarget(before, after, quasi=["age"], made=ReleaseFacts(k=3, window=True))


ATTACK = WindowOwner()
