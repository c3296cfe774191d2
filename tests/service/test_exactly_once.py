"""Between brokers every record comes out once, in one form, whatever is killed; what does not belong together is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command_line import call
from tests.service.brokers_here import BODIES, ROWS, running, serve, service

from benchmarks.brokers import LocalBroker, LocalNats, LocalRedis
from benchmarks.kills import RECIPE, kill_often
from oboro.errors import ConflictError, FileError
from oboro.recipe.recipe import Recipe
from oboro.service.make import make_service
from oboro.service.settings import ServiceSettings

KILLS = 16


@pytest.fixture(scope="module", params=[LocalNats, LocalRedis], ids=lambda one: one.kind)
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    with running(request.param, tmp_path_factory.mktemp(request.param.kind)) as found:
        yield found


@pytest.fixture(scope="module")
def source(broker: LocalBroker) -> str:
    broker.send("PEOPLE", BODIES)
    return broker.place("PEOPLE")


def notes(broker: LocalBroker, name: str) -> list[int]:
    return [json.loads(body)["note"] for _, body in broker.held(name)]


def test_killed_again_and_again(broker: LocalBroker, tmp_path: Path) -> None:
    found = kill_often(broker, tmp_path, KILLS, seed=11, records=200)
    assert (found.lost, found.doubled, found.two_forms, found.promise_broken, found.failed) == (0, 0, 0, 0, [])
    assert found.done >= KILLS
    assert found.refusals


def test_without_a_folder_what_was_published_is_decided_again_and_compared(broker: LocalBroker, tmp_path: Path) -> None:
    found = kill_often(broker, tmp_path, 6, seed=5, records=200, kinds=("bare",))
    assert found.wrong == 0, found


def test_by_way_of_a_network_that_is_cut(broker: LocalBroker, tmp_path: Path) -> None:
    found = kill_often(broker, tmp_path, 3, seed=7, records=200, brokers=False, kinds=("cut",))
    assert found.wrong == 0, found
    assert found.cuts


def test_two_processes_on_one_output(broker: LocalBroker, tmp_path: Path) -> None:
    """With a lease or without one; killed, stopped and woken."""
    found = kill_often(broker, tmp_path, 2, seed=9, records=200, brokers=False, kinds=("rivals",))
    assert found.wrong == 0, found


def test_a_state_that_is_older_than_the_output_is_refused(broker: LocalBroker, source: str, tmp_path: Path) -> None:
    def part(records: int) -> None:
        one = service(source, broker.place("OLDER"), state=tmp_path / "state", batch=records)
        one._idle = lambda: True  # type: ignore[method-assign]
        handle = one._handle
        one._handle = lambda *given, **named: (handle(*given, **named), one.stop.ask())  # type: ignore[method-assign, assignment]
        one.run()

    part(30)
    shutil.copytree(tmp_path / "state", tmp_path / "backup")
    part(30)
    shutil.rmtree(tmp_path / "state")
    shutil.copytree(tmp_path / "backup", tmp_path / "state")
    with pytest.raises(ConflictError, match="state is older"):
        part(30)
    found = notes(broker, "OLDER")
    assert found == list(range(len(found)))


def test_a_lost_and_a_foreign_state_are_refused(broker: LocalBroker, source: str, tmp_path: Path) -> None:
    serve(source, broker.place("MINE"), state=tmp_path / "mine")
    with pytest.raises(FileError, match="no state that knows them"):
        serve(source, broker.place("MINE"), state=tmp_path / "lost")
    serve(source, broker.place("YOURS"), state=tmp_path / "yours")
    with pytest.raises(ConflictError, match="belongs to another stream"):
        serve(source, broker.place("MINE"), state=tmp_path / "yours")
    assert notes(broker, "MINE") == list(range(len(ROWS)))


def test_a_process_that_was_stopped_and_woke_up_publishes_nothing(
    broker: LocalBroker, source: str, tmp_path: Path
) -> None:
    zombie = service(source, broker.place("ZOMBIE"), batch=30)
    publish, others = zombie.sink.publish, []

    def late(after: int, bodies: list[bytes], mark: str) -> None:
        if after and not others:  # another process did all of it meanwhile
            others.append(serve(source, broker.place("ZOMBIE")))
        publish(after, bodies, mark)

    zombie.sink.publish = late  # type: ignore[method-assign, assignment]
    with pytest.raises(ConflictError, match="another process publishes there"):
        zombie.run()
    assert notes(broker, "ZOMBIE") == list(range(len(ROWS)))


def test_an_input_that_was_set_back_is_refused(broker: LocalBroker, tmp_path: Path) -> None:
    broker.send("SHORT", BODIES[:50])
    serve(broker.place("SHORT"), broker.place("BACK"), state=tmp_path / "state")
    broker.send("OTHER", BODIES[:20])
    broker.send("LATER", BODIES[:60])
    for name in ("OTHER", "LATER"):  # fewer records; as many, that came at other times
        with pytest.raises(FileError, match="set back"):
            serve(broker.place(name), broker.place("BACK"), state=tmp_path / "state")


def test_refused_records_go_to_a_topic_without_their_values(broker: LocalBroker, tmp_path: Path) -> None:
    bad = [b'{"name": "Ann"', b'{"name": "Ann", "age": 3}', b"[]"]
    broker.send("MIXED", [*BODIES[:10], *bad, *BODIES[10:20]])
    counts = serve(
        broker.place("MIXED"), broker.place("CLEAN"), state=tmp_path / "state", dead_letters=broker.place("DEAD")
    )
    assert (counts["released"], counts["dead_letters"]) == (20, 3)
    letters = [json.loads(body) for _, body in broker.held("DEAD")]
    assert [sorted(one) for one in letters] == [["code", "id", "position", "reason"]] * 3
    assert "Ann" not in json.dumps(letters)


def test_repeats_of_a_producer_do_not_protect_each_other(broker: LocalBroker, tmp_path: Path) -> None:
    again = [body for body in BODIES[:40] for _ in range(3)]
    broker.send("AGAIN", again)
    counts = serve(broker.place("AGAIN"), broker.place("SINGLE"), state=tmp_path / "state", id="note")
    assert (counts["released"], counts["repeats"]) == (40, 80)
    broker.send("ONCE", BODIES[:40])
    serve(broker.place("ONCE"), broker.place("PLAIN"), state=tmp_path / "plain")
    assert [body for _, body in broker.held("SINGLE")] == [body for _, body in broker.held("PLAIN")]


def test_a_dry_run_publishes_nothing(broker: LocalBroker, source: str) -> None:
    counts = serve(source, broker.place("NOWHERE"), dry=True)
    assert counts["released"] == len(ROWS)


def test_what_was_refused_or_came_again_is_left_out_of_the_check(broker: LocalBroker, tmp_path: Path) -> None:
    refused = [b'{"age": 1}', json.dumps({**ROWS[0], "new": 1}).encode(), json.dumps({**ROWS[0], "age": 99}).encode()]
    broker.send("MANY", [*BODIES[:60], *refused, *BODIES[50:], b"no record"])
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    place, recipe = broker.place("MANY"), tmp_path / "recipe.json"
    (tmp_path / "people.ndjson").write_bytes(b"".join(body + b"\n" for _, body in broker.held("MANY")))
    for n, source in enumerate((place, str(tmp_path / "people.ndjson"))):
        out, letters = broker.place(f"LEFT{n}"), broker.place(f"LETTERS{n}")
        serve(source, out, state=tmp_path / f"state{n}", id="note", dead_letters=letters)
        told = call("verify", "--stream", source, out, "--recipe", recipe, "--dead-letters", letters, "--id", "note")
        assert told.code == 0, told.err
        assert "14 messages were left out" in told.err
        assert call("verify", "--stream", source, out, "--recipe", recipe).code == 2


def test_bodies_that_are_no_json_are_not_verified(broker: LocalBroker, source: str, tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    serve(source, broker.place("PACKED"), state=tmp_path / "state", output_format="msgpack")
    told = call("verify", "--stream", source, broker.place("PACKED"), "--recipe", tmp_path / "recipe.json")
    assert told.code == 2
    assert "only JSON is verified" in told.err


def test_letters_in_other_words_are_the_same_letters(broker: LocalBroker) -> None:
    """Another version says it otherwise: a service without a state decides them again, and goes on."""
    broker.send("WORDS", [*BODIES[:20], b"no record", *BODIES[20:]])
    given = {"recipe": ".", "from": broker.place("WORDS"), "to": broker.place("SAID"), "once": True, "batch": 16}
    settings = ServiceSettings.load(None, {**given, "dead_letters": broker.place("WORDED")})
    for lang in ("en", "ja"):
        make_service(Recipe(**RECIPE), settings, lang=lang).run()
        assert len(broker.held("WORDED")) == 1
    broker.send("WORDS", [b"nor this", *BODIES[:20]])
    make_service(Recipe(**RECIPE), settings, lang="ja").run()
    assert len(broker.held("WORDED")) == 2


def test_what_came_through_is_verified_where_it_is(broker: LocalBroker, tmp_path: Path) -> None:
    source = broker.place("DIRTY")
    broker.send("DIRTY", [*BODIES[:60], b"no record", *BODIES[60:], b'{"age": 1, "age": 2}'])
    serve(source, broker.place("CHECKED"), state=tmp_path / "state")
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    words = ["verify", "--stream", source, broker.place("CHECKED"), "--recipe", tmp_path / "recipe.json"]
    held = call(*words)
    assert held.code == 0
    assert "2 messages were left out" in held.err
    broker.send("SHOWN", [json.dumps({name: row[name] for name in ("age", "sex", "note")}).encode() for row in ROWS])
    assert call(*words[:3], broker.place("SHOWN"), *words[4:]).code == 1
    refused = call("verify", "--stream", "mqtt://127.0.0.1/in", "out.ndjson", "--recipe", tmp_path / "recipe.json")
    assert refused.code == 2
    assert "cannot be read again" in refused.err
