"""Tables of JSON lines (NDJSON): one object a line, as `oboro stream` writes them.

Every value is kept as it was written, or the file is refused: text stays text (`"007"`), whole numbers stay whole however large, a
decimal that 64 bits would change stays as written, and a key that a line lacks is a missing value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa

from oboro.errors import ColumnError, FileError
from oboro.io.byte_streams import ByteStream, open_stream
from oboro.table.dataset import Column, Dataset
from oboro.text import Message

__all__ = ["json_objects", "json_table", "read_json_lines"]

PIECE = 1 << 22


class Literal(str):
    """A decimal number as it was written."""


class Line(NamedTuple):
    """Where a row stands."""

    path: str
    number: int


Row = tuple[Line, dict[str, Any]]


def read_json_lines(path: str | Path, columns: Sequence[str] | None = None, encoding: str | None = None) -> Dataset:
    """The table in a file of JSON lines, columns in the order in which keys first appear. O(bytes), all rows in memory."""
    return json_table(path, json_objects(path, encoding), columns)


def json_objects(path: str | Path, encoding: str | None = None, shown: str | None = None) -> Iterator[Row]:
    """The objects of a file, and where each stands; messages call the file `shown`."""
    for number, row in _objects(str(path), encoding, shown or str(path)):
        yield Line(shown or str(path), number), row


def json_table(path: str | Path, objects: Iterable[Row], columns: Sequence[str] | None = None) -> Dataset:
    """Objects as a table."""
    rows = list(objects)
    names = list(dict.fromkeys(name for _, row in rows for name in row))
    if not names:
        raise FileError(Message("error_json_lines.empty", path=str(path)))
    wanted = names if columns is None else list(columns)
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise ColumnError(Message("error_json_lines.unknown", path=str(path), columns=unknown, known=names))
    found = {name: _as_written(Column.encode(_array(name, rows)), name, rows) for name in wanted}
    return Dataset(found, len(rows))


def _as_written(column: Column, name: str, rows: Sequence[Row]) -> Column:
    """The column with how its values are written beside it, where that tells more apart: 1 and 1.0, null and no key at all."""
    if column.missing < 0 and not pa.types.is_floating(column.values.type):
        return column
    written = Column.encode(pa.array([_written(row, name) for _, row in rows], pa.string()))
    return column if len(written.values) == len(column.values) else replace(column, finer=lambda: written)


def _written(row: dict[str, Any], name: str) -> str | None:
    value = row.get(name, ())
    if value is None or value == ():
        return "null" if value is None else None
    return f'"{value}"' if type(value) is str else _text(value)


def _objects(file: str, encoding: str | None, path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of each line that is not blank, and its object."""
    decoder = json.JSONDecoder(object_pairs_hook=_once, parse_float=Literal, parse_constant=_no_constant)
    with open_stream(file, encoding) as stream:
        for number, line in enumerate(_lines(stream), 1):
            if not line.strip():
                continue
            try:
                row = decoder.decode(line.decode())
                if b"\\u" in line:  # half of a pair of characters is valid JSON, and no text
                    json.dumps(row, ensure_ascii=False).encode()
            except (ValueError, RecursionError) as problem:  # JSON and UTF-8 errors are such
                _refuse(path, number, problem)
            if not isinstance(row, dict):
                raise FileError(Message("error_json_lines.no_object", path=path, line=number))
            yield number, row


def _lines(stream: ByteStream) -> Iterator[bytes]:
    piece, rest = memoryview(bytearray(PIECE)), b""
    while count := stream.readinto(piece):
        *whole, rest = (rest + bytes(piece[:count])).split(b"\n")
        yield from whole
    yield rest


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise KeyTwice(twice)
    return found


class KeyTwice(ValueError):
    """A key stands twice in one object: the second would silently win."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _refuse(path: str, line: int, problem: Exception) -> NoReturn:
    """What is wrong with a line, without what stands in it."""
    if isinstance(problem, KeyTwice):
        raise FileError(Message("error_json_lines.twice", path=path, line=line, key=str(problem))) from None
    if isinstance(problem, json.JSONDecodeError):
        said = Message("error_json_lines.broken", path=path, line=line, place=problem.colno, why=problem.msg)
        raise FileError(said) from None
    id = "error_json_lines.too_deep" if isinstance(problem, RecursionError) else "error_json_lines.no_json"
    raise FileError(Message(id, path=path, line=line)) from None


# Values to columns ----------------------------------------------------------------------------------------------------


def _array(name: str, rows: Sequence[Row]) -> pa.Array:
    """One column, of the narrowest type that keeps every value as it is; text where there is none."""
    values = [row.get(name) for _, row in rows]
    kinds = set(map(type, values)) - {type(None)}
    if kinds & {dict, list}:
        path, line = next(line for line, row in rows if isinstance(row.get(name), dict | list))
        raise FileError(Message("error_json_lines.nested", path=path, line=line, column=name))
    if kinds <= {str}:
        return pa.array(values, pa.string())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values if value is not None):
        return pa.array(values, pa.int64())
    if kinds <= {int, Literal} and all(_fits(value) for value in set(values) if value is not None):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return _texts(name, rows, values)


def _fits(value: int | Literal) -> bool:
    """Whether a 64-bit number says exactly what was written (0.1 is the number that is written 0.1)."""
    try:
        return Decimal(str(value)) == Decimal(repr(float(value)))
    except (InvalidOperation, OverflowError):  # a power of ten, or a whole number, beyond all bounds
        return False


def _texts(name: str, rows: Sequence[Row], values: Sequence[Any]) -> pa.Array:
    """Numbers and words in one column (`31`, `30-39`, `*`): all as text, unless two different values would become one."""
    said: dict[str, type] = {}
    for (line, _), value in zip(rows, values, strict=True):
        if value is None:
            continue
        kind = str if type(value) is str else float
        if said.setdefault(_text(value), kind) is not kind:
            raise FileError(Message("error_json_lines.two_kinds", path=line.path, line=line.number, column=name))
    return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(value: Any) -> str:
    return str(value) if type(value) is not bool else json.dumps(value)
