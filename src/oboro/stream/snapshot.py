"""One state, one file: arrays and plain data, written so that the file is either the old one or the new one, whole."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from oboro.errors import FileError, OboroError
from oboro.system.atomic_file import atomic
from oboro.text import Message
from oboro.text.os_reasons import os_reason

__all__ = [
    "KIND",
    "from_json",
    "moment",
    "read_snapshot",
    "require",
    "restoring",
    "same_form",
    "to_json",
    "within",
    "write_snapshot",
]

META = "meta"
KIND = "service"  # stands in the position of a service, and in that of no stream between files
MARKED: tuple[AbstractSet[str], ...] = ({"datetime"}, {"date"}, {"mapping"})  # keys of what stands for something else


def to_json(value: Any) -> str:
    """Plain data as JSON, in ASCII: a value may hold half a surrogate pair, which UTF-8 cannot carry. Dates are marked."""
    return json.dumps(_marked(value))


def _marked(value: Any) -> Any:
    """Dates as mappings with one key; a mapping that could be taken for one, within another."""
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, Mapping):
        inner = {key: _marked(one) for key, one in value.items()}
        return {"mapping": inner} if inner.keys() in MARKED else inner
    return [_marked(one) for one in value] if isinstance(value, list | tuple) else value


def from_json(text: str | bytes) -> Any:
    """The way back from `to_json`."""
    return _unmarked(json.loads(text))


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"datetime"}:
        return datetime.fromisoformat(value["datetime"])
    if value.keys() == {"date"}:
        return date.fromisoformat(value["date"])
    inner = value["mapping"] if value.keys() == {"mapping"} else value
    return {key: _unmarked(one) for key, one in inner.items()}


def write_snapshot(path: Path, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a state; readable by its owner only, for it holds what was not released."""
    buffer = io.BytesIO()
    text = np.frombuffer(to_json(dict(meta)).encode(), dtype=np.uint8)
    np.savez(buffer, allow_pickle=False, **{META: text}, **dict(arrays))
    with atomic(path, private=True, lasting=True) as file:
        file.write(buffer.getbuffer())


@contextmanager
def restoring(path: Path) -> Iterator[None]:
    """What is made of a state in here may hold anything: whatever does not fit is a refusal of that state."""
    try:
        yield
    except OboroError:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError):
        raise FileError(Message("error_stream.not_a_state", path=path)) from None


def require(holds: object) -> None:
    """Raise what `restoring` catches, unless it holds."""
    if not holds:
        raise ValueError("a state that cannot be")


def same_form(array: np.ndarray, like: np.ndarray) -> np.ndarray:
    """An array of a state if it has the shape and the type that it must have: kernels trust both."""
    require(array.shape == like.shape and array.dtype == like.dtype)
    return array


def moment(seconds: float) -> float:
    """Seconds since 1970, if they can be."""
    require(0.0 <= seconds < 1e18)
    return float(seconds)


def within(numbers: np.ndarray, least: int, below: int | np.ndarray) -> bool:
    """Whether all numbers are at least `least` and below `below`."""
    return bool(np.all(numbers >= least) and np.all(numbers < below))


# What NumPy and zipfile raise where a file was damaged: also for a packing, a password or a size that was never there.
DAMAGED = (ValueError, KeyError, EOFError, RuntimeError, OverflowError, MemoryError, zipfile.BadZipFile, zlib.error)


def read_snapshot(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `write_snapshot` wrote."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = from_json(arrays.pop(META).tobytes())
    except OSError as error:
        raise FileError(Message("error_stream.unreadable_state", path=path, why=os_reason(error))) from None
    except DAMAGED:
        raise FileError(Message("error_stream.not_a_state", path=path)) from None
    return meta, arrays
