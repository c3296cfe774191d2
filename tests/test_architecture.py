"""The architecture, read from the source: what kernels may import, and who may call numba."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.source_code import SOURCE, nodes

FILES = sorted(SOURCE.rglob("*.py"))

KERNELS_KNOW = ("__future__", "typing", "collections.abc", "heapq", "math", "numpy", "numba", "oboro.kernels")


def name_of(file: Path) -> str:
    """The module's dotted name."""
    parts = ["oboro", *file.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_kernel_module(name: str) -> bool:
    """Return whether a module is called `kernels` or `…_kernels`, or lies in a package of that name."""
    return any(part == "kernels" or part.endswith("_kernels") for part in name.split("."))


def imported(file: Path) -> Iterator[str]:
    """What a module imports, by dotted names; of a package those modules that are taken from it."""
    for node in nodes(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def known_to_kernels(name: str) -> bool:
    """Whether a kernel may import something: NumPy, numba, the decorator, other kernels, a little of the standard library."""
    return is_kernel_module(name) or any(name == one or name.startswith(f"{one}.") for one in KERNELS_KNOW)


DECORATOR = [SOURCE / "kernels" / name for name in ("jit.py", "compiling.py")]
KERNEL_MODULES = [file for file in FILES if is_kernel_module(name_of(file)) and file not in DECORATOR]


@pytest.mark.parametrize("file", KERNEL_MODULES, ids=name_of)
def test_a_kernel_module_imports_only_kernels(file):
    assert [name for name in imported(file) if not known_to_kernels(name)] == []


def is_kernel(function: ast.FunctionDef) -> bool:
    """Whether a function is decorated with `@kernel(…)`."""
    return any(
        isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "kernel"
        for mark in function.decorator_list
    )


def test_every_kernel_lives_in_a_kernel_module():
    found = [
        f"{name_of(file)}.{node.name}"
        for file in FILES
        for node in nodes(file)
        if isinstance(node, ast.FunctionDef) and is_kernel(node) and not is_kernel_module(name_of(file))
    ]
    assert not found


def test_a_private_kernel_has_no_door_to_python():
    """Only kernels call it. To compile a door, and to optimize once more what lies behind it, takes a third of the time."""
    private = [
        (f"{name_of(file)}.{node.name}", {word.arg for mark in node.decorator_list for word in mark.keywords})
        for file in KERNEL_MODULES
        for node in nodes(file)
        if isinstance(node, ast.FunctionDef) and is_kernel(node) and node.name.startswith("_")
    ]
    assert len(private) > 100
    assert [name for name, how in private if not how & {"inner", "little"}] == []


def test_only_the_decorator_calls_numba():
    found = [
        name_of(file)
        for file in FILES
        if not is_kernel_module(name_of(file)) and any(name.split(".")[0] == "numba" for name in imported(file))
    ]
    assert not found


def test_the_package_does_not_import_its_benchmarks():
    found = [name_of(file) for file in FILES if any(name.split(".")[0] == "benchmarks" for name in imported(file))]
    assert not found


# Heavy third parties --------------------------------------------------------------------------------------------------

HEAVY = {
    "altair", "duckdb", "fastexcel", "jinja2", "numba", "opendp", "openpyxl", "pandas", "polars", "pyspark", "rich", "scipy",
    "sklearn", "starlette", "typer", "uvicorn", "vl_convert",
}  # fmt: skip
MADE_FOR = {"oboro.cli": {"typer"}, "oboro.web": {"starlette", "uvicorn"}}
"""Packages that exist for a third party: each is loaded when its command runs."""


def heavy_at_the_top(file: Path) -> set[str]:
    """Return the heavy third parties that a module imports when it is imported itself."""
    inside = {
        id(node)
        for outer in nodes(file)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef) or is_for_types(outer)
        for node in ast.walk(outer)
    }
    found = set()
    for node in nodes(file):
        if id(node) not in inside and isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif id(node) not in inside and isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found & HEAVY


def is_for_types(node: ast.AST) -> bool:
    """Return whether a block is read by type checkers only."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def test_heavy_third_parties_are_not_imported_at_the_top():
    found = {}
    for file in FILES:
        name = name_of(file)
        allowed = {"numba"} if is_kernel_module(name) else MADE_FOR.get(".".join(name.split(".")[:2]), set())
        if heavy := heavy_at_the_top(file) - allowed:
            found[name] = heavy
    assert found == {}


# Modules that are loaded by name --------------------------------------------------------------------------------------

PROJECT = tomllib.loads((SOURCE.parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
LAYERS = [layer.split(" | ") for layer in PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]]
HEIGHT = {package: -place for place, layer in enumerate(LAYERS) for package in layer}
LOADERS = {"bring", "import_module", "lazy_module", "loaded_later"}
UPWARD = {
    ("oboro.recipe.run", "engines"),  # the table that says which engine runs which kind of frame
    ("oboro.recipe.stream", "service"),  # a stream between brokers runs as a service
}


def loaded_by_name(file: Path) -> Iterator[str]:
    """Yield the package of each of our modules that a call loads by its name."""
    for node in nodes(file):
        if isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            name = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
            if called in LOADERS and isinstance(name, ast.Constant) and str(name.value).startswith("oboro."):
                yield str(name.value).split(".")[1]


def test_modules_loaded_by_name_point_down():
    found = set()
    for file in FILES:
        own = name_of(file).partition(".")[2].partition(".")[0]
        for package in loaded_by_name(file) if own else ():
            beside = package != own and HEIGHT[package] >= HEIGHT[own]
            if package and beside:
                found.add((name_of(file), package))
    assert found == UPWARD
    assert sum(1 for file in FILES for _ in loaded_by_name(file)) > 10
