"""Warm-up: compile kernels ahead of time, for the image of a container or before the first job of the day.

Each job here is a small one of its kind, run to its end in a folder for temporary files. The kernels that it needed are
then compiled, and every later job of that kind loads them, by any user who can read the folder of compiled kernels
(`oboro.kernels.jit`).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from oboro.data.dataset import Dataset
from oboro.errors import OboroError
from oboro.io.read import read
from oboro.kernels.jit import always_compiled, cache_place
from oboro.recipe.evaluate import evaluate
from oboro.recipe.recipe import Recipe
from oboro.recipe.starter import demonstrate, write_sample
from oboro.schema import Attribute, Schema
from oboro.techniques import TECHNIQUES
from oboro.techniques.base import Work
from oboro.techniques.checks import people
from oboro.text import Message
from oboro.text.language import Progress, silent
from oboro.verifier.table import verify

__all__ = ["JOBS", "WarmUp", "warm_up"]


MANY = 70_000  # rows; with more than 65,536 different values, codes have four bytes
ZIPS = 400  # with more than 256, two bytes
ROLES: dict[str, dict[str, Any]] = {
    "name": {"role": "identifier"},
    "age": {"role": "quasi", "hierarchy": {"intervals": [10, 40]}},
    "zip": {"role": "quasi", "hierarchy": {"mask": "right"}},
    "sex": {"role": "quasi"},
    "disease": {"role": "sensitive"},
    "income": {"role": "other"},
}


@dataclass(frozen=True)
class WarmUp:
    """Result of a warm-up: folder of compiled kernels, their number before and after, and the seconds of each kind of job."""

    place: Path
    lasting: bool
    before: int
    after: int
    seconds: dict[str, float]


def warm_up(progress: Progress | None = None) -> WarmUp:
    """Run a small job of every kind, so that what it uses is compiled: some minutes, or seconds where it is already."""
    say: Progress = progress or silent
    place = cache_place()
    before, seconds = _count(), {}
    for name, job in JOBS.items():
        say(Message(f"progress.warm_up.{name}"))
        started = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="oboro-warm-up-") as folder, always_compiled():
            job(Path(folder))
        seconds[name] = time.perf_counter() - started
    return WarmUp(place.path, place.lasting, before, _count(), seconds)


def _count() -> int:
    return sum(1 for _ in cache_place().compiled())


# Jobs that compile kernels --------------------------------------------------------------------------------------------


def _files(folder: Path) -> None:
    """A table in a file, a recipe, a report; then the same table as Parquet, and as CSV that is larger than memory."""
    done = demonstrate(folder, rows=2000)
    write_sample("people", folder / "people.parquet", rows=MANY)
    for name in ("people.csv", "people.parquet"):
        release = Recipe.load(folder / "recipe.yaml").run(folder / name)
        release.write(folder / f"again.{name}")
        read(folder / f"again.{name}")
    _large_file(folder)
    evaluate(folder / "people.csv", done.release.data, folder / "recipe.yaml", attempts=50)


def _large_file(folder: Path) -> None:
    """A CSV file whose lines change places on their way: more than counts as small."""
    lines = "".join(f"{20 + number % 50},{'-' * 240}\n" for number in range(MANY))
    (folder / "large.csv").write_text(f"age,note\n{lines}", encoding="utf-8")
    recipe = Recipe(attributes={"age": ROLES["age"], "note": {}}, steps=[{"k_anonymize": {"k": 2}}])
    recipe.run(folder / "large.csv").write(folder / "again.large.csv")


def _techniques(folder: Path) -> None:
    """Every step of a recipe with its examples, on values of several kinds."""
    schema = Schema({name: Attribute.model_validate(role) for name, role in ROLES.items()})
    for data, technique in product(_tables(), TECHNIQUES.values()):
        for parameters in technique.examples:
            with suppress(OboroError):  # an example need not fit the table
                technique.model_validate(parameters).run(Work(data, schema, np.random.default_rng(0)))


def _models(folder: Path) -> None:
    """Every privacy model, over columns with codes of one, two and four bytes."""
    table = Dataset.of(people(MANY, ZIPS))
    for quasi in (["sex"], ["age", "zip"], ["name", "sex"]):
        verify(table, quasi=quasi, k=2, maximum_risk=0.5, average_risk=0.5)
        for sensitive in ("disease", "income"):
            verify(table, quasi=quasi, sensitive=sensitive, l=2, t=0.2, alpha=0.9)
            verify(table, quasi=quasi, sensitive=sensitive, l=2, kind="entropy")
            verify(table, quasi=quasi, sensitive=sensitive, l=2, kind="recursive", c=3)


def _streams(folder: Path) -> None:
    """Every mode of a stream."""
    roles = {name: ROLES[name] for name in ("age", "sex", "disease", "income")}
    records = Dataset.of(people(400, ZIPS)).select(list(roles)).to_arrow().to_pylist()
    for demand in ({}, {"l_diversity": {"disease": 2}}):
        recipe = Recipe(attributes=roles, steps=[{"k_anonymize": {"k": 3, **demand}}])
        for options in _modes():
            with suppress(OboroError):  # not every mode keeps every demand
                _run_stream(recipe, records, options, folder / "state")


def _run_stream(recipe: Recipe, records: list[dict[str, Any]], options: dict[str, Any], state: Path) -> None:
    stream = recipe.stream(**options)
    stream.push_many(records[:-1])
    stream.push(records[-1])
    stream.save(state)
    stream.flush()


def _modes() -> Iterator[dict[str, Any]]:
    yield from ({"mode": mode} for mode in ("swap", "count", "paper", "sequential", "fixed"))
    yield from ({"mode": mode, "horizon": 100} for mode in ("swap", "count"))
    for index, group in product(("auto", "exhaustive", "fdh", "fdhq"), ("grow", "paper")):
        yield {"mode": "window", "window": 50, "categories": ["sex"], "index": index, "group": group}


JOBS: dict[str, Callable[[Path], None]] = {
    "tables": _files,
    "techniques": _techniques,
    "models": _models,
    "streams": _streams,
}


# Tables of the jobs ---------------------------------------------------------------------------------------------------


def _tables() -> Iterator[Dataset]:
    whole = Dataset.of(people(400, ZIPS))
    gaps = {name: [None if row % 7 == 0 else value for row, value in enumerate(column.decode().to_pylist())]
            for name, column in whole.columns.items()}  # fmt: skip
    text = {name: [None if value is None else str(value) for value in values] for name, values in gaps.items()}
    yield from (whole, Dataset.of(gaps), Dataset.of(text))
