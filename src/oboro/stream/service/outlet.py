"""An output of a service: what is published there once, whatever happens to the connection or to this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import blake2b
from secrets import token_hex
from typing import Any

from oboro.errors import BrokerError, ConflictError
from oboro.stream.service.ends import Held, RecordSink
from oboro.text import Message

__all__ = ["Outlet", "digest", "publisher", "same_letter"]


CONFLICTS = 5  # of one block, where nobody else publishes: a server may drop the end of a chain


def digest(body: bytes) -> str:
    """Short for a body, where it must be recognized later."""
    return blake2b(body, digest_size=16).hexdigest()


def publisher(mark: str) -> tuple[str, str]:
    """The stream and the process that a mark tells."""
    stream, _, rest = mark.partition("/")
    return stream, rest.partition("/")[0]


def same_letter(one: bytes, other: bytes) -> bool:
    """Whether two dead letters name the same record. Another version may have other words for the reason.

    A letter about a record that waited in vain has no position. Its id may be of a process that keeps no key.
    """
    if one == other:
        return True
    try:
        first, second = json.loads(one), json.loads(other)
        if "position" in first or "position" in second:
            return bool(first["position"] == second["position"])
        return _without_id(first) == _without_id(second)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def _without_id(letter: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in letter.items() if name not in ("id", "code")}


class Outlet:
    """Publishes blocks one after the other, each exactly where the one before ended.

    What the place holds already is compared byte for byte and not published again: it came from a life before this one, or from
    another process that leads. `again` is asked after every interruption whether to go on.
    """

    def __init__(
        self,
        sink: RecordSink,
        name: str,
        stream: str,
        again: Callable[[BrokerError], None],
        same: Callable[[bytes, bytes], bool] = bytes.__eq__,
        run: str = "",
    ) -> None:
        self.sink = sink
        self.name = name
        self.stream = stream
        self.run = run or token_hex(6)
        self.at = 0
        self.last = ""  # a digest of what stands at `at`
        self.there = 0
        self.elsewhere = 0  # how many went to other places before
        self._again, self._same = again, same

    def open(self) -> Held:
        """Connect; what the place holds last."""
        while True:
            try:
                self.sink.open()
                held = self.held()
                self.there = held[0]
                return held
            except BrokerError as away:
                self._again(away)

    def held(self) -> Held:
        """What the place holds last, by the numbers of this stream."""
        number, mark, body = self.sink.last()
        return number + self.elsewhere, mark, body

    def tend(self) -> None:
        """Keep the connection alive while nothing is published; connect again where the broker was away meanwhile."""
        try:
            self.sink.tend()
        except BrokerError as away:
            self._again(away)
            self.open()

    def put(self, bodies: Sequence[bytes], position: str, run: str | None = None) -> None:
        """Publish, or see that it is published: at the end, the place holds all of it once. `run`: who noted it, if another did."""
        mark = f"{self.stream}/{self.run if run is None else run}/{position}"
        rest, conflicts = list(bodies), 0
        while rest:
            try:
                rest = rest[self._compare(rest) :]
                if rest:
                    self.sink.publish(self.at - self.elsewhere, rest, mark)
                    self._moved(rest)
                rest = []
            except BrokerError as away:
                self._again(away)
                rest = rest[self._reopened(rest) :]
            except ConflictError:
                conflicts += 1
                if conflicts > CONFLICTS:
                    raise
                rest = rest[self._found(rest, self._asked()) :]

    def _moved(self, bodies: Sequence[bytes]) -> None:
        units = self.sink.units
        self.at += sum(map(units, bodies))
        self.there = max(self.there, self.at)
        self.last = digest(bodies[-1])

    def _compare(self, bodies: list[bytes]) -> int:
        """How many of these stand in the output already; raises where something else stands there."""
        if self.there <= self.at:
            return 0
        count = min(len(bodies), self.there - self.at)
        found = self.sink.bodies(self.at - self.elsewhere + 1, count)
        if any(one is not None and not self._same(one, body) for one, body in zip(found, bodies, strict=False)):
            raise self.moved()
        self._moved(bodies[:count])
        return count

    def _reopened(self, bodies: list[bytes]) -> int:
        """Connect again; how many of these the place has got. What was being compared is compared again, whoever put it there."""
        comparing = self.there > self.at
        held = self.open()
        return 0 if comparing and held[0] >= self.at else self._found(bodies, held)

    def _asked(self) -> Held:
        """What the place holds last, without taking it from another process."""
        try:
            return self.held()
        except BrokerError as away:
            self._again(away)
            return self.open()

    def _found(self, bodies: list[bytes], held: Held) -> int:
        """How many of these the place has got meanwhile from this process, and from no other."""
        if not self.sink.compares:
            return 0
        number, mark, _ = held
        if number < self.at:
            raise ConflictError(Message("error_service.output_set_back", place=self.name, number=number, at=self.at))
        if number > self.at and publisher(mark) != (self.stream, self.run):
            raise self.moved()
        at, taken = self.at, 0
        while taken < len(bodies) and at < number:
            at += self.sink.units(bodies[taken])
            taken += 1
        if at != number:
            raise self.moved()
        if taken:
            self._moved(bodies[:taken])
        return taken

    def sync(self) -> None:
        """Wait until a file is on its disk."""
        if (sync := getattr(self.sink, "sync", None)) is not None:
            sync()

    def moved(self) -> ConflictError:
        """Somebody else has published what this process was about to."""
        return ConflictError(Message("error_service.other_leader", place=self.name))
