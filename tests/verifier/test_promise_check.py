"""Every promise is checked on the table as released and as read back from CSV, whichever door it goes through."""

from __future__ import annotations

import pytest

from oboro import KAnonymize, Recipe
from oboro.data.dataset import Dataset
from oboro.errors import PromiseError
from oboro.verifier.identity import DistinctLDiversity, KAnonymity
from oboro.verifier.promises import Promise, verify_promises

# In CSV empty text and a missing value are the same: there, everybody has one and the same disease.
TABLE = {"sex": ["F", "F", "M", "M"], "disease": ["", None, "", None]}
ATTRIBUTES = {"sex": {"role": "quasi"}, "disease": {"role": "sensitive"}}
STEP = KAnonymize(k=2, l_diversity={"disease": 2})


def test_a_technique_and_a_recipe_refuse_the_same_table() -> None:
    with pytest.raises(PromiseError) as alone:
        STEP.apply(TABLE, attributes=ATTRIBUTES, seed=1)
    with pytest.raises(PromiseError) as planned:
        Recipe(attributes=ATTRIBUTES, steps=[STEP], seed=1).run(TABLE)
    assert str(alone.value) == str(planned.value)
    assert "k_anonymize: no choice of levels keeps the promise" in str(alone.value)  # the search reads it as CSV does


def test_the_check_reads_it_as_csv_does() -> None:
    promise = Promise("k_anonymize", ("sex",), (DistinctLDiversity(sensitive="disease", l=2),))
    with pytest.raises(PromiseError, match="k_anonymize: distinct 2-diversity of disease is broken"):
        verify_promises(Dataset.of(TABLE), [promise], ["k_anonymize"])


def test_they_accept_it_where_nothing_merges() -> None:
    other = {**TABLE, "disease": ["flu", None, "", "cold"]}
    assert STEP.apply(other, attributes=ATTRIBUTES, seed=1) == other
    assert Recipe(attributes=ATTRIBUTES, steps=[STEP], seed=1, order="kept").run(other).data == other


def test_later_steps_are_blamed() -> None:
    promise = Promise("k_anonymize", ("sex",), (KAnonymity(k=3), DistinctLDiversity(sensitive="disease", l=2)))
    with pytest.raises(PromiseError, match=r"A later step must have broken it: 'swap'\."):
        verify_promises(Dataset.of(TABLE), [promise], ["sort", "k_anonymize", "swap"])
    with pytest.raises(PromiseError) as last:
        verify_promises(Dataset.of(TABLE), [promise], ["sort", "k_anonymize"])
    assert "later step" not in str(last.value)


def test_verdicts_name_their_columns_where_promises_are_over_different_ones() -> None:
    one = Promise("k_anonymize", ("sex",), (KAnonymity(k=2),))
    other = Promise("k_anonymize", ("disease",), (KAnonymity(k=2),))
    apart = verify_promises(Dataset.of(TABLE), [one, other], ["k_anonymize", "k_anonymize"])
    assert [verdict.over for verdict in apart.verdicts] == [("sex",), ("disease",)]
    assert [verdict.over for verdict in verify_promises(Dataset.of(TABLE), [one], ["k_anonymize"]).verdicts] == [()]


def test_a_group_of_stars_that_joins_the_suppressed_is_named_with_the_way_out() -> None:
    """k = 2, l = 2: the kept group of stars and the suppressed are each other's only company, and one secret is left."""
    data = Dataset.of({"age": ["30", "30", "*", "*"], "sex": ["F", "F", "*", "*"], "flu": ["a", "b", "a", "a"]})
    models = (KAnonymity(k=2), DistinctLDiversity(sensitive="flu", l=2))
    with pytest.raises(PromiseError, match="Only records that are released as \\* in every column") as error:
        verify_promises(data, [Promise("k_anonymize", ("age", "sex"), models)], ["k_anonymize"])
    assert "suppressed: drop" in error.value.say("ja")


def test_where_others_break_it_too_nothing_is_said_of_stars() -> None:
    data = Dataset.of({"age": ["30", "31", "*", "*"], "flu": ["a", "b", "a", "a"]})
    with pytest.raises(PromiseError) as error:
        verify_promises(data, [Promise("k_anonymize", ("age",), (KAnonymity(k=2),))], ["k_anonymize"])
    assert "Only records" not in str(error.value)
