"""The shape of the house, read from its source: names, sizes, and what a kernel may know."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.source_code import SOURCE, nodes

FILES = sorted(SOURCE.rglob("*.py"))

MOST_FILES = 13  # in a folder, `__init__` left out
MOST_LINES = 400
LONG_FUNCTION = 15  # body lines, docstring left out; nine of ten functions are no longer
SAME_NAME = {"__init__", "kernels"}
"""Modules whose name says what they are to the package that they lie in."""
ONE_FILE_A_STEP = SOURCE / "techniques"
KERNELS_KNOW = ("__future__", "typing", "collections.abc", "heapq", "math", "numpy", "numba", "oboro.kernels")


def name_of(file: Path) -> str:
    """The module's dotted name."""
    parts = ["oboro", *file.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_kernel_module(name: str) -> bool:
    """Whether a module is called `kernels` or lies in a package of that name."""
    return "kernels" in name.split(".")


def repeated(named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names that stand in several places, and where."""
    places = defaultdict(list)
    for name, place in named:
        places[name].append(place)
    return {name: where for name, where in places.items() if len(where) > 1}


def test_no_two_modules_have_the_same_name():
    """A command has a file of its name, so those of the command line are only compared with each other."""
    for rooms in (lambda room: room == "app", lambda room: room != "app"):
        files = [file for file in FILES if rooms(file.relative_to(SOURCE).parts[0])]
        assert not repeated((file.stem, name_of(file)) for file in files if file.stem not in SAME_NAME)


def test_no_two_public_classes_have_the_same_name():
    classes = (
        (node.name, name_of(file))
        for file in FILES
        for node in nodes(file)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert not repeated(classes)


def test_a_folder_can_be_overlooked():
    counts = Counter(file.parent for file in FILES if file.stem != "__init__")
    assert not {str(folder): n for folder, n in counts.items() if n > MOST_FILES and folder != ONE_FILE_A_STEP}


def test_files_are_short():
    assert not {str(file): n for file in FILES if (n := len(file.read_text().splitlines())) > MOST_LINES}


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body, without the docstring."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_functions_are_short():
    lengths = [
        body_lines(node)
        for file in FILES
        for node in nodes(file)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert np.percentile(lengths, 90) <= LONG_FUNCTION


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


DECORATOR = [
    SOURCE / "kernels" / name
    for name in ("__init__.py", "cache_folders.py", "compiling.py", "included_files.py", "kernel_cache.py")
]
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
