"""What an engine says when it gives up, as an error of ours.

Spark and DuckDB repeat rows of the table and URLs with passwords in what they say. So a message has only the name of the fault;
the rest is for whoever asks to see values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from oboro.errors import InputError, OboroError
from oboro.text import Message
from oboro.text.raw_values import Raw

__all__ = ["ChangedData", "speaking_for"]

ENGINES = ("pyspark", "py4j", "duckdb", "_duckdb", "grpc")
FAULT = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")  # as Spark names what is wrong
CLASS = re.compile(r"([A-Za-z]+(?:Exception|Error))\b")
PASSWORD = re.compile(r"(?<=//)[^/@\s]+@")


class ChangedData(InputError):
    """Rows that were not there when the table was read first. Spark tells it by its name from faults of its own."""

    def __init__(self, words: object = None) -> None:
        super().__init__(Message("error_engine.changed"))


@contextmanager
def speaking_for(engine: str) -> Iterator[None]:
    """Turn what an engine raises into one clear error, without rows and passwords."""
    try:
        yield
    except OboroError:
        raise
    except Exception as problem:
        gone = isinstance(problem, ConnectionError)  # its process died: memory, or somebody's kill
        if not gone and type(problem).__module__.partition(".")[0] not in ENGINES:
            raise
        raise _as_ours(engine, problem) from None


def _as_ours(engine: str, problem: Exception) -> InputError:
    said = str(problem)
    if f"{ChangedData.__module__}.{ChangedData.__qualname__}" in said:
        return ChangedData()
    shown = Raw(PASSWORD.sub("***@", _told(said)))
    return InputError(Message("error_engine.failed", engine=engine, fault=_fault(problem, said), said=shown))


def _told(said: str) -> str:
    """The line that says most: of an error of Java its first cause, not which of its objects was called."""
    lines = said.strip().splitlines() or ["–"]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    java = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    return " / ".join(dict.fromkeys([*java[:1], *causes[-1:]])) or lines[0]


def _fault(problem: Any, said: str) -> str:
    """The name of the fault: Spark's own, else that of the exception (of Java, where it came from there)."""
    named = FAULT.search(said)
    if named is not None:
        return named[1]
    java = CLASS.search(said) if type(problem).__module__.startswith("py4j") else None
    return java[1] if java is not None else type(problem).__name__
