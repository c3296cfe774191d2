"""Minimality attack: infer sensitive values from classes that were suppressed although they are large enough.

The attacker knows all quasi-identifiers and how the release was made: each column on one level, and classes suppressed
that are too small, or whose sensitive values violate a requirement. They generalize all people to the released levels
and find the classes that are missing. A missing class of k people or more is missing for its sensitive values: where
every class must have two values, it has one. The suppressed records disclose which one, for their sensitive values are
released (Wong, Fu, Wang & Pei, *Minimality Attack in Privacy Preserving Data Publishing*, VLDB 2007).

The control makes the same guess about all suppressed people: the release discloses that much without its method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.attacks.base import Attack, AttackKind, AttackMethod, AttackTarget, Rate, ReleaseFacts
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups, clean
from oboro.hierarchies.hierarchy import Hierarchy, text_array
from oboro.hierarchies.labels import is_star
from oboro.text import Message
from oboro.verifier.verdict import Verdict, Verification

__all__ = ["ATTACK", "Minimality", "MissingClasses", "infer_by_minimality"]


SUPPRESSED = Message("attack.control.suppressed")
DISTINCT = "model.distinct_l_diversity"


@dataclass(frozen=True, eq=False)
class MissingClasses:
    """Who is suppressed, as somebody finds out who knows the quasi-identifiers of all and the released levels."""

    people: np.ndarray
    """Rows of the original: everybody whose class is not in the release."""
    sizes: np.ndarray
    """How many people (records, unless it is known whose they are) the class of each of them has."""
    starred: np.ndarray
    """Rows of the release: the suppressed records."""

    @staticmethod
    def of(
        original: Dataset,
        released: Dataset,
        quasi: Sequence[str],
        hierarchies: Mapping[str, Hierarchy],
        person: Column | None = None,
    ) -> MissingClasses | None:
        """None where nothing is suppressed, or the levels cannot be read off the labels. O(rows · columns)."""
        if not quasi or (released.origin is None and original.rows != released.rows):
            return None
        rows = released.origin_rows
        stars = np.logical_and.reduce([is_star(released[name])[released[name].codes] for name in quasi])
        shown = np.flatnonzero(~stars)
        if shown.size in (0, stars.size):
            return None
        labels = [_labelled(original[name], released[name], rows, shown, hierarchies.get(name)) for name in quasi]
        if any(one is None for one in labels):
            return None
        groups = Groups.of([one for one in labels if one is not None], rows.size + shown.size)
        there, here = groups.labels[: rows.size], groups.labels[rows.size :]
        sizes = _people(there, len(groups), None if person is None else person.codes[rows])
        missing = np.bincount(here, minlength=len(groups))[there] == 0
        if missing.sum() != stars.sum():  # somebody is suppressed for another reason: the picture does not fit
            return None
        return MissingClasses(rows[missing], sizes[there[missing]], np.flatnonzero(stars))


def _people(labels: np.ndarray, classes: int, person: np.ndarray | None) -> np.ndarray:
    """Count the records, or different people, of each class."""
    if person is None:
        return np.bincount(labels, minlength=classes)
    pairs = np.unique(labels.astype(np.int64) * (int(person.max(initial=0)) + 1) + person)
    return np.bincount(pairs // (int(person.max(initial=0)) + 1), minlength=classes)


def _labelled(
    column: Column, released: Column, rows: np.ndarray, shown: np.ndarray, hierarchy: Hierarchy | None
) -> Column | None:
    """The labels of everybody on the released level, then those of the records that are shown; None: no level has them all."""
    seen = Column(released.values, released.codes[shown]).tidy()
    texts = text_array(seen.values)
    levels = [(text_array(column.values), np.arange(len(column.values)))]
    levels += [] if hierarchy is None else [(text_array(one.labels), one.table) for one in hierarchy.levels[1:]]
    for labels, table in levels:
        place = pc.index_in(texts, value_set=labels)
        here = np.asarray(table)[column.codes[rows]]
        if place.null_count == 0:
            at = place.to_numpy(zero_copy_only=False).astype(np.int64)
            enough = np.bincount(here, minlength=len(labels))[at] >= seen.counts
            if enough.all():
                codes = np.concatenate([here.astype(np.int64), at[seen.codes]])
                return Column(pa.array(np.arange(len(labels))), codes.astype(np.uint32))
    return None


def infer_by_minimality(
    original: Dataset,
    released: Dataset,
    quasi: Sequence[str],
    secret: str,
    hierarchies: Mapping[str, Hierarchy],
    *,
    k: int,
    homogeneous: bool = False,
    person: Column | None = None,
) -> Attack | None:
    """Guess the secret of everybody whose class has k people and is missing; None where nobody can be found missing.

    `homogeneous` says that a class which breaks the demand has one value only (2-diversity): then only values that enough of the
    suppressed records hold come into question. `person` says whose each original record is, where k counts people.
    """
    found = MissingClasses.of(original, released, quasi, hierarchies, person)
    if found is None:
        return None
    before, after = clean(original[secret]), clean(released[secret])
    pool = np.bincount(after.codes[found.starred], minlength=len(after.values))
    large = found.sizes >= k
    lean = pool - np.bincount(after.codes, minlength=pool.size) / after.codes.size * np.count_nonzero(~large)
    guess = _guesses(found.sizes, lean, pool if homogeneous else np.full(pool.size, found.sizes.size))
    tried = large & (guess >= 0)
    truth = np.asarray(pc.index_in(text_array(before.values), value_set=text_array(after.values)).fill_null(-1))
    right = tried & (truth[before.codes[found.people]] == guess)
    usual = float(pool[guess[tried]].mean()) if tried.any() else 0.0
    note = Message("attack.note.suppressed", people=int(large.size), large=int(large.sum()))
    hits, control = Rate(int(right.sum()), int(tried.sum())), Rate(round(usual), int(large.size) if tried.any() else 0)
    return ATTACK.kinds[0].attack(quasi, hits, control, SUPPRESSED, secret=secret, notes=(note,))


def _guesses(sizes: np.ndarray, lean: np.ndarray, enough: np.ndarray) -> np.ndarray:
    """For each person the value that classes suppressed for their secrets lean to most, of those that enough records hold.

    Small classes are suppressed whatever their secrets, and hold about what the whole table holds. What the suppressed records hold
    beyond that comes from the others. −1: no value is held by enough.
    """
    guess = np.full(sizes.size, -1)
    for value in np.argsort(-lean, kind="stable"):
        guess[(guess < 0) & (enough[value] >= sizes)] = value
        if (guess >= 0).all():
            break
    return guess


class Minimality(AttackMethod):
    """Guess the secret of people whose class is large enough and missing, for each guarantee on a sensitive attribute."""

    kinds = (AttackKind("minimality", "inference", "attribute"),)
    knows = "the quasi-identifiers of all people, and the method with its parameters"
    needs = ("verification", "sensitive")

    def run(self, target: AttackTarget) -> list[Attack]:
        """Guess once for each such person and guarantee."""
        made = target.made
        if made.verification is None or made.k is None or not target.paired:
            return []
        found: dict[tuple[str, tuple[str, ...]], Attack | None] = {}
        verdicts = made.verification.verdicts
        for one in verdicts:
            secret, over = str(one.model.values.get("sensitive")), one.over or made.verification.quasi
            if secret in target.sensitive and over and all(name in target.original for name in over):
                tables = target.original, target.released
                k = next((other.k for other in verdicts if other.k and other.over == one.over), made.k)
                two = one.id == DISTINCT and one.model.values.get("l") == 2
                how: dict[str, Any] = {"k": k, "homogeneous": two, "person": made.people}
                guess = infer_by_minimality(*tables, over, secret, target.hierarchies or {}, **how)
                found.setdefault((secret, over), guess)
        return [one for one in found.values() if one is not None and one.found.tried]

    def example(self) -> AttackTarget:
        """Towns of ten with several illnesses, six with one, and villages of two: the latter two are suppressed."""
        mixed = [(f"town {n}", illness) for n in range(20) for illness in ["cold", "flu"] * 5]
        single = [(f"city {n}", "ulcer") for n in range(6) for _ in range(10)]
        small = [(f"village {n}", illness) for n in range(30) for illness in ("cold", "flu")]
        records = [*mixed, *single, *small]
        names = {"place": [place for place, _ in records], "illness": [illness for _, illness in records]}
        shown = ["*" if "town" not in place else place for place in names["place"]]
        before, after = (
            Dataset({name: Column.of(values) for name, values in table.items()}, len(records))
            for table in (names, {**names, "place": shown})
        )
        models = (Message("model.k_anonymity", k=5), Message(DISTINCT, l=2, sensitive="illness"))
        verdicts = [
            Verdict(True, model, least, least, 20, 0, 0, ()) for model, least in zip(models, (5, 2), strict=True)
        ]
        made = ReleaseFacts(verification=Verification.of(verdicts, ["place"]), k=5)
        return AttackTarget(before, after, quasi=["place"], sensitive=["illness"], made=made)


ATTACK = Minimality()
