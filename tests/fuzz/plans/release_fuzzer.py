"""A table from its file to the released file, in every format: k is counted anew from the bytes that were written."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.feather as feather
import pyarrow.parquet as pq
from tests.fuzz.fuzzing import Case, Fuzzer, asked, refused, require
from tests.fuzz.mutations import some
from tests.fuzz.tables.csv_text import text_of
from tests.fuzz.tables.round_trip import only_files

from oboro.recipe.recipe import Recipe

__all__ = ["RELEASE_FUZZERS"]

FORMATS = (".csv",) * 8 + (".tsv", ".parquet", ".arrow", ".xlsx")


def draw(rng: random.Random) -> Case:
    """A table of ages, codes and secrets in some CSV, what is promised, and the format of the release."""
    codes = [some(rng, "ab,\"\n é日'", 3) for _ in range(4)]
    rows = [
        [
            str(rng.randint(20, 40)) if rng.random() < 0.95 else "",
            rng.choice(codes),
            rng.choice(["flu", "cold", "", "x,y"]),
            "0",
        ]
        for _ in range(int(rng.expovariate(0.06)))
    ]
    return {
        "grid": [["age", "code", "secret", "other"], *rows],
        "delimiter": rng.choice(",;\t|"), "quote": '"', "line": rng.choice(["\n", "\r\n"]), "quoted": rng.choice(["least",
        "all"]), "ended": True,
        "k": rng.randint(1, 5), "suppress": rng.choice([0, 0.1, 1]), "ending": rng.choice(FORMATS),
        "order": rng.choice([None, "kept"]),
    }  # fmt: skip


def check(case: Case, place: Path) -> Sequence[str]:
    """Classes are large enough, secrets and other columns are those that came, and nothing is left beside the two files."""
    path, out = place / "in.csv", place / f"out{case['ending']}"
    path.write_text(text_of(case), newline="")
    recipe = Recipe(
        attributes={"age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}}, "code": {"role": "quasi"},
        "secret": {"role": "sensitive"}},
        unnamed="other",
        steps=[{"k_anonymize": {"k": case["k"], "suppress": case["suppress"]}}],
        order=case["order"],
    )  # fmt: skip
    release = asked(lambda: recipe.run(path, reading={"delimiter": case["delimiter"], "quote": '"'}))
    if refused(release):
        only_files(place, "in.csv")
        return ["not released"]
    done = asked(lambda: release.write(out))  # type: ignore[union-attr]
    if refused(done):
        only_files(place, "in.csv")
        return ["not written"]
    only_files(place, "in.csv", out.name)
    _recount(case, _records(out, case["delimiter"]))
    return [f"released as {case['ending']}"]


def _records(out: Path, delimiter: str) -> list[list[str]]:
    """What somebody else reads in the released file, as text."""
    if out.suffix in (".csv", ".tsv"):
        text = out.read_bytes().decode()
        rows: list[list[Any]] = list(
            csv.reader(
                io.StringIO(text, newline=""), delimiter="\t" if out.suffix == ".tsv" else delimiter, strict=True
            )
        )
    elif out.suffix == ".xlsx":
        rows = [
            list(row)
            for row in openpyxl.load_workbook(io.BytesIO(out.read_bytes()), read_only=True).active.iter_rows(
                values_only=True
            )
        ]
    else:
        table = pq.read_table(out) if out.suffix == ".parquet" else feather.read_table(out)
        rows = [table.column_names, *map(list, zip(*(one.to_pylist() for one in table.columns), strict=True))]
    return [["" if cell is None else str(cell) for cell in row] for row in rows]


def _recount(case: Case, rows: list[list[str]]) -> None:
    names, *records = rows
    require(names == case["grid"][0], f"columns {names}")
    require(len(records) == len(case["grid"]) - 1, f"{len(records)} records of {len(case['grid']) - 1}")
    sizes = Counter((age, code) for age, code, *_ in records)
    require(
        min(sizes.values(), default=case["k"]) >= case["k"],
        f"a class of {min(sizes.values(), default=0)}, k is {case['k']}",
    )
    secrets = Counter(tuple(record[2:]) for record in records)
    require(secrets == Counter(tuple(row[2:]) for row in case["grid"][1:]), "other secrets than came")


RELEASE_FUZZERS = (Fuzzer("release", draw, check, 20),)
