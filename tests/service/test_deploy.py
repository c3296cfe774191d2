"""The files in deploy/: settings and recipe are valid, the container has no rights, the unit names options that there are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest
import yaml

from oboro.recipe.recipe import Recipe
from oboro.recipe.service.service_settings import ServiceSettings
from oboro.recipe.stream_plan import anonymizer

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_settings_and_recipe_fit_together() -> None:
    settings = ServiceSettings.load(DEPLOY / "service.yaml", {})
    assert anonymizer(Recipe.load(settings.recipe), settings.decide).fields == ["age", "sex", "note"]


def test_the_container_may_nothing() -> None:
    service = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["oboro"]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    image = (DEPLOY / "Dockerfile").read_text()
    assert re.search(r"^USER 10001$", image, re.MULTILINE)
    assert "oboro warm-up" in image


def test_the_unit_starts_what_there_is() -> None:
    unit = (DEPLOY / "oboro-stream.service").read_text()
    assert "oboro stream --config /etc/oboro/service.yaml" in unit
    assert "NoNewPrivileges=yes" in unit


@pytest.mark.skipif(which("systemd-analyze") is None, reason="no systemd-analyze to read the unit with")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "oboro-stream.service"
    unit.write_text((DEPLOY / "oboro-stream.service").read_text().replace("/opt/oboro/bin/oboro", sys.executable))
    told = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
