"""Run the attacks: the three questions of the European opinion WP216 and distance-based record linkage.

Each attack guesses many times and is judged by the original table. Its control says how often the same guesses are
right about people whose record cannot have helped: people outside the release where there are any, otherwise the same
people with their own record taken out, otherwise a guess without the release. Only what an attack does beyond its
control comes from being in the release; the rest is what anybody can learn about anybody, which is what data are
released for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oboro.attacks.attacker_view import AttackerView, ReleasedClasses
from oboro.attacks.base import MOST_COLUMNS, OWN, Attack, AttackScenario, Rate, prepare
from oboro.attacks.inference import guess_by
from oboro.attacks.plain_hashes import guess_hashes
from oboro.attacks.row_order import count_rows
from oboro.attacks.singling_out import singling_out
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.data.grouping import clean
from oboro.data.parameters import Names, at_the_door, named_columns, names_shown, require_in_both
from oboro.data.row_order import RowShuffle
from oboro.errors import ColumnError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.text import Message
from oboro.text.language import Parts, silent

__all__ = ["attack"]


CHANCE = Message("attack.control.random_record")
USUAL = Message("attack.control.usual_value")


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
    outside = None if control is None else Frame.read(control).data
    _require(before, after, [*quasi, *sensitive], attempts)
    whose = None if person is None else _whose(before, person)
    if not before.rows or not after.rows:
        return []
    others = _others(before, after, quasi, sensitive)
    rng = np.random.default_rng(seed)
    hashed = guess_hashes(before, after, attempts, rng)
    if not quasi and not others:
        return hashed
    scenario = prepare(before, after, quasi, others, hierarchies, outside, paired, attempts, rng, whose)
    said, every = scenario.understood(quasi), scenario.understood(scenario.view.names)
    parts = Parts(progress or silent, Message("progress.attacking"), 6 + len(sensitive))
    found = parts.do(singling_out, scenario, said, "quasi") if said else []
    if len(every) > len(said):
        found += parts.do(singling_out, scenario, every, "any")
    known = parts.do(_Neighbours.of, scenario, list(quasi), scenario.classes) if quasi else None
    found += [] if known is None else _by_what_is_known(scenario, known, quasi, sensitive, parts)
    return found + hashed + parts.do(_by_place, scenario, known, before, order)


def _others(before: Dataset, after: Dataset, quasi: Sequence[str], sensitive: Sequence[str]) -> list[str]:
    """What else descriptions may use: secrets, and of the rest those columns that tell most people apart."""
    secret = [name for name in sensitive if name not in quasi]
    rest = [name for name in after if name in before and name not in (*quasi, *secret)]
    most = max(0, MOST_COLUMNS - len(quasi) - len(secret))
    telling = sorted(rest, key=lambda name: -len(after[name].values))[:most]
    return [*secret, *(name for name in rest if name in telling)]


def _by_place(
    scenario: AttackScenario, known: _Neighbours | None, original: Dataset, order: RowShuffle | None
) -> list[Attack]:
    """Counting rows: whoever knows the order of the original, and the quasi-identifiers, looks where a record must stand."""
    if scenario.owners is None:
        return []
    people = scenario.owners[scenario.targets] if known is None else known.people
    alike = None if known is None else (known.classes.groups.labels, known.found)
    return count_rows(original, scenario.owners, people, alike, scenario.whose, scenario.rng, order)


def _by_what_is_known(
    scenario: AttackScenario, known: _Neighbours, quasi: Sequence[str], sensitive: Sequence[str], parts: Parts
) -> list[Attack]:
    """Linkability, inference and record linkage: whoever knows the quasi-identifiers looks for the nearest record."""
    found = []
    if len(quasi) > 1:
        found.append(parts.do(_linkability, scenario, *_halves(scenario.view.original, quasi)))
    found += [parts.do(_inference, scenario, known, name) for name in sensitive]
    if scenario.owners is not None:
        found.append(parts.do(_record_linkage, scenario, known))
    return found


def _require(original: Dataset, released: Dataset, names: Sequence[str], attempts: int) -> None:
    require_in_both(names, original, released, "attack")
    if attempts < 1:
        raise UsageError(Message("error_attack.attempts", attempts=attempts))


def _whose(original: Dataset, person: str) -> np.ndarray:
    """A number for each original row, equal for rows of one person; a row without a person is somebody's own."""
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


# Nearest records ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """For each person attacked the class of released records most like them; for the control the same."""

    view: AttackerView
    classes: ReleasedClasses
    people: np.ndarray  # original rows that are attacked
    own: np.ndarray  # their released rows, −1 where not known
    found: np.ndarray  # classes
    control_people: np.ndarray | None  # rows of the control group
    control: np.ndarray | None
    control_is: Message

    @staticmethod
    def of(scenario: AttackScenario, names: Sequence[str], classes: ReleasedClasses | None = None) -> _Neighbours:
        view, at = scenario.view.select(names), scenario.view.at(names)
        classes = scenario.alike(names) if classes is None else classes
        people = scenario.targets if scenario.owners is None else scenario.owners[scenario.targets]
        own = np.full(people.size, -1) if scenario.owners is None else scenario.targets
        nobody = np.full(people.size, -1)
        places = scenario.view.people.at(people, at)
        found = view.nearest(places, classes, nobody, scenario.rng)
        there = _Neighbours(view, classes, people, own, found, None, None, CHANCE)
        if scenario.outside is not None:
            rows = scenario.control_rows
            nearest = view.nearest(scenario.outside.at(rows, at), classes, np.full(rows.size, -1), scenario.rng)
            return replace(there, control_people=rows, control=nearest, control_is=scenario.outside_is)
        if scenario.owners is not None and scenario.whose is None:  # else other rows of theirs would help the control
            without = view.nearest(places, classes, classes.groups.labels[own].astype(np.int64), scenario.rng)
            return replace(there, control=without, control_is=OWN)
        return there


def _record_linkage(scenario: AttackScenario, known: _Neighbours) -> Attack:
    """Take the nearest record; of several one by chance. The control is a guess among all records."""
    picked = _pick(scenario, known.classes, known.found, np.full(known.found.size, -1))
    by_chance = scenario.rng.integers(scenario.view.released.rows, size=known.own.size)
    found, control = (_same(scenario, guess, known.own) for guess in (picked, by_chance))
    names, notes = known.view.names, scenario.linking_notes
    return Attack("record_linkage", "linkability", names, found, control, CHANCE, notes=notes)


def _pick(scenario: AttackScenario, classes: ReleasedClasses, chosen: np.ndarray, without: np.ndarray) -> np.ndarray:
    """One released row of each chosen class, by chance, never the row `without`; −1 where there is no class."""
    labels, sizes = classes.groups.labels, classes.groups.sizes[chosen]
    mine = (without >= 0) & (labels[np.maximum(without, 0)] == chosen)
    number = (scenario.rng.random(chosen.size) * (sizes - mine)).astype(np.int64)
    picked, last = classes.members(np.tile(np.maximum(chosen, 0), 2), np.concatenate([number, sizes - 1])).reshape(
        2, -1
    )
    # Among all but the last, whoever meets their own record takes the last instead: all others are equally likely.
    return np.where(chosen < 0, -1, np.where(mine & (picked == without), last, picked))


# Linkability ----------------------------------------------------------------------------------------------------------


def _halves(data: Dataset, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Two halves that tell about equally much, by the logarithms of the numbers of different values."""
    halves: tuple[list[str], list[str]] = ([], [])
    weights = [0.0, 0.0]
    for name in sorted(names, key=lambda name: -len(data[name].values)):
        lighter = int(weights[1] < weights[0])
        halves[lighter].append(name)
        weights[lighter] += float(np.log(max(2, len(data[name].values))))
    return halves


def _linkability(scenario: AttackScenario, first: Sequence[str], second: Sequence[str]) -> Attack:
    """Both halves of what is known look for their record; they are linked if they find the same."""
    halves = [_Neighbours.of(scenario, half) for half in (first, second)]
    nobody = np.full(scenario.targets.size, -1)
    found = _same(scenario, *(_pick(scenario, half.classes, half.found, nobody) for half in halves))
    control, is_ = _control_linked(scenario, halves[0], halves[1])
    halved = Message("attack.note.halves", first=" + ".join(first), second=" + ".join(second))
    names, notes = (*first, *second), (halved, *scenario.linking_notes)
    return Attack("linkability", "linkability", names, found, control, is_, notes=notes)


def _control_linked(scenario: AttackScenario, first: _Neighbours, second: _Neighbours) -> tuple[Rate, Message]:
    if first.control is None or second.control is None:
        draws = scenario.rng.integers(scenario.view.released.rows, size=(2, first.people.size))
        return _same(scenario, draws[0], draws[1]), CHANCE
    without = first.own if first.control_people is None else np.full(first.control.size, -1)
    pairs = ((first.classes, first.control), (second.classes, second.control))
    return _same(scenario, *(_pick(scenario, classes, found, without) for classes, found in pairs)), first.control_is


def _same(scenario: AttackScenario, one: np.ndarray, other: np.ndarray) -> Rate:
    """How often two released rows are the same, or where it is known whose they are, the same person's."""
    same = one == other
    if scenario.whose is not None and scenario.owners is not None:
        theirs = scenario.whose[scenario.owners]
        same = theirs[one] == theirs[other]
    return Rate(int((same & (one >= 0) & (other >= 0)).sum()), int(one.size))


# Inference ------------------------------------------------------------------------------------------------------------


def _inference(scenario: AttackScenario, known: _Neighbours, secret: str) -> Attack:
    """Guess the secret of each person as the most frequent (numbers: the median) in the class most like them."""
    before, after = scenario.view.original[secret], scenario.view.released[secret]
    guesser = guess_by(before, after, known.classes)
    truth = guesser.truth(before, known.people)
    found = guesser.right(guesser.guess(known.found, np.full(known.found.size, -1)), truth)
    usual = guesser.right(guesser.usual(truth.size), truth)
    if known.control is None:
        control, is_ = usual, USUAL
    elif known.control_people is not None and scenario.outside_table is not None:
        theirs = guesser.truth(scenario.outside_table[secret], known.control_people)
        guesses = guesser.guess(known.control, np.full(known.control.size, -1))
        control, is_ = guesser.right(guesses, theirs), known.control_is
    else:
        # Among the others of a class made to be diverse one's own value is the rarest: worse than knowing nothing.
        others = guesser.right(guesser.guess(known.control, known.own), truth)
        control, is_ = (others, known.control_is) if others.right >= usual.right else (usual, USUAL)
    form = Message("attack.right.number" if guesser.numeric else "attack.right.category")
    means = Message("attack.inference.meaning", form=form)
    names = known.view.names
    return Attack("inference", "inference", names, found, control, is_, secret, scenario.notes, means)
