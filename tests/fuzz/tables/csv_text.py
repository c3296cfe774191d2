"""CSV as others write it: tables drawn and written out in every style, and their plain twin, Python's own csv module."""

from __future__ import annotations

import csv
import gzip
import io
import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from tests.fuzz.fuzzing import Case
from tests.fuzz.mutations import mutated, some

from oboro.io.formats.csv.dialect import Dialect

__all__ = ["MARKS", "drawn_broken", "drawn_table", "packed", "text_of", "twin"]

DELIMITERS = (",", ";", "\t", "|")
LINES = ("\n", "\r\n", "\r")
PLAIN = (
    "",
    "x",
    "007",
    "12",
    "1234567",
    "12345678",
    "123456789012345",
    "2020-01-01",
    "F",
    "M",
    "*",
    "NaN",
    "null",
    "-1.50",
    " a",
    "b ",
)
ODD = "a1,;|\"'\n\r\t é日"
LONG = 'ab"\n,語'
LETTERS = {"utf-8": ODD, "utf-8-sig": ODD, "utf-16": ODD, "cp932": "a1,;\"'\n 日本ｱ表～", "euc_jp": "a1,;\"'\n 日本表"}
MARKS = (
    *(mark.encode() for mark in (",", ";", "\t", "|", '"', '""', "'", "\n", "\r\n", "\r", " ", "a", "é", "日")),
    *(b"\0", b"\xff", b"\x82", b"\xef\xbb\xbf", b"\xff\xfe"),
)


def drawn_table(rng: random.Random) -> Case:
    """A table, and how it is written and read."""
    encoding = rng.choice(["utf-8"] * 8 + ["utf-8-sig", "utf-16", "cp932", "euc_jp"])
    width, rows = rng.randint(1, 5), int(rng.expovariate(0.15))
    grid = [[_cell(rng, encoding) for _ in range(width)] for _ in range(rows)]
    names = [
        f"c{place}" if rng.random() < 0.8 else f"{some(rng, LETTERS[encoding], 3)}n{place}" for place in range(width)
    ]
    quote = '"' if rng.random() < 0.9 else "'"
    return {
        "grid": [names, *grid],
        "delimiter": rng.choice(DELIMITERS),
        "quote": quote,
        "line": rng.choice(LINES),
        "quoted": rng.choice(["least", "all", "some"]),
        "ended": rng.random() < 0.7,
        "encoding": encoding,
        "packed": rng.choice([None] * 12 + ["gzip", "zstd"]),
        "given": rng.random() < 0.8,
        "blocks": rng.randint(1, 200) if rng.random() < 0.04 else 0,
        "onward": rng.random() < 0.02,
    }


def _cell(rng: random.Random, encoding: str) -> str:
    kind = rng.randrange(8)
    if kind == 0:
        return some(rng, LETTERS[encoding], 8)
    if kind == 1 and encoding == "utf-8":
        return some(rng, LONG, 40)
    return rng.choice(PLAIN)


def text_of(case: Case) -> str:
    """The table as text, quoted where it must be, and perhaps elsewhere."""
    quote, alone = case["quote"], len(case["grid"][0]) == 1
    special = {case["delimiter"], quote, "\n", "\r"}
    free = random.Random(len(case["grid"]))

    def field(value: str) -> str:
        must = special & set(value) or (alone and not value)
        if must or case["quoted"] == "all" or (case["quoted"] == "some" and free.random() < 0.3):
            return quote + value.replace(quote, 2 * quote) + quote
        return value

    text = case["line"].join(case["delimiter"].join(map(field, record)) for record in case["grid"])
    return text + (case["line"] if case["ended"] else "")


def packed(data: bytes, how: str | None) -> bytes:
    """The bytes of a file that is packed, or not."""
    if how == "gzip":
        return gzip.compress(data, 1)
    return pa.compress(data, codec="zstd", asbytes=True) if how == "zstd" else data


def drawn_broken(rng: random.Random) -> Case:
    """The bytes of such a file after a few accidents."""
    case = drawn_table(rng)
    data = text_of(case).encode(case["encoding"])
    kept = {name: case[name] for name in ("delimiter", "quote", "given", "blocks", "onward")}
    header = rng.choice([True, True, True, False, None])
    return {"data": mutated(rng, data, MARKS, 1 + int(rng.expovariate(0.4))), "header": header, **kept}


# The twin -------------------------------------------------------------------------------------------------------------


def twin(text: str, dialect: Dialect) -> list[list[str | None]] | None:
    """The records as Python's csv module reads them, strictly; None where it reads none. An empty field is a missing value.

    A blank line is no record, unless there is but one column: there it is a record whose value is missing, unless it
    stands before the names.
    """
    marks: dict[str, Any] = {
        "delimiter": dialect.cut, "quotechar": dialect.quote, "skipinitialspace": dialect.space,
    }  # fmt: skip
    try:
        records: Sequence[list[str]] = list(csv.reader(io.StringIO(text, newline=""), strict=True, **marks))
    except csv.Error:
        return None
    first = next((place for place, record in enumerate(records) if record), 0)
    if records and len(records[first]) == 1:
        records = [record or [""] for record in records[first if dialect.header else 0 :]]
    return [[field or None for field in record] for record in records if record]
