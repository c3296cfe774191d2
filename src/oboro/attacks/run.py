"""Run of all attacks of the registry on a release: the risks of the opinion WP216, and further ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from oboro.attacks.base import ATTACKS, Attack, AttackMethod, AttackTarget
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.data.grouping import clean
from oboro.data.parameters import Names, at_the_door, named_columns, names_shown, require_in_both
from oboro.data.row_order import RowShuffle
from oboro.errors import ColumnError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.text import Message
from oboro.text.language import Parts, silent

__all__ = ["attack", "run_attacks"]


@at_the_door
def attack(
    original: Any,
    released: Any,
    *,
    quasi: Names,
    sensitive: Names = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    control: Any = None,
    paired: bool = True,
    person: str | None = None,
    order: RowShuffle | None = None,
    attempts: int = 2000,
    seed: int = 0,
    progress: Callable[..., None] | None = None,
) -> list[Attack]:
    """Attack `released`, with `original` as what the attacker may know and as the truth; frames or datasets.

    The attacker knows the `quasi` columns and wants the `sensitive` ones; descriptions may also use any released column
    (of more than twenty, those with the most values), and are all there is where no quasi-identifier is named.
    `control` is a table of people who are in neither; without it, original records that were not released are the
    control. `paired=False` says that released rows do not stand in the order of the original (a dataset may remember
    where its rows came from). `person` is the column of the original that says whose a row is: then linking and inference
    attack everybody once, by one row of theirs, and a record that was found is right if it is any of theirs. Singling out
    still counts rows. `order` is that of the release, where `released` stands in another. At most `attempts` guesses an attack;
    `progress` is told how many attacks are done. O(attempts · classes · columns), parallel.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 38, 35, 52], "disease": ["flu", "cold", "flu", "ulcer"]})
    >>> found = attack(people, people, quasi="age", sensitive="disease")
    >>> found[-1].name, found[-1].found.right, found[-1].found.tried
    ('record_linkage', 4, 4)
    """
    quasi, sensitive = named_columns(quasi, "quasi"), named_columns(sensitive, "sensitive")
    before, after = Frame.read(original).data, Frame.read(released).data
    require_in_both([*quasi, *sensitive], before, after, "attack")
    if attempts < 1:
        raise UsageError(Message("error_attack.attempts", attempts=attempts))
    target = AttackTarget(
        original=before,
        released=after,
        quasi=quasi,
        sensitive=sensitive,
        hierarchies=hierarchies,
        control=None if control is None else Frame.read(control).data,
        paired=paired,
        whose=None if person is None else _whose(before, person),
        order=order,
        attempts=attempts,
        seed=seed,
    )
    return run_attacks(target, progress)


def run_attacks(target: AttackTarget, progress: Callable[..., None] | None = None) -> list[Attack]:
    """Run every method of the registry whose needs are met; `progress` receives the number of finished methods."""
    if not target.original.rows or not target.released.rows:
        return []
    parts = Parts(progress or silent, Message("progress.attacking"), len(ATTACKS))
    first = {name: parts.do(_run, one, target) for name, one in ATTACKS.items() if one.draws_first}
    found: list[Attack] = []
    for name, method in ATTACKS.items():
        made = first[name] if name in first else parts.do(_run, method, target)
        found = [*(method.comment(found, target) if made else found), *made]
    return found


def _run(method: AttackMethod, target: AttackTarget) -> list[Attack]:
    return method.run(target) if all(target.has(need) for need in method.needs) else []


def _whose(original: Dataset, person: str) -> np.ndarray:
    """Number each original row by its person; a row without a person has a number of its own."""
    if person not in original:
        raise ColumnError(
            Message(
                "error_table.lacks_column.original",
                asker="attack",
                unknown=[person],
                columns=names_shown(original, [person]),
            )
        )
    held = clean(original[person])
    return np.where(held.codes == held.missing, -1 - np.arange(original.rows), held.codes.astype(np.int64))
