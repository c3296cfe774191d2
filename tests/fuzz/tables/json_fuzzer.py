"""JSON lines: every value comes back as it was written, or the file is refused; judged against Python's json module."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from tests.fuzz.fuzzing import Case, Fuzzer, asked, refused, require
from tests.fuzz.mutations import mutated, odd_number, some

from oboro.io.read import Source, read

__all__ = ["JSON_FUZZERS"]

NUMBERS = (
    "0", "-0", "1", "1.0", "1.50", "1e2", "1E-2", "31", "9223372036854775807", "9223372036854775808", "0.1", "1e400", "-1e-400",
    "123456789012345678901234567890", "1e999999999999999999999", "0.30000000000000001",
)  # fmt: skip
LETTERS = 'ab01 "\\/{}[],:é日\n\t\u2028\U0001f600'
MARKS = (*(mark.encode() for mark in (
    '"', "\\", "{", "}", "[", "]", ",", ":", "\n", "\r\n", "null", "true", "NaN", "Infinity", "-", ".", "e", "1", '"a"', "\\ud800",
    "\\u0000", '{"a": 1}', "[1]", " ", "é",
)), b"\0", b"\xff", b"\xef\xbb\xbf")  # fmt: skip


class Number(str):
    """A number as it was written."""


def draw(rng: random.Random) -> Case:
    """Lines of objects that mostly have the same keys, and perhaps an accident."""
    names = [f"k{place}" if rng.random() < 0.8 else some(rng, LETTERS, 4) for place in range(rng.randint(1, 4))]
    kinds = [rng.randrange(5) for _ in names]
    lines = [_line(rng, names, kinds) for _ in range(int(rng.expovariate(0.2)))]
    data = "\n".join(lines).encode() + rng.choice([b"", b"\n"])
    if rng.random() < 0.6:
        data = mutated(rng, data, MARKS, 1 + int(rng.expovariate(0.5)))
    return {"data": data}


def _line(rng: random.Random, names: Sequence[str], kinds: Sequence[int]) -> str:
    parts = []
    for name, kind in zip(names, kinds, strict=True):
        if rng.random() < 0.05:
            continue
        parts.append(
            f"{json.dumps(name, ensure_ascii=rng.random() < 0.5)}: {_value(rng, kind if rng.random() < 0.9 else rng.randrange(6))}"
        )
    return "{" + ", ".join(parts) + "}"


def _value(rng: random.Random, kind: int) -> str:
    if kind == 0:
        return rng.choice(NUMBERS)
    if kind == 1:
        return str(rng.randint(-100, 100))
    if kind == 2:
        return rng.choice(["true", "false", "null"])
    if kind == 5:
        return rng.choice(["[1]", '{"a": 1}', "[]", json.dumps(odd_number(rng))])
    return json.dumps(some(rng, LETTERS, 6), ensure_ascii=rng.random() < 0.5)


# The twin -------------------------------------------------------------------------------------------------------------


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


def _constant(name: str) -> Any:
    raise ValueError(name)


def twin(data: bytes) -> list[dict[str, Any]] | None:
    """The objects, numbers as they are written; None where a line is none, or something stands in it that no table holds."""
    rows = []
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if not line.strip():
            continue
        try:
            row = json.loads(
                line.decode(), object_pairs_hook=_pairs, parse_constant=_constant, parse_float=Number, parse_int=Number
            )
            json.dumps(row, ensure_ascii=False).encode()
            [int(value) for value in row.values() if isinstance(value, Number) and value.lstrip("-").isdigit()]
        except (ValueError, RecursionError, AttributeError):
            return None
        if not isinstance(row, dict) or any(isinstance(value, dict | list) for value in row.values()):
            return None
        rows.append(row)
    return rows


def _mixed(rows: list[dict[str, Any]]) -> bool:
    """Whether a text and something that is no text are written the same in one column: as text they would be one."""
    kinds: dict[tuple[str, str], set[bool]] = {}
    for row in rows:
        for name, value in row.items():
            if value is not None:
                text = json.dumps(value) if isinstance(value, bool) else str(value)
                kinds.setdefault((name, text), set()).add(type(value) is str)
    plain = {
        (name, str(int(text)) if text.lstrip("-").isdigit() else text): kind for (name, text), kind in kinds.items()
    }
    both = {key for key, kind in kinds.items() if len(kind) > 1}
    return bool(both) or len(plain) < len(kinds)


def _same(cell: Any, value: Any) -> bool:
    """Whether a cell says what was written."""
    if value is None or cell is None:
        return value is cell
    if isinstance(value, bool):
        return cell is value or cell == json.dumps(value)
    if not isinstance(value, Number):
        return type(cell) is str and bool(cell == value)
    if isinstance(cell, str):
        return cell == value or (value.lstrip("-").isdigit() and cell == str(int(value)))
    return not isinstance(cell, bool) and Decimal(repr(cell)) == Decimal(value)


def check(case: Case, place: Path) -> Sequence[str]:
    """Every value is the one that was written, or the file is refused because the twin cannot read it either."""
    path = place / "in.ndjson"
    path.write_bytes(case["data"])
    source = asked(lambda: read(path))
    rows = twin(case["data"])
    if isinstance(source, Exception):
        reason = rows is None or not any(rows) or _mixed(rows)
        require(reason, f"refused what json reads: {source}")
        return ["refused: no table of JSON"]
    if rows is None:
        require(not refused(source) and not _is_utf8(case["data"]), "read what json does not read")
        return ["guessed encoding"]
    _compare(source, rows)
    return []


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _compare(source: Source, rows: list[dict[str, Any]]) -> None:
    data = source.data
    names = list(dict.fromkeys(name for row in rows for name in row))
    require(list(data) == names, f"columns {list(data)}, not {names}")
    require(data.rows == len(rows), f"{data.rows} rows, not {len(rows)}")
    for name in names:
        for cell, row in zip(data[name].decode().to_pylist(), rows, strict=True):
            try:
                same = _same(cell, row.get(name))
            except (InvalidOperation, ValueError):
                same = False
            require(same, f"{row.get(name)!r} became {cell!r}")


JSON_FUZZERS = (Fuzzer("json_lines", draw, check, 1000),)
