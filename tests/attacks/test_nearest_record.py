"""Distance to the nearest record with a holdout, beside plain loops over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oboro
from oboro.attacks import nearest_record
from oboro.attacks.attacker_view import AttackerView
from oboro.attacks.base import AttackTarget, people_table
from oboro.attacks.nearest_record import ATTACK, distances
from oboro.attacks.run import run_attacks
from oboro.data.dataset import Dataset

NEAR, FAR = "nearest_record", "nearest_record_holdout"


def naive(people: list[dict], records: list[dict], width: float) -> list[tuple[float, float]]:
    """The two least distances of each record: numbers by their mean gap to what a label stands for, texts 0 or 1."""
    found = []
    for record in records:
        apart = []
        for person in people:
            under = [one["age"] for one in people if record["age"][0] <= one["age"] <= record["age"][1]]
            low, high = min(under), max(under)
            steps = np.linspace(low, high, 20_001) if high > low else np.array([low])
            gap = np.abs(steps - person["age"]).mean() / width
            apart.append(gap + (record["town"] != person["town"]))
        least = sorted(apart)
        found.append((least[0], least[1]))
    return found


PERSON = st.fixed_dictionaries({"age": st.integers(0, 20), "town": st.sampled_from("ab")})
RECORD = st.fixed_dictionaries({"age": st.tuples(st.integers(0, 20), st.integers(1, 6)), "town": st.sampled_from("ab")})


@settings(max_examples=25, deadline=None)
@given(st.lists(PERSON, min_size=2, max_size=6), st.lists(RECORD, min_size=1, max_size=5))
def test_distances_are_those_of_plain_loops(people: list[dict], records: list[dict]) -> None:
    people = [*people, {"age": 0, "town": "a"}, {"age": 25, "town": "b"}]  # the range is 25
    ranges = [(low, low + wide) for low, wide in (one["age"] for one in records)]
    known = [any(low <= one["age"] <= high for one in people) for low, high in ranges]
    shown = [f"{low}–{high}" if there else "0–25" for (low, high), there in zip(ranges, known, strict=True)]
    meant = [pair if there else (0, 25) for pair, there in zip(ranges, known, strict=True)]
    records = [{"age": pair, "town": one["town"]} for pair, one in zip(meant, records, strict=True)]
    original = Dataset.of({"age": [p["age"] for p in people], "town": [p["town"] for p in people]})
    released = Dataset.of({"age": shown, "town": [r["town"] for r in records]})
    view = AttackerView.of(original, released, ["age", "town"])
    found = distances(view, np.arange(len(records)), view.people, view.at(["age", "town"]))
    assert np.column_stack([found.nearest, found.second]) == pytest.approx(
        np.array(naive(people, records, 25.0)), abs=1e-3
    )


def test_distances_of_numbers_by_hand() -> None:
    table = Dataset.of({"x": [0, 4, 10]})
    view = AttackerView.of(table, Dataset.of({"x": [1, 9, 10]}), ["x"])
    found = distances(view, np.arange(3), view.people, np.array([0]))
    assert found.nearest == pytest.approx([0.1, 0.1, 0.0])
    assert found.second == pytest.approx([0.3, 0.5, 0.6])
    assert found.ratios == pytest.approx([1 / 3, 0.2, 0.0])


def test_the_share_is_that_of_plain_loops() -> None:
    rng = np.random.default_rng(3)
    inside, outside, released = (rng.integers(0, 1000, 200) for _ in range(3))
    target = AttackTarget(*(Dataset.of({"x": some.tolist()}) for some in (inside, released)), [], paired=False)
    control = Dataset.of({"x": outside.tolist()})
    target = AttackTarget(target.original, target.released, [], control=control, paired=False)
    (found,) = ATTACK.run(target)
    gaps = [np.abs(released[:, None] - side).min(axis=1) for side in (inside, outside)]
    share = ((gaps[0] < gaps[1]) + 0.5 * (gaps[0] == gaps[1])).mean()
    assert found.kind == FAR
    assert found.found.share == pytest.approx(share, abs=1 / found.found.tried)
    assert not found.better


def test_a_synthetic_table_that_copies_its_people_is_found_out_and_a_fair_one_is_not() -> None:
    people, others = people_table(300, 1), people_table(300, 2)
    how = {"control": others, "paired": False}
    copied = run_attacks(AttackTarget(people, people.take(np.random.default_rng(0).permutation(300)), [], **how))
    fair = run_attacks(AttackTarget(people, people_table(300, 3), [], **how))
    (copy,), (other,) = ([one for one in found if one.kind == FAR] for found in (copied, fair))
    assert copy.better
    assert copy.found.share == 1
    assert copy.risk is not None
    assert not other.better


@pytest.mark.parametrize("k", [2, 5, 20])
def test_a_k_anonymous_release_stays_within_its_bound_and_close_to_it(k: int) -> None:
    """The nearest person of all is the owner of one of k equal records; of the others half are in the same half."""
    rng = np.random.default_rng(k)
    age = rng.permutation(2000)
    labels = [f"{one // k * k}–{one // k * k + k - 1}" for one in age]
    target = AttackTarget(Dataset.of({"age": age.tolist()}), Dataset.of({"age": labels}), ["age"])
    (found,) = ATTACK.run(target)
    bound = ATTACK.kinds[0].limit_by_link(1 / k)
    assert found.kind == NEAR
    assert found.found.low <= bound <= found.found.high
    assert found.found.tried <= -(-2000 // k)  # equal records are one guess


def test_it_is_allowed_what_k_allows_in_a_report() -> None:
    table = {"age": [n // 5 for n in range(200)], "illness": ["flu", "cold"] * 100}
    report = oboro.evaluate(table, table, quasi=["age"], sensitive=["illness"], k=5)
    (found,) = (one for one in report.attacks if one.kind == NEAR)
    assert found.limit == pytest.approx(0.6)
    assert found.allowed


def test_the_control_group_of_an_evaluation_is_the_holdout() -> None:
    people, others = ({"age": [n * 2 + odd for n in range(100)]} for odd in (0, 1))
    report = oboro.evaluate(people, people, quasi=["age"], control=others)
    (found,) = (one for one in report.attacks if one.kind.startswith(NEAR))
    assert found.kind == FAR
    assert found.found.share == 1
    assert "100 people" in found.note


def test_without_pairs_and_without_a_holdout_it_is_not_run() -> None:
    people = people_table(100)
    assert not ATTACK.run(AttackTarget(people, people, ["age"], paired=False))


def test_a_person_with_several_records_is_in_one_half() -> None:
    table = Dataset.of({"age": [n // 2 for n in range(400)]})
    target = AttackTarget(table, table, ["age"], whose=np.arange(400) // 2)
    (found,) = ATTACK.run(target)
    assert found.found.share == 1  # else one of two equal records would be in the other half


def test_other_attacks_draw_the_same_numbers_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    target = {"original": people_table(), "released": people_table(), "quasi": ["age", "sex"]}
    found = [one for one in run_attacks(AttackTarget(**target)) if not one.kind.startswith(NEAR)]
    monkeypatch.setattr("oboro.attacks.nearest_record.NearestRecord.run", lambda self, target: [])
    assert found == run_attacks(AttackTarget(**target))


def test_many_people_are_compared_in_part_and_the_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest_record, "CELLS", 20_000)
    monkeypatch.setattr(nearest_record, "AT_ONCE", 100)
    people = people_table(400)
    (found,) = ATTACK.run(AttackTarget(people, people, ["age"]))
    assert "50 are compared" in found.note
    assert 0.5 < found.found.share < 1
