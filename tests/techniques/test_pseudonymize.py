"""Pseudonyms: the right ones, the same ones everywhere, and never a word about the key."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive.records import run, values

from oboro.data.dataset import Dataset
from oboro.errors import ColumnError, FileError, UsageError
from oboro.schema import Attribute, Role, Schema
from oboro.techniques import pseudonymize
from oboro.techniques.base import Outcome, Work
from oboro.techniques.pseudonymize import Pseudonymize

KEY = "correct horse battery staple 0123"
names = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=30)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


def keyed(**parameters: Any) -> Pseudonymize:
    chosen = {} if "attributes" in parameters else {"attribute": "name"}
    return Pseudonymize.model_validate({**chosen, "key_env": "TEST_KEY", **parameters})


def pseudonyms(technique: Pseudonymize, column: list[Any], seed: int = 0) -> list[Any]:
    return values(run(technique, Dataset.of({"name": column}), seed=seed), "name")


def by_hand(value: str, domain: str = "name", key: bytes = KEY.encode()) -> bytes:
    """The definition, with the standard library: HMAC(HMAC(key, domain), value)."""
    salted = hmac.new(key, domain.encode(), hashlib.sha256).digest()
    return hmac.new(salted, value.encode(), hashlib.sha256).digest()


def base32(value: str, length: int = 16, **more: Any) -> str:
    return base64.b32encode(by_hand(value, **more)).decode()[:length]


# keyed ----------------------------------------------------------------------------------------------------------------


def test_a_pseudonym_is_the_standard_librarys_hmac() -> None:
    assert pseudonyms(keyed(), ["Ann", "東京 花子", ""]) == [base32("Ann"), base32("東京 花子"), base32("")]
    assert pseudonyms(keyed(length=12), ["Ann"]) == [base32("Ann", 12)]
    assert pseudonyms(keyed(length=52), ["Ann"]) == [base32("Ann", 52)]
    assert pseudonyms(keyed(alphabet="hex"), ["Ann"]) == [by_hand("Ann").hex()[:16]]
    assert pseudonyms(keyed(alphabet="hex", length=64), ["Ann"]) == [by_hand("Ann").hex()]
    assert pseudonyms(keyed(prefix="P-"), ["Ann", None]) == ["P-" + base32("Ann"), None]
    assert pseudonyms(keyed(domain="person"), ["Ann"]) == [base32("Ann", domain="person")]


def test_a_pseudonym_computed_by_another_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """openssl dgst -sha256 -mac HMAC, with -macopt key:0123456789abcdef of `name`, then with hexkey:(that) of `Ann`."""
    monkeypatch.setenv("TEST_KEY", "0123456789abcdef")
    assert pseudonyms(keyed(alphabet="hex", length=64), ["Ann"]) == [
        "b7e507bb6098af09bc076fb15e075395e7fa8f261be032f284730c6b3febe3e5"
    ]


@given(names)
def test_equal_values_have_equal_pseudonyms_and_others_do_not(column: list[str | None]) -> None:
    data = Dataset.from_arrow(pa.table({"name": pa.array(column, pa.string())}))
    technique = Pseudonymize(attribute="name", method="random")
    for one in (technique, technique.model_copy(update={"method": "number"})):
        found = values(run(one, data), "name")
        assert len(set(zip(column, found, strict=True))) == len(set(column)) == len(set(found))
        assert [value is None for value in found] == [value is None for value in column]


def test_tables_with_the_same_key_and_domain_share_pseudonyms(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(KEY.encode() + b"\r\n")
    patients = run(keyed(), Dataset.of({"name": ["Ann", "Bob"]}), seed=1)
    visits = Dataset.of({"visitor": ["Cid", "Bob", "Ann", "Bob"]})
    other = Pseudonymize(attribute="visitor", key_file=str(tmp_path / "key"), domain="name")
    ann, bob = values(patients, "name")
    assert values(run(other, visits, seed=2), "visitor")[1:] == [bob, ann, bob]
    own = Pseudonymize(attribute="visitor", key_env="TEST_KEY")
    assert not {ann, bob} & set(values(run(own, visits), "visitor"))


def test_another_key_gives_other_pseudonyms(monkeypatch: pytest.MonkeyPatch) -> None:
    first = pseudonyms(keyed(), ["Ann"])
    monkeypatch.setenv("TEST_KEY", KEY + "!")
    assert pseudonyms(keyed(), ["Ann"]) != first


def test_a_domain_and_a_value_cannot_run_into_another_pair() -> None:
    first = run(keyed(attributes=["ab"], domain="a"), Dataset.of({"ab": ["bc"]}))
    second = run(keyed(attributes=["ab"], domain="ab"), Dataset.of({"ab": ["c"]}))
    assert values(first, "ab") != values(second, "ab")


def test_values_are_taken_as_text_whatever_their_type() -> None:
    assert pseudonyms(keyed(), [39, 40]) == pseudonyms(keyed(), ["39", "40"]) == [base32("39"), base32("40")]
    assert pseudonyms(keyed(), [39.0, None]) == [base32("39"), None]
    assert pseudonyms(keyed(), [date(2020, 1, 2)]) == [base32("2020-01-02")]


def test_columns_of_one_domain_share_pseudonyms() -> None:
    data = Dataset.of({"from": ["Ann", "Bob"], "to": ["Bob", "Cid"]})
    for method in ({"key_env": "TEST_KEY"}, {"method": "number"}, {"method": "random"}):
        together = Pseudonymize.model_validate({"attributes": ["from", "to"], "domain": "person", **method})
        outcome = run(together, data)
        assert values(outcome, "from")[1] == values(outcome, "to")[0]
        assert len({*values(outcome, "from"), *values(outcome, "to")}) == 3
    apart = run(keyed(attributes=["from", "to"]), data)
    assert len({*values(apart, "from"), *values(apart, "to")}) == 4


# numbers and random letters -------------------------------------------------------------------------------------------


def test_numbers_are_one_to_n_in_an_order_that_is_random() -> None:
    technique = Pseudonymize(attribute="name", method="number")
    found = Counter(tuple(pseudonyms(technique, ["a", "b", "c"], seed=seed)) for seed in range(1200))
    assert {number for order in found for number in order} == {1, 2, 3}
    assert len(found) == 6
    # 200 expected each; chi-square with 5 degrees of freedom stays below 20.5 with probability 0.999.
    assert sum((count - 200) ** 2 / 200 for count in found.values()) < 20.5


def test_numbers_stay_numbers_unless_they_have_a_prefix() -> None:
    technique = Pseudonymize(attribute="name", method="number")
    assert sorted(pseudonyms(technique, ["a", "b"])) == [1, 2]
    prefixed = Pseudonymize(attribute="name", method="number", prefix="P")
    assert sorted(pseudonyms(prefixed, ["a", "b"])) == ["P1", "P2"]


@pytest.mark.parametrize("method", ["number", "random"])
def test_the_order_of_records_does_not_show(method: Any) -> None:
    technique = Pseudonymize(attribute="name", method=method)
    people = [f"person {number}" for number in range(50)]
    there, back = pseudonyms(technique, people, seed=5), pseudonyms(technique, people[::-1], seed=5)
    assert there == back[::-1]
    assert there != pseudonyms(technique, people, seed=6)


def test_random_letters_have_the_length_and_alphabet_asked_for() -> None:
    technique = Pseudonymize(attribute="name", method="random", length=20, alphabet="hex")
    found = pseudonyms(technique, [f"person {number}" for number in range(200)])
    assert {len(one) for one in found} == {20}
    assert set("".join(found)) == set("0123456789abcdef")
    default = pseudonyms(Pseudonymize(attribute="name", method="random"), [f"person {number}" for number in range(200)])
    assert set("".join(default)) == set("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")


# missing values, roles, facts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [{"key_env": "TEST_KEY"}, {"method": "number"}, {"method": "random"}])
def test_missing_values_stay_or_share_a_pseudonym_of_their_own(method: dict[str, Any]) -> None:
    column = [None, "", "None", None]
    keep = pseudonyms(Pseudonymize.model_validate({"attribute": "name", **method}), column)
    assert [value is None for value in keep] == [True, False, False, True]
    every = pseudonyms(Pseudonymize.model_validate({"attribute": "name", "missing": "pseudonymize", **method}), column)
    assert every[0] == every[3] is not None
    assert len(set(every)) == 3


@pytest.mark.parametrize("column", [[None, None], []])
def test_nothing_to_pseudonymize(column: list[Any]) -> None:
    data = Dataset.from_arrow(pa.table({"name": pa.array(column, pa.string())}))
    for method in ({"key_env": "TEST_KEY"}, {"method": "number"}, {"method": "random", "prefix": "x"}):
        outcome = run(Pseudonymize.model_validate({"attribute": "name", **method}), data)
        assert values(outcome, "name") == column


def test_a_pseudonym_is_no_identifier_and_leaves_the_rest_alone() -> None:
    data = Dataset.of({"age": [1, 2, 2], "name": ["a", "b", None], "zip": ["x", "y", "x"]})
    technique = keyed(attributes=["name", "zip"])
    outcome = run(technique, data, name={"role": "identifier"}, zip={"role": "quasi"}, age={"role": "quasi"})
    assert list(outcome.data) == ["age", "name", "zip"]
    assert values(outcome, "age") == [1, 2, 2]
    assert {name: one.role for name, one in outcome.schema.attributes.items()} == {
        "age": Role.QUASI, "name": Role.OTHER, "zip": Role.OTHER,
    }  # fmt: skip
    assert technique.removes_identity == ("name", "zip")
    assert outcome.facts == {
        "method": "hmac",
        "values": {"name": 2, "zip": 2},
        "missing_records": {"name": 1, "zip": 0},
    }
    assert data["name"].decode().to_pylist() == ["a", "b", None]


def test_a_collision_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """At least 60 bits never collide in a test, so the hash is made to."""
    monkeypatch.setattr(pseudonymize, "keyed_digests", lambda key, domain, texts: np.zeros((len(texts), 32), np.uint8))
    with pytest.raises(UsageError, match="same pseudonym of 16 letters; set a larger `length`"):
        pseudonyms(keyed(), ["Ann", "Bob"])
    assert pseudonyms(keyed(), ["Ann", "Ann"]) == ["A" * 16] * 2


# the key --------------------------------------------------------------------------------------------------------------


def test_the_key_appears_nowhere(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text(KEY)
    for technique in (keyed(), Pseudonymize(attribute="name", key_file=str(tmp_path / "key.txt"))):
        outcome = run(technique, Dataset.of({"name": ["Ann"]}))
        told = [
            repr(technique),
            technique.model_dump_json(),
            json.dumps(dict(outcome.facts)),
            technique.explain(outcome.schema),
            repr(outcome.schema),
            *values(outcome, "name"),
        ]
        assert not any(KEY in text or KEY.encode().hex() in text for text in told)
    assert "TEST_KEY" in keyed().explain(Schema({}))


@pytest.mark.parametrize(
    "bad", [{"key": KEY}, {"password": KEY}, {"key_env": KEY}, {"key_env": "A", "salt": KEY}, {"length": KEY}]
)
def test_a_key_in_the_recipe_is_refused_and_not_repeated(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"key_env|length") as refused:
        Pseudonymize.model_validate({"attribute": "name", **bad})
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "the environment variable TEST_KEY is not set, but must hold the key; make one with"),
        ("", "TEST_KEY is empty"),
        ("\n", "TEST_KEY is empty"),
        ("fifteen-letters", "a key has 16 to 65536 bytes, but the environment variable TEST_KEY holds fewer"),
        ("fifteen-letters\n", "holds fewer"),
        ("k" * 70_000, "holds more"),
    ],
)
def test_a_key_that_cannot_be_one(monkeypatch: pytest.MonkeyPatch, content: str | None, message: str) -> None:
    if content is None:
        monkeypatch.delenv("TEST_KEY")
    else:
        monkeypatch.setenv("TEST_KEY", content)
    with pytest.raises(UsageError, match=message) as refused:
        pseudonyms(keyed(), ["Ann"])
    assert "secrets.token_hex(32)" in str(refused.value)
    assert "fifteen" not in str(refused.value)


def test_a_key_file_is_looked_for_beside_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "oboro.key").write_bytes(bytes(range(200, 232)))
    technique = Pseudonymize(attribute="name", key_file="oboro.key")
    schema = Schema({"name": Attribute()}, folder=tmp_path)

    def released() -> Outcome:
        return technique.run(Work(Dataset.of({"name": ["Ann"]}), schema, np.random.default_rng()))

    assert values(released(), "name") == [base32("Ann", key=bytes(range(200, 232)))]
    (tmp_path / "oboro.key").write_bytes(b"short")
    with pytest.raises(UsageError, match=r"the key file .*oboro.key holds fewer"):
        released()
    (tmp_path / "oboro.key").write_bytes(b"k" * 70_000)
    with pytest.raises(UsageError, match=r"holds more"):
        released()
    (tmp_path / "oboro.key").unlink()
    with pytest.raises(FileError, match=r"oboro\.key: cannot read the key: No such file"):
        released()


# parameters and words -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"key_env": "A"}, "either attribute or attributes"),
        ({"attribute": "a", "attributes": ["a"], "key_env": "A"}, "either attribute or attributes"),
        ({"attribute": "a"}, "hmac needs a key"),
        ({"attribute": "a", "key_env": "A", "key_file": "b"}, "exactly one of key_env and key_file"),
        ({"attribute": "a", "method": "random", "key_env": "A"}, "random uses no key"),
        ({"attribute": "a", "method": "number", "length": 16}, "number has neither length nor alphabet"),
        ({"attribute": "a", "method": "number", "alphabet": "hex"}, "number has neither length nor alphabet"),
        ({"attribute": "a", "key_env": "A", "length": 11}, "length must be 12 to 52 in base32"),
        ({"attribute": "a", "key_env": "A", "length": 53}, "length must be 12 to 52 in base32"),
        ({"attribute": "a", "key_env": "A", "alphabet": "hex", "length": 14}, "length must be 15 to 64 in hex"),
        ({"attributes": [], "key_env": "A"}, "at least 1"),
        ({"attribute": "a", "method": "md5"}, "hmac"),
    ],
)
def test_parameters_that_do_not_fit_together(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pseudonymize.model_validate(bad)


def test_an_unknown_column() -> None:
    with pytest.raises(ColumnError, match="pseudonymize: there is no column 'name'; the table has 'age'"):
        run(keyed(), Dataset.of({"age": [1]}))


def test_explain_says_how_and_what_still_shows() -> None:
    schema = Schema({"name": Attribute(role=Role.IDENTIFIER), "zip": Attribute(role=Role.QUASI)})
    plan = keyed().explain(schema)
    assert "HMAC-SHA-256, salted by the column's name" in plan
    assert "in the environment variable TEST_KEY" in plan
    assert "plain hash" in plan
    assert "How often each value occurs still shows." in plan
    assert "Missing values stay missing." in plan
    assert "counts as `other`" not in plan
    assert "From here on 'zip' counts as `other`" in keyed(attributes=["name", "zip"]).explain(schema)
    assert "the domain 'person'" in keyed(domain="person").explain(schema)
    assert "Missing values share one pseudonym" in keyed(missing="pseudonymize").explain(schema)
    assert "in the file k" in Pseudonymize(attribute="name", key_file="k").explain(schema)
    numbers = Pseudonymize(attributes=("name", "zip"), method="number", domain="d").explain(schema)
    assert "numbers from 1 in random order shared by these columns" in numbers
    letters = Pseudonymize(attribute="name", method="random", length=20).explain(schema)
    assert "20 letters (base32) at random" in letters
    assert "keep the recipe secret" in letters
