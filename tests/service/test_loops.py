"""Examples for frameworks of streams run as they stand; where a framework is not installed, a small loop stands in for it."""

from __future__ import annotations

import asyncio
import runpy
import sys
import types
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

LOOPS = Path(__file__).parents[2] / "examples" / "loops"
PEOPLE = [{"sex": "F", "town": "Kyoto"}, {"sex": "F", "town": "Nara"}, {"sex": "F", "town": "Kyoto"}, {"age": 3}]
RELEASED = [{"sex": "*", "town": "*"}, {"sex": "F", "town": "*"}, {"sex": "F", "town": "Kyoto"}]


class Anything:
    """Takes every call, remembers it, and gives itself."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*given: Any, **named: Any) -> Any:
            self.calls.append((name, given, named))
            return self

        return call

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self

    def given(self, name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return next((given, named) for called, given, named in self.calls if called == name)


def stand_in(monkeypatch: pytest.MonkeyPatch, **modules: dict[str, Any]) -> None:
    for dotted, names in modules.items():
        module = types.ModuleType(dotted.replace("__", "."))
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, module.__name__, module)


def test_quix_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Anything()
    stand_in(
        monkeypatch, quixstreams={"Application": app}
    )  # also where it is installed: its application asks a broker at once
    names = runpy.run_path(str(LOOPS / "quix_streams_app.py"))
    found = [one for record in PEOPLE for one in names["released"](record, b"ann", 1_700_000_000_000, [])]
    assert found == RELEASED
    given, named = app.given("apply")
    assert given == (names["released"],)
    assert named == {"expand": True, "metadata": True}


def test_bytewax(monkeypatch: pytest.MonkeyPatch) -> None:
    op = Anything()
    if find_spec("bytewax") is None:
        parts = {"bytewax": {}, "bytewax__operators": {name: getattr(op, name) for name in ("input", "output")}}
        parts["bytewax__operators"]["flat_map_batch"] = op.flat_map_batch
        more = {"bytewax__connectors__stdio": {"StdOutSink": op}, "bytewax__dataflow": {"Dataflow": op}}
        stand_in(monkeypatch, **parts, **more, bytewax__testing={"TestingSource": op}, bytewax__connectors={})
        sys.modules["bytewax"].operators = sys.modules["bytewax.operators"]  # type: ignore[attr-defined]
    names = runpy.run_path(str(LOOPS / "bytewax_flow.py"))
    assert names["released"](PEOPLE[:2]) + names["released"](PEOPLE[2:]) == RELEASED


def test_faust(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("faust") is not None:
        pytest.skip("faust is here: its application needs a broker")
    sent: list[Any] = []

    class Topic:
        async def send(self, value: Any) -> None:
            sent.append(value)

    class App:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.loop = types.SimpleNamespace(time=lambda: 1.0)

        def topic(self, *_: Any, **__: Any) -> Topic:
            return Topic()

        def agent(self, _: Topic) -> Any:
            return lambda work: work

    class Records:
        async def take(self, most: int, within: float) -> AsyncIterator[list[Any]]:
            assert (most, within) == (256, 0.1)
            yield PEOPLE[:2]
            yield PEOPLE[2:]

    stand_in(monkeypatch, faust={"App": App})
    names = runpy.run_path(str(LOOPS / "faust_agent.py"))
    running = asyncio.new_event_loop()
    running.run_until_complete(names["anonymize"](Records()))
    running.close()
    assert sent == RELEASED
