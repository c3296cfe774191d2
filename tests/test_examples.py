"""The examples run as they stand: what a newcomer copies must work."""

from __future__ import annotations

import json
import runpy
import shlex
from pathlib import Path

import pytest
from tests.command_line import call

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.py")), ids=lambda script: script.name)
def test_scripts(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda notebook: notebook.name)
def test_notebooks(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "outputs may hold somebody's data: clear them"
            exec(compile("".join(cell["source"]), notebook.name, "exec"), names)


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.sh")), ids=lambda script: script.name)
def test_shell_scripts(script: Path, tmp_path: Path) -> None:
    for line in script.read_text(encoding="utf-8").splitlines():
        if line.startswith("oboro "):
            words = shlex.split(line)[1:]
            words, target = (words[:-2], words[-1]) if ">" in words else (words, None)
            done = call(*words, cwd=tmp_path)
            assert done.code == 0, f"{line}: {done.err}"
            if target:
                (tmp_path / target).write_text(done.out, encoding="utf-8")


def test_every_example_is_named_in_the_list() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [one.name for one in EXAMPLES.iterdir() if one.name != "README.md" and f"({one.name})" not in page] == []
