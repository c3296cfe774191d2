from __future__ import annotations

import subprocess
import sys

import pytest

import oboro


def test_all_is_what_is_visible() -> None:
    assert sorted(oboro.__all__) == sorted(name for name in dir(oboro) if not name.startswith("_"))
    for name in oboro.__all__:
        assert getattr(oboro, name) is not None


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(AttributeError, match="KAnonymize"):
        oboro.kanonymize  # noqa: B018


def test_importing_and_helping_load_nothing_heavy() -> None:
    """Times are not asserted; what makes them short is: neither loads numpy, numba, pyarrow or pydantic."""
    code = "import sys, oboro, oboro.app.cli; print(*[m for m in ('numpy', 'numba', 'pyarrow', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
