"""What is built is whole: a wheel holds every file that the package reads, and works where only its dependencies are."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import oboro

ROOT = Path(__file__).parent.parent
PROJECT = """import oboro
from pathlib import Path

recipe: oboro.Recipe = oboro.Recipe.load(Path("recipe.yaml"))
release: oboro.Release = recipe.run({"age": [1, 2]})
holds: bool = oboro.verify(release.data, quasi=["age"], k=2).holds
technique = oboro.TopCode(attribute="age", at=90)
wrong: int = oboro.Recipe.load("recipe.yaml")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive."""
    folder = tmp_path_factory.mktemp("built")
    words = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_wheel_holds_every_file_of_the_package(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    kinds = {".py", ".pyi", ".toml", ".typed", ".css", ".js", ".html", ".j2", ".csv", ".svg", ".json"}
    ours = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "oboro").rglob("*")
        if path.suffix in kinds or path.name == "py.typed"
    }
    assert ours - held == set()
    assert "oboro/py.typed" in held
    assert any(name.endswith("share/man/man1/oboro.1") for name in held)
    assert not [name for name in held if name.endswith((".nbi", ".nbc", ".pyc"))]


def test_the_source_archive_can_be_built_again(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as held:
        names = {name.split("/", 1)[-1] for name in held.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/oboro/__init__.py"} <= names


def test_the_wheel_works_without_the_source(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed"), "OBORO_CACHE": str(tmp_path / "cache")}
    code = "import oboro, sys; assert 'installed' in oboro.__file__, oboro.__file__; print(oboro.__version__)"
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == oboro.__version__
    words = ["synth", "people", "--rows", "50", "--output", "people.csv", "--lang", "ja"]
    done = subprocess.run(
        [sys.executable, "-m", "oboro", *words], env=environment, cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "people.csv.recipe.yaml").exists()


@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_whoever_uses_it_sees_its_types(checker: str, tmp_path: Path) -> None:
    """A small project with one mistake in it: both checkers find that one, and no other."""
    pytest.importorskip(checker, reason=f"{checker} is not here")
    (tmp_path / "use.py").write_text(PROJECT)
    words = {
        "mypy": [
            "-m",
            "mypy",
            "--strict",
            "--follow-imports=silent",
            f"--cache-dir={ROOT / '.mypy_cache' / 'use'}",
            "use.py",
        ],
        "basedpyright": ["-m", "basedpyright", "--level", "error", "--pythonpath", sys.executable, "use.py"],
    }[checker]
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    wrong = [line for line in done.stdout.splitlines() if "error" in line and "use.py:" in line]
    assert [line.split(":")[1] for line in wrong] == ["8"], done.stdout
