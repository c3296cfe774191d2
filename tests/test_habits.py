"""What a stranger meets beside the code: forms for issues, workflows, how to cite, one version."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
FORMS = [path for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")) if path.stem != "config"]
ALLOWED = {
    "label",
    "description",
    "placeholder",
    "value",
    "render",
    "options",
}  # what GitHub takes; anything else hides the form


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_a_form_can_be_shown_and_forbids_real_data(form: Path) -> None:
    body = read(form)["body"]
    assert {key for part in body for key in part["attributes"]} <= ALLOWED
    required = [one["label"] for part in body for one in part["attributes"].get("options", ()) if one.get("required")]
    assert any("real person" in label for label in required)


@pytest.mark.parametrize("place", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.stem)
def test_a_workflow_has_what_it_needs(place: Path) -> None:
    workflow = read(place)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "runs-on" in job
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])


def test_five_papers_can_be_cited() -> None:
    cited = read(ROOT / "CITATION.cff")
    assert len(cited["references"]) == 5
    assert all(paper["title"] and paper["authors"] for paper in cited["references"])


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"] == {"path": "src/oboro/__init__.py"}
    assert "version" not in read(ROOT / "CITATION.cff")
