"""Verdicts that mean what they say: exact counts, what a promise allows, few guesses, one number of attacks, the exit code."""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import oboro
from oboro.attacks.base import Attack, Rate
from oboro.cli.all_commands import app
from oboro.measures.exposure import CertainSecrets
from oboro.privacy.attribute import largest_share
from oboro.recipe.evaluate import evaluate
from oboro.report.make import limited
from oboro.report.report import Report
from oboro.text import Message
from oboro.verifier.verdict import Verdict

PLACES = {"age": 0, "sex": 9, "hours": 12, "income": 14}  # of the columns in a line


def adult(folder: Path, rows: int = 32_561) -> dict[str, list[Any]]:
    lines = [line.split(", ") for line in (folder / "adult.data").read_text().splitlines()[:rows] if line]
    held = {name: [line[place] for line in lines] for name, place in PLACES.items()}
    return {**held, "age": list(map(int, held["age"])), "hours": list(map(int, held["hours"]))}


def aged(table: dict[str, list[Any]], width: int) -> dict[str, list[Any]]:
    return {**table, "age": [f"{age // width * width}-{age // width * width + width - 1}" for age in table["age"]]}


@pytest.fixture(scope="module")
def report(adult_folder: Path) -> Report:
    """Ages by decades, 90 and above in the last one: 5-anonymous over age and sex; hours as they are."""
    table = adult(adult_folder)
    released = aged({**table, "age": [min(age, 79) for age in table["age"]]}, 10)
    return evaluate(table, released, quasi=["age", "sex"], sensitive=["income"], k=5, attempts=500)


def items(report: Report) -> dict[str, Any]:
    return {f"{one.key} {item.key}": item for one in report.checklists for item in one.items}


def test_five_people_who_are_unique_by_their_hours_are_not_called_none(report: Report) -> None:
    assert report.holds
    assert report.exposed is not None
    assert [(one.columns, one.people) for one in report.exposed.single] == [(("hours",), 5)]
    assert report.refused
    assert "5 records are singled out" in report.summary().splitlines()[0]
    question = items(report)["wp216 singling out"]
    assert question.state == "open"
    assert "hours 5" in question.evidence
    assert "5 件" in question.evidence_ja
    assert "None does better" not in question.evidence


def test_sixteen_rare_numbers_are_found(report: Report) -> None:
    item = items(report)["appi 34-4"]
    assert item.state == "open"
    assert "hours (16 values, 32 records)" in item.evidence


def test_a_rate_below_what_k_allows_is_no_alarm(report: Report) -> None:
    linked = next(one for one in report.attacks if one.name == "record_linkage")
    assert linked.limit == pytest.approx(1 / 5)
    assert linked.allowed
    assert not [one for one in report.attacks if one.better and not one.allowed]


def test_the_number_of_attacks_is_one_number(report: Report) -> None:
    run = len(report.attacks)
    assert f"{run} run" in report.summary()
    assert f"{run} attacks were run" in report.to_html()
    assert f"Attacks that were run: {run}" in items(report)["appi 34-5"].evidence
    assert f" of {run};" in items(report)["wp216 linkability"].evidence


def test_certain_secrets_are_said_everywhere(adult_folder: Path) -> None:
    table = adult(adult_folder, 3000)
    released = aged(table, 5)
    classes: dict[tuple[str, str], set[str]] = {}
    sizes: dict[tuple[str, str], int] = {}
    for age, sex, income in zip(released["age"], released["sex"], released["income"], strict=True):
        classes.setdefault((age, sex), set()).add(income)
        sizes[age, sex] = sizes.get((age, sex), 0) + 1
    certain = sum(sizes[one] for one, held in classes.items() if len(held) == 1)
    assert certain > 100
    report = evaluate(table, released, quasi=["age", "sex"], sensitive=["income"], attempts=0)
    assert report.exposed is not None
    assert report.exposed.secrets[0].certain == certain
    for said in (report.summary(), report.to_html(), items(report)["wp216 inference"].evidence):
        assert f"income is certain for {certain:,} records" in said
    assert items(report)["wp216 inference"].state == "open"


def test_few_guesses_are_shown_as_they_are() -> None:
    few = Attack("singling_out_univariate_any", "singling out", ("x",), Rate(5, 9), Rate(1, 9), None)
    assert few.few
    assert not Attack("record_linkage", "linkability", ("x",), Rate(0, 0), Rate(0, 0), None).few


def _verdict(model: str, **values: Any) -> Verdict:
    return Verdict(True, Message(f"model.{model}", **values), 1, 1.0, 1, 0, 0, ())


@pytest.mark.parametrize(
    ("verdict", "limit"),
    [
        (_verdict("alpha_k_anonymity", alpha=0.4, sensitive="s"), 0.4),
        (_verdict("recursive_l_diversity", c=3.0, l=2, sensitive="s"), 0.75),
        (_verdict("t_closeness", t=0.2, sensitive="s", distance="equal"), 0.5),
        (_verdict("t_closeness", t=0.2, sensitive="s", distance="ordered"), None),
        (_verdict("entropy_l_diversity", l=3.0, sensitive="s"), 1 / 3),
        (_verdict("distinct_l_diversity", l=3, sensitive="s"), None),
        (_verdict("alpha_k_anonymity", alpha=0.4, sensitive="other"), None),
        (_verdict("delta_disclosure", delta=1.0, sensitive="s"), 0.6),
        (_verdict("basic_likeness", beta=1.5, sensitive="s"), 0.75),
        (_verdict("enhanced_likeness", beta=2.0, sensitive="s"), 0.3 * (1 - log(0.3))),
    ],
)
def test_what_a_model_allows_to_infer(verdict: Verdict, limit: float | None) -> None:
    means = Message("attack.inference.meaning", form=Message("attack.right.category"))
    guess = Attack("inference", "inference", ("q",), Rate(30, 100), Rate(10, 100), None, "s", (), means)
    secrets = [CertainSecrets("s", ("q",), 100, 0, 0, 0.5, 0.3)]
    (found,) = limited([guess], None, None, [verdict], secrets, {"s": 3})
    assert found.limit == (None if limit is None else pytest.approx(limit))


def test_a_greatest_risk_allows_links_without_any_k() -> None:
    link = Attack("record_linkage", "linkability", ("q",), Rate(18, 100), Rate(1, 100), None)
    verdicts = [_verdict("maximum_risk", risk=0.2), _verdict("average_risk", risk=0.1)]
    (found,) = limited([link], None, None, verdicts, [], {})
    assert (found.limit, found.limited_by) == (0.2, verdicts[0].model)
    assert limited([link], 1, None, verdicts, [], {})[0].limit is None  # a smaller k holds over all columns together


def test_the_largest_share_that_an_entropy_leaves() -> None:
    """Of two values with shares 0.9 and 0.1 the entropy is that of 1.3841 equal ones."""
    assert largest_share(1.384145, 2) == pytest.approx(0.9, abs=1e-5)


# The exit code --------------------------------------------------------------------------------------------------------

SIX = {"age": [31, 32, 33, 34, 35, 36], "pay": [1, 1, 2, 2, 3, 3]}


def exit_code(tmp_path: Path, released: dict[str, list[Any]], *options: str) -> int:
    paths = []
    for name, table in (("before", SIX), ("after", released)):
        paths.append(str(tmp_path / f"{name}.csv"))
        rows = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
        Path(paths[-1]).write_text("\n".join(rows) + "\n")
    done = CliRunner().invoke(app, ["evaluate", *paths, "--quasi", "age", "--attempts", "0", *options])
    return done.exit_code


def test_the_exit_code_says_whether_it_may_be_released(tmp_path: Path) -> None:
    fine = {"age": ["30-39"] * 6, "pay": [1, 1, 2, 2, 3, 3]}
    assert exit_code(tmp_path, fine) == 0
    assert exit_code(tmp_path, fine, "--k", "6") == 0
    assert exit_code(tmp_path, fine, "--k", "7") == 1
    alone = {**fine, "pay": [1, 1, 2, 2, 3, 4]}
    assert exit_code(tmp_path, alone, "--k", "6") == 1
    assert exit_code(tmp_path, alone, "--k", "6", "--accept", "pay") == 0
    assert exit_code(tmp_path, {**fine, "age": ["30-39"] * 5 + ["36"]}) == 1


def test_people_are_counted_where_the_person_is_known() -> None:
    """Three rows of one man are one man: he is alone by his town."""
    before = pa.table({"who": ["a", "a", "a", "b", "c"], "sex": ["M"] * 5, "town": ["x", "x", "x", "y", "y"]})
    after = before.select(["sex", "town"])
    by_rows = evaluate(before, after, quasi=["sex"], k=2, attempts=0)
    by_people = evaluate(before, after, quasi=["sex"], k=3, person="who", attempts=0)
    assert by_rows.singled_out == 0
    assert by_people.singled_out == 1
    assert by_people.holds
    assert not evaluate(before, after, quasi=["sex"], k=4, person="who", attempts=0).holds
    assert "1 person is singled out" in by_people.summary()


def test_accepting_one_record_without_a_person_accepts_no_other() -> None:
    """Two rows without a person are not one person's: who is alone by town is accepted, who is alone by job is not."""
    before = pa.table(
        {
            "who": ["a", "b", "c", "d", None, None, "e"],
            "town": ["x", "x", "x", "x", "z", "x", "y"],
            "job": ["cook", "cook", "cook", "cook", "cook", "judge", "cook"],
        }
    ).append_column("sex", pa.array(["F"] * 7))
    report = evaluate(
        before, before.select(["sex", "town", "job"]), quasi=["sex"], k=5, person="who", accept="town", attempts=0
    )
    assert report.exposed is not None
    assert (report.exposed.together, report.exposed.accepted[0].people, report.singled_out) == (3, 2, 1)


def test_what_a_recipe_demands_is_a_promise() -> None:
    roles = {"age": {"role": "quasi"}, "pay": {"role": "sensitive"}}
    recipe = oboro.Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 3, "l_diversity": {"pay": 3}}}])
    whole = {"age": ["30-39"] * 6, "pay": SIX["pay"]}
    assert recipe.evaluate(SIX, whole, attempts=0).holds
    assert recipe.evaluate(SIX, {**whole, "age": ["30-34"] * 4 + ["35-39"] * 2}, attempts=0).holds is False


def test_the_public_version_counts_and_names_nothing(report: Report) -> None:
    public = report.to_public()
    assert public.exposed is not None
    assert public.exposed.refused == 5
    assert not public.exposed.single
    assert not public.exposed.rare
    assert "hours" not in public.summary()


def test_a_loss_that_knows_nothing_of_most_columns_is_not_called_none() -> None:
    """`NCP 0 %` of the one column that stayed as it was reads as if nothing had been lost."""
    original = {"sex": ["F", "M"] * 10, "town": ["Ueno", "Kyoto"] * 10, "job": ["cook", "judge"] * 10}
    released = {**original, "town": ["somewhere", "elsewhere"] * 10, "job": ["some", "other"] * 10}
    told = oboro.evaluate(original, released, quasi=["sex", "town", "job"], attempts=0, unpaired=True).summary()
    assert "NCP unknown for 2 of 3 columns" in told
