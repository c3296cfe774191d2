"""A state that goes on under other settings than it began with: what can go on does, the rest is refused and said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.service.brokers_here import BODIES, serve, service

from benchmarks.kills import RECIPE
from oboro.errors import ConflictError, UsageError
from oboro.service.base import BrokerAddress
from oboro.service.nats import NatsSource
from oboro.stream.engine import ServicePlan, ServicePosition, check_state


def go_on(folder: Path, bodies: list[bytes], **more: Any) -> dict[str, Any]:
    """The same stream with more records at its end."""
    with (folder / "in").open("ab") as file:
        file.writelines(body + b"\n" for body in bodies)
    return serve(str(folder / "in"), str(folder / "out"), state=folder / "state", **more)


def positions(place: Path) -> list[str]:
    return [json.loads(line)["position"] for line in place.read_bytes().splitlines()]


def test_dead_letters_may_get_a_place_later_and_another_one(tmp_path: Path) -> None:
    """A service that began without one was refused, as if its output had been cut."""
    first, second = tmp_path / "first", tmp_path / "second"
    go_on(tmp_path, [b"none", *BODIES[:20]])
    go_on(tmp_path, [b"nor this", *BODIES[20:40]], dead_letters=str(first))
    go_on(tmp_path, [b"nor that", *BODIES[40:60]], dead_letters=str(second))
    go_on(tmp_path, [b"again"])
    go_on(tmp_path, [b"and again", b"and last"], dead_letters=str(second))
    assert [len(positions(place)) for place in (first, second)] == [1, 3]
    assert go_on(tmp_path, [], dead_letters=str(second))["dead_letters"] == 0
    first.write_bytes(second.read_bytes() * 3)
    with pytest.raises(ConflictError, match="state is older"):
        go_on(tmp_path, [], dead_letters=str(first))


def test_letters_that_were_noted_and_not_written_go_to_the_new_place(tmp_path: Path) -> None:
    """A record counts as one letter in the log and as many bytes in a file."""
    bad = [b"none", b"nor this", *BODIES[:20]]

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    (tmp_path / "in").write_bytes(b"".join(body + b"\n" for body in bad))
    one = service(str(tmp_path / "in"), str(tmp_path / "out"), state=tmp_path / "state", batch=1)
    one._end = killed  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        one.run()
    go_on(tmp_path, [], dead_letters=str(tmp_path / "dead"))
    assert len(positions(tmp_path / "dead")) == 2
    assert len((tmp_path / "out").read_bytes().splitlines()) == 20


def test_ids_of_another_field_do_not_know_what_was_taken(tmp_path: Path) -> None:
    """Repeats of earlier records then protected each other without a word."""
    go_on(tmp_path, BODIES[:20])
    assert go_on(tmp_path, [BODIES[20], BODIES[20]], id="note")["repeats"] == 1
    for other in ({}, {"id": "name"}):
        with pytest.raises(UsageError, match="--id note"):
            go_on(tmp_path, [], **other)
    assert go_on(tmp_path, [BODIES[20]], id="note")["repeats"] == 1


def test_another_key_of_pseudonyms_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a clean end it was taken: one person had two pseudonyms. After a kill it was refused."""
    recipe = {
        **RECIPE,
        "steps": [{"pseudonymize": {"attribute": "name", "key_env": "STREAM_KEY"}}, *RECIPE["steps"][1:]],
    }
    monkeypatch.setenv("STREAM_KEY", "a" * 32)
    go_on(tmp_path, BODIES[:20], recipe=recipe)
    monkeypatch.setenv("STREAM_KEY", "b" * 32)
    with pytest.raises(UsageError, match="other pseudonyms"):
        go_on(tmp_path, BODIES[20:30], recipe=recipe)
    monkeypatch.setenv("STREAM_KEY", "a" * 32)
    assert go_on(tmp_path, [], recipe=recipe)["released"] == 10


def test_a_position_in_another_kind_of_input_is_refused(tmp_path: Path) -> None:
    """It ended with a traceback."""
    source = NatsSource(BrokerAddress("nats", False, "127.0.0.1", 1, "IN", {}, "FROM"))
    at = ServicePosition(position="1795032455791-59", input="redis")
    with pytest.raises(UsageError, match="another kind"):
        check_state(at, ServicePlan(), source)
    check_state(ServicePosition(position="5@1"), ServicePlan(), source)  # a state of an earlier version does not say
