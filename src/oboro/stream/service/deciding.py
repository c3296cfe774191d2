"""From bodies to released bodies: decode, pass over what was there before, decide, encode.

All of it can be done again: the same bodies, moments and decisions give the same released bodies, after a crash and in another
process. Time is the broker's, not this machine's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any, ClassVar, Protocol

from oboro.errors import InputError
from oboro.stream.anonymizer import Anonymizer
from oboro.stream.runner.codecs import BadRecord, encode_json, reason_code
from oboro.stream.service.ends import Incoming
from oboro.stream.service.letter_ids import LetterIds
from oboro.stream.service.partition import Partition
from oboro.stream.service.record_ids import RecordIds
from oboro.text import Message

__all__ = ["BodyForm", "Decided", "Decider"]


class BodyForm(Protocol):
    """How a record is written in a body."""

    json: ClassVar[bool]
    """Whether a body is a JSON object."""

    def decode(self, body: bytes) -> dict[str, Any] | None:
        """The record of a body, None if it holds none; raises `InputError` without any value in it."""
        ...

    def encode(self, record: Mapping[str, Any]) -> bytes:
        """The body of a released record."""
        ...

    def decode_all(self, bodies: Sequence[bytes]) -> list[dict[str, Any]] | None:
        """`decode` for each; None where they must be looked at one by one."""
        ...

    def encode_all(self, records: Sequence[Mapping[str, Any]]) -> list[bytes]:
        """`encode` for each."""
        ...


@dataclass
class Decided:
    """What came of a block."""

    bodies: list[bytes]
    letters: list[bytes]
    decisions: list[list[int]]
    records: int = 0
    repeats: int = 0
    elsewhere: int = 0
    reasons: list[str] = field(default_factory=list)
    """The short name of the reason of each letter."""


@dataclass
class Decider:
    """One stream's memory, and how its records are read and written."""

    anonymizer: Anonymizer
    incoming: BodyForm
    outgoing: BodyForm
    change: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    ids: RecordIds | None = None
    lang: str = "en"
    raw: bool = False
    """Whether dead letters hold what was refused."""
    now: float = 0.0
    part: Partition | None = None
    """Which records are this process's; the others are passed over."""
    longest: int = 1 << 20
    """Bodies of more bytes are refused."""
    letter_ids: LetterIds = field(default_factory=lambda: LetterIds(""))

    def decide(
        self,
        items: Sequence[Incoming],
        moment: float = 0.0,
        decisions: Sequence[list[int]] | None = None,
        last: bool = False,
    ) -> Decided:
        """Take a block, possibly empty (then `moment` says when). `decisions`: those of the first time."""
        bodies = [*map(itemgetter(0), items)]
        short = max(map(len, bodies), default=0) * self._growth <= self.longest
        direct = (
            self._directly(bodies, items[-1][2], decisions) if self._direct and items and short and not last else None
        )
        if direct is not None:
            return direct
        done = Decided([], [], [])
        letters: dict[int, InputError] = {}
        records, places = self._records(items, bodies, letters, done, short)
        again = iter(decisions or ())
        for start, stop, now in self._moments(items, places, moment):
            taken = self.anonymizer.take(records[start:stop], now, next(again, None) if decisions is not None else None)
            letters.update((places[start + i], reason) for i, reason in taken.refused.items())
            done.decisions.append(taken.decisions)
            done.bodies += self.outgoing.encode_all(taken.released)
        if last:
            done.bodies += self.outgoing.encode_all(self.anonymizer.flush(self.now))
        done.records = len(records)
        done.letters = [self._letter(items[i], letters[i]) for i in sorted(letters)]
        done.reasons = [reason_code(letters[i]) for i in sorted(letters)]
        withheld = self._withheld()
        done.letters += withheld
        done.reasons += ["in_vain"] * len(withheld)
        return done

    @cached_property
    def _direct(self) -> bool:
        """Whether bodies may go through as JSON, if they are plain."""
        looked_at = self.ids is not None or self.change or self.part is not None or self.anonymizer.timed
        return self.incoming.json and self.outgoing.json and not looked_at and not self.anonymizer.holds

    def _directly(self, bodies: list[bytes], moment: float, decisions: Sequence[list[int]] | None) -> Decided | None:
        """All of a block without records in between; None, and nothing taken, where one is not plain."""
        again = decisions[0] if decisions else None
        taken = self.anonymizer.take_json(bodies, moment, again)
        if taken is None:
            return None
        self.now = max(self.now, moment)
        return Decided(taken.bodies, [], [taken.decisions], len(bodies))

    def _records(
        self, items: Sequence[Incoming], bodies: list[bytes], letters: dict[int, InputError], done: Decided, short: bool
    ) -> tuple[list[dict[str, Any]], Sequence[int]]:
        """The records of a block and their places in it; what is none is among the letters."""
        if self.ids is None and not self.change and self.part is None and short:
            plain = self.incoming.decode_all(bodies) if items else []
            if plain is not None:
                return plain, range(len(plain))
        records: list[dict[str, Any]] = []
        places: list[int] = []
        decode, ids, changes, part = self.incoming.decode, self.ids, list(self.change.items()), self.part
        for i, (body, _, _) in enumerate(items):
            record = None
            try:
                if len(body) > self.longest:
                    raise BadRecord("too_long", bytes=len(body))
                record = decode(body)
                if record is None:
                    continue
                self._check_length(len(body), record)
                if part is not None and not part.mine(record):
                    done.elsewhere += 1
                    continue
                if ids is not None and ids.meet(record) == "repeat":
                    done.repeats += 1
                    continue
                for name, change in changes:
                    if name in record:  # where it is missing, the anonymizer says so
                        record[name] = change(record[name])
            except InputError as bad:
                if part is None or record is not None or part.serve == 0:  # what is no record is named once
                    letters[i] = bad
                continue
            records.append(record)
            places.append(i)
        return records, places

    @property
    def _growth(self) -> int:
        """How many times as long a body may be written as it came, at most: `1e15` becomes 1000000000000000.0."""
        return 8 if self.incoming.json else 64

    def _check_length(self, came: int, record: Mapping[str, Any]) -> None:
        """Raise where what could be released is longer than a broker takes: it would end the service, and every one after it."""
        if came * self._growth > self.longest:
            whole = {name: record[name] for name in self.anonymizer.fields if name in record}
            if (size := len(self.outgoing.encode(whole))) > self.longest:
                raise BadRecord("too_long", bytes=size)

    def _moments(
        self, items: Sequence[Incoming], places: Sequence[int], moment: float
    ) -> Iterator[tuple[int, int, float]]:
        """Parts of the block that arrived at one moment; all of it where time changes nothing. Time never goes back."""
        if not self.anonymizer.timed or not places:
            self.now = max(self.now, moment, items[-1][2] if items else 0.0)
            yield 0, len(places), self.now
            return
        start = 0
        for at in range(1, len(places) + 1):
            if at == len(places) or items[places[at]][2] > max(self.now, items[places[start]][2]):
                self.now = max(self.now, items[places[start]][2])
                yield start, at, self.now
                start = at

    def _letter(self, item: Incoming, reason: InputError) -> bytes:
        letter: dict[str, Any] = {
            "id": self.letter_ids.id_of(item[1], item[0]),
            "position": item[1],
            "code": reason_code(reason),
            "reason": reason.say(self.lang),
        }
        if self.raw:
            letter["record"] = item[0].decode(errors="backslashreplace")
        body = encode_json(letter).rstrip(b"\n")
        if len(body) > self.longest and self.raw:  # whoever takes the letters would not take this one
            del letter["record"]
            body = encode_json(letter).rstrip(b"\n")
        return body

    def _withheld(self) -> list[bytes]:
        """Letters about records that waited in vain: nothing they could be released as keeps the promise."""
        if not self.anonymizer.holds:
            return []
        said = Message("error_stream.letter.in_vain").say(self.lang)
        found = []
        for one in self.anonymizer.withheld():
            id = self.letter_ids.id_of("", encode_json(one))
            letter = {"id": id, "code": "in_vain", "reason": said, **({"record": one} if self.raw else {})}
            found.append(encode_json(letter).rstrip(b"\n"))
        return found
