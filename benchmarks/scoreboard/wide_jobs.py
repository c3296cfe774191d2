"""Tables of thousands of columns, and many quasi-identifiers: bytes a second over those of a hundred columns and four."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from benchmarks.scoreboard.made_tables import forget, made
from benchmarks.scoreboard.measured_line import Cost, Line, Place
from benchmarks.scoreboard.whole_jobs import anonymized

__all__ = ["wide_tables"]

SEARCHED = 5  # seconds that a search among more columns than can be proved may take


def wide_tables(place: Place) -> Iterator[Line]:
    """A thousand columns, five thousand, and then with 20 and 100 quasi-identifiers."""
    narrower = min(place.scale * 2, 1.0)  # for a first look also fewer columns: rows cannot be few
    thousand, thousands = max(int(1000 * narrower), 110), max(int(5000 * narrower), 400)
    usual = made(place, 1_000_000, 100, "csv")
    speed = usual.stat().st_size / anonymized(usual).processor
    forget(usual)
    narrow = made(place, 100_000, thousands, "csv")
    yield _line("100,000 × 5,000", narrow, anonymized(narrow), speed)
    for count in (20, 100):
        took = anonymized(narrow, recipe=_with_quasi(narrow, count))
        yield _line(f"100,000 × 5,000, {count} quasi-identifiers", narrow, took, speed)
    forget(narrow)
    wide = made(place, 1_000_000, thousand, "csv")
    yield _line("1,000,000 × 1,000", wide, anonymized(wide), speed)
    forget(wide)


def _line(name: str, table: Path, took: Cost, speed: float) -> Line:
    here = table.stat().st_size / took.processor
    beside = took.as_dict() | {"MB/s CPU": round(here / 1e6), "MB/s CPU of 100 columns": round(speed / 1e6)}
    return Line(f"{name}, bytes/s over 100 columns'", here / speed, "×", 1, less=False, beside=beside)


def _with_quasi(table: Path, count: int) -> Path:
    """The recipe of a table with more quasi-identifiers: shops and kinds of goods, each shown or not."""
    recipe = yaml.safe_load(Path(f"{table}.recipe.yaml").read_text(encoding="utf-8"))
    also = [f"{name}_{number}" for number in range(1, count) for name in ("store", "category")][: count - 4]
    recipe["attributes"] |= {name: {"role": "quasi"} for name in also}
    known = set(also)
    recipe["accept"]["unique_on"] = [name for name in recipe["accept"]["unique_on"] if name not in known]
    recipe["steps"][-1]["k_anonymize"]["time_limit"] = SEARCHED
    path = Path(f"{table}.{count}.yaml")
    path.write_text(yaml.safe_dump(recipe, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return path
