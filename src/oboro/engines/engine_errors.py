"""What an engine says when it gives up, as an error of ours.

Spark and DuckDB repeat rows of the table and URLs with passwords in what they say. So a message has only the name of the fault;
the rest is for whoever asks to see values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from oboro import __version__
from oboro.engines.task_errors import opened_error
from oboro.errors import InputError, OboroError
from oboro.text import Message
from oboro.text.raw_values import Raw

__all__ = ["ChangedData", "speaking_for"]

ENGINES = ("pyspark", "py4j", "duckdb", "_duckdb", "grpc")
FAULT = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")  # as Spark names what is wrong
CLASS = re.compile(r"([A-Za-z]+(?:Exception|Error))\b")
CHANGED = "error_engine.changed"
TRACEBACK = "Traceback (most recent call last):"
MODULE = re.compile(r"No module named '([\w.]+)'")
PASSWORD = re.compile(r"(?<=//)[^/@\s]+@")


class ChangedData(InputError):
    """Rows that were not there when the table was read first."""

    def __init__(self, words: object = None) -> None:
        super().__init__(Message(CHANGED))


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


def _as_ours(engine: str, problem: Exception) -> OboroError:
    said = str(problem)
    opened = opened_error(said, engine)
    if opened is not None:
        return ChangedData() if getattr(opened.words, "id", "") == CHANGED else opened
    python = _python_error(said)
    if python is not None:
        fault, words = python
        missing = MODULE.search(words) if fault == "ModuleNotFoundError" else None
        if missing is not None:
            package = f"oboro=={__version__}" if missing[1].partition(".")[0] == "oboro" else missing[1]
            return InputError(Message("error_engine.worker_module", module=missing[1], package=package))
        shown = Raw(PASSWORD.sub("***@", words))
        return InputError(Message("error_engine.failed", engine=engine, fault=fault, said=shown))
    shown = Raw(PASSWORD.sub("***@", _told(said)))
    return InputError(Message("error_engine.failed", engine=engine, fault=_fault(problem, said), said=shown))


def _python_error(said: str) -> tuple[str, str] | None:
    """Return the class and the words of the Python error that a task of Spark ended with, where its traceback is repeated."""
    _, found, rest = said.partition(TRACEBACK)
    if not found:
        return None
    lines = rest.splitlines()
    end = next((n for n, line in enumerate(lines) if line.startswith(("\tat ", "Driver stacktrace"))), len(lines))
    last = "\n".join(lines[:end]).rpartition(TRACEBACK)[2].splitlines()  # of a chain of errors
    words = [line for line in last if line.strip() and not line.lstrip().startswith("SQLSTATE")]
    begin = next((n for n, line in enumerate(words) if not line[0].isspace()), None)
    if begin is None:
        return None
    name, _, message = words[begin].partition(": ")
    return name.rpartition(".")[2], " / ".join([message, *words[begin + 1 :]]) or name


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
