"""The figures on the pages about reliability and services are those of the results beside them."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


def figures(name: str) -> ModuleType:
    spec = spec_from_file_location(f"{name}_figures", ROOT / f"docs/{name}.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["reliability", "service"])
def test_the_page_has_the_figures_of_the_results(name: str) -> None:
    page = (ROOT / f"docs/{name}.md").read_text()
    assert figures(name).filled(page) == page, f"python docs/{name}.py writes them anew"


@pytest.mark.parametrize("name", ["fuzz", "faults"])
def test_what_was_found_is_nothing(name: str) -> None:
    found = json.loads((ROOT / f"benchmarks/results/{name}.json").read_text())
    kinds = (
        found["faults"].values()
        if name == "faults"
        else [found[kind] for kind in ("traceback", "crash", "hang", "difference")]
    )
    assert not any(kinds)
