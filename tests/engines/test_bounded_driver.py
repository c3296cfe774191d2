"""A driver that holds no rows decides what one machine decides: levels, suppressed rows, loss, verdicts, last look and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle
from tests.engines.engine_cases import BY_CHANCE, BY_VALUE, counted, facts, table

import oboro.engines.run as engine_run
from oboro.engines import bounded as engines_bounded
from oboro.engines.base import EngineRelease
from oboro.engines.bounded import why_rows
from oboro.engines.coded import Spool
from oboro.engines.duckdb import DuckTable
from oboro.engines.run import anonymize_place
from oboro.errors import InputError, OboroError, UsageError
from oboro.recipe.recipe import Recipe


def asked(order: str | None = None, **more: Any) -> Recipe:
    return Recipe(
        attributes={
            "a.b": {"role": "quasi", "hierarchy": {"intervals": [5, 20]}},
            "Sex": {"role": "quasi"},
            "zip": {"role": "quasi", "hierarchy": {"mask": "right"}},
            "weight": {"role": "other"},
            "paid": {"role": "sensitive"},
        },
        steps=[{"k_anonymize": {"k": 2, "suppress": 0.2, **more}}],
        seed=7,
        order=order,
        unnamed="drop",
        accept={"unique_on": ["weight"], "because": "made up"},
    )


RECIPES = {
    "plain": asked(),
    "no suppression": asked(suppress=0.0),
    "many suppressed": asked(k=3, suppress=0.6),
    "some join": asked(k=5, suppress=0.5, limits={"zip": {"greatest": 4}}),
    "discernibility": asked(loss="discernibility"),
    "average class": asked(loss="average_class_size", suppress=0.3),
    "entropy": asked(loss="entropy", order="kept"),
    "tops that are no star": asked(k=3, limits={"zip": {"greatest": 3}, "Sex": {"greatest": 0}}, suppress=0.9),
    "given levels": asked(levels={"a.b": 1, "Sex": 1, "zip": 5}, suppress=0.9),
}


def bounded(patch: pytest.MonkeyPatch, held: int = 1 << 21, bucket: int = 1 << 20, largest: int = 1 << 22) -> None:
    """As if few rows were many."""
    patch.setattr(engine_run, "BOUNDED", 0)
    patch.setattr(engines_bounded, "HELD", held)
    patch.setattr(engines_bounded, "LARGEST", largest)
    for module in (engines_bounded, engines_bounded):
        patch.setattr(module, "BUCKET", bucket)


def on_duckdb(recipe: Recipe, folder: Path, data: pa.Table) -> EngineRelease:
    pq.write_table(data, folder / "in.parquet", row_group_size=7)
    return anonymize_place(recipe, str(folder / "in.parquet"), str(folder / "out"), engine="duckdb", force=True)


def told(release: Any) -> list[Any]:
    """What the report is made from; which nodes were looked at, and which of them come next, is left out."""
    found = facts(release)
    for step in found[0]:
        step["facts"] = {key: one for key, one in step["facts"].items() if key not in ("lattice", "runners_up")}
    return found


def said(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except OboroError as error:
        return str(error)


@pytest.mark.parametrize("name", RECIPES)
@settings(max_examples=6)
@given(
    rows=st.integers(1, 80),
    seed=st.integers(0, 10**6),
    held=st.sampled_from([0, 12, 60, 1 << 21]),
    bucket=st.sampled_from([1, 10, 1 << 20]),
    largest=st.sampled_from([10, 1 << 20]),
)
def test_it_decides_as_one_machine(
    tmp_path_factory: pytest.TempPathFactory, name: str, rows: int, seed: int, held: int, bucket: int, largest: int
) -> None:
    """Whatever the number of buckets, and whether classes come to the driver or are summed up where they are."""
    data, folder = table(rows, seed), tmp_path_factory.mktemp("bounded")
    with pytest.MonkeyPatch.context() as patch:
        bounded(patch, held, bucket, largest)
        release = said(lambda: on_duckdb(RECIPES[name], folder, data))
    one = said(lambda: RECIPES[name].run(data))
    if isinstance(one, str):
        assert release == one
        return
    assert told(release) == told(one)
    assert counted(pq.read_table(folder / "out")) == counted(one.data)


@pytest.mark.parametrize("held", [0, 1 << 21])
def test_no_row_comes_to_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    bounded(monkeypatch, held, 10)
    monkeypatch.setattr(engine_run, "_with_rows", lambda *_: pytest.fail("rows came to the driver"))
    release = on_duckdb(RECIPES["tops that are no star"], tmp_path, table(300, 4))
    assert "none of the 300 rows" in str(release.driver)
    assert "Every promise holds" in release.summary(figures=True)
    with pytest.raises(UsageError, match="--report"):
        assert release.report


def test_where_rows_are_needed_it_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bounded(monkeypatch)
    release = on_duckdb(BY_VALUE["l_diversity"], tmp_path, table(60, 5))
    assert "l_diversity is decided on all rows" in str(release.driver)
    names = table(1, 1).column_names
    assert [name for name in BY_VALUE if why_rows(BY_VALUE[name], names) is None] == ["k"]
    assert all(why_rows(one, names) for one in BY_CHANCE.values())


def test_somebody_unique_is_refused_with_the_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bounded(monkeypatch)
    data = table(50, 1).set_column(6, "weight", pa.array(range(50)))
    strict = RECIPES["plain"].model_copy(update={"accept": []})
    one = said(lambda: strict.run(data))
    assert "weight" in one
    assert said(lambda: on_duckdb(strict, tmp_path, data)) == one
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def parted(patch: pytest.MonkeyPatch, partitions: int) -> None:
    """As on a cluster: rows lie in so many partitions, some of them empty, and what is done to each travels there."""

    def split(self: DuckTable, names: Sequence[str]) -> Iterator[Iterator[pa.RecordBatch]]:
        whole = pa.Table.from_batches(list(batches(self, names)))
        ends = np.linspace(0, whole.num_rows, partitions + 1).astype(int)
        for begin, end in pairwise(ends):
            yield iter(whole.slice(begin, end - begin).to_batches(max_chunksize=3))

    def there(made: Any) -> Any:
        return cloudpickle.loads(cloudpickle.dumps(made))

    batches = DuckTable._batches
    patch.setattr(
        DuckTable, "told", lambda self, names, made, job: (b for p in split(self, names) for b in there(made)(p))
    )
    patch.setattr(
        DuckTable,
        "bucketed",
        lambda self, names, scatter, parts: Spool(b for p in split(self, names) for b in there(scatter)(p)),
    )
    patch.setattr(
        DuckTable,
        "gather",
        lambda self, packer: (
            b for p in split(self, [*packer.touched, *packer.others]) for b in there(packer).parts(p)
        ),
    )


@pytest.mark.parametrize("partitions", [1, 40])
@settings(max_examples=3)
@given(rows=st.integers(1, 250), seed=st.integers(0, 10**6), held=st.sampled_from([0, 1 << 21]))
def test_partitions_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, partitions: int, rows: int, seed: int, held: int
) -> None:
    """Rows on the driver or none: the same release over any number of partitions, and random steps draw the same."""
    data, folder = table(rows, seed), tmp_path_factory.mktemp("parted")
    random = BY_CHANCE["noise"]
    whole = (
        said(lambda: on_duckdb(random, folder, data)) and (folder / "out").exists() and pq.read_table(folder / "out")
    )
    with pytest.MonkeyPatch.context() as patch:
        parted(patch, partitions)
        if whole:
            on_duckdb(random, folder, data)
            assert counted(pq.read_table(folder / "out")) == counted(whole)
        for recipe, least in ((BY_VALUE["k"], 10**9), (RECIPES["tops that are no star"], 0)):
            one = said(lambda recipe=recipe: recipe.run(data))
            bounded(patch, held, 40)
            patch.setattr(engine_run, "BOUNDED", least)
            release = said(lambda recipe=recipe: on_duckdb(recipe, folder, data))
            assert release == one if isinstance(one, str) else told(release) == told(one)
            assert isinstance(one, str) or counted(pq.read_table(folder / "out")) == counted(one.data)


class Split(Spool):
    """Buckets that come in two halves, one of which is seen twice, or not at all."""

    how = "twice"

    def parts(self) -> Any:
        for part, blocks in super().parts():
            if self.how == "twice":
                yield part, blocks
            yield from [(part, blocks)] if self.how == "twice" or part else []


@pytest.mark.parametrize("how", ["twice", "not at all"])
def test_every_bucket_is_seen_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """A bucket that is split, lost or read twice would let a worse node win, or one that does not hold."""
    bounded(monkeypatch, 0, 10)
    monkeypatch.setattr(Split, "how", how)
    monkeypatch.setattr("oboro.engines.duckdb.Spool", Split)
    with pytest.raises(InputError, match="rows were lost or doubled"):
        on_duckdb(RECIPES["tops that are no star"], tmp_path, table(60, 5))
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_few_jobs_for_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """72 nodes: at most four times are buckets asked for nodes."""
    bounded(monkeypatch, 0, 10)
    jobs: list[str] = []
    monkeypatch.setattr(
        Spool, "told", lambda self, look, job: jobs.append(job) or [look(part, held) for part, held in self.parts()]
    )
    recipe = asked(k=3, limits={"Sex": {"greatest": 0}, "zip": {"greatest": 4}}, suppress=0.3)
    on_duckdb(recipe, tmp_path, table(400, 8))
    assert jobs.count("nodes") <= 4
