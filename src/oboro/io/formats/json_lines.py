"""JSON lines (NDJSON) as tables: one object a line, as `oboro stream` writes them.

Every value is kept as it was written, or the file is refused: text stays text (`"007"`), whole numbers stay whole
however large, a decimal that 64 bits would change stays as written, and a key that a line lacks is a missing value.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.parameters import require_few_columns
from oboro.errors import ColumnError, FileError, UsageError
from oboro.io.bytes import ByteStream, open_stream
from oboro.io.formats.base import FileFormat, ReadRequest, TypedTable, WriteRequest
from oboro.text import Message

__all__ = ["FORMAT", "json_objects", "json_table", "read_json_lines", "write_json_lines"]


PIECE = 1 << 22
MANY_KEYS = 1_000
"""From so many keys on, lines must have more than a few of them: 20,000 lines with a key of their own are 250 KB of text and make a
table of 400 million cells."""
FEWEST_FILLED = 0.01  # of the cells of a table with `MANY_KEYS`: wide event logs fill 5 % and more


class Literal(str):
    """A decimal number as it was written."""


class Line(NamedTuple):
    """Position of a row in its file."""

    path: str
    number: int


Row = tuple[Line, dict[str, Any]]


@dataclass
class Cells:
    """The values of one key, and the rows that have it."""

    rows: array[int] = field(default_factory=lambda: array("q"))
    values: list[Any] = field(default_factory=list)


def read_json_lines(path: str | Path, columns: Sequence[str] | None = None, encoding: str | None = None) -> Dataset:
    """The table in a file of JSON lines, columns in the order in which keys first appear. O(bytes), all rows in memory."""
    return json_table(path, json_objects(path, encoding), columns)


def json_objects(path: str | Path, encoding: str | None = None, shown: str | None = None) -> Iterator[Row]:
    """The objects of a file, and where each stands; messages call the file `shown`."""
    for number, row in _objects(str(path), encoding, shown or str(path)):
        yield Line(shown or str(path), number), row


def json_table(path: str | Path, objects: Iterable[Row], columns: Sequence[str] | None = None) -> Dataset:
    """Return objects as a table. O(values): a row costs as much as it has keys."""
    lines, cells = list[Line](), dict[str, Cells]()
    for number, (line, row) in enumerate(objects):
        lines.append(line)
        for name, value in row.items():
            cell = cells.get(name)
            if cell is None:
                cell = cells[name] = Cells()
                require_few_columns(str(path), len(cells))
            cell.rows.append(number)
            cell.values.append(value)
    if not cells:
        raise FileError(Message("error_json_lines.empty", path=str(path)))
    _require_filled(cells, lines)
    names = list(cells)
    wanted = names if columns is None else list(columns)
    unknown = [name for name in wanted if name not in cells]
    if unknown:
        raise ColumnError(Message("error_json_lines.unknown", path=str(path), columns=unknown, known=names))
    return Dataset({name: _column(name, cells[name], lines) for name in wanted}, len(lines))


def _require_filled(cells: dict[str, Cells], lines: Sequence[Line]) -> None:
    """Raise a `FileError` where keys differ from line to line."""
    filled, size = sum(len(one.values) for one in cells.values()), len(cells) * len(lines)
    if len(cells) <= MANY_KEYS or filled >= FEWEST_FILLED * size:
        return
    line = lines[list(cells.values())[MANY_KEYS].rows[0]]
    raise FileError(
        Message(
            "error_json_lines.sparse",
            path=line.path,
            line=line.number,
            most=MANY_KEYS,
            keys=len(cells),
            rows=len(lines),
            filled=filled / size,
        )
    )


def _column(name: str, cells: Cells, lines: Sequence[Line]) -> Column:
    """The column with how its values are written beside it, where that tells more apart: 1 and 1.0, null and no key at all."""
    column = Column.encode(_spread(_array(name, cells, lines), cells, len(lines)))
    if column.missing < 0 and not pa.types.is_floating(column.values.type):
        return column
    written = pa.array([_written(value) for value in cells.values], pa.string())
    encoded = Column.encode(_spread(written, cells, len(lines)))
    return column if len(encoded.values) == len(column.values) else replace(column, finer=lambda: encoded)


def _spread(values: pa.Array, cells: Cells, rows: int) -> pa.Array:
    """The values in the rows that have the key; the others are missing."""
    if len(values) == rows:
        return values
    places = np.full(rows, -1, dtype=np.int64)
    places[np.frombuffer(cells.rows, dtype=np.int64)] = np.arange(len(values))
    return values.take(pa.array(places, mask=places < 0))


def _written(value: Any) -> str:
    if value is None:
        return "null"
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
    """Describe the error of a line without its contents."""
    if isinstance(problem, KeyTwice):
        raise FileError(Message("error_json_lines.twice", path=path, line=line, key=str(problem))) from None
    if isinstance(problem, json.JSONDecodeError):
        said = Message("error_json_lines.broken", path=path, line=line, place=problem.colno, why=problem.msg)
        raise FileError(said) from None
    id = "error_json_lines.too_deep" if isinstance(problem, RecursionError) else "error_json_lines.no_json"
    raise FileError(Message(id, path=path, line=line)) from None


# Columns from values --------------------------------------------------------------------------------------------------


def _array(name: str, cells: Cells, lines: Sequence[Line]) -> pa.Array:
    """The values of a key, of the narrowest type that keeps each as it is; text where there is none."""
    values = cells.values
    kinds = set(map(type, values)) - {type(None)}
    if kinds & {dict, list}:
        path, line = lines[
            next(row for row, one in zip(cells.rows, values, strict=True) if isinstance(one, dict | list))
        ]
        raise FileError(Message("error_json_lines.nested", path=path, line=line, column=name))
    if kinds <= {str}:
        return pa.array(values, pa.string())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values if value is not None):
        return pa.array(values, pa.int64())
    if kinds <= {int, Literal} and all(_fits(value) for value in set(values) if value is not None):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return _texts(name, cells, lines)


def _fits(value: int | Literal) -> bool:
    """Return whether a 64-bit number says exactly what was written (0.1 is the number that is written 0.1)."""
    try:
        return Decimal(str(value)) == Decimal(repr(float(value)))
    except (InvalidOperation, OverflowError):  # a power of ten, or a whole number, beyond all bounds
        return False


def _texts(name: str, cells: Cells, lines: Sequence[Line]) -> pa.Array:
    """Numbers and words in one column (`31`, `30-39`, `*`): all as text, unless two different values would become one."""
    said: dict[str, type] = {}
    for row, value in zip(cells.rows, cells.values, strict=True):
        if value is None:
            continue
        kind = str if type(value) is str else float
        if said.setdefault(_text(value), kind) is not kind:
            line = lines[row]
            raise FileError(Message("error_json_lines.two_kinds", path=line.path, line=line.number, column=name))
    return pa.array([None if value is None else _text(value) for value in cells.values], pa.string())


def _text(value: Any) -> str:
    return str(value) if type(value) is not bool else json.dumps(value)


# Writing --------------------------------------------------------------------------------------------------------------
# One object a row. Each distinct value is encoded once, and rows are joined from these texts.


def write_json_lines(file: Any, blocks: Iterator[Dataset]) -> None:
    """Write all rows. Numbers and truth are written as such, missing values as null, dates and times as text."""
    for data in blocks:
        if not data.columns:
            raise UsageError(Message("error_io.no_column_left"))
        if data.rows:
            file.write(_encode_lines(data))


def _encode_lines(data: Dataset) -> bytes:
    wide = pa.large_string()
    texts = {name: pa.array(_encode_values(name, column), wide) for name, column in data.columns.items()}
    fields = [texts[name].take(pa.array(column.codes)) for name, column in data.columns.items()]
    begin, comma, end, nothing = (pa.scalar(text, wide) for text in ("{", ", ", "}\n", ""))
    rows = pc.binary_join_element_wise(*fields, comma)
    lines = pc.binary_join_element_wise(begin, rows, end, nothing)
    return bytes(
        pc.binary_join(pa.LargeListArray.from_arrays(pa.array([0, len(lines)]), lines), nothing)[0].as_buffer()
    )


def _encode_values(name: str, column: Column) -> list[str]:
    """Each distinct value as it stands in an object, behind its key."""
    key, type_ = json.dumps(name, ensure_ascii=False), column.values.type
    plain = pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_)
    values = column.values.to_pylist() if plain else column.texts
    return [f"{key}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}" for value in values]


# Format ---------------------------------------------------------------------------------------------------------------


class JsonLines(FileFormat):
    """JSON lines (NDJSON)."""

    name = "json_lines"
    endings = (".ndjson", ".jsonl")
    packed = objects = joined = folders = True

    def recognizes(self, head: bytes, ending: str | None) -> bool:
        """Return whether bytes without a name begin with an object."""
        return ending is None and head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")

    def read(self, path: str, request: ReadRequest) -> TypedTable:
        """Read all lines."""
        return TypedTable(read_json_lines(path, request.columns, request.encoding))

    def read_objects(self, path: str, encoding: str | None, shown: str) -> Iterator[Row]:
        """Yield the objects of a file."""
        return json_objects(path, encoding, shown)

    def table_of_objects(self, shown: str, objects: Iterator[Row], columns: Sequence[str] | None) -> Dataset:
        """Return objects as a table."""
        return json_table(shown, objects, columns)

    def write(self, file: Any, blocks: Iterator[Dataset], request: WriteRequest) -> None:
        """Write one object a row."""
        write_json_lines(file, blocks)


FORMAT = JsonLines()
