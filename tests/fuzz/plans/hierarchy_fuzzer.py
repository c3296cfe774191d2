"""Hierarchies: files and rules that strangers write, on values that fit them or not; each level is coarser than the one below."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.fuzz.fuzzing import Case, Fuzzer, asked, refused, require
from tests.fuzz.mutations import mutated, mutated_value, odd_text
from tests.fuzz.tables.csv_text import MARKS

from oboro.data.column import Column
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.recipe.recipe import Recipe
from oboro.recipe.starter import previews

__all__ = ["HIERARCHY_FUZZERS"]

VALUES: Sequence[Sequence[Any]] = (
    ["F", "M", "F", None], ["150-0001", "5300001", "150-0002", ""], [31, 38, 52, None], ["31", "38", "x"], ["2020-01-01",
    "2021-12-31", None],
    [1.5, -2.25, 1e300], [], [None], ["東京都千代田区", "大阪府大阪市"], ["A00", "B12.3", "Z99"],
    [True, False], ["１０", "10", " 10"],
)  # fmt: skip
RULES: Sequence[dict[str, Any]] = (
    {"intervals": [10, 20]}, {"intervals": [5], "origin": 1, "top": 80, "bottom": 0},
    {"intervals": {"edges": [[0, 18, 40], [0, 40]]}},
    {"mask": "right"}, {"mask": {"side": "left", "steps": [1, 3], "char": "x"}}, {"dates": ["day", "month", "quarter",
    "year", "decade"]},
    {"tree": {"all": {"some": ["F", "M"], "other": ["x"]}}}, {"rows": [["F", "any"], ["M", "any"]]}, {"japan": "address"},
    {"japan": "postcode"}, {"japan": "age"}, {"japan": "era"}, {"csv": "h.csv"}, {"csv": "h.csv", "star": False}, {},
    {"priority": {"levels": [2, 1]}}, {"neighbours": {"groups": [2, 2]}},
)  # fmt: skip
FILES = (
    b"F;person;*\nM;person;*\n",
    b"31;30-39;*\n38;30-39;*\n52;50-59;*\n",
    b'"F";"a;b";*\r\nM;c;*\r\n;missing;*\r\n',
    b"F\nM\n",
    b"",
)
WORDS = ("intervals", "mask", "dates", "tree", "rows", "csv", "japan", "star", "origin", "top", "bottom", "edges", "side",
    "steps", "char",
         "day", "year", "right", "left", "priority", "neighbours", "*", "h.csv", ".", "in.csv")  # fmt: skip


def draw(rng: random.Random) -> Case:
    """A rule, a file that it may name, and values."""
    rule: Any = rng.choice(RULES) if rng.random() < 0.6 else {"csv": "h.csv"}
    for _ in range(int(rng.expovariate(1.0))):
        rule = mutated_value(rng, rule, WORDS)
    values = list(rng.choice(VALUES))
    if rng.random() < 0.3:
        values.append(odd_text(rng).replace("\ud800", ""))
    file = mutated(rng, rng.choice(FILES), MARKS, int(rng.expovariate(0.4)))
    return {"rule": rule, "values": values, "file": file}


def check(case: Case, place: Path) -> Sequence[str]:
    """A hierarchy has a label for every value on every level, and whoever shares a label shares all above it."""
    (place / "h.csv").write_bytes(case["file"])
    column = asked(lambda: Column.of(case["values"]))
    if refused(column):
        return []
    recipe = asked(lambda: Recipe(attributes={"c": {"role": "quasi", "hierarchy": case["rule"]}}, steps=[]))
    spec = None if refused(recipe) else recipe.attributes["c"].hierarchy  # type: ignore[union-attr]
    if spec is None:
        return []
    for lang in ("en", "ja"):
        asked(lambda lang=lang: spec.explain(lang))  # type: ignore[union-attr]
    built = asked(lambda: spec.build("c", column, place))  # type: ignore[union-attr, arg-type]
    if not isinstance(built, Hierarchy):
        return []
    _check_levels(built, column)
    asked(built.to_csv)
    asked(lambda: previews(built, column))  # type: ignore[arg-type]
    return ["a hierarchy after all"]


def _check_levels(built: Hierarchy, column: Any) -> None:
    rows = [_labels(built, column, level) for level in range(built.height + 1)]
    for finer, coarser in pairwise(rows):
        above: dict[Any, Any] = {}
        for label, upper in zip(finer, coarser, strict=True):
            require(above.setdefault(label, upper) == upper, f"{label!r} stands below {above[label]!r} and {upper!r}")


def _labels(built: Hierarchy, column: Any, level: int) -> list[Any]:
    made = asked(lambda: built.generalize(column, level))
    require(not refused(made), f"a level that cannot be used: {made}")
    texts = made.texts  # type: ignore[union-attr]
    return [texts[code] for code in made.codes.tolist()]  # type: ignore[union-attr]


HIERARCHY_FUZZERS = (Fuzzer("hierarchy", draw, check, 200),)
