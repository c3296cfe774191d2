"""Kafka and MQTT on loopback: their clients have threads, which a fork would lose, so they run in processes of their own."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from oboro.errors import BrokerError
from oboro.io.brokers.broker_address import BrokerAddress
from oboro.papers.service.local_brokers import LocalBroker, ended, forked

__all__ = ["LocalKafka", "LocalMqtt"]

MOCK = """
import time
import confluent_kafka
cluster = confluent_kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 0})
found = next(iter(cluster.list_topics(timeout=10).brokers.values()))
print(f"{found.host}:{found.port}", flush=True)
while True:
    time.sleep(60)
"""


class LocalKafka(LocalBroker):
    """librdkafka's mock cluster. It holds all in memory, so it is not killed; it shows open and aborted records to everybody."""

    kind = "kafka"
    survives = False
    leases = True

    def start(self) -> None:
        """In a process of its own, which says where it listens."""
        self._server = subprocess.Popen([sys.executable, "-c", MOCK], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self._server.stdout is not None
        self.port = int(self._server.stdout.readline().decode().rpartition(":")[2])

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it."""
        if self._server is not None and self._server.stdout is not None:
            self._server.stdout.close()
        super().stop(number)

    def place(self, name: str) -> str:
        """The mock makes four partitions of every topic."""
        return f"{super().place(name)}?partition=0"

    def send(self, name: str, bodies: Sequence[bytes]) -> None:
        """Fill one partition."""
        ended(forked(lambda: self._send(name, bodies)))  # the client has threads, which a fork would lose

    def _send(self, name: str, bodies: Sequence[bytes]) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": f"127.0.0.1:{self.port}", "log_level": 0})
        for body in bodies:
            producer.produce(name, body, partition=0)
        producer.flush(20)

    def held(self, name: str) -> list[tuple[str, bytes]]:
        """All records of the partition, each with the number that stands beside it."""
        path = self.folder / f"held-{name}"
        ended(forked(lambda: self._read(name, path)))
        lines = path.read_bytes().splitlines()
        return [(line.partition(b" ")[0].decode(), line.partition(b" ")[2]) for line in lines]

    def _read(self, name: str, path: Path) -> None:
        from oboro.io.brokers.kafka_topic import KafkaSink

        address = BrokerAddress("kafka", False, "127.0.0.1", self.port, name, {"partition": "0"}, "TO")
        with path.open("wb") as file, suppress(BrokerError):  # a topic that is not there yet holds nothing
            for number, body in KafkaSink(address)._numbered():
                file.write(f"{number} ".encode() + body + b"\n")

    def tap(self, name: str) -> Iterator[bytes]:
        """Uncommitted records too."""
        from confluent_kafka import Consumer, TopicPartition

        given = {"bootstrap.servers": f"127.0.0.1:{self.port}", "group.id": "tap", "log_level": 0}
        consumer = Consumer({**given, "isolation.level": "read_uncommitted", "auto.offset.reset": "earliest"})
        consumer.assign([TopicPartition(name, 0, 0)])
        yield b""
        while True:
            found = consumer.poll(0.2)
            if found is not None and found.error() is None:
                yield found.value() or b""


class LocalMqtt(LocalBroker):
    """Mosquitto. It keeps what it holds in memory for the most part, so it is not killed."""

    kind = "mqtt"
    once = False
    forgets = True
    survives = False

    @classmethod
    def program(cls) -> str | None:
        """Debian installs it where not everybody looks."""
        return shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")

    @classmethod
    def found(cls) -> str | None:
        """The server must be there."""
        return None if cls.program() else "no mosquitto: apt-get install mosquitto"

    def command(self) -> list[str]:
        """On loopback, for anybody, with queues that do not overflow."""
        lines = [f"listener {self.port} 127.0.0.1", "allow_anonymous true", "persistence false", "user root"]
        limits = ["max_queued_messages 0", "max_inflight_messages 0"]
        (self.folder / "mosquitto.conf").write_text("\n".join([*lines, *limits]) + "\n", encoding="utf-8")
        return [str(self.program()), "-c", str(self.folder / "mosquitto.conf")]

    def send(self, name: str, bodies: Sequence[bytes]) -> None:
        """Publish; whoever subscribed before gets it."""
        ended(forked(lambda: self._send(name, bodies)))  # the client has threads, which a fork would lose

    def _send(self, name: str, bodies: Sequence[bytes]) -> None:
        from oboro.io.brokers.mqtt_topic import MqttSink

        sink = MqttSink(self._address(name))
        sink.open()
        for start in range(0, len(bodies), 200):
            sink.publish(start, bodies[start : start + 200], "in/")
        sink.close()

    def _address(self, name: str) -> BrokerAddress:
        return BrokerAddress("mqtt", False, "127.0.0.1", self.port, name, {}, "TO")

    def held(self, name: str) -> list[tuple[str, bytes]]:
        """What a reader has got who was there all the time."""
        lines = (self.folder / f"held-{name}").read_bytes().splitlines()
        return [(line.partition(b" ")[0].decode(), line.partition(b" ")[2]) for line in lines]

    def tap(self, name: str) -> Iterator[bytes]:
        """A subscriber; ids are noted beside."""
        from queue import SimpleQueue

        from oboro.io.brokers.mqtt_topic import MqttLink

        came: SimpleQueue[Any] = SimpleQueue()
        client = MqttLink(self._address(name), f"tap-{name}").connect(False, lambda *given: came.put(given[2]))
        client.on_subscribe = lambda *given: came.put(None)
        client.subscribe(name, qos=1)
        with (self.folder / f"held-{name}").open("wb", buffering=0) as file:
            while True:
                message = came.get()
                if message is not None:
                    id = dict(message.properties.UserProperty)["oboro-id"]
                    file.write(f"{id} ".encode() + message.payload + b"\n")
                yield b"" if message is None else message.payload
