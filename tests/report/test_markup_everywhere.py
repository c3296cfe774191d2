"""Whatever a table, a recipe, a file or a person says is text on the page: markup is put into every place that takes words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.report.report_cases import STREAM, Page, make

import oboro
from oboro.report.report import Report

MARKUP = """</style></title></pre><script>window.hacked=1</script><img src=x onerror=hacked()>"' onmouseover="hacked()" x='"""
ALLOWED_LINKS = "#"


def check(html: str) -> None:
    """No element, attribute or address that we did not write; and what was said is there, as text."""
    page = Page(html)
    assert not {"script", "img", "iframe", "object", "embed", "link", "base", "form"} & page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert all(
        value.startswith(ALLOWED_LINKS) for name, value in page.attributes if name in ("href", "xlink:href", "src")
    )
    assert "window.hacked=1" in page.text


# Every fact of a report that takes words --------------------------------------------------------------------------------


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a text stands; of a message only in its values."""
    if isinstance(content, str):
        yield path
    elif isinstance(content, list):
        for number, one in enumerate(content):
            yield from places(one, (*path, number))
    elif isinstance(content, dict):
        inner = {"values": content["values"]} if content.keys() == {"id", "values", "text"} else content
        for name, one in inner.items():
            yield from places(one, (*path, name))


def replaced(content: Any, path: tuple[Any, ...], said: str) -> None:
    """Change one place, in place."""
    for part in path[:-1]:
        content = content[part]
    content[path[-1]] = said.format(content[path[-1]])


def kind(path: tuple[Any, ...]) -> tuple[Any, ...]:
    """Places of one kind differ only in numbers."""
    return tuple("…" if isinstance(part, int) else part for part in path)


def hostile(report: Report) -> tuple[Report, int]:
    """The same report with markup in every kind of place that takes any words; how many places there are."""
    content = json.loads(report.model_dump_json())
    by_kind: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for path in places(content):
        by_kind.setdefault(kind(path), []).append(path)
    changed = 0
    for paths in by_kind.values():
        trial = json.loads(json.dumps(content))
        said = "{}\n# " + MARKUP + "\n" if paths[0] == ("recipe",) else "{}" + MARKUP  # a recipe stays one
        for path in paths:
            replaced(trial, path, said)
        try:
            found = Report.model_validate(trial)
            found.to_html()
        except (ValidationError, oboro.errors.OboroError, KeyError, ValueError):
            continue  # a name that the report itself gives: nobody else can choose it
        content, changed = trial, changed + len(paths)
    return Report.model_validate(content), changed


@pytest.fixture(scope="module")
def pages() -> tuple[list[str], int]:
    report, changed = hostile(make(files={"input": {"name": "in.csv", "sha256": "00"}}, stream=STREAM[:2]))
    signed = report.signed(made_by=MARKUP, made_for=MARKUP, purpose=MARKUP)
    shown = [signed.to_html(lang=lang) for lang in ("en", "ja")]
    return [*shown, signed.to_public().to_html(), signed._repr_html_()], changed


def test_every_fact_is_text(pages: tuple[list[str], int]) -> None:
    shown, changed = pages
    assert changed > 100
    for html in shown:
        check(html)


def test_a_real_browser_runs_nothing_of_it(pages: tuple[list[str], int], browser: Any) -> None:
    page = browser.new_page()
    for html in pages[0]:
        page.set_content(html.replace("default-src 'none'", "default-src *"), wait_until="load")
        assert page.evaluate("typeof window.hacked") == "undefined"
        assert (
            page.evaluate("document.querySelectorAll('script, img, iframe, object, [onerror], [onmouseover]').length")
            == 0
        )
    page.close()


# From a table and a recipe to the page ----------------------------------------------------------------------------------


def test_names_values_labels_reasons_and_files_of_a_run(tmp_path: Path) -> None:
    name = f"n{MARKUP}"
    table = {
        name: [f"{MARKUP}{n % 3}" for n in range(60)],
        f"q{MARKUP}": [MARKUP, "b"] * 30,
        f"s{MARKUP}": [f"{n % 4}{MARKUP}" for n in range(60)],
        f"o{MARKUP}": [f"{n}{MARKUP}" for n in range(60)],
        f"i{MARKUP}": [f"id {n}" for n in range(60)],
    }
    listed = [[value, f"label{MARKUP}"] for value in sorted(set(table[name]))]
    roles = ["quasi", "quasi", "sensitive", "other", "identifier"]
    attributes: dict[str, Any] = {column: {"role": role} for column, role in zip(table, roles, strict=True)}
    attributes[name]["hierarchy"] = {"rows": listed}
    content = {
        "attributes": attributes,
        "steps": [{"drop_columns": {"attributes": [f"i{MARKUP}"]}}, {"k_anonymize": {"k": 5}}],
        "accept": {"unique_on": [f"o{MARKUP}"], "because": f"because{MARKUP}"},
    }
    release = oboro.Recipe.parse(json.dumps(content)).run(oboro.data.dataset.Dataset.of(table).to_arrow())
    folder = tmp_path / MARKUP.replace("/", "∕")[:60]
    folder.mkdir()
    release.write(folder / "out.csv", excel_safe=True)
    report = release.with_files(folder / "out.csv")
    for html in (report.to_html(), report.to_public().to_html(), release._repr_html_()):
        check(html)
