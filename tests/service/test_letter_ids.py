"""Dead letters can be matched: what a broker hands over again has the id that it had before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.service.brokers_here import BODIES, service

from benchmarks.kills import with_poison
from oboro.service.health import metrics_page
from oboro.stream.engine import Watch, restored, same_letter
from oboro.stream.records import LetterIds, new_key

POISONED = with_poison(BODIES)
LETTERS = len(POISONED) - len(BODIES)
UUID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


class Forgetful:
    """A source that hands everything over again in each life, at new positions, as MQTT and RabbitMQ may."""

    kind: ClassVar[str] = "forgetful"
    repeats: ClassVar[bool] = True
    replays: ClassVar[bool] = False
    whole: ClassVar[bool] = False

    def __init__(self, bodies: Sequence[bytes]) -> None:
        self.bodies, self.count, self.left = bodies, 0, list(bodies)

    def open(self, after: str | None) -> None:
        self.count = int(after or 0)

    def read(self, most: int, wait: float) -> list[tuple[bytes, str, float]] | None:
        taken, self.left = self.left[:most], self.left[most:]
        self.count += len(taken)
        return [(body, str(self.count - len(taken) + n), 1.0) for n, body in enumerate(taken, 1)] or None

    def message_id(self, position: str) -> str | None:
        return None

    def confirm(self, position: str) -> None: ...

    def behind(self) -> int | None:
        return len(self.left)

    def close(self) -> None: ...


def handed_over(folder: Path) -> Watch:
    (folder / "in").touch()
    given: dict[str, Any] = {"state": folder / "state", "dead_letters": str(folder / "dead"), "id": "note"}
    one = service(str(folder / "in"), str(folder / "out"), **given)
    one.source.close()
    one.source = Forgetful(POISONED)
    one.run()
    return one.watch


def test_a_record_that_is_handed_over_again_has_one_id(tmp_path: Path) -> None:
    watch = handed_over(tmp_path)
    assert sum(watch.reasons.values()) == watch.dead_letters == LETTERS
    assert {"not_json", "not_object", "empty"} < set(watch.reasons)
    handed_over(tmp_path)
    letters = [json.loads(line) for line in (tmp_path / "dead").read_text().splitlines()]
    first, again = letters[:LETTERS], letters[LETTERS:]
    assert [one["id"] for one in first] == [one["id"] for one in again]
    assert not {one["position"] for one in first} & {one["position"] for one in again}
    assert len({one["id"] for one in letters}) == len({*POISONED} - {*BODIES})
    assert {one["code"] for one in letters} == set(watch.reasons)


def test_the_key_is_of_one_stream_and_an_earlier_state_gets_one(tmp_path: Path, monkeypatch: Any) -> None:
    """Otherwise whoever guesses a record could compute its id."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        handed_over(tmp_path / name)
    found = [json.loads((tmp_path / name / "dead").read_text().splitlines()[0])["id"] for name in ("one", "other")]
    assert found[0] != found[1]

    def without_key(*given: Any) -> Any:
        anonymizer, at = restored(*given)
        anonymizer.extra.pop("letter_key")
        at.letter_key = new_key()
        return anonymizer, at

    one = service(
        str(tmp_path / "one" / "in"), str(tmp_path / "one" / "out"), state=tmp_path / "one" / "state", id="note"
    )
    one.source.close()
    one.source, saved = Forgetful([]), []
    monkeypatch.setattr("oboro.stream.engine.restored", without_key)
    monkeypatch.setattr(type(one), "_snapshot", lambda service: saved.append(service.at.letter_key))
    monkeypatch.setattr(type(one), "_loop", lambda service: saved.append("loop"))
    one.run()
    assert len(saved[0]) == 64
    assert saved[1] == "loop"


@pytest.mark.parametrize("named", ["ann@example.com", "19570403", "0123456789abcdef", "\ud800"])
def test_an_id_that_may_tell_of_a_person_is_not_repeated(named: str) -> None:
    key = new_key()
    ids = LetterIds(key, lambda position: named)
    assert named not in ids.id_of("1", b"")
    assert ids.id_of("1", b"a") == ids.id_of("2", b"b") != LetterIds(new_key(), lambda position: named).id_of("1", b"")
    assert LetterIds(key, lambda position: named, verbatim=True).id_of("1", b"") == named
    assert LetterIds(key, lambda position: UUID).id_of("1", b"") == UUID


def test_letters_about_records_that_waited_in_vain_are_the_same_under_another_key() -> None:
    letters = [json.dumps({"id": id, "code": "in_vain", "reason": "why"}).encode() for id in ("one", "other")]
    assert same_letter(*letters)
    assert not same_letter(letters[0], b'{"id": "one", "code": "in_vain", "reason": "other"}')
    assert not same_letter(letters[0], b'{"position": "1", "reason": "why"}')


def test_metrics_count_letters_by_reason() -> None:
    watch = Watch()
    watch.reasons.update(["not_json", "not_json", "empty"])
    told = metrics_page(watch)().decode()
    assert 'oboro_dead_letters_by_reason_total{reason="not_json"} 2.0' in told
    assert watch.counts()["dead_letters_by_reason"] == {"empty": 1, "not_json": 2}
