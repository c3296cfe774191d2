"""Excel: every cell of a sheet comes back; a sheet with an accident is refused, or loses no cell."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Sequence
from datetime import date, datetime, time
from functools import lru_cache
from pathlib import Path
from typing import Any

import openpyxl
from tests.fuzz.fuzzing import Case, Fuzzer, asked, refused, require
from tests.fuzz.mutations import mutated, some
from tests.fuzz.tables.round_trip import only_files

from oboro.io.read import read

__all__ = ["EXCEL_FUZZERS"]

KINDS = ("whole", "decimal", "text", "truth", "day", "moment", "clock", "mixed")
LETTERS = "ab1 é日=#_x0041_\n<>&'\""
MARKS = tuple(mark.encode() for mark in (
    "<", ">", "&", "&amp;", '"', "</c>", "<v>", "</v>", "<row>", "</row>", '<c r="A1">', '<c r="ZZZ9999999">',
    '<c r="XFD1048576"><v>1</v></c>', "<v>1</v>", "<v>1e400</v>",
    "<v>-1</v>", "<v>99999999</v>", "<v>NaN</v>", 't="s"', 't="b"', 't="e"', 't="d"', 't="str"',
    's="1"', 's="99999"', 'r="0"', "1", "-", "_x0041_",
    "<f>1+1</f>", "&#0;", "&#xD800;",
))  # fmt: skip


def draw(rng: random.Random) -> Case:
    """A sheet: names, and cells of one kind in each column; perhaps an accident in one part of the file."""
    kinds = [rng.choice(KINDS) for _ in range(rng.randint(1, 4))]
    rows = [[_plain(rng, kind) for kind in kinds] for _ in range(int(rng.expovariate(0.25)))]
    accident = rng.random() < 0.6
    return {"kinds": kinds, "rows": rows, "accident": rng.randrange(1 << 30) if accident else None}


def _plain(rng: random.Random, kind: str) -> Any:
    """A cell as plain data: what it is, and its text."""
    if rng.random() < 0.1:
        return None
    kind = rng.choice(KINDS[:6]) if kind == "mixed" else kind
    if kind == "whole":
        return [kind, str(rng.choice([0, 1, -1, 31, 2**53, 10**15, rng.randint(-999, 999)]))]
    if kind == "decimal":
        return [kind, repr(rng.choice([0.5, 0.1, -1.25, 1e-9, 1e15, rng.random()]))]
    if kind == "truth":
        return [kind, rng.choice(["1", ""])]
    day = f"{rng.randint(1901, 2999)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    clock = f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"
    made = {"day": day, "moment": f"{day} {clock}", "clock": clock}
    return [kind, made.get(kind) or some(rng, LETTERS, 8) or "x"]


def _cell(plain: list[str] | None) -> Any:
    if plain is None:
        return None
    kind, text = plain
    made = {"whole": int, "decimal": float, "truth": bool, "day": datetime.fromisoformat, "moment": datetime.fromisoformat,
            "clock": time.fromisoformat}  # fmt: skip
    return made.get(kind, str)(text)


def _book(case: Case) -> bytes:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")
    sheet.append([f"name {place}" for place in range(len(case["kinds"]))])
    for row in case["rows"]:
        sheet.append([_escaped(sheet, one) for one in row])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _escaped(sheet: Any, plain: list[str] | None) -> Any:
    """Text that stays text, whatever it begins with."""
    value = _cell(plain)
    if isinstance(value, float):  # openpyxl would write 16 digits of 17
        value = repr(value)
    elif not isinstance(value, str):
        return value
    elif value.isspace():
        value = f"_x{ord(value[0]):04X}_{value[1:]}"
    else:
        value = value.replace("_x", "_x005F_x")
    cell = openpyxl.cell.WriteOnlyCell(sheet, value)
    cell.data_type = "n" if plain is not None and plain[0] == "decimal" else "s"
    return cell


@lru_cache(64)
def _damaged(data: bytes, seed: int) -> bytes:
    """The same with one of its parts changed, packed anew so that its checksums are right; now and then the file itself."""
    rng = random.Random(seed)
    if rng.random() < 0.1:
        return data[:4] + mutated(rng, data[4:], MARKS, 2)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new:
        names = old.namelist()
        chosen = "xl/worksheets/sheet1.xml" if rng.random() < 0.7 else rng.choice(names)
        for name in names:
            inner = old.read(name)
            new.writestr(name, mutated(rng, inner, MARKS, 1 + int(rng.expovariate(0.5))) if name == chosen else inner)
    return out.getvalue()


# Judging --------------------------------------------------------------------------------------------------------------


def check(case: Case, place: Path) -> Sequence[str]:
    """Whole sheets are read cell by cell; of a damaged one nothing is asked but an answer."""
    path = place / "in.xlsx"
    data = _book(case)
    path.write_bytes(data if case["accident"] is None else _damaged(data, case["accident"]))
    source = asked(lambda: read(path))
    only_files(place, "in.xlsx")
    if refused(source):
        require(case["accident"] is not None, f"a whole sheet was refused: {source}")
        return []
    table = source.data  # type: ignore[union-attr]
    for name in table:
        asked(lambda name=name: table[name].texts)
    if case["accident"] is None:
        columns = [table[name].decode().to_pylist() for name in table]
        require(len(columns) == len(case["kinds"]), f"{len(columns)} columns, not {len(case['kinds'])}")
        for kind, column, number in zip(case["kinds"], columns, range(len(columns)), strict=True):
            _compare(kind, column, [row[number] for row in case["rows"]])  # type: ignore[arg-type]
    return []


def _compare(kind: str, column: list[Any], written: list[Any]) -> None:
    while written and not any(written[len(column) :]) and len(written) > len(column):
        written = written[:-1]  # blank rows at the end are no rows
    expected = [_cell(one) for one in written]
    if kind == "mixed":
        same = [cell is None for cell in column] == [cell is None for cell in expected]
    else:
        same = len(column) == len(expected) and all(map(_same, column, expected))
    require(same, f"{kind}: {column}, not {expected}")


def _same(cell: Any, written: Any) -> bool:
    """Whether a cell says the same: a number is a number, midnight is a day, a time is its text."""
    if isinstance(cell, date) and not isinstance(cell, datetime):
        cell = datetime(cell.year, cell.month, cell.day)
    if isinstance(written, time):
        return bool(cell == written.isoformat())
    return bool(cell == written) and (isinstance(cell, str) == isinstance(written, str))


EXCEL_FUZZERS = (Fuzzer("excel", draw, check, 30),)
