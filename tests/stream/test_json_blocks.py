"""Blocks that go through as JSON give the same bytes and decisions as records one by one; what is not plain is left to those."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oboro
from oboro.recipe.stream import run_stream
from oboro.stream import DelayFree, Window
from oboro.stream.records import decode_json, encode_json

SETTINGS: dict[str, Any] = {"attributes": ["age", "sex"], "k": 2, "hierarchies": {"age": {"intervals": [10]}}}
VALUES = st.one_of(st.sampled_from(["F", "M", "", '"', "é\u2028", "\ud800", "*", "a\nb"]), st.none(), st.booleans())
RECORD = st.fixed_dictionaries(
    {
        "age": st.integers(0, 30),
        "sex": VALUES,
        "note": st.one_of(VALUES, st.floats(allow_nan=False, allow_infinity=False), st.integers()),
    }
)


def one_by_one(anonymizer: DelayFree, bodies: list[bytes]) -> tuple[list[bytes], list[int]]:
    steps = [anonymizer.step(decode_json(body), 0.0) for body in bodies]
    return [encode_json(released)[:-1] for released, _ in steps], [mask for _, mask in steps]


def written(record: dict[str, Any], spaced: bool, ascii_only: bool) -> bytes:
    text = json.dumps(record, separators=None if spaced else (",", ":"), ensure_ascii=ascii_only)
    return text.encode("utf-8", "surrogatepass" if ascii_only else "replace")


@given(
    records=st.lists(RECORD, min_size=1, max_size=8), block=st.integers(1, 9), spaced=st.booleans(), plain=st.booleans()
)
def test_the_same_bytes_and_decisions(records: list[dict[str, Any]], block: int, spaced: bool, plain: bool) -> None:
    bodies = [written(record, spaced, plain) for record in records * 2]
    direct, naive = DelayFree(**SETTINGS, keep=["note"]), DelayFree(**SETTINGS, keep=["note"])
    for start in range(0, len(bodies), block):
        part = bodies[start : start + block]
        found = direct.take_json(part, 0.0)
        if found is None:  # the records are looked at one by one, in the same memory
            taken = direct.take([decode_json(body) for body in part], 0.0)
            found = [encode_json(one)[:-1] for one in taken.released], taken.decisions
        assert tuple(found) == one_by_one(naive, part)
    assert direct.stats() == naive.stats()


SPELLED = st.one_of(
    st.from_regex(r"-?[0-9]{1,20}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
    st.text(max_size=6).map(json.dumps),
    st.text(max_size=6).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.sampled_from(
        ["true", "false", "null", "nul", "-", '"a', '"\\q"', '"\x7f"', "[1]", "01", "-0", "-0.0", "1.", ".5", "NaN", ""]
    ),
)


@given(
    values=st.lists(SPELLED, min_size=4, max_size=6),
    names=st.permutations(["age", "sex", "note"]),
    gap=st.sampled_from(["", " "]),
)
def test_what_goes_through_by_its_bytes_is_what_would_be_written(values: list[str], names: list[str], gap: str) -> None:
    """Whatever is spelled as it would be written stays as it is; all else is left to those who read it."""
    rows = [{"age": "3", "sex": value, "note": value} for value in values]
    bodies = ["{" + ",".join(f'{gap}"{name}"{gap}:{gap}{row[name]}{gap}' for name in names) + "}" for row in rows]
    plain = [body.encode("utf-8", "surrogatepass") for body in bodies]
    anonymizer = DelayFree(attributes=["age", "sex"], k=2, keep=["note"])
    found = anonymizer._take_cells(plain, 0.0, None)
    if found is not None:
        assert tuple(found) == one_by_one(DelayFree(attributes=["age", "sex"], k=2, keep=["note"]), plain)


def test_plain_records_of_every_kind_go_through_by_their_bytes() -> None:
    values = ['"F"', "7", "-12", "1.5", "0.25", "3.0", "true", "null", '"é 東京"', "123456789012345678"]
    bodies = [f'{{"note": {value}, "age": {n}, "sex": "\\u0046"}}'.encode() for n, value in enumerate(values)]
    found = DelayFree(**SETTINGS, keep=["note"])._take_cells(bodies, 0.0, None)
    assert found is not None
    assert [body.partition(b'"note":')[2].decode() for body in found.bodies] == [f"{value}}}" for value in values]


def test_cells_that_were_let_go_are_met_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oboro.stream.delay_free.json_fast_path.MOST_CELLS", 20)
    bodies = [json.dumps({"age": n % 90, "sex": f"s{n % 7}", "note": n}).encode() for n in range(400)]
    direct, naive = DelayFree(**SETTINGS, keep=["note"]), DelayFree(**SETTINGS, keep=["note"])
    for start in range(0, 400, 50):
        part = bodies[start : start + 50]
        found = direct._take_cells(part, 0.0, None)
        assert found is not None
        assert tuple(found) == one_by_one(naive, part)
    assert direct.stats() == naive.stats()
    first = DelayFree(**SETTINGS, keep=["note"])._take_cells(bodies, 0.0, None)
    assert first is not None
    assert DelayFree(**SETTINGS, keep=["note"])._take_cells(bodies, 0.0, first.decisions) == first


def test_people_and_secrets_count_and_are_repeated() -> None:
    more = {"keep": ["note"], "person": "name", "l_diversity": {"ill": 2}}
    direct, naive = DelayFree(**SETTINGS, **more), DelayFree(**SETTINGS, **more)
    bodies = [
        json.dumps({"age": n % 3, "sex": "F", "note": n, "name": n % 4, "ill": n % 2}).encode() for n in range(40)
    ]
    found = direct.take_json(bodies, 0.0)
    assert found is not None
    assert tuple(found) == one_by_one(naive, bodies)
    again = DelayFree(**SETTINGS, **more).take_json(bodies, 0.0, found.decisions)
    assert again == found


@pytest.mark.parametrize(
    "body",
    [
        b'{"age": 3, "sex": "F"}',
        b'{"age": 3, "sex": "F", "note": 1, "name": "Ann"}',
        b'{"age": 3, "sex": "F", "note": 1, "note": 2}',
        b'{"age": 3, "sex": "F", "note": {"a": 1}}',
        b'{"age": 3, "sex": "F", "note": [1]}',
        b'{"age": "old", "sex": "F", "note": 1}',
        b'{"age": 3, "sex": "F", "note": 1}, {"age": 3, "sex": "F", "note": 1}',
        b'{"age": 3, "sex": "F", "note": NaN}',
        b"\xff",
        b"",
    ],
)
def test_what_is_not_plain_is_left_to_others_and_nothing_is_taken(body: bytes) -> None:
    anonymizer, good = DelayFree(**SETTINGS, keep=["note"]), b'{"age": 3, "sex": "F", "note": 1}'
    assert anonymizer.take_json([good, body, good], 0.0) is None
    assert anonymizer.records == 0


def test_those_who_forget_or_wait_take_records_only() -> None:
    body = b'{"age": 3, "sex": "F"}'
    assert DelayFree(**SETTINGS, horizon=5).take_json([body], 0.0) is None
    assert DelayFree(**SETTINGS, unnamed="drop").take_json([body], 0.0) is None
    assert DelayFree(**SETTINGS, mode="paper", background=False).take_json([body], 0.0) is None
    assert Window(attributes=["age"], k=2, window=4).take_json([b'{"age": 3}'], 0.0) is None


@pytest.mark.parametrize("mode", ["swap", "count", "paper", "sequential", "fixed"])
def test_warming_leaves_no_trace(mode: str) -> None:
    with DelayFree(attributes=["age"], k=2, mode=mode) as one, DelayFree(attributes=["age"], k=2, mode=mode) as other:
        one.warm()
        assert [one.push({"age": 3}) for _ in range(4)] == [other.push({"age": 3}) for _ in range(4)]
    window = Window(attributes=["age"], k=2, window=4, person="name", categories=["age"])
    window.warm()
    assert (window.records, window.flush()) == (0, [])


@pytest.mark.parametrize("bad", [False, True])
def test_a_stream_of_lines_is_the_same_by_way_of_records(
    bad: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain lines go through as JSON; where one of a block is bad, all go by way of records."""
    lines = [json.dumps({"age": n % 7, "sex": "FM"[n % 2], "note": n}) for n in range(60)]
    (tmp_path / "in.ndjson").write_text("\n".join([*lines, "no record"][: 60 + bad]) + "\n")
    roles: dict[str, Any] = {"age": {"role": "quasi"}, "sex": {"role": "quasi"}, "note": {}}
    recipe, whole = oboro.Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 3}}]), DelayFree.take_json
    direct: list[Any] = []
    for name, take in (
        ("direct", lambda *given: direct.append(whole(*given)) or direct[-1]),
        ("records", lambda *_: None),
    ):
        monkeypatch.setattr(DelayFree, "take_json", take)
        ways: dict[str, Any] = {"target": str(tmp_path / name), "dead_letters": str(tmp_path / f"{name}.dead")}
        metrics = run_stream(recipe, source=str(tmp_path / "in.ndjson"), state=tmp_path / f"{name}.state", **ways)
        assert metrics["records"] == 60
    assert [taken is None for taken in direct] == [bad]
    assert (tmp_path / "direct").read_bytes() == (tmp_path / "records").read_bytes()
    letters = [(tmp_path / f"{name}.dead").read_bytes() for name in ("direct", "records")]
    assert letters[0] == letters[1]
    assert bool(letters[0]) == bad
