from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import oboro


def test_all_is_what_is_visible() -> None:
    assert sorted(oboro.__all__) == sorted(name for name in dir(oboro) if not name.startswith("_"))
    for name in oboro.__all__:
        assert getattr(oboro, name) is not None


def test_what_type_checkers_see_is_what_is_visible() -> None:
    """The list that is loaded by is the stub: every import in it counts, however it is written."""
    stub = ast.parse(Path(oboro.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    seen = {name.asname: one.module for one in stub.body if isinstance(one, ast.ImportFrom) for name in one.names}
    assert sorted(seen) == oboro.__all__
    for name, room in seen.items():
        thing = getattr(oboro, name)
        assert (
            thing is sys.modules.get(f"oboro.{name}")
            if room == "oboro"
            else thing is getattr(sys.modules[str(room)], name)
        )


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(AttributeError, match="KAnonymize"):
        oboro.kanonymize  # noqa: B018


@pytest.mark.parametrize("name", ["kanonymize", "k_anonymize", "Verify"])
def test_a_name_in_other_letters_is_told(name: str) -> None:
    with pytest.raises(AttributeError, match=r"did you mean (KAnonymize|verify)\?$"):
        getattr(oboro, name)


def test_importing_and_helping_load_nothing_heavy() -> None:
    """Times are not asserted; what makes them short is: neither loads numpy, numba, pyarrow or pydantic."""
    code = "import sys, oboro, oboro.cli.main; print(*[m for m in ('numpy', 'numba', 'pyarrow', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
