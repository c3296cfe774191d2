"""The common checks on every privacy model, and false declarations that they must catch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from tests.naive.privacy_models import NAIVE

from oboro.errors import UsageError
from oboro.privacy.attribute import Alpha, Closeness, Diversity
from oboro.privacy.base import MODELS, Bounds, PrivacyModel
from oboro.schema import Attribute, Schema
from oboro.techniques.k_anonymize import KAnonymize
from oboro.techniques.model_checks import check, has_words, is_bounded, is_judged, subjects

SCHEMA = Schema({"q": Attribute(role="quasi"), "s": Attribute(role="sensitive")})


@pytest.mark.parametrize("model", list(subjects()), ids=lambda model: model.key)
def test_every_privacy_model_passes_the_common_checks(model: PrivacyModel) -> None:
    check(model, NAIVE.get(model.key))


def test_each_judge_of_a_released_table_has_a_naive_twin() -> None:
    assert set(NAIVE) == {key for key, one in MODELS.items() if one.scope != "release"}


def test_recipes_ask_for_every_model_with_the_limits_of_its_declaration() -> None:
    assert set(MODELS.in_recipes()) <= set(KAnonymize.model_fields)
    for key in MODELS.in_recipes("attribute"):
        declared = MODELS[key]
        for parameters in declared.examples:
            asked = KAnonymize(k=2, **{key: {"s": parameters}}).demands(SCHEMA)
            assert asked == [("s", declared(**parameters))]
        with pytest.raises(UsageError):
            KAnonymize(k=2, **{key: {"s": -1}})


class Wordless(Diversity):
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {**Diversity.words, "model.nothing_like_it": {}}


class Careless(Closeness):
    """Bounds a share by what is not its bound."""

    def largest_share(self, bounds: Bounds) -> float | None:
        return bounds.everywhere


class Silent(Alpha):
    def largest_share(self, bounds: Bounds) -> float | None:
        return None


class Unjudged(Alpha):
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.k_anonymity": {}}


def test_the_checks_catch_false_declarations() -> None:
    with pytest.raises(AssertionError, match="no words"):
        has_words(Wordless(l=2))
    with pytest.raises(AssertionError, match="is the bound"):
        is_bounded(Careless(t=0.25))
    with pytest.raises(AssertionError, match="no reason"):
        is_bounded(Silent(alpha=0.5))
    with pytest.raises(AssertionError, match="verdicts name"):
        is_judged(Unjudged(alpha=0.5))
    with pytest.raises(AssertionError, match="the judge says"):
        check(Alpha(alpha=0.6), lambda model, table: True)
    with pytest.raises(AssertionError, match="brute force"):
        check(Alpha(alpha=0.6))
