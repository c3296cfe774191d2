"""A state of a service and a state of a stream between files: neither is called damaged by the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import Done, call

OPTIONS = {"--listen": "127.0.0.1:0", "--log": "json", "--batch": "8", "--rate": "1000", "--once": "", "--id": "n"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a state of a stream between files."""
    made = tmp_path_factory.mktemp("states")
    (made / "recipe.yaml").write_text(
        "attributes: {age: {role: quasi}, n: {role: other}}\nsteps: [{k_anonymize: {k: 2}}]\n"
    )
    (made / "in.ndjson").write_text('{"age": 3, "n": 1}\n{"age": 3, "n": 2}\n')
    assert run(made, "files").code == 0
    return made


def run(folder: Path, state: str, *more: str) -> Done:
    words = ["--recipe", "recipe.yaml", "--from", "in.ndjson", "--to", f"{state}.ndjson", "--state", state, *more]
    return call("stream", *words, cwd=folder)


@pytest.mark.parametrize("option", OPTIONS)
def test_a_state_names_the_options_that_it_was_made_with(folder: Path, option: str) -> None:
    words = [option, OPTIONS[option]] if OPTIONS[option] else [option]
    state = f"made-with{option}"
    assert run(folder, state, *words).code == 0
    refused = run(folder, state)
    assert f"belongs to an `oboro stream` with '{option}'," in refused.err
    assert "damaged" not in refused.err
    assert run(folder, state, *words).code == 0
    refused = run(folder, "files", *words)
    assert f"belongs to an `oboro stream` without '{option}'," in refused.err
    assert "damaged" not in refused.err
    assert run(folder, "files").code == 0


def test_a_file_with_options_is_named_too(folder: Path) -> None:
    (folder / "service.yaml").write_text("from: in.ndjson\nto: filed.ndjson\nrecipe: recipe.yaml\nstate: filed\n")
    assert call("stream", "--config", "service.yaml", cwd=folder).code == 0
    assert "with '--config'," in run(folder, "filed").err
    (folder / "service.yaml").write_text("from: in.ndjson\nto: f2\nrecipe: recipe.yaml\nstate: f2s\npatience: 3\n")
    assert call("stream", "--config", "service.yaml", cwd=folder).code == 0
    assert "with 'patience'," in run(folder, "f2s", "--to", "f2").err
