"""A message is an id with values; its words are looked up last, in the reader's language."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from pydantic import BaseModel

from oboro.errors import UsageError
from oboro.text import Message, bring_words, known, say

K = Message("model.k_anonymity", k=3)


def test_it_is_what_its_id_and_values_are() -> None:
    assert Message("model.k_anonymity", k=3) == K
    assert hash(Message("model.k_anonymity", k=3)) == hash(K)
    assert Message("model.k_anonymity", k=4) != K != "3-anonymity"
    assert repr(K) == "Message('model.k_anonymity', k=3)"
    assert (str(K), K.say("ja")) == ("3-anonymity", "3-匿名性")


def test_messages_within_messages_speak_the_same_language() -> None:
    whole = Message("verdict.holds_because", model=K, why=Message("verdict.no_records"))
    assert whole.say("ja") == "3-匿名性 は成立:表にレコードがありません。"


def test_plain_data_and_back() -> None:
    figures = {"broken": 1, "groups": 2, "records": 3, "sizes": [1, 2]}
    whole = Message("verdict.broken", model=K, limits=Message("verdict.nothing"), **figures)
    data = json.loads(json.dumps(whole.as_dict()))
    assert data["values"]["model"] == {"id": "model.k_anonymity", "values": {"k": 3}, "text": "3-anonymity"}
    assert Message.read(data) == whole
    assert Message.read(whole) is whole
    with pytest.raises(ValueError, match="an id and values"):
        Message.read("3-anonymity")


def test_as_a_field_of_a_model() -> None:
    class Holder(BaseModel):
        said: Message

    holder = Holder(said=K)
    assert holder.said is K
    assert Holder.model_validate_json(holder.model_dump_json()).said == K


def test_whatever_holds_messages_can_be_said() -> None:
    @dataclass
    class Holder:
        said: object

    found = say({"one": [K, "age"], "two": (Holder(K), 3)}, "ja")
    assert found == {"one": ["3-匿名性", "age"], "two": (Holder("3-匿名性"), 3)}


@pytest.fixture
def blur() -> None:
    bring_words(
        "test_blur",
        en={
            "list": "{said}",
            "all": "{said:and}",
            "any": "{said:or}",
            "next": "{said:then}",
            "rest": "{said:remarks}",
            "pages": "{said:sentences}",
            "many": "{n:many group}",
            "form": "{n:form is|are}",
            "choice": "{how:word model.distance}",
            "names": "{said:quoted}",
            "data": "{said!r}",
            "big": "{n:count}, {share:percent}, {value:number}, {bytes:size}",
        },
        ja={
            "list": "{said}",
            "all": "{said:and}",
            "any": "{said:or}",
            "next": "{said:then}",
            "rest": "{said:remarks}",
            "pages": "{said:sentences}",
            "many": "{n} グループ",
            "form": "{n}",
            "choice": "{how:word model.distance}",
            "names": "{said:few}",
            "data": "{said}",
            "big": "{n:count}",
        },
    )


@pytest.mark.usefixtures("blur")
@pytest.mark.parametrize(
    ("id", "values", "english", "japanese"),
    [
        ("list", {"said": ["a", K]}, "a, 3-anonymity", "a、3-匿名性"),
        ("all", {"said": ["a", "b"]}, "a and b", "a、かつ b"),
        ("any", {"said": ["a", "b"]}, "a or b", "a又はb"),
        ("next", {"said": ["a", "b"]}, "a, then b", "a、次に b"),
        ("rest", {"said": ["a", "b"]}, "a; b", "a、b"),
        ("pages", {"said": ["A.", "B."]}, "A. B.", "A.B."),
        ("many", {"n": 1}, "1 group", "1 グループ"),
        ("many", {"n": 2000}, "2,000 groups", "2000 グループ"),
        ("form", {"n": 1}, "is", "1"),
        ("form", {"n": 2}, "are", "2"),
        ("choice", {"how": "ordered"}, "ordered", "順序"),
        ("names", {"said": ["a", "b", "c"]}, "'a', 'b' and 'c'", "a、b、c"),
        ("data", {"said": "age"}, "'age'", "age"),
        ("big", {"n": 1234, "share": 0.5, "value": 0.12345, "bytes": 2000}, "1,234, 50 %, 0.1235, 2 kB", "1,234"),
    ],
)
def test_how_values_are_written_stands_in_the_template(id: str, values: dict, english: str, japanese: str) -> None:
    message = Message(f"test_blur.{id}", **values)
    assert (message.say(), message.say("ja")) == (english, japanese)


def test_words_from_outside() -> None:
    bring_words("test_words", en={"plan": "Blur."}, ja={"plan": "ぼかします。"})
    assert known("test_words.plan")
    assert not known("test_words.other")
    assert Message("test_words.plan").say("ja") == "ぼかします。"
    with pytest.raises(UsageError, match="only one language has 'plan'"):
        bring_words("test_words", en={"plan": "Blur."}, ja={})
    with pytest.raises(UsageError, match="oboro's own"):
        bring_words("model", en={}, ja={})


def test_an_unknown_language_is_said() -> None:
    with pytest.raises(UsageError, match="must be one of en, ja; got 'fr'"):
        K.say("fr")
