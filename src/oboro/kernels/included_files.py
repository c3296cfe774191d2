"""Which files stand in a compiled kernel: its own, and those of the kernels and constants that it takes in.

numba looks at the file of a function alone. A kernel that was compiled before an inner one changed would go on doing what that one
did, also after an upgrade that mends it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from oboro.kernels.cache_folders import PACKAGE

__all__ = ["included_files", "included_stamp"]

IMPORT = re.compile(
    r"^(?:from|import) oboro((?:\.\w+)*\.kernels(?:\.\w+)*)", re.MULTILINE
)  # kernels import only kernels
WORD = re.compile(r"\w+")


@cache
def included_stamp(file: str) -> str | None:
    """What these files say now, as one short text; None where the code has no files. O(bytes), once for each file."""
    try:
        held = "".join(map(_digest, sorted(included_files(Path(file)))))
    except OSError:
        return None
    return hashlib.blake2b(held.encode(), digest_size=16).hexdigest()


def included_files(file: Path) -> set[Path]:
    """The file, and what it imports of kernels, directly or not."""
    found, waiting = {file}, [file]
    while waiting:
        new = _imported(waiting.pop()) - found
        found |= new
        waiting += new
    return found


@cache
def _imported(file: Path) -> frozenset[Path]:
    return frozenset(_named(_text(file)))


def _named(text: str) -> Iterator[Path]:
    for name in IMPORT.findall(text):
        place = PACKAGE.joinpath(*name.strip(".").split("."))
        if place.is_dir():  # `from ….kernels import node_classes`
            words = {"__init__", *WORD.findall(text)}
            yield from (one for one in place.glob("*.py") if one.stem in words)
        else:
            yield place.with_suffix(".py")


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def _digest(file: Path) -> str:
    return hashlib.blake2b(_text(file).encode(), digest_size=16).hexdigest()
