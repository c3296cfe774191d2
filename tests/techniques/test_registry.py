"""Techniques are found by the names of their modules, and one is loaded when it is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import oboro.techniques.base
from oboro.techniques import TECHNIQUES, Technique
from oboro.techniques.base import SUPPORT

MODULES = {path.stem for path in Path(oboro.techniques.base.__file__).parent.glob("*.py")} - {"__init__"}


def test_every_other_module_is_a_technique_and_bears_the_name_of_its_step() -> None:
    assert set(TECHNIQUES.built_in) == MODULES - SUPPORT
    assert MODULES >= SUPPORT
    for step in TECHNIQUES.built_in:
        technique = TECHNIQUES[step]
        assert issubclass(technique, Technique)
        assert (technique.step, technique.__module__) == (step, f"oboro.techniques.{step}")


@pytest.mark.parametrize("name", [*sorted(SUPPORT), "nothing", ""])
def test_other_names_are_none(name: str) -> None:
    assert name not in TECHNIQUES
    assert TECHNIQUES.get(name) is None


def test_every_technique_has_a_public_name() -> None:
    assert {TECHNIQUES[step].__name__ for step in TECHNIQUES.built_in} <= set(oboro.__all__)


def test_names_are_listed_without_loading_a_module() -> None:
    code = (
        "import sys; from oboro.techniques import TECHNIQUES; names = list(TECHNIQUES); assert 'noise' in TECHNIQUES;"
        "loaded = [name for name in names if f'oboro.techniques.{name}' in sys.modules]; print(len(names) > 20, loaded);"
        "TECHNIQUES['sort']; print([name for name in names if f'oboro.techniques.{name}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True []", "['sort']"]
