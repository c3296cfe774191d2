"""A verdict is data: which model, with which parameters, over which columns; its sentences come last, in any language."""

import json

import pytest

from oboro.text import Message
from oboro.verifier.stream import verify_stream, verify_window
from oboro.verifier.table import verify
from oboro.verifier.verdict import Verdict

TABLE = {"sex": ["F", "F", "M"], "disease": ["flu", "cold", "flu"]}
BEFORE = {
    "holds",
    "model",
    "required",
    "achieved",
    "groups",
    "broken_groups",
    "broken_records",
    "worst_sizes",
    "note",
    "over",
    "sentence",
}


def verdicts() -> list[Verdict]:
    """One of every kind, kept and broken."""
    found = [
        verify(TABLE, quasi=["sex"], k=2),
        verify(TABLE, quasi=["sex"], k=1),
        verify(TABLE, quasi=["sex"], sensitive="disease", l=2, t=0.5, alpha=0.5),
        verify(TABLE, quasi=["sex"], sensitive="disease", l=1.5, kind="entropy", alpha=1.0, value="flu"),
        verify(TABLE, quasi=["sex"], sensitive="disease", l=2, kind="recursive", c=3),
        verify(TABLE, quasi=["sex"], maximum_risk=0.5, average_risk=0.7),
        verify(TABLE, quasi=["sex"], population=TABLE, k_map=2, presence=(0.1, 1)),
        verify({"sex": []}, quasi=["sex"], k=2),
        verify_stream([{"x": "a", "s": 1}], [{"x": "*", "s": 1}], attributes=["x"], k=2, sensitive="s", l=2),
        verify_stream([], [], attributes=["x"], k=2),
        verify_window([{"x": 1, "s": 1}], attributes=["x"], k=1, window=3, sensitive="s", l=1),
        verify_window([], attributes=["x"], k=1),
    ]
    return [one for verification in found for one in verification.verdicts]


@pytest.mark.parametrize("verdict", verdicts(), ids=lambda one: f"{one.id} {one.holds}")
def test_plain_data_keeps_its_keys_and_reads_back(verdict: Verdict) -> None:
    data = json.loads(json.dumps(verdict.as_dict()))
    assert data.keys() == BEFORE | {
        "id",
        "parameters",
        "note_id",
        "note_parameters",
        "people",
        "together",
        "households",
    }
    assert data["model"] == str(verdict.model)
    assert data["sentence"].startswith(data["model"])
    assert Verdict.read(data) == verdict


@pytest.mark.parametrize("verdict", verdicts(), ids=lambda one: f"{one.id} {one.holds}")
def test_both_languages_speak_of_every_verdict(verdict: Verdict) -> None:
    english, japanese = verdict.sentence(), verdict.sentence("ja")
    assert english.endswith(".")
    assert japanese.endswith("。")
    assert ("holds" in english) is verdict.holds
    assert ("不成立" in japanese) is not verdict.holds


def test_a_verdict_names_its_columns_where_it_knows_them() -> None:
    (verdict,) = verify(TABLE, quasi=["sex"], k=1).verdicts
    assert verdict.sentence() == "1-anonymity holds in all 2 groups (required 1, achieved 1)."
    named = verdict.naming(["age", "sex"])
    assert named.sentence() == "1-anonymity over age, sex holds in all 2 groups (required 1, achieved 1)."
    assert named.sentence("ja") == "age、sex についての 1-匿名性 は全 2 グループで成立(要求 1、達成 1)。"


def test_one_group_and_the_records_of_a_stream_are_called_so() -> None:
    (verdict,) = verify({"sex": ["F", "F"]}, quasi=["sex"], k=2).verdicts
    assert verdict.sentence() == "2-anonymity holds in the only group (required 2, achieved 2)."
    stream = next(one for one in verdicts() if one.id == "model.stream_k_anonymity" and one.holds and one.note is None)
    assert "holds for every record (" in stream.sentence()
    assert "グループ" not in stream.sentence("ja")


def test_the_promised_k_is_read_from_the_model_and_not_from_words() -> None:
    known = {one.id: (one.k, one.counts_candidates) for one in verdicts()}
    assert known["model.k_anonymity_within"] == (1, False)
    assert known["model.stream_k_anonymity"] == (2, True)
    assert known["model.t_closeness"] == (None, False)
    concealed = Verdict.vacuous(Message("model.k_concealment", k=4), 4, Message("verdict.no_records"))
    assert (concealed.k, concealed.counts_candidates) == (4, True)
