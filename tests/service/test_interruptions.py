"""Brokers that go away at any call, during the start too: everything comes out once, and nobody gives up too soon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawing import picks
from tests.service.brokers_here import BODIES, service

from oboro.errors import BrokerError, ConflictError
from oboro.stream.engine import Outlet

T = TypeVar("T")
Fault = str  # "": none; "before" or "after": the connection is cut before or after the call was done


class ShakySink:
    """An output in memory whose connection is cut at given calls, before or after they were done."""

    compares: ClassVar[bool] = True

    def __init__(self, held: list[tuple[bytes, str]], faults: Sequence[Fault]) -> None:
        self.held = held
        self.faults = list(faults)

    def _call(self, act: Callable[[], T]) -> T:
        fault = self.faults.pop(0) if self.faults else ""
        result = act() if fault != "before" else None
        if fault:
            raise BrokerError("cut")
        assert result is not None
        return result

    def open(self) -> None:
        self._call(lambda: True)

    def last(self) -> tuple[int, str, bytes]:
        return self._call(lambda: (len(self.held), *(self.held[-1][::-1] if self.held else ("", b""))))

    def bodies(self, first: int, count: int) -> list[bytes | None]:
        return self._call(lambda: [one[0] for one in self.held[first - 1 : first - 1 + count]])

    def units(self, body: bytes) -> int:
        return 1

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        def act() -> bool:
            if len(self.held) != after:
                raise ConflictError("moved")
            self.held += [(body, mark) for body in bodies]
            return True

        self._call(act)

    def tend(self) -> None: ...

    def close(self) -> None: ...


@given(
    earlier=st.integers(0, 12),
    block=st.integers(1, 5),
    faults=picks(["", "", "before", "after"], max_size=25),
)
def test_what_is_published_and_compared_survives_every_cut(earlier: int, block: int, faults: list[Fault]) -> None:
    """An earlier life has published some of it; this one decides from the beginning."""
    bodies = [b"%d" % n for n in range(12)]
    sink = ShakySink([(body, "stream/earlier/") for body in bodies[:earlier]], faults)
    outlet = Outlet(sink, "out", "stream", lambda away: None)
    outlet.open()
    for start in range(0, len(bodies), block):
        outlet.put(bodies[start : start + block], "")
    assert [body for body, _ in sink.held] == bodies


def away_at_first(one: Any, name: str, times: int) -> None:
    """Let a call fail some times before it is done."""
    act, left = getattr(one, name), [times]

    def shaky(*given: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise BrokerError("refused")
        return act(*given)

    setattr(one, name, shaky)


class MemoryStore:
    """A place for snapshots that is away now and then."""

    def __init__(self) -> None:
        self.data: bytes | None = None

    def get(self) -> bytes | None:
        return self.data

    def put(self, data: bytes) -> None:
        self.data = data

    def close(self) -> None: ...


@pytest.mark.parametrize("where", ["store.get", "source.open", "sink.open", "sink.last", "store.put"])
def test_every_step_of_the_start_waits_for_its_broker(where: str, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("oboro.stream.engine.PAUSES", (0.0,))
    (tmp_path / "in.ndjson").write_bytes(b"\n".join(BODIES) + b"\n")
    one = service(str(tmp_path / "in.ndjson"), str(tmp_path / "out.ndjson"))
    one.store = MemoryStore()
    end, _, call = where.partition(".")
    away_at_first(getattr(one, end), call, 2 if call != "put" else 1)
    one.run()
    assert len((tmp_path / "out.ndjson").read_bytes().splitlines()) == len(BODIES)


def test_what_took_long_to_decide_is_saved_before_much_was_read(tmp_path: Any, monkeypatch: Any) -> None:
    """A start after a kill decides everything since the last snapshot again: what is slow to decide is saved sooner."""
    saved = []
    monkeypatch.setattr(MemoryStore, "put", lambda store, data: saved.append(data))
    (tmp_path / "in.ndjson").write_bytes(b"\n".join(BODIES) + b"\n")
    for seconds, often in ((1e9, False), (-1.0, True)):
        monkeypatch.setattr("oboro.stream.engine.AGAIN", seconds)
        saved.clear()
        one = service(str(tmp_path / "in.ndjson"), str(tmp_path / f"{often}.ndjson"), batch=10)
        one.store, one.watch.leading = MemoryStore(), True
        monkeypatch.setattr(type(one), "_saving", property(lambda _: 0.0, lambda _, seconds: None), raising=False)
        one.run()
        assert (len(saved) > 3) == often
