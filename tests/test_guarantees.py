"""The pages of what is promised: one table leads to all of them, and every test and figure that they name is there."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from tests.mutations import MUTATIONS, POINTS

from oboro.text import Message

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "guarantees").glob("*.md"))
TABLE = (ROOT / "docs" / "guarantees" / "README.md").read_text(encoding="utf-8")


def test_every_page_is_in_the_table() -> None:
    linked = set(re.findall(r"\]\(([a-z-]+\.md)[#)]", TABLE))
    assert linked == {page.name for page in PAGES} - {"README.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:tests|benchmarks)/[\w/.-]+\.(?:py|json)", text))
    lacking = [name for name in named if not (ROOT / name).is_file()]
    assert not lacking
    for link in re.findall(r"\]\(([^)#]+\.md)", text):
        assert (page.parent / link).is_file(), link


def test_every_row_says_what_is_not_promised() -> None:
    rows = [line for line in TABLE.split("## Remedies")[0].splitlines() if line.startswith("|") and "---" not in line]
    assert len(rows) > 15
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 5, row
        assert all(cells), row


def test_measured_rates_are_those_of_the_benchmark() -> None:
    """A figure in the table is one that was measured, and every promise of 1/k holds within its interval."""
    measured = json.loads((ROOT / "benchmarks" / "results" / "attack_rates.json").read_text())
    shares = {f"{100 * one['share']:.1f} %" for one in measured["rows"]}
    told = [one for said in re.findall(r"([^|¹]*)\[¹\]", TABLE) for one in re.findall(r"[0-9.]+ %", said)]
    assert len(told) > 30
    assert set(told) <= shares | {f"{100 * (one['high'] - one['low']) / 2:.1f} %" for one in measured["rows"]} | {
        "20 %"
    }
    for one in measured["rows"]:
        if one["attack"] in ("record_linkage", "medoid", "rerun") and "identity" not in one["method"]:
            assert one["low"] <= measured["blind"], one


# Tables of figures are those of what was measured -------------------------------------------------------------------------


def page(name: str) -> str:
    return (ROOT / "docs" / "guarantees" / f"{name}.md").read_text(encoding="utf-8")


def results(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def lies_beyond(one: dict[str, Any]) -> bool:
    return bool(abs(one["right"] - one["blind"]) > one["error"])


def test_owners_in_a_window() -> None:
    rows = results("window_owner")["rows"]
    told = {(one["k"], one["group"], one["order"]): one for one in rows if one["d"] == 8 and one["index"] == "auto"}
    for k in (3, 5, 10):
        for group in ("grow", "paper"):
            kept, exchanged = (told[k, group, order] for order in ("kept", "exchanged"))
            cells = [f"{100 * one['right']:.1f} % ± {100 * one['error']:.1f} %" for one in (kept, exchanged)]
            assert f"| {k} | `{group}` | {cells[0]} | {cells[1]} | {100 * exchanged['blind']:.1f} % |" in page("window")
    exchanged = [one for one in rows if one["order"] == "exchanged"]
    beyond = sum(map(lies_beyond, exchanged))
    said = f"Over all {len(exchanged)} settings with exchanged places, `fdh` and `fdhq` included, {beyond} lie"
    assert said in page("window")
    for order in ("exchanged", "kept"):
        one = told[5, "grow", order]
        said = f"{100 * one['right']:.1f} % right at k = 5, blind {100 * one['blind']:.1f} %"
        assert said in str(Message(f"recipe.stream.{order}"))
        assert " / ".join(f"{100 * told[k, 'grow', order]['right']:.1f} %" for k in (3, 5, 10)) in TABLE


def test_owners_by_the_order_of_rows() -> None:
    attack = results("row_order")["attack"]
    for name in ("below_5", "one_row", "guess_right"):
        kept, shuffled = (attack[order][name] for order in ("kept", "shuffled"))
        cells = [f"{one[0]:.1f} % ({one[1]:.1f} – {one[2]:.1f})" for one in (kept, shuffled)]
        assert f"| {cells[0]} | {cells[1]} |" in page("k-anonymity")


def test_what_a_distinguisher_shows() -> None:
    shown = [f"{one['shown']:.2f}" for one in results("differential_privacy")["rows"]]
    first, second, third, alone, laplace, gaussian, levels = shown
    told = " ".join(page("differential-privacy").split())
    assert f"`dp_anonymize`: {first}, {second} and {third} where 0.5, 1 and 1 are promised" in told
    assert f"levels: {levels} of 0.5; Laplace noise: {laplace} of 1; Gaussian: {gaussian} of 1." in told
    assert f"(19 people who are known, or 20): {alone}" in told
    assert all(f"ε ≥ {one}" in TABLE for one in (third, alone, laplace))


def test_what_differential_privacy_changes_for_attackers() -> None:
    for row in results("dp_attacks")["rows"]:
        attacks = {one["attack"]: one for one in row["attacks"]}
        member, linkage = attacks["membership"], attacks["record_linkage"]
        assert member["private"] - member["error"] <= member["at_most"]
        cells = [
            f"{row['epsilon']:g}",
            f"{row['released']:,.0f} of {row['people']:,}",
            f"{100 * member['private']:.1f} % ± {100 * member['error']:.1f} %",
            f"{100 * member['at_most']:.1f} %",
            f"{100 * member['without_chance']:.1f} %",
            f"{100 * linkage['private']:.2f} % ± {100 * linkage['error']:.2f} %",
            f"{100 * linkage['without_chance']:.2f} %",
        ]
        assert f"| {' | '.join(cells)} |" in page("differential-privacy")


def _percent(rate: dict[str, Any]) -> str:
    low, high = (100 * end for end in rate["interval"])
    return f"{100 * rate['share']:.1f} % of {rate['tried']:,} people ({low:.1f} – {high:.1f})"


def test_what_minimality_tells() -> None:
    rows = {one["setting"]: one for one in results("minimality")["rows"]}
    whole, halves = rows["k = 5, l = 2"]["whole"], rows["k = 5, l = 2"]["halves"]
    told = page("l-diversity").replace("**", "")
    assert f"| {_percent(whole['right'])} | {_percent(whole['control'])} | {whole['loss']:.3f} |" in told
    right, control = (f"{100 * mean:.1f} % ± {100 * half:.1f} %" for mean, half in (halves["right"], halves["control"]))
    assert f"| … on {halves['halves']} random halves | {right} | {control} | {halves['loss'][0]:.3f} |" in told
    blind, local, more = (
        rows[f"k = {k}, l = 2, blind, {how}"] for k, how in ((110, "global"), (600, "local"), (800, "local"))
    )
    assert "right" not in blind["whole"] | local["whole"] | more["whole"]
    assert f"k = 110, at most 10 % suppressed | nobody to guess | – | {blind['whole']['loss']:.3f} |" in told
    assert f"| nobody to guess | – | {local['whole']['loss']:.3f} / {more['whole']['loss']:.3f} |" in told
    refused = blind["halves"]["halves"] - blind["halves"]["released"]
    assert f"in {refused} of {blind['halves']['halves']} halves" in told
    decoy = rows["k = 50, decoys 10%"]["whole"]
    assert f"the loss is {decoy['loss']:.3f} at k = 50" in told
    assert f"is right in {100 * decoy['right']['share']:.0f} %" in told
    close = rows["k = 5, t = 0.3"]["whole"]
    ends = [
        f"{100 * end:.1f}" for rate in (close["right"], close["control"]) for end in (rate["share"], *rate["interval"])
    ]
    assert f"{ends[0]} % ({ends[1]} – {ends[2]}) of the {close['right']['tried']:,} people" in page("t-closeness")
    assert f"{ends[3]} % ({ends[4]} – {ends[5]};" in page("t-closeness")
    for one in (whole, close):
        assert f"{100 * one['right']['share']:.1f} %" in TABLE
        assert f"against {100 * one['control']['share']:.1f} %" in TABLE


def test_what_several_randomizations_tell() -> None:
    apart, one = results("composition")["rows"]
    for row, said in ((apart, f"{apart['joint_k']:.3f}"), (one, f"{one['joint_k']:.0f}")):
        shares = [f"{100 * mean:.1f} % ± {100 * half:.1f} %" for mean, half in (row["right"], row["surest"])]
        assert f"| {said} | {shares[0]} | {shares[1]} |" in page("pk-anonymity")
        assert shares[0] in TABLE
    assert f"{100 * apart['surest'][0]:.1f} % of the surest tenth" in TABLE


def test_what_the_random_order_costs() -> None:
    told = (ROOT / "docs" / "decisions" / "0012-rows-come-out-in-a-random-order.md").read_text(encoding="utf-8")
    for name, one in results("row_order")["price"].items():
        cells = [f"{middle:.2f} ({low:.2f} – {high:.2f})" for middle, low, high in (one["ratio"], one["processor"])]
        assert f"| {name} ({one['kept'][0]:.2f} s) | {cells[0]} | {cells[1]} |" in told


def test_every_remedy_can_be_turned_off_for_its_test() -> None:
    """Whether the tests then fail takes minutes: `python -m tests.mutations`."""
    assert not [(one.without, one.misfits()) for one in MUTATIONS if one.misfits()]
    assert {one.point for one in MUTATIONS} == set(POINTS)
    assert all((ROOT / one.tests).is_file() and one.tests in TABLE for one in MUTATIONS)


def test_how_large_private_classes_are() -> None:
    """The table of k by ε, computed."""
    from oboro.algorithms.private_sampling import largest_sampling, least_class_size

    for epsilon in (0.5, 1, 2):
        sampling = largest_sampling(epsilon)
        sizes = [least_class_size(epsilon, 1e-6, part) for part in (sampling, sampling / 2)]
        row = f"| {epsilon} | 10⁻⁶ | {1 - math.exp(-epsilon):.3f} | {sizes[0]} | {sizes[1]} |"
        assert row in page("differential-privacy")


def test_who_stands_out_in_a_series() -> None:
    rows = results("series")
    for changing in (0.01, 0.05):
        for way in ("again", "earlier", "ledgers"):
            months = [one for one in rows if (one["way"], one["changing"]) == (way, changing)]
            assert [one["month"] for one in months] == [2, 3, 4]
            for part in ("came", "left"):
                below = [f"{one[part]['below_k']}/{one[part]['below_l']}" for one in months]
                told = "| 0 |" if set(below) == {"0/0"} else " · ".join(below)
                assert told in page("series"), (way, changing, part)
            held = " · ".join(f"{one['held_back'] / one['rows']:.1%}".replace("%", " %") for one in months)
            assert way == "again" or held in page("series"), held


def test_how_far_random_series_narrow_somebody() -> None:
    for one in results("series_worlds")["rows"]:
        interval = f"{100 * one['low']:.1f}–{100 * one['high']:.1f} %"
        told = (
            f"in {one['below']} series ({interval})"
            if one["below"]
            else f"none ({interval.removeprefix('0.0').replace('–', '0–')})"
        )
        assert f"| {one['series']} | {one['released']} | {told} |" in page("series")
    two, three, pairs, without = results("series_worlds")["rows"]
    assert f"in {two['released']} series of two releases and in {three['released']} of three with `person`" in TABLE
    assert f"somebody in {without['below']} of {without['released']}" in TABLE
    assert f"somebody in {pairs['below']} of {pairs['released']}" in TABLE


def test_what_concealment_costs_and_tells() -> None:
    rows = results("concealment")["rows"]
    costs = [
        f"{one['ours']:.0f}"
        for k in (2, 5, 7)
        for one in rows
        if (one["table"], one["method"], one["parameters"]) == ("9", "exact", {"n": 1000, "k": k})
    ]
    assert " / ".join(costs) in page("k-concealment")
    assert {one["ours"] for one in rows if one["metric"] == "gap" and one["parameters"]["n"] == 48_842} == {0.0}
    known = [one for one in rows if one["parameters"].get("truth") == "identity"]
    told, again = (
        [one["ours"] for one in known if one["metric"] == attack] for attack in ("medoid attack", "re-run attack")
    )
    said = str(Message("technique.k_conceal.leak"))
    assert "{:.0f}, {:.0f} and {:.0f} percent at k = 3, 5 and 7".format(*(100 * one for one in told)) in said
    assert f"{100 * min(again):.0f} percent or more" in said
