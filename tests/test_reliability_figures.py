"""The figures on the page about reliability are those of the results beside it."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    spec = spec_from_file_location("reliability_figures", ROOT / "docs/reliability.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_figures_of_the_results(figures: ModuleType) -> None:
    page = (ROOT / "docs/reliability.md").read_text()
    assert figures.filled(page) == page, "python docs/reliability.py writes them anew"


@pytest.mark.parametrize("name", ["fuzz", "faults"])
def test_what_was_found_is_nothing(name: str) -> None:
    found = json.loads((ROOT / f"benchmarks/results/{name}.json").read_text())
    kinds = (
        found["faults"].values()
        if name == "faults"
        else [found[kind] for kind in ("traceback", "crash", "hang", "difference")]
    )
    assert not any(kinds)
