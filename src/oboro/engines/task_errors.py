"""Errors of tasks on their way to the driver, encrypted.

Spark writes what a task raises into its logs, with values of the table where a library repeats them. So a task raises
only the name of its error in plain text. The words are encrypted with a key of the driver's process, which travels with
the task and is in no log.
"""

from __future__ import annotations

import json
import os
import re
import traceback
from collections.abc import Mapping
from hashlib import shake_256
from typing import Any

from oboro import errors
from oboro.errors import InputError, OboroError
from oboro.text import Message, Raw

__all__ = ["KEY", "TaskError", "opened_error", "sealed_error"]


KEY = os.urandom(32)
NONCE = 16  # bytes
SEALED = re.compile(r"oboro-task-error:([0-9a-f]+):")


class TaskError(Exception):
    """The name of an error that a task met, and its words, encrypted."""


def sealed_error(problem: Exception, key: bytes) -> TaskError:
    """Encrypt an error for the holder of the key."""
    told = problem.words if isinstance(problem, OboroError) else f"{problem}{_place(problem)}"
    content = {"class": _public_name(problem), "words": _as_data(told)}
    nonce = os.urandom(NONCE)
    sealed = nonce + _masked(json.dumps(content).encode(), key + nonce)
    return TaskError(f"{type(problem).__name__} (oboro-task-error:{sealed.hex()}:)")


def opened_error(said: str, engine: str) -> InputError | OboroError | None:
    """Return the error of a task that an engine repeats, or None where it repeats none of this process's tasks."""
    found = SEALED.search(said)
    if found is None:
        return None
    sealed = bytes.fromhex(found[1])
    try:
        content = json.loads(_masked(sealed[NONCE:], KEY + sealed[:NONCE]))
    except ValueError:  # of another process, or cut off
        return None
    words, name = _from_data(content["words"]), content["class"]
    kind = getattr(errors, name, None)
    if kind is not None:
        return kind(words)  # type: ignore[no-any-return]
    return InputError(Message("error_engine.failed", engine=engine, fault=name, said=Raw(words)))


def _masked(data: bytes, key: bytes) -> bytes:
    """XOR with a key stream: encrypts, and decrypts. Each nonce is used once."""
    stream = shake_256(key).digest(len(data))
    return bytes(a ^ b for a, b in zip(data, stream, strict=True))


def _public_name(problem: Exception) -> str:
    """The nearest public class of an error of ours; the class of any other."""
    own = [one.__name__ for one in type(problem).__mro__ if getattr(errors, one.__name__, None) is one]
    return own[0] if own else type(problem).__name__


def _place(problem: Exception) -> str:
    """The line of the program that raised it."""
    frames = traceback.extract_tb(problem.__traceback__)
    return f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""


def _as_data(value: Any) -> Any:
    if isinstance(value, Message):
        return {"id": value.id, "values": {name: _as_data(one) for name, one in value.values.items()}}
    if isinstance(value, Raw):
        return {"raw": value.value if isinstance(value.value, float) else str(value.value), "row": value.row}
    if isinstance(value, list | tuple):
        return [_as_data(one) for one in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _from_data(value: Any) -> Any:
    if isinstance(value, Mapping):
        if "raw" in value:
            return Raw(value["raw"], value["row"])
        return Message(value["id"], **{name: _from_data(one) for name, one in value["values"].items()})
    return [_from_data(one) for one in value] if isinstance(value, list) else value
