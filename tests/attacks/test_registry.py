"""Attacks are found by the names of their files, state their own traits, and pass the common checks."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from oboro.attacks import checks
from oboro.attacks.base import ATTACKS, Attack, AttackKind, AttackMethod, Attacks, AttackTarget, Rate, people_table
from oboro.attacks.run import run_attacks
from oboro.errors import UsageError
from oboro.text import Message

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "src" / "oboro" / "attacks"


class Guess(AttackMethod):
    kinds = (AttackKind("guess", "inference", "attribute"),)
    knows = "nothing"

    def run(self, target: AttackTarget) -> list[Attack]:
        return [self.kinds[0].attack((), Rate(1, 2), Rate(1, 2), Message("attack.control.coin"))]


def test_the_order_names_every_file_with_an_attack() -> None:
    files = {path.stem for path in FOLDER.glob("*.py") if re.search(r"^ATTACK = ", path.read_text(), re.M)}
    assert set(ATTACKS.order) == files
    assert len(ATTACKS.order) == len(files)


def test_every_attack_has_an_id_of_its_own() -> None:
    ids = [kind.id for method in ATTACKS.values() for kind in method.kinds]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", ATTACKS.order)
@pytest.mark.parametrize("check", checks.CHECKS)
def test_it_passes(name: str, check: str) -> None:
    checks.CHECKS[check](ATTACKS[name])


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        ("succeeds on its example", {"example": lambda self: AttackTarget(people_table(30), people_table(30), [])}),
        ("declares its attacks", {"knows": " "}),
        ("declares its attacks", {"kinds": ()}),
        ("is not run without what it needs", {"needs": ("records",), "run": Guess.run}),
    ],
)
def test_a_check_finds_what_is_wrong(check: str, wrong: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    method = type("Wrong", (Guess,), wrong)()
    monkeypatch.setattr(ATTACKS, "_added", {"wrong": method})
    if "needs" in wrong:  # a method that runs in spite of its needs
        monkeypatch.setattr(AttackTarget, "has", lambda self, need: False)
        monkeypatch.setattr("oboro.attacks.run._run", lambda one, target: one.run(target) if one is method else [])
    with pytest.raises(AssertionError):
        checks.CHECKS[check](method)


def test_a_method_of_ones_own_runs_after_the_others() -> None:
    mine = Attacks(ATTACKS.order)
    mine.register("guess", Guess())
    assert list(mine)[-1] == "guess"
    assert mine.kind(Guess().run(None)[0]).success == "attribute"  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="guess"):
        mine.register("guess", Guess())


def test_an_attack_of_another_version_is_bounded_by_nothing() -> None:
    table = people_table(40)
    (linked,) = (one for one in run_attacks(AttackTarget(table, table, ["age"])) if one.kind == "record_linkage")
    kind = ATTACKS.kind(replace(linked, kind="unheard_of"))
    assert (kind.limit_by_link, kind.limit_by_share) == (None, False)


def test_the_documentation_has_a_row_for_each_method() -> None:
    text = (ROOT / "docs" / "report.md").read_text()
    rows = re.findall(r"^\| .* \| `(\w+)` \|", text, re.M)
    assert rows == list(ATTACKS)
