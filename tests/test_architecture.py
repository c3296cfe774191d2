"""The architecture, read from the source: what kernels may import, and who may call numba."""

from __future__ import annotations

import ast
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
