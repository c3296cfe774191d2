"""The registry of sections holds the order of a page, and every section of the files is in it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import oboro.report.sections
from oboro.report.sections.base import ORDER, SECTIONS, Section


def test_the_order_names_every_section_of_the_files() -> None:
    folder = Path(oboro.report.sections.__file__).parent
    modules = {path.stem: import_module(f"oboro.report.sections.{path.stem}") for path in folder.glob("*.py")}
    there = {
        f"{file}.{name}"
        for file, module in modules.items()
        for name in getattr(module, "__all__", ())
        if isinstance(getattr(module, name), Section)
    }
    assert set(ORDER) == there
    assert len(ORDER) == len(there)


def test_every_section_has_a_key_of_its_own_and_content() -> None:
    keys = [one.key for one in SECTIONS]
    assert len(set(keys)) == len(keys)
    assert all(one._content is not None for one in SECTIONS)


def test_a_small_view_has_the_figures_and_the_guarantees() -> None:
    assert [one.key for one in SECTIONS if one.brief] == ["glance", "promises"]
