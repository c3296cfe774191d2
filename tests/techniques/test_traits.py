"""What techniques say of themselves, and that nobody else says it for them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.source_code import nodes

import oboro
from oboro.schema import Traits
from oboro.techniques import TECHNIQUES, Technique
from oboro.techniques.checks import subjects
from oboro.text import LANGUAGES, Message, say

NOT_NAMED = Message("technique.default.iso")
JUDGES = ("report", "measure", "attacks", "verifier")
COMMON_WORDS = {"sort", "round", "sample", "noise", "swap"}  # also words of charts, statistics and opinions


def traits(step: str, **parameters: object) -> Traits:
    return TECHNIQUES[step].model_validate(parameters or TECHNIQUES[step].examples[0]).traits


def having(trait: str) -> set[str]:
    return {step for step in TECHNIQUES if getattr(traits(step), trait)}


def test_a_budget_is_spent_by_differential_privacy_only() -> None:
    """That the other traits are true is a common check (`oboro.techniques.checks`); nobody else names what a technique is."""
    assert having("spends") == {"dp_anonymize"}
    assert having("spends") <= having("by_construction")
    assert having("bounds_linkage") <= having("by_construction")


def test_traits_may_depend_on_parameters() -> None:
    for publish, drawn in {"mean": False, "interval": False, "uniform": True, "linear": True}.items():
        found = traits("partition_univariate", attribute="age", k=3, publish=publish)
        assert (found.random, found.by_construction is not None, found.coarser) == (drawn, drawn, not drawn)


@pytest.mark.parametrize("technique", list(subjects()), ids=lambda technique: technique.step)
def test_every_technique_of_ours_has_a_name_of_the_standard_in_both_languages(technique: Technique) -> None:
    assert technique.traits.iso != NOT_NAMED
    english, japanese = (say(technique.traits.iso, lang) for lang in LANGUAGES)
    assert english != japanese


def test_a_stream_says_why_it_cannot_do_a_step() -> None:
    possible = {step for step, technique in TECHNIQUES.items() if technique.not_in_stream is None}
    assert possible == {"pseudonymize", "drop_columns", "k_anonymize"}
    assert str(TECHNIQUES["sample"].not_in_stream) == "every record that goes in comes out"
    assert str(TECHNIQUES["swap"].not_in_stream) == "it looks at the whole table"


@pytest.mark.parametrize("room", JUDGES)
def test_whoever_judges_a_release_knows_no_technique_by_its_name(room: str) -> None:
    names = TECHNIQUES.keys() - COMMON_WORDS
    for path in (Path(oboro.__file__).parent / room).rglob("*.py"):
        found = {node.value for node in nodes(path) if isinstance(node, ast.Constant)} & names
        assert not found, f"{path.name} names {found}"
