"""Inference: guess the sensitive value of a person from the class of the most similar released records.

A missing value is a value that can be guessed, and be the right one. A suppressed one (`*`) tells nothing: the guess is
made of the others of the class, and where there are none, no guess is made, which counts as wrong.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow.compute as pc

from oboro.attacks.attacker_view import ReleasedClasses
from oboro.attacks.base import Attack, AttackKind, AttackMethod, AttackTarget, Neighbours, Rate
from oboro.data.column import Column
from oboro.data.grouping import tally
from oboro.hierarchies.hierarchy import text_array
from oboro.hierarchies.labels import is_star, plain_numbers
from oboro.text import Message

__all__ = ["ATTACK", "CATEGORY", "USUAL", "CategoryGuesser", "Inference", "NumberGuesser", "guess_by"]


NONE = -2  # no guess
FEW_VALUES = 20
TOLERANCE = 0.05
USUAL = Message("attack.control.usual_value")
CATEGORY, NUMBER = Message("attack.right.category"), Message("attack.right.number")


def guess_by(before: Column, after: Column, classes: ReleasedClasses) -> NumberGuesser | CategoryGuesser:
    """The way of guessing that fits a column."""
    numbers = plain_numbers(before), plain_numbers(after)
    if numbers[0] is not None and numbers[1] is not None and len(before.values) > FEW_VALUES:
        return NumberGuesser(numbers[1], after, classes)
    return CategoryGuesser(before, after, classes)


class CategoryGuesser:
    """The most frequent value of each class, and the next for when one's own record is left out."""

    numeric: ClassVar[bool] = False

    def __init__(self, before: Column, after: Column, classes: ReleasedClasses) -> None:
        after = after.tidy()
        stars = is_star(after)
        self.values, self.codes, self.labels = before.values, after.codes, classes.groups.labels
        place = pc.index_in(text_array(after.values), value_set=text_array(before.values)).fill_null(NONE)
        self.place = np.where(stars, NONE, place.to_numpy(zero_copy_only=False).astype(np.int64))
        self.whole = int(np.where(stars, 0, after.counts).argmax())
        table = tally(self.labels, classes.groups.sizes, after.codes, len(after.values))
        counts = np.where(stars[table.codes], 0, table.counts)
        label = np.repeat(np.arange(len(classes.groups)), table.distinct)
        order = np.lexsort((table.codes, -counts, label))
        first = table.starts[:-1]
        second = np.where(table.distinct > 1, first + 1, first)
        self.top = table.codes[order][np.stack([first, second])].astype(np.int64)
        self.count = counts[order][np.stack([first, second])]
        self.count[1, table.distinct == 1] = 0

    def truth(self, column: Column, rows: np.ndarray) -> np.ndarray:
        """The original codes of some people; −1 for a value that the original lacks."""
        found = pc.index_in(text_array(column.values), value_set=text_array(self.values)).fill_null(-1)
        return np.asarray(found.to_numpy(zero_copy_only=False)[column.codes[rows]])

    def guess(self, chosen: np.ndarray, without: np.ndarray) -> np.ndarray:
        """Original codes; `NONE` where there is no class, nothing but `*` in it, or no original value is meant."""
        row = np.maximum(without, 0)
        mine = (without >= 0) & (self.labels[row] == chosen) & (self.codes[row] == self.top[0, chosen])
        left = self.count[0, chosen] - mine
        gap = left - self.count[1, chosen]
        next_one = mine & ((gap < 0) | ((gap == 0) & (self.top[1, chosen] < self.top[0, chosen])))
        guess = self.place[np.where(next_one, self.top[1, chosen], self.top[0, chosen])]
        return np.where((chosen < 0) | (np.maximum(left, self.count[1, chosen]) <= 0), NONE, guess)

    def usual(self, count: int) -> np.ndarray:
        """The most frequent value of the whole release, as often as asked."""
        return np.full(count, self.place[self.whole])

    def right(self, guess: np.ndarray, truth: np.ndarray) -> Rate:
        """Number of correct guesses."""
        return Rate(int((guess == truth).sum()), int(truth.size))


class NumberGuesser:
    """The lower median of each class, without one's own record if asked; missing is the greatest. O(rows · log rows)."""

    numeric: ClassVar[bool] = True

    def __init__(self, numbers: np.ndarray, after: Column, classes: ReleasedClasses) -> None:
        self.labels, self.codes = classes.groups.labels, after.codes
        stars = is_star(after)
        self.known = ~stars  # by entry
        order = np.lexsort((numbers, stars))
        self.numbers, self.width = numbers[order], np.uint64(order.size)
        self.ranks = np.empty(order.size, np.uint64)
        self.ranks[order] = np.arange(order.size)
        # One key for class and number: sorting these takes a tenth of the time of sorting rows by two columns.
        self.sorted = np.sort(self.labels.astype(np.uint64) * self.width + self.ranks[self.codes])
        self.starts = np.append(0, np.cumsum(classes.groups.sizes))
        hidden = np.flatnonzero(stars[self.codes]) if stars.any() else np.zeros(0, np.int64)
        self.sizes = classes.groups.sizes - np.bincount(self.labels[hidden], minlength=len(classes.groups))

    def truth(self, column: Column, rows: np.ndarray) -> np.ndarray:
        """The numbers of some people; NaN where there is none."""
        numbers = plain_numbers(column)
        return np.full(rows.size, np.nan) if numbers is None else np.asarray(numbers[column.codes[rows]])

    def guess(self, chosen: np.ndarray, without: np.ndarray) -> np.ndarray:
        """A number for each, NaN for a missing one; infinite where no guess is made."""
        row = np.maximum(without, 0)
        mine = (without >= 0) & (self.labels[row] == chosen) & self.known[self.codes[row]]
        left = self.sizes[chosen] - mine
        last = self.sorted.size - 1
        middle = np.clip(self.starts[chosen] + (left - 1) // 2, 0, last)
        # Taking one's own number out moves everything after it: which of several equal ones makes no difference.
        middle += mine & (self.ranks[self.codes[row]] <= self.sorted[middle] % self.width)
        found = self.numbers[self.sorted[np.minimum(middle, last)] % self.width]
        return np.where((chosen < 0) | (left <= 0), np.inf, found)

    def usual(self, count: int) -> np.ndarray:
        """The lower median of the whole release, as often as asked."""
        ranks = np.sort(self.ranks[self.codes[self.known[self.codes]]])
        return np.full(count, self.numbers[ranks[(ranks.size - 1) // 2]] if ranks.size else np.inf)

    def right(self, guess: np.ndarray, truth: np.ndarray) -> Rate:
        """Number of guesses that are near enough."""
        near = np.abs(guess - truth) <= TOLERANCE * np.abs(truth)
        return Rate(int((near | (np.isnan(guess) & np.isnan(truth))).sum()), int(truth.size))


class Inference(AttackMethod):
    """Guess each sensitive value as the most frequent one (numbers: the median) in the class most like the person.

    The control is the control group; else the better of the same people without their own record and the usual value.
    """

    kinds = (AttackKind("inference", "inference", "attribute", limit_by_share=True),)
    knows = "the quasi-identifiers of a person"
    needs = ("records", "quasi", "sensitive")

    def run(self, target: AttackTarget) -> list[Attack]:
        """Guess once for each target and sensitive attribute."""
        known = target.nearest
        return [] if known is None else [self._guess(target, known, name) for name in target.sensitive]

    def _guess(self, target: AttackTarget, known: Neighbours, secret: str) -> Attack:
        scenario = target.scenario
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
        means = Message("attack.inference.meaning", form=NUMBER if guesser.numeric else CATEGORY)
        more = {"secret": secret, "notes": scenario.notes, "means": means}
        return self.kinds[0].attack(known.view.names, found, control, is_, **more)


ATTACK = Inference()
