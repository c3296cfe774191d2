"""What every test shares: how property tests run, and where real data may be found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it, and the machines are noisy: a deadline per example would say nothing.
settings.register_profile("oboro", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("oboro")

ROOT = Path(__file__).parent.parent


def _data_folder() -> Path:
    return Path(os.environ.get("OBORO_DATA") or ROOT.parent / "shared" / "data")


@pytest.fixture(scope="session")
def arx_adult() -> Path:
    """The folder with ARX's Adult excerpt and its hierarchies."""
    folder = _data_folder() / "arx-adult"
    if not folder.exists():
        pytest.skip("no real data: set OBORO_DATA to a folder with arx-adult/")
    return folder
