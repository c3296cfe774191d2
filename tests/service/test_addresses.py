"""Addresses as a tired person writes them: understood, or told what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.service.brokers_here import service

from oboro.errors import UsageError
from oboro.io.brokers.brokers import broker_of, open_place


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
