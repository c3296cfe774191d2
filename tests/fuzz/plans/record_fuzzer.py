"""One line of a stream: it is the record that Python's json and csv modules read, or refused for a reason that names no value."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.fuzz.fuzzing import Case, Fuzzer, asked, refused, require
from tests.fuzz.mutations import mutated, odd_text
from tests.fuzz.tables.csv_text import MARKS as CSV_MARKS
from tests.fuzz.tables.json_fuzzer import MARKS as JSON_MARKS

from oboro.stream.records import HUGE, CsvCodec, NdjsonCodec

__all__ = ["RECORD_FUZZERS"]

NAMES = ["age", "sex", "id"]


@lru_cache(1)
def _seeds() -> tuple[list[bytes], list[bytes]]:
    """Lines to begin with, the same in every process."""
    rng = random.Random(1)
    rows: list[dict[str, Any]] = [{"age": rng.randint(0, 99), "sex": odd_text(rng), "id": n} for n in range(60)]
    objects = [json.dumps(row, ensure_ascii=n % 2 == 0).encode(errors="replace") for n, row in enumerate(rows)]
    cells = [
        ",".join('"' + str(one).replace('"', '""') + '"' if n % 2 else str(one) for one in row.values())
        for n, row in enumerate(rows)
    ]
    return objects, [line.encode(errors="replace").replace(b"\n", b" ") for line in cells]


def draw(rng: random.Random) -> Case:
    """A line of NDJSON or CSV after a few accidents."""
    form = rng.randrange(2)
    line = rng.choice(_seeds()[form])
    marks = JSON_MARKS if form == 0 else CSV_MARKS
    return {"form": form, "line": mutated(rng, line, marks, rng.randint(0, 3)).replace(b"\n", b" ")}


def check(case: Case, place: Path) -> Sequence[str]:
    """The record is the twin's, and written it is read as the same record."""
    form, line = case["form"], case["line"]
    if line.startswith(HUGE):
        return []
    codec = NdjsonCodec() if form == 0 else CsvCodec(NAMES)
    record = asked(lambda: codec.decode(line))
    expected = _json_twin(line) if form == 0 else _csv_twin(line)
    if refused(record):
        require(expected is None, f"refused what the twin reads: {record}")
        return ["refused: no record"]
    require(_same(record, expected), f"{record}, not {expected}"[:300])
    if record:
        again = asked(lambda: codec.decode(codec.encode(record).removesuffix(b"\n")))  # type: ignore[arg-type]
        require(not refused(again), f"{record!r} is written as {codec.encode(record)!r}: {again}")  # type: ignore[arg-type]
        require(_same(again, record), f"written and read: {again}, not {record}"[:300])
    return []


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field twice")
    return found


def _constant(name: str) -> Any:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(text)
    return number


def _json_twin(line: bytes) -> Any:
    if not line.strip():
        return None
    text = line.removeprefix(b"\xef\xbb\xbf")
    try:
        found = json.loads(text.decode(), object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _csv_twin(line: bytes) -> Any:
    try:
        records = list(csv.reader([line.decode()], strict=True))
    except (csv.Error, UnicodeDecodeError):
        return None
    if len(records) != 1 or len(records[0]) != len(NAMES):
        return None
    return {name: cell or None for name, cell in zip(NAMES, records[0], strict=True)}


RECORD_FUZZERS = (Fuzzer("stream_record", draw, check, 7300, writes=False),)
