"""What is built is whole: a wheel holds every file that the package reads, and works where only its dependencies are."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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
# `make types` sees the package with mypy as it stands; as a user sees it only with `make thorough`, for it takes a dozen seconds.
CHECKERS = ["basedpyright", *(["mypy"] if os.environ.get("OBORO_EXAMPLES") == "thorough" else [])]
CORE = """
import sys, os
from pathlib import Path
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"fastexcel", "jinja2", "opendp", "openpyxl", "scipy", "sklearn", "vl_convert", "pandas"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
os.chdir(sys.argv[1])
import oboro
from oboro.errors import UsageError
from oboro.kernels.jit import always_compiled
from oboro.recipe.starter import write_sample
recipe = oboro.Recipe.load(write_sample("people", Path("people.csv"), rows=300))
with always_compiled():
    release = recipe.run("people.csv")
release.write("released.csv")
concealed = oboro.Recipe(attributes={"age": {"role": "quasi"}}, steps=[{"k_conceal": {"k": 2}}])
assert release.summary() and release.report and oboro.assess("released.csv")
assert oboro.verify(oboro.read("released.csv"), quasi=["sex"], k=2).holds
assert list(oboro.stream.DelayFree(attributes=["sex"], k=2).push_many([{"sex": "F"}] * 3))
for needs_more, extra in (
    (lambda: concealed.run({"age": [30, 31, 32, 33]}), "science"),
    (lambda: release.write("released.xlsx"), "excel"),
):
    try:
        needs_more()
    except UsageError as error:
        assert f"oboro[{extra}]" in str(error), error
    else:
        raise AssertionError(extra)
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


@pytest.fixture(scope="module")
def built_again(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that comes of the source archive."""
    folder = tmp_path_factory.mktemp("again")
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as held:
        held.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(words, cwd=source, capture_output=True, check=True)
    return folder / "dist"


def needed(name: str, known: dict[str, metadata.Distribution]) -> None:
    """A package and all that it cannot do without, extras left out."""
    held = metadata.distribution(name)
    if (key := canonicalize_name(name)) in known:
        return
    known[key] = held
    for line in held.requires or ():
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            needed(wanted.name, known)


def install(wheel: Path, home: Path) -> Path:
    """An environment with nothing but a wheel and what it says it needs; that is lent from here, so nothing is fetched."""
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    words = ["uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(python), str(wheel)]
    subprocess.run([sys.executable, "-m", *words], capture_output=True, check=True)
    (place,) = home.glob("lib/python*/site-packages")
    (info,) = place.glob("oboro-*.dist-info")
    known: dict[str, metadata.Distribution] = {}
    for line in metadata.PathDistribution(info).requires or ():
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            needed(wanted.name, known)
    for held in known.values():
        for top in {file.parts[0] for file in held.files or ()} - {"..", "__pycache__"}:
            if not (place / top).exists():
                (place / top).symlink_to(Path(str(held.locate_file(top))))
    return home


@pytest.mark.skipif(sys.platform == "win32", reason="environments look different there")
@pytest.mark.parametrize("way", ["built", "built_again"])
def test_it_works_in_an_empty_environment(way: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    (wheel,) = request.getfixturevalue(way).glob("*.whl")
    home = install(wheel, tmp_path / "env")
    (tmp_path / "work").mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*words: str) -> str:
        given = {"cwd": tmp_path / "work", "env": {**kept, "OBORO_CACHE": str(tmp_path / "cache")}}
        done = subprocess.run(
            [str(home / "bin" / words[0]), *words[1:]], capture_output=True, text=True, check=False, **given
        )  # type: ignore[call-overload]
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    assert run("oboro", "--version").split() == ["oboro", oboro.__version__]
    assert run("python", "-m", "oboro", "--version").split() == ["oboro", oboro.__version__]
    assert (home / "share" / "man" / "man1" / "oboro.1").exists()
    if way == "built_again":
        return  # the same files, as that version shows
    run("oboro", "synth", "people", "--rows", "300", "--output", "people.csv")
    run("oboro", "anonymize", "people.csv", "--recipe", "people.csv.recipe.yaml", "--output", "released.csv")
    missing = (
        "import importlib.util as u; print([n for n in ('scipy', 'sklearn', 'pandas', 'starlette') if u.find_spec(n)])"
    )
    assert run("python", "-c", missing).strip() == "[]"


def test_the_core_does_without_the_extras(tmp_path: Path) -> None:
    """In an environment where only the core is: tables and streams go through, and what needs more says what."""
    done = subprocess.run([sys.executable, "-c", CORE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("checker", CHECKERS)
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
