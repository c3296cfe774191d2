"""One state, one file: arrays and plain data, written so that the file is either the old one or the new one, whole."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from oboro.errors import FileError
from oboro.system.atomic_file import atomic
from oboro.text import Message
from oboro.text.os_reasons import os_reason

__all__ = ["from_json", "read_snapshot", "to_json", "write_snapshot"]

META = "meta"
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


def read_snapshot(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `write_snapshot` wrote."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = from_json(arrays.pop(META).tobytes())
    except OSError as error:
        raise FileError(Message("error_stream.unreadable_state", path=path, why=os_reason(error))) from None
    except (ValueError, KeyError, zipfile.BadZipFile, EOFError):
        raise FileError(Message("error_stream.not_a_state", path=path)) from None
    return meta, arrays
