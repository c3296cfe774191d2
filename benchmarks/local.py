"""Local recoding side by side on Adult: Mondrian, top-down, MDAV and one level for all; public packages on a part of it;
BIC against median cuts; 1M rows.

The first tables measure groups alike, however they are published: `ncp` is the mean part of an attribute's domain that a
group has in common (numbers: range; categories: lowest common label), `ncp_sets` the same without hierarchies (categories:
how many others the group holds), `discernibility` the mean over records of how many look alike, `kl` the Kullback–Leibler
divergence of the original tuples from groups whose records are spread evenly over everything that the group may stand
for, in nats (Kifer & Gehrke 2006). Releases of techniques and of packages are regrouped and verified; one of ours that
breaks its promise stops the benchmark, one of a package shows as a `smallest_group` below k.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from benchmarks.rows import BenchRow, data_folder
from oboro.algorithms.microaggregation.mdav import mdav, vmdav
from oboro.algorithms.partitioning.density import cells
from oboro.algorithms.partitioning.mondrian import mondrian
from oboro.algorithms.partitioning.records import LocalAttribute, OrderedAttribute, Records, Space, TreeAttribute
from oboro.algorithms.partitioning.top_down import top_down
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups
from oboro.errors import PromiseError
from oboro.schema import Attribute, Schema
from oboro.techniques import Technique
from oboro.techniques.base import Work
from oboro.techniques.k_anonymize import KAnonymize
from oboro.techniques.local_recode import LocalRecode

__all__ = ["PACKAGES", "kullback_leibler", "peers", "rows"]

QUASI = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass", "occupation")
NUMERIC = {"age": 0, "education-num": 4, "hours-per-week": 12}  # where they stand in adult.data
SEED = 1
BESIDE, BESIDE_QUICK = 3_000, 1_000  # records that public packages are given: they take a minute for them
Progress = Callable[[str], None]


def rows(quick: bool = False, progress: Progress = lambda stage: None) -> list[BenchRow]:
    """All figures; `quick` takes one k and leaves the million rows out."""
    found: list[BenchRow] = []
    folder = data_folder("arx-adult")
    if folder is not None:
        data, schema = _adult(folder)
        found += _side_by_side(data, schema, [5] if quick else [2, 5, 10, 25, 50], progress)
        found += _beside_packages(data, schema, BESIDE_QUICK if quick else BESIDE, [5] if quick else [5, 25], progress)
    folder = data_folder("adult")
    if folder is not None:
        progress("BIC against median cuts")
        found += _densities(folder, [25] if quick else [5, 25, 100])
    if not quick:
        found += _million(progress)
    return found


# Side by side ---------------------------------------------------------------------------------------------------------


def _side_by_side(data: Dataset, schema: Schema, sizes: list[int], progress: Progress) -> Iterator[BenchRow]:
    small = data.take(np.arange(500))
    for run in _methods(small, schema, 5).values():
        run()  # compiles
    for k in sizes:
        yield from _measured("local recoding on Adult", data, schema, k, _methods(data, schema, k), progress)


def _beside_packages(
    data: Dataset, schema: Schema, records: int, sizes: list[int], progress: Progress
) -> Iterator[BenchRow]:
    """Ours and those of public packages on the same records, drawn at random, in the same run."""
    chosen = np.sort(np.random.default_rng(SEED).permutation(data.rows)[:records])
    some = Dataset({name: data[name].take(chosen).tidy() for name in QUASI}, chosen.size)
    for k in sizes:
        theirs = peers(some, k, frozenset(["age"]))
        if not theirs:
            return
        groups = {name: _grouping(release) for name, release in theirs.items()}
        ours = _methods(some, schema, k)
        yield from _measured("public packages on a part of Adult", some, schema, k, {**ours, **groups}, progress)


def _measured(
    table: str, data: Dataset, schema: Schema, k: int, methods: dict[str, Callable[[], Groups]], progress: Progress
) -> Iterator[BenchRow]:
    attributes = _attributes(data, schema)
    for name, run in methods.items():
        progress(f"{table}, k = {k}: {name}")
        start = time.perf_counter()
        groups = run()
        seconds = time.perf_counter() - start
        given = {"n": data.rows, "k": k, "attributes": len(QUASI)}
        for metric, value in _measures(attributes, groups).items():
            yield BenchRow(table, name, given, metric, value, seconds=seconds)


def _adult(folder: Path) -> tuple[Dataset, Schema]:
    options = pacsv.ParseOptions(delimiter=";")
    data = Dataset.from_arrow(pacsv.read_csv(folder / "adult.csv", parse_options=options)).select(QUASI)
    hierarchies = {name: {"csv": f"adult_hierarchy_{name}.csv"} for name in QUASI}
    described = {
        name: Attribute.model_validate({"role": "quasi", "hierarchy": spec}) for name, spec in hierarchies.items()
    }
    return data, Schema(described, folder)


def _attributes(data: Dataset, schema: Schema) -> list[LocalAttribute]:
    ages = OrderedAttribute.of(data["age"], "age")
    return [ages, *(TreeAttribute.of(data[name], schema.hierarchy(name, data[name])) for name in QUASI[1:])]


def _methods(data: Dataset, schema: Schema, k: int) -> dict[str, Callable[[], Groups]]:
    def released(technique: Technique) -> Groups:
        outcome = technique.run(Work(data, schema, np.random.default_rng(SEED)))
        for promise in outcome.promises:
            verification = promise.verify(outcome.data)
            if not verification.holds:
                raise PromiseError(verification.sentence())
        return _grouped(outcome.data)

    columns = {name: data[name] for name in QUASI}
    space = Space.of(columns, categorical=frozenset(QUASI[1:]))
    return {
        "mondrian": lambda: released(LocalRecode(k=k, method="mondrian")),
        "relaxed_mondrian": lambda: released(LocalRecode(k=k, method="relaxed_mondrian")),
        "top_down": lambda: released(LocalRecode(k=k, method="top_down")),
        "mdav": lambda: mdav(space, k),
        "vmdav": lambda: vmdav(space, k),
        "k_anonymize": lambda: released(KAnonymize(k=k, suppress=0.02)),
    }


def _grouping(release: Callable[[], Dataset]) -> Callable[[], Groups]:
    return lambda: _grouped(release())


def _grouped(released: Dataset) -> Groups:
    """Who looks alike in a release, as the verifier sees it."""
    return Groups.of([released[name] for name in QUASI], released.rows)


def _measures(attributes: list[LocalAttribute], groups: Groups) -> dict[str, float]:
    share = groups.sizes / groups.sizes.sum()
    losses = [_loss(one, groups) @ share for one in attributes]
    sets = [
        (_set_loss(one, groups) if isinstance(one, TreeAttribute) else _loss(one, groups)) @ share for one in attributes
    ]
    return {
        "ncp": float(np.mean(losses)),
        "ncp_sets": float(np.mean(sets)),
        "discernibility": float((groups.sizes**2).sum() / groups.sizes.sum()),
        "kl": kullback_leibler(attributes, groups),
        "groups": float(len(groups)),
        "smallest_group": float(groups.sizes.min()),
    }


def _ends(codes: np.ndarray, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    order, starts = groups.members()
    return np.minimum.reduceat(codes[order], starts[:-1]), np.maximum.reduceat(codes[order], starts[:-1])


def _loss(one: LocalAttribute, groups: Groups) -> np.ndarray:
    """What each group leaves open of one attribute."""
    low, high = _ends(one.codes, groups)
    if isinstance(one, OrderedAttribute):
        mixed = (high == one.missing) & (low < high)
        places = np.append(one.places, np.zeros(one.width - one.places.size))
        return np.where(mixed, 1.0, np.where(low == high, 0.0, places[high] - places[low]))
    return np.asarray(one.losses[_levels(one, groups), low])


def _set_loss(one: TreeAttribute, groups: Groups) -> np.ndarray:
    """The part of all other categories that each group holds."""
    pairs = np.unique(groups.labels.astype(np.int64) * one.width + one.codes)
    distinct = np.bincount(pairs // one.width, minlength=len(groups))
    return np.asarray((distinct - 1) / max(1, one.width - 1))


def _levels(one: TreeAttribute, groups: Groups) -> np.ndarray:
    """The lowest level with one label for each group."""
    found = np.full(len(groups), len(one.table) - 1)
    for level in range(len(one.table) - 2, -1, -1):
        low, high = _ends(one.table[level][one.codes], groups)
        found[low == high] = level
    return found


def kullback_leibler(attributes: list[LocalAttribute], groups: Groups) -> float:
    """KL of the original tuples from the groups, each spread evenly over the tuples that it covers. O(tuples · groups)."""
    records = Records.of(attributes)
    members = [_covered(one, groups) for one in attributes]
    volume = np.prod([covered.sum(axis=1) for covered in members], axis=0)
    height = groups.sizes / (records.count * volume)
    share = records.loads / records.count
    released = np.empty(share.size)
    step = max(1, 20_000_000 // max(1, len(groups)))
    for start in range(0, share.size, step):
        inside = np.ones((len(groups), min(step, share.size - start)), dtype=bool)
        for covered, codes in zip(members, records.codes[start : start + step].T, strict=True):
            inside &= covered[:, codes]
        released[start : start + step] = height @ inside
    return float((share * np.log(share / released)).sum())


def _covered(one: LocalAttribute, groups: Groups) -> np.ndarray:
    """For each group which codes of one attribute it may stand for."""
    low, high = _ends(one.codes, groups)
    every = np.arange(one.width)
    if isinstance(one, OrderedAttribute):
        inside = (every >= low[:, None]) & (every <= high[:, None])
        return np.asarray(inside | ((high == one.missing) & (low < high))[:, None])
    level = _levels(one, groups)
    return np.asarray(one.table[level] == one.table[level, low][:, None])


# Densities ------------------------------------------------------------------------------------------------------------


def _densities(folder: Path, sizes: list[int]) -> Iterator[BenchRow]:
    """Cells learned on adult.data, their density judged on adult.test."""
    train, test = (_numbers(folder / name) for name in ("adult.data", "adult.test"))
    low, high = train.min(axis=0), train.max(axis=0)
    attributes = [OrderedAttribute.of(Column.encode(pa.array(column))) for column in train.T]
    for halves in (False, True):
        cells(attributes, sizes[0], halves=halves)  # compiles
    for k in sizes:
        for method, halves in (("bic", False), ("median_mondrian", True)):
            start = time.perf_counter()
            found = cells(attributes, k, halves=halves)
            seconds = time.perf_counter() - start
            given = {"n": len(train), "k": k, "attributes": len(NUMERIC)}
            density = found.log_density((test - low) / (high - low)).mean() - np.log(high - low).sum()
            table = "density of " + ", ".join(NUMERIC)
            yield BenchRow(table, method, given, "mean_group_size", len(train) / len(found.groups), seconds=seconds)
            yield BenchRow(table, method, given, "held_out_log_likelihood", float(density), seconds=seconds)


def _numbers(path: Path) -> np.ndarray:
    lines = (line.split(", ") for line in path.read_text(encoding="utf-8").splitlines())
    return np.array([[float(cells_[place]) for place in NUMERIC.values()] for cells_ in lines if len(cells_) == 15])


# A million rows -------------------------------------------------------------------------------------------------------


def _million(progress: Progress, n: int = 1_000_000, k: int = 5) -> Iterator[BenchRow]:
    rng = np.random.default_rng(SEED)
    columns = {
        "age": rng.integers(18, 90, n),
        "hours": np.clip(np.rint(rng.normal(40, 12, n)), 1, 99),
        "income": np.round(rng.lognormal(10, 1, n), 2),
    }
    encoded = {name: Column.encode(pa.array(column)) for name, column in columns.items()}
    records = Records.of([OrderedAttribute.of(column, name) for name, column in encoded.items()])
    space = Space.of(encoded)
    runs: dict[str, Callable[[], Groups]] = {
        "mondrian": lambda: mondrian(records, k),
        "top_down": lambda: top_down(records, k),
        "bic": lambda: cells([OrderedAttribute.of(column, name) for name, column in encoded.items()], k).groups,
        "mdav": lambda: mdav(space, k),
        "vmdav": lambda: vmdav(space, k),
    }
    for name, run in runs.items():
        progress(f"a million rows: {name}")
        start = time.perf_counter()
        groups = run()
        given = {"n": n, "k": k, "attributes": 3}
        seconds = time.perf_counter() - start
        yield BenchRow("a million rows", name, given, "mean_group_size", n / len(groups), seconds=seconds)


# ---------------------------------------------------------------------------------------------------------------------
# Public Python implementations of local recoding, where they are installed: the same records in, their release out.
#
# - anonypy (MIT): Mondrian. anonypyx (MIT, a fork of it): Mondrian and MDAV-generic.
# - Left out: polarfrost pins polars 1.30; umbra-k says MIT but carries another licence; anjana, pycanon and the like take
#   one level for all or only measure.
#
# Both are called as their documentation says, on the original records with a row number as a further column, and publish
# ranges of numbers and sets of categories. anonypyx's MDAV-generic fails (pandas 3) on whole numbers and on categories that
# are not numbered by appearance, so all of them get numbers as floats and categories by number; which number stands for
# which category does not matter to either method.


PACKAGES = ("anonypy", "anonypyx")
ROW = "oboro_row"


def peers(data: Dataset, k: int, numeric: frozenset[str]) -> dict[str, Callable[[], Dataset]]:
    """By name what each installed package releases for these records, rows in their order; missing ones are named on
    stderr.

    Both hold Python objects for each group, MDAV-generic a matrix of all pairs: some thousand records are what they take
    in a minute.
    """
    if absent := [name for name in (*PACKAGES, "pandas") if find_spec(name) is None]:
        print(
            f"benchmarks: {', '.join(absent)} not installed, so that comparison is left out; pip install 'oboro[bench]'",
            file=sys.stderr,
        )
    if "pandas" in absent:
        return {}
    found: dict[str, Callable[[], Dataset]] = {}
    if "anonypy" not in absent:
        found["anonypy mondrian"] = lambda: _anonypy(data, k, numeric)
    if "anonypyx" not in absent:
        found["anonypyx mondrian"] = lambda: _anonypyx(data, k, numeric, "Mondrian")
        found["anonypyx mdav"] = lambda: _anonypyx(data, k, numeric, "MDAV-generic")
    return found


def _anonypy(data: Dataset, k: int, numeric: frozenset[str]) -> Dataset:
    import anonypy
    import pandas as pd

    found = anonypy.Preserver(_frame(data, numeric), list(data), ROW).anonymize_k_anonymity(k)
    return _in_order(pd.DataFrame(found), data)


def _anonypyx(data: Dataset, k: int, numeric: frozenset[str], algorithm: str) -> Dataset:
    import anonypyx

    how = {"k": k, "algorithm": algorithm, "generalisation_strategy": "human-readable"}
    return _in_order(anonypyx.Anonymiser(_frame(data, numeric), feature_columns=list(data), **how).anonymise(), data)


def _frame(data: Dataset, numeric: frozenset[str]) -> Any:
    """A pandas frame: numbers as floats, categories numbered by appearance, and the number of each row."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for name in data:
        column = data[name]
        if name in numeric:
            columns[name] = column.numbers(name)[column.codes]
        else:
            columns[name] = pd.Categorical(pd.factorize(column.codes)[0])
    return pd.DataFrame({**columns, ROW: np.arange(data.rows)})


def _in_order(released: Any, data: Dataset) -> Dataset:
    """The released texts, a row for each original one; a record that was lost or doubled is an error."""
    released = released.sort_values(ROW)
    if not np.array_equal(released[ROW].to_numpy(), np.arange(data.rows)):
        raise ValueError("the package did not release each record once")
    return Dataset(
        {name: Column.encode(pa.array(released[name].map(str).to_numpy(dtype=object))) for name in data}, data.rows
    )
