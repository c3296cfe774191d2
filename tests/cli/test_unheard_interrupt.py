"""An interrupt ends a command also where Python drops it: in a callback of a library, or while an object goes."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest
from tests.command_line import call

from oboro.recipe.recipe import Recipe


class Going:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)


def test_it_is_heard_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(path: Path) -> Recipe:
        going = [Going()]
        going.clear()  # the interrupt comes now, and is dropped
        time.sleep(5)
        raise AssertionError("nobody heard it")

    before = sys.unraisablehook
    monkeypatch.setattr(Recipe, "load", load)
    try:
        done = call("anonymize", "in.csv", "-r", "recipe.yaml", "-o", tmp_path / "out.csv")
    finally:
        sys.unraisablehook = before
    assert done.code == 2
    assert "interrupted" in done.err
    assert "Traceback" not in done.err


def test_one_that_comes_while_an_error_is_said_is_no_broken_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """A traceback would end with exit code 1."""
    from oboro.cli import main

    def interrupted(what: object, code: int = 2) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(main, "_fail", interrupted)
    monkeypatch.setattr(sys, "argv", ["oboro", "anonymize", "none.csv", "-r", "none.yaml", "-o", "out.csv"])
    before = sys.unraisablehook, {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        with pytest.raises(SystemExit) as ended:
            main.program()
    finally:
        sys.unraisablehook = before[0]
        for number, handler in before[1].items():
            signal.signal(number, handler)
    assert ended.value.code == 2
