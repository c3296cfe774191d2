"""Bodies that somebody sends by mistake or on purpose: named in a dead letter or released whole, and the service goes on."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from tests.service.brokers_here import BODIES, ROWS, running, serve, service

from benchmarks.brokers import LocalNats
from benchmarks.kills import RECIPE
from oboro.errors import InputError, UsageError
from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import StreamOptions, anonymizer
from oboro.stream.engine import Decided, Decider
from oboro.stream.records import Partition, RecordIds, body_form

pack = msgspec.msgpack.encode
STRANGE: list[Any] = [
    *(b"\xff", datetime(2020, 1, 2, tzinfo=UTC), float("nan"), [1, "x"], {"a": 1}, {1: 2}, 1 << 63, None, True, "\0é"),
]


def decided(bodies: list[bytes], form: str, out: str = "ndjson", schema: Path | None = None, **more: Any) -> Decided:
    made = anonymizer(Recipe(**RECIPE), StreamOptions())
    forms = body_form(form, schema), body_form(out, None, made.fields)  # type: ignore[arg-type]
    items = [(body, str(number), 1.0) for number, body in enumerate(bodies)]
    return Decider(made, *forms, **more).decide(items)


@pytest.mark.parametrize("out", ["ndjson", "msgpack", "avro"])
@pytest.mark.parametrize("field", ["note", "age", "sex", "name"])
def test_strange_values_in_messagepack(field: str, out: str) -> None:
    bodies = [pack({**ROWS[0], field: value}) for value in STRANGE]
    for more in ({}, {"ids": RecordIds("note", 10)}, {"part": Partition(("name",), 2, 0)}):
        done = decided(bodies, "msgpack", out, **more)
        assert len(done.bodies) + len(done.letters) + done.repeats + done.elsewhere == len(bodies)


def test_what_is_no_messagepack() -> None:
    whole = pack(ROWS[0])
    bad = [whole[:-1], whole + b"\1", pack([1]), b"", b"\5", b"\x91" * 5000 + b"\1", b"\x81\xa1\xff\1", b"\xc1"]
    bad.append(pack({**ROWS[0], "note": msgspec.msgpack.Ext(5, b"Ann")}))
    done = decided([*bad, whole], "msgpack")
    assert (len(done.letters), len(done.bodies)) == (len(bad), 1)
    assert b"Ann" not in b"".join(done.letters)


@pytest.mark.parametrize(
    ("kind", "value", "released"),
    [
        ({"type": "int", "logicalType": "date"}, date(2020, 1, 2), "2020-01-02"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("1.50"), "1.50"),
        ({"type": "string", "logicalType": "uuid"}, UUID(int=1), str(UUID(int=1))),
        ("bytes", b"\xff", "/w=="),
        ({"type": "array", "items": "int"}, [1, 2], "[1,2]"),
        ({"type": "map", "values": "int"}, {"a": 1}, '{"a":1}'),
        ("double", 1.5, 1.5),
        ("null", None, None),
    ],
)
def test_every_kind_of_avro_is_released(kind: Any, value: Any, released: Any, tmp_path: Path) -> None:
    """They ended the service, with the value in what it said."""
    import fastavro

    types = {"name": "string", "age": "long", "sex": "string", "note": kind}
    schema = {"type": "record", "name": "P", "fields": [{"name": name, "type": one} for name, one in types.items()]}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    data = io.BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(schema), {**ROWS[0], "note": value})
    out = body_form("avro", None, ["age", "sex", "note"])
    for body in decided([data.getvalue()], "avro", "avro", tmp_path / "schema.json").bodies:
        found = fastavro.schemaless_reader(io.BytesIO(body), fastavro.parse_schema(out.released), None)  # type: ignore[attr-defined]
        assert found["note"] == released
    torn = [data.getvalue()[:-1] if kind != "null" else b"", data.getvalue() + b"x"]
    torn_ones = decided(torn, "avro", "avro", tmp_path / "schema.json")
    assert (len(torn_ones.bodies), len(torn_ones.letters)) == (0, 2)


def test_bodies_that_begin_with_the_end_of_a_line() -> None:
    """So does what stands for a line that was too long to keep; a body ended the service, and every start after it."""
    done = decided([b"\n" + BODIES[0], b"\r\n" + BODIES[1], b"\n", b"\n[", b"\n" + b"9" * 5000], "ndjson")
    assert (len(done.bodies), len(done.letters)) == (2, 3)


def test_ids_that_are_missing_null_or_another_record_s() -> None:
    rows = [{**ROWS[n], "note": id} for n, id in enumerate([1, None, 1, [2], 2])]
    rows += [{name: value for name, value in ROWS[5].items() if name != "note"}, rows[4]]
    done = decided([json.dumps(row).encode() for row in rows], "ndjson", ids=RecordIds("note", 10))
    assert (len(done.bodies), len(done.letters), done.repeats) == (2, 4, 1)


def test_a_record_whose_columns_changed_is_named_and_the_others_go_on() -> None:
    new = [json.dumps({**row, "diagnosis": "flu"}).encode() for row in ROWS[2:4]]
    done = decided([*BODIES[:2], *new, *BODIES[4:6]], "ndjson")
    assert (len(done.bodies), len(done.letters)) == (4, 2)
    assert all(b"diagnosis" in letter and b"flu" not in letter for letter in done.letters)


@pytest.mark.parametrize("raw", [False, True])
def test_records_that_are_too_long_for_a_broker_are_named(raw: bool) -> None:
    huge = json.dumps({**ROWS[0], "note": "x" * 2000}).encode()
    strange = b"\xff" * 900  # as text eight times as long
    done = decided([BODIES[0], huge, strange, BODIES[1]], "ndjson", longest=1000, raw=raw)
    assert (len(done.bodies), len(done.letters)) == (2, 2)
    assert all(len(letter) <= 1000 for letter in done.letters)


@pytest.mark.parametrize(
    "note", ['"\\ud800' + "é" * 440 + '"', f"[{','.join(['1e9'] * 220)}]"], ids=["half a pair", "numbers"]
)
def test_records_that_would_be_written_too_long_are_named(note: str) -> None:
    """One that a broker takes may be released as one that it never takes: that ended the service, and every one after it."""
    long = json.dumps({**ROWS[0], "note": 0}).replace('"note": 0', f'"note": {note}').encode()
    done = decided([BODIES[0], long, BODIES[1]], "ndjson", longest=1000)
    assert len(long) < 1000
    assert (len(done.bodies), len(done.letters)) == (2, 1)
    dropped = json.dumps({**ROWS[0], "name": 0}).replace('"name": 0', f'"name": {note}').encode()
    assert len(decided([BODIES[0], dropped], "ndjson", longest=1000).bodies) == 2
    packed = pack({**ROWS[0], "note": "\1" * 400})
    assert len(decided([packed], "msgpack", longest=1000).letters) == 1
    assert len(decided([packed], "msgpack", "msgpack", longest=1000).bodies) == 1


def test_a_number_is_one_id_however_it_is_written() -> None:
    ids = RecordIds("id", 10)
    assert ids.meet({"id": 1}) == "new"
    with pytest.raises(InputError):
        ids.meet({"id": 1.0})
    assert [ids.meet({"id": one}) for one in ("1", True, 1)] == ["new", "new", "repeat"]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running(LocalNats, tmp_path_factory.mktemp("nats")) as found:
        yield found


def test_the_largest_message_that_nats_takes_does_not_stop_a_service(broker: Any, tmp_path: Path) -> None:
    largest = json.dumps({**ROWS[0], "note": "x" * 1_048_400}).encode()
    broker.send("LARGE", [BODIES[0], largest, BODIES[1]])
    counts = serve(broker.place("LARGE"), broker.place("FITS"), state=tmp_path / "state")
    assert (counts["released"], counts["dead_letters"]) == (2, 1)


def test_what_a_broker_never_takes_is_said_at_once(broker: Any, tmp_path: Path) -> None:
    broker.send("SMALL", BODIES[:3])
    one = service(broker.place("SMALL"), broker.place("TIGHT"), state=tmp_path / "state")
    check = one.sink._check_size  # type: ignore[attr-defined]
    one.sink._check_size = lambda largest, mark: check(largest + (1 << 20), mark)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="does not take a record as large"):
        one.run()
    assert serve(broker.place("SMALL"), broker.place("TIGHT"), state=tmp_path / "state")["interruptions"] == 0
    assert len(broker.held("TIGHT")) == 3
