"""A table in a random order, however large: the same bytes as if all columns had been held and shuffled in memory."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oboro.data import row_order
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.row_order import RowShuffle
from oboro.io import column_store, external_shuffle
from oboro.io.formats.csv import blocks, reader
from oboro.io.read import read
from oboro.kernels import grouping
from oboro.recipe.recipe import Recipe
from oboro.system import process

ACCEPT = {"unique_on": ["id", "note"], "because": "made up"}


@contextmanager
def large(held: int = 1 << 29, bucket: int = 4, codes: int = 0, whole: int = 0) -> Iterator[None]:
    """Every table counts as large, and buckets hold about so many rows; columns that no step needs may take `codes` bytes.

    The order of tables of up to `whole` rows is drawn as a whole.
    """
    with (
        patch("oboro.io.read.is_small", lambda data: False),
        patch.object(column_store, "SMALL", 0),
        patch.object(row_order, "SMALL", 0),
        patch.object(process, "SMALL", 0),
        patch.object(row_order, "BUCKET", bucket),
        patch.object(row_order, "WHOLE", whole),
        patch.object(external_shuffle, "HELD", held),
        patch.object(column_store, "HELD_TOO", codes),
        patch.object(reader, "SELDOM", 0),
        patch.object(external_shuffle, "GROUP_BYTES", 64),
        patch.object(external_shuffle, "CHUNK", 1),
        patch.object(
            external_shuffle, "LARGEST", 60 if held else 1 << 24
        ),  # some buckets of lines are split, and some are not
        patch.object(external_shuffle, "GROUP_ROWS", 8),
        patch.object(blocks, "CELLS", 120),
    ):
        yield


def recipe(steps: list[Any], **options: Any) -> Recipe:
    return Recipe(
        attributes={"age": {"role": "quasi", "hierarchy": {"intervals": [10, 100]}}, "id": {}, "note": {}},
        steps=steps,
        **{"seed": 3, "accept": ACCEPT, **options},
    )


def table(path: Path, rows: int, notes: list[str] | None = None) -> Path:
    """A CSV file; notes may hold quotes and line ends."""
    notes = notes or ["plain", "with, comma", 'with "quote"', "two\nlines", "日本語"]
    lines = ["id,age,note"]
    for n in range(rows):
        note = notes[n % len(notes)].replace('"', '""')
        lines.append(f'{n},{20 + n % 30},"{note}"')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(
    st.integers(1, 200),
    st.sampled_from([[], [{"sample": {"fraction": 0.5}}], [{"drop_records": {"where": {"age": {"equals": "25"}}}}]]),
    st.sampled_from(["csv", "tsv", "csv.zst", "parquet", "arrow"]),
    st.sampled_from([0, 300, 1 << 29]),
    st.sampled_from([0, 5000, 1 << 28]),
    st.sampled_from([0, 1000]),
    st.lists(st.text(st.sampled_from('ab,"\n\r é日'), max_size=9), min_size=1, max_size=5),
)
def test_the_same_bytes_as_if_all_were_shuffled_in_memory(
    tmp_path: Path, rows: int, steps: list[Any], ending: str, held: int, codes: int, whole: int, notes: list[str]
) -> None:
    source, plan = table(tmp_path / "in.csv", rows, notes), recipe(steps, order="shuffled")
    with large(held, codes=codes, whole=whole):
        plan.run(read(source)).write(tmp_path / f"held.{ending}", force=True)
        release = plan.run(source)
        release.write(tmp_path / f"passed.{ending}", force=True)
    before, after = (read(tmp_path / f"{name}.{ending}").data.to_arrow() for name in ("held", "passed"))
    assert after.equals(before)
    if ending != "parquet" and ending != "arrow":
        assert (tmp_path / f"held.{ending}").read_bytes() == (tmp_path / f"passed.{ending}").read_bytes()
    assert [int(n) for n in after["id"].to_pylist()] == release.frame.data.origin_rows.tolist()


@pytest.mark.parametrize("held", [0, 2000, 1 << 29])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_parquet_in(tmp_path: Path, held: int, ending: str) -> None:
    source, inside = table(tmp_path / "in.csv", 500), tmp_path / "in.parquet"
    Recipe(attributes={}, steps=[], unnamed="other", accept=ACCEPT).run(source).write(inside)
    plan = recipe([{"k_anonymize": {"k": 5}}])
    with large(held):
        release = plan.run(inside)
        release.write(tmp_path / f"out.{ending}")
    written = read(tmp_path / f"out.{ending}").data.to_arrow()
    ids = [int(n) for n in written["id"].to_pylist()]
    assert ids == release.frame.data.origin_rows.tolist() != list(range(500))
    notes = read(source).data.to_arrow()["note"].to_pylist()
    assert written["note"].to_pylist() == [notes[n] for n in ids]


def test_no_file_is_left_behind(tmp_path: Path) -> None:
    """Rows that wait are in a file without a name: also while they wait, and also where writing fails."""
    source, seen = table(tmp_path / "in.csv", 300), []
    original = external_shuffle._gathered

    def looking(*given: Any) -> Any:
        seen.append(sorted(os.listdir(tmp_path)))
        return original(*given)

    with large(held=0), patch.object(external_shuffle, "_gathered", looking):
        recipe([], order="shuffled").run(source).write(tmp_path / "out.csv")
    assert [name for name in seen[0] if name != "in.csv" and not name.endswith(".part")] == []
    failing = patch.object(external_shuffle, "_gathered", side_effect=ZeroDivisionError)
    with large(held=0), failing, pytest.raises(ZeroDivisionError):
        recipe([], order="shuffled").run(source).write(tmp_path / "failed.csv")
    gc.collect()
    assert sorted(os.listdir(tmp_path)) == ["in.csv", "out.csv"]


def test_a_value_that_cannot_be_encoded_is_found_late(tmp_path: Path) -> None:
    source = table(tmp_path / "in.csv", 90, ["plain"] * 80 + ["1–2"])
    with large():
        recipe([], order="shuffled").run(source).write(tmp_path / "out.csv", encoding="cp932")
    text = (tmp_path / "out.csv").read_bytes().decode("cp932")
    assert text.count("\n") == 91
    assert "～" in text


# The order itself -----------------------------------------------------------------------------------------------------


def test_every_order_is_equally_likely() -> None:
    """24 orders of four rows in buckets, 12,000 times: the chi-square of 23 degrees is below 49.7 in 99.9 % of all tests."""
    rng, seen = np.random.default_rng(7), Counter[tuple[int, ...]]()
    with large(bucket=1):
        for _ in range(12_000):
            seen[tuple(RowShuffle.drawn(4, rng).order.tolist())] += 1
    assert len(seen) == 24
    assert sum((count - 500) ** 2 / 500 for count in seen.values()) < 49.7


@given(st.integers(0, 300), st.integers(1, 50), st.integers(0, 2**32))
@settings(deadline=None, max_examples=25)
def test_it_is_a_permutation_and_moves_all_columns_alike(rows: int, bucket: int, seed: int) -> None:
    with large(bucket=bucket):
        shuffle = RowShuffle.drawn(rows, np.random.default_rng(seed))
    naive: list[list[int]] = [[] for _ in range(shuffle.buckets)]
    for row, one in enumerate(shuffle.bucket.tolist()):
        naive[one].append(row)
    place, order = 0, []
    for rows_of in naive:
        order += [rows_of[shuffle.within[place + j]] for j in range(len(rows_of))]
        place += len(rows_of)
    assert sorted(order) == list(range(rows))
    assert shuffle.order.tolist() == order
    if rows:
        split = shuffle.split(min(bucket, rows))
        assert split.order.tolist() == order
        assert split.starts.tolist() == [0, *np.cumsum(np.bincount(split.bucket, minlength=split.buckets)).tolist()]
    values = np.arange(rows).astype(np.uint16) * 7
    assert shuffle(values).tolist() == [7 * row for row in order]


@given(st.integers(1, 300), st.integers(1, 50), st.integers(1, 40), st.integers(0, 2**32))
@settings(deadline=None, max_examples=30)
def test_blocks_are_the_shuffled_table_cut_up(rows: int, bucket: int, block: int, seed: int) -> None:
    """Looked up block by block, or moved as a whole because they are larger than a cache."""
    rng = np.random.default_rng(seed)
    columns = {
        name: Column(pa.array(range(200)), rng.integers(0, 200, rows).astype(type_))
        for name, type_ in {"narrow": np.uint8, "wide": np.uint32}.items()
    }
    data = Dataset(columns, rows)
    with large(bucket=bucket), patch.object(row_order, "CACHED", 2 * rows):
        shuffle = RowShuffle.drawn(rows, rng)
        whole, parts = shuffle.columns_shuffled(data), list(shuffle.blocks(data, block))
    assert [part.rows for part in parts] == [min(block, rows - begin) for begin in range(0, rows, block)]
    for name in columns:
        assert np.concatenate([part[name].codes for part in parts]).tolist() == whole[name].codes.tolist()
        assert whole[name].codes.tolist() == columns[name].codes[shuffle.order].tolist()


def naive_places(draws: list[int], size: int) -> list[int] | None:
    """Fisher and Yates, inside out: a draw x of 32 bits gives the place x · j / 2^32, unless x is one of those left over."""
    places, coming = list[int](), iter(draws[:-1])  # the last draw tells that there are enough
    for bound in range(1, size + 1):
        fair = next((x for x in coming if x * bound % 2**32 >= 2**32 % bound), None)
        if fair is None:
            return None
        place = fair * bound >> 32
        places.append(bound - 1)
        places[place], places[-1] = bound - 1, places[place]
    return places


@given(st.lists(st.one_of(st.integers(0, 2**32 - 1), st.integers(0, 3)), min_size=1, max_size=12), st.integers(0, 6))
def test_places_are_drawn_as_written_down(draws: list[int], size: int) -> None:
    """Small draws are those that may be left over: 0 for every number of places that is no power of two."""
    within = np.zeros(size, dtype=np.uint32)
    enough = grouping.shuffle_within(np.array(draws, dtype=np.uint32), np.array([5, 5 + size]), within)
    expected = naive_places(draws, size)
    assert enough == (expected is not None)
    if expected is not None:
        assert within.tolist() == expected


@given(st.lists(st.one_of(st.integers(0, 2**32 - 1), st.integers(0, 3)), max_size=12), st.integers(1, 6), st.data())
def test_an_order_is_drawn_as_written_down(draws: list[int], size: int, data: st.DataObject) -> None:
    """The same draws in two parts: what the first left is gone on with."""
    cut, order = data.draw(st.integers(0, len(draws))), np.zeros(size, dtype=np.uint32)
    placed = 0
    for part in (draws[:cut], draws[cut:]):
        placed = placed if placed == size else grouping.draw_order(np.array(part, dtype=np.uint32), placed, order)
    expected = naive_places([*draws, 0], placed)
    assert order[:placed].tolist() == expected
    assert placed == size or naive_places([*draws, 0], placed + 1) is None


@given(st.integers(1, 60), st.integers(1, 9))
def test_an_order_in_buckets_is_the_same(rows: int, bucket: int) -> None:
    whole = RowShuffle.fixed(np.random.default_rng(rows).permutation(rows))
    with large(bucket=bucket):
        dealt = whole.in_buckets()
    assert dealt.order.tolist() == whole.order.tolist()
    assert np.diff(dealt.starts).max() <= bucket
    assert dealt.starts[-1] == rows


@pytest.mark.parametrize("whole", [0, 1000])
def test_draws_that_run_out_are_drawn_again(whole: int) -> None:
    """Nearly no spare draws: orders stay equally likely."""
    rng, seen = np.random.default_rng(8), Counter[tuple[int, ...]]()
    with large(bucket=1, whole=whole), patch.object(row_order, "SPARE", 1):
        for _ in range(2_400):
            seen[tuple(RowShuffle.drawn(3, rng).order.tolist())] += 1
    assert len(seen) == 6
    assert sum((count - 400) ** 2 / 400 for count in seen.values()) < 20.5
