"""Addresses as a tired person writes them: understood, or told what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import call
from tests.service.brokers_here import service

from benchmarks.kills import RECIPE
from oboro.errors import FileError, UsageError
from oboro.service.base import broker_of, open_place
from oboro.service.settings import ServiceSettings


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("nats://h/S", "nats"),
        ("natss://h/S", "nats"),
        ("valkey://h/S", "redis"),
        ("valkeys://h/S", "redis"),
        ("amqps://h/Q", "rabbitmq"),
        ("tcp://h:1", None),
        ("unix-listen:///p", None),
        ("people.ndjson", None),
        ("-", None),
    ],
)
def test_which_broker_is_meant(place: str, kind: str | None) -> None:
    assert broker_of(place) == kind
    if kind == "redis":
        address = open_place(place, "source", "FROM").link.address
        assert (address.kind, address.port, address.tls) == ("redis", 6379, place.startswith("valkeys"))


def test_what_is_no_address(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="natz:// is unknown; known are 'amqp'"):
        broker_of("natz://h/S")
    with pytest.raises(UsageError, match="whole number"):
        open_place("kafka://h/S?partition=x", "source", "FROM")
    with pytest.raises(UsageError, match="given twice"):
        service("redis://h/S", "redis://h/S", state=tmp_path / "state")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"staet": "hunter2"}, "there is no 'staet'; did you mean 'state'?"),
        ({"horzion": 3}, "there is no 'horzion'; did you mean 'horizon'?"),
        ({"password": "hunter2"}, "there is no 'password'; there are batch, "),
        (
            {"partitions": {"by": "age", "count": 2, "sreve": 0}},
            "partitions: there is no 'sreve'; did you mean 'serve'?",
        ),
        ({"batch": 0}, "batch: Input should be greater than or equal to 1; got 0"),
    ],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else "",
)
def test_settings_that_are_misspelled(given: dict[str, Any], told: str) -> None:
    """The nearest name is said, and never what stood there: it may be a password."""
    with pytest.raises(UsageError) as refused:
        ServiceSettings.load(None, {"recipe": "recipe.yaml", **given})
    assert str(refused.value).startswith(told)
    assert "hunter2" not in str(refused.value)


def test_settings_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read the settings of the service"):
        ServiceSettings.load(tmp_path / "service.yaml", {})


def test_the_last_words_of_a_log_in_json_are_an_object(tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    words = ["--from", "nats://127.0.0.1/IN?what=1", "--to", "nats://127.0.0.1/OUT", "--state", tmp_path / "state"]
    told = call("stream", "--recipe", tmp_path / "recipe.json", *words, "--log", "json")
    assert told.code == 2
    line = json.loads(told.err)
    assert (line["level"], line["event"]) == ("error", "error_broker.unknown_option")


@pytest.mark.parametrize("word", [["--resume", "continue"], ["--excel-safe"], ["--encoding", "latin-1"]])
def test_what_a_service_would_pass_over_is_refused(tmp_path: Path, word: list[str]) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("attributes: {a: {role: quasi}}\nsteps: [{k_anonymize: {k: 2}}]\n")
    done = call("stream", "--recipe", recipe, "--from", "nats://127.0.0.1:1/A", "--to", "nats://127.0.0.1:1/B", *word)
    assert done.code == 2
    assert word[0] in done.err
