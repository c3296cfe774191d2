"""Every rate of every attack against a computation in plain loops, on tables small enough for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.drawing import picks

from oboro.attacks.attacker_view import AttackerView, Descriptions, ReleasedClasses
from oboro.attacks.base import Attack, Rate
from oboro.attacks.inference import CategoryGuesser, NumberGuesser, guess_by
from oboro.attacks.run import attack
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups

pytestmark = pytest.mark.usefixtures("one_thread")

AGES = [21, 27, 34, 38, 45, None]
JOBS = ["cook", "judge", "nurse", None]
SAID = {  # a released label, and whom it fits
    "21": {21}, "27": {27}, "34": {34}, "38": {38}, "45": {45}, "20–29": {21, 27}, "30-39": {34, 38}, "≥34": {34, 38, 45},
    "*": {21, 27, 34, 38, 45, None}, None: {None},
}  # fmt: skip
SAID_JOB = {
    "cook": {"cook"}, "judge": {"judge"}, "nurse": {"nurse"}, "{cook, judge}": {"cook", "judge"},
    "*": {"cook", "judge", "nurse", None}, None: {None},
}  # fmt: skip
ENDS = {  # where a label of ages lies
    **{str(age): (age, age) for age in (21, 27, 34, 38, 45)},
    "20–29": (21, 27), "30-39": (34, 38), "≥34": (34, 45),
}  # fmt: skip
Person = tuple[int | None, str | None]
Label = tuple[str | None, str | None]


people = st.lists(st.tuples(st.sampled_from(AGES), st.sampled_from(JOBS)), min_size=1, max_size=14)


@st.composite
def releases(draw: Any) -> tuple[list[Person], list[Label], list[int]]:
    """People, released labels that are right or not, and whose record each is: some dropped, in any order."""
    persons = [*draw(people), *((age, job) for age, job in zip(AGES, ["cook", "judge", "nurse", None, "cook", "cook"]))]  # noqa: B905
    owners = draw(st.permutations(range(len(persons))))[: draw(st.integers(1, len(persons)))]
    labels = []
    for owner in owners:
        honest = draw(st.booleans())
        ages = [said for said, fits in SAID.items() if persons[owner][0] in fits or not honest]
        jobs = [said for said, fits in SAID_JOB.items() if persons[owner][1] in fits or not honest]
        labels.append((draw(st.sampled_from(ages)), draw(st.sampled_from(jobs))))
    # One range, so that the others are not taken for numbers that were rounded.
    return [*persons, (21, "cook")], [*labels, ("20–29", "cook")], [*owners, len(persons)]


def tables(persons: Sequence[Person], labels: Sequence[Label], owners: Sequence[int]) -> tuple[Dataset, Dataset]:
    original = Dataset.of({"age": [a for a, _ in persons], "job": [j for _, j in persons]})
    columns = {name: Column.of([label[i] for label in labels]) for i, name in enumerate(("age", "job"))}
    return original, Dataset(columns, len(labels), np.array(owners))


def fits(person: Person, label: Label, used: Sequence[int] = (0, 1)) -> bool:
    return all(person[j] in (SAID, SAID_JOB)[j][label[j]] for j in used)  # type: ignore[index]


def by_name(found: list[Attack]) -> dict[str, Attack]:
    return {one.name: one for one in found}


# Singling out ---------------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(releases())
def test_singling_out_by_all_quasi_identifiers(release: tuple[list[Person], list[Label], list[int]]) -> None:
    """Right where one person of the release fits; the control where one fits who is not the record's own."""
    persons, labels, owners = release
    found = by_name(attack(*tables(persons, labels, owners), quasi=["age", "job"]))["singling_out_multivariate_quasi"]
    inside = sorted(owners)
    counts = [[i for i in inside if fits(persons[i], label)] for label in labels]
    right = sum(len(some) == 1 for some in counts)
    others = sum(len([i for i in some if i != owner]) == 1 for some, owner in zip(counts, owners, strict=True))
    assert (found.found, found.control) == (Rate(right, len(labels)), Rate(others, len(labels)))


@settings(max_examples=30, deadline=None)
@given(releases())
def test_singling_out_by_one_value(release: tuple[list[Person], list[Label], list[int]]) -> None:
    """A value that one record has, missing included; of numbers also both ends. `*` describes nobody."""
    persons, labels, owners = release
    found = by_name(attack(*tables(persons, labels, owners), quasi=["age", "job"]))["singling_out_univariate_quasi"]
    inside = [persons[i] for i in owners]
    tried: list[int] = []
    for j in (0, 1):
        held = Counter(label[j] for label in labels)
        alone = [said for said, count in held.items() if count == 1 and said != "*"]
        tried += [sum(person[j] in (SAID, SAID_JOB)[j][said] for person in inside) for said in alone]  # type: ignore[index]
    ages = [ENDS[label[0]] for label in labels if label[0] in ENDS]
    if ages:
        lowest, highest = min(ages), max(ages, key=lambda ends: (ends[1], ends[0]))
        least = [high for low, high in ages if low == lowest[0]]
        most = [low for low, high in ages if high == highest[1]]
        if len(set(least)) > 1 or len(set(most)) > 1:
            return  # which of two labels with the same end is described is open
        known = [age for age, _ in inside if age is not None]
        tried += [sum(age <= least[0] for age in known), sum(age >= most[0] for age in known)]
    assert found.found == Rate(sum(count == 1 for count in tried), len(tried))


@settings(max_examples=25, deadline=None)
@given(releases(), st.integers(0, 2**32))
def test_whether_one_person_fits_is_what_is_counted_of_all(
    release: tuple[list[Person], list[Label], list[int]], seed: int
) -> None:
    """`each` is the plain twin of the kernel: person by person it adds up to the same."""
    persons, labels, owners = release
    view = AttackerView.of(*tables(persons, labels, owners), ["age", "job"])
    used = np.random.default_rng(seed).random((len(labels), 2)) < 0.7
    used[:, 0] |= ~used[:, 1]  # a description says something
    described = Descriptions(*view.records(np.arange(len(labels))), used)
    each = [view.people.each(np.full(len(labels), i), described) for i in range(len(persons))]
    for i, person in enumerate(persons):
        assert each[i].tolist() == [
            fits(person, label, np.flatnonzero(row)) for label, row in zip(labels, used, strict=True)
        ]
    assert view.people.fitting(described).tolist() == np.minimum(np.sum(each, axis=0), 3).tolist()


# Guessing -------------------------------------------------------------------------------------------------------------


def classes_of(labels: Sequence[int]) -> ReleasedClasses:
    table = Dataset.of({"x": list(labels)})
    return AttackerView.of(table, table, ["x"]).classes()


secrets = picks(product(range(3), ["flu", "gout", "cold", "*", None]), min_size=1)


def usual_one(values: list[Any], order: list[Any]) -> Any:
    """The most frequent; of several the first in the order of the dictionary. "*" is nobody's value."""
    held = Counter(value for value in values if value != "*")
    return max(held, key=lambda value: (held[value], -order.index(value))) if held else "*"


@given(secrets)
def test_categories_are_guessed_by_the_most_frequent_value(rows: list[tuple[int, str | None]]) -> None:
    labels, values = [row[0] for row in rows], [row[1] for row in rows]
    before = Column.of(["flu", "gout", "cold", None])
    after = Column.of(values).tidy()
    guesser = guess_by(before, after, classes_of(labels))
    assert isinstance(guesser, CategoryGuesser)
    classes = Groups.of([Column.of(labels)], len(rows)).labels.astype(np.int64)
    everybody, own = np.arange(len(rows)), after.texts
    for without in (False, True):
        found = guesser.guess(classes, everybody if without else np.full(len(rows), -1))
        for i, guess in enumerate(found):
            others = [values[j] for j in everybody if labels[j] == labels[i] and not (without and j == i)]
            best = usual_one(others, own)
            assert (before.texts[guess] if guess >= 0 else "*") == best
    assert guesser.right(found, guesser.truth(before, np.zeros(len(rows), np.int64))).right == sum(
        guess == 0 for guess in found
    )


numbers = picks(product(range(3), [10, 20, 30, 40, "*", None]), min_size=1)


@given(numbers)
def test_numbers_are_guessed_by_the_lower_median(rows: list[tuple[int, Any]]) -> None:
    """Missing is the greatest number; suppressed ones are left out."""
    labels, values = [row[0] for row in rows], [row[1] for row in rows]
    rows.append((3, 50))  # one plain number at least
    labels, values = [row[0] for row in rows], [row[1] for row in rows]
    after = Column.of([value if value in (None, "*") else str(value) for value in values])
    guesser = guess_by(Column.of(list(range(100))), after, classes_of(labels))
    assert isinstance(guesser, NumberGuesser)
    classes = Groups.of([Column.of(labels)], len(rows)).labels.astype(np.int64)
    everybody = np.arange(len(rows))
    for without in (False, True):
        found = guesser.guess(classes, everybody if without else np.full(len(rows), -1))
        for i, guess in enumerate(found):
            others = [values[j] for j in everybody if labels[j] == labels[i] and not (without and j == i)]
            known = sorted(np.inf if value is None else value for value in others if value != "*")
            if not known:
                assert np.isinf(guess)
                continue
            middle = known[(len(known) - 1) // 2]
            assert np.isnan(guess) if np.isinf(middle) else guess == middle
    whole = sorted(np.inf if value is None else value for value in values if value != "*")
    middle = whole[(len(whole) - 1) // 2]
    assert np.isnan(guesser.usual(1)[0]) if np.isinf(middle) else guesser.usual(1)[0] == middle


def test_a_guess_is_right_within_five_percent_and_missing_may_be_guessed() -> None:
    guesser = guess_by(Column.of(list(range(30))), Column.of([1, 2, 3]), classes_of([0, 0, 0]))
    guesses = np.array([95.0, 94.9, 105.0, 0.0, -100.0, np.nan, np.nan, np.inf, np.inf])
    truth = np.array([100.0, 100.0, 100.0, 0.0, -104.0, np.nan, 1.0, np.nan, 1.0])
    assert guesser.right(guesses, truth) == Rate(5, 9)


def test_a_secret_that_is_partly_suppressed_is_guessed_by_the_rest() -> None:
    data = Dataset.of({"age": list(range(50)) * 2, "illness": ["gout"] * 50 + ["flu"] * 50})
    hidden = [value if i % 5 == 0 else "*" for i, value in enumerate(["gout"] * 50 + ["flu"] * 50)]
    released = Dataset.of({"age": ["0–49"] * 100, "illness": hidden})
    found = by_name(attack(data, released, quasi=["age"], sensitive=["illness"]))["inference_illness"]
    assert found.found.right == 50  # not 0, as if "*" were what the attacker guesses


# Nearest records ------------------------------------------------------------------------------------------------------


def expected(found: list[list[int]], right: list[int]) -> float:
    """One of the nearest by chance."""
    return sum((own in near) / len(near) for near, own in zip(found, right, strict=True))


def test_linkage_and_linking_are_right_as_often_as_chance_among_the_nearest_allows() -> None:
    """Rates over many seeds against the probabilities that loops give."""
    rng = np.random.default_rng(4)
    rows = list(zip(rng.integers(0, 12, 40).tolist(), rng.choice(list("abcd"), 40).tolist(), strict=True))
    original = Dataset.of({"x": [x for x, _ in rows], "c": [c for _, c in rows]})
    moved = [(min(11, max(0, x + int(rng.integers(-2, 3)))), c) for x, c in rows]
    released = Dataset.of({"x": [x for x, _ in moved], "c": [c for _, c in moved]})

    def near(person: tuple[int, str], columns: tuple[int, ...], without: int = -1) -> list[int]:
        cost = [sum(abs(person[0] - one[0]) / 11 if j == 0 else person[1] != one[1] for j in columns) for one in moved]
        rest = [i for i in range(len(moved)) if i != without]
        least = min(cost[i] for i in rest)
        return [i for i in rest if cost[i] <= least + 1e-9]

    linked = expected([near(person, (0, 1)) for person in rows], list(range(40)))
    halves = [(near(person, (0,)), near(person, (1,))) for person in rows]
    joined = sum(len({*one} & {*two}) / len(one) / len(two) for one, two in halves)
    alone = [(near(person, (0,), i), near(person, (1,), i)) for i, person in enumerate(rows)]
    control = sum(len({*one} & {*two}) / len(one) / len(two) for one, two in alone)
    runs = [by_name(attack(original, released, quasi=["x", "c"], seed=seed)) for seed in range(150)]
    for name, side, truth in (
        ("record_linkage", "found", linked),
        ("record_linkage", "control", 1.0),
        ("linkability", "found", joined),
        ("linkability", "control", control),
    ):
        counts = np.array([getattr(run[name], side).right for run in runs])
        assert counts.mean() == pytest.approx(truth, abs=4 * max(0.3, counts.std()) / np.sqrt(150)), (name, side)
