"""The verifier judges by the strictest reading that a receiver's tool could make, and what we write has one spelling."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command_line import call
from tests.drawing import picks

import oboro
from oboro.io.read import read

NAN = float("nan")
TWO = pa.array(
    np.array([1.0, 1.0, NAN, 7.0]), mask=np.array([False, False, False, True])
)  # 1, 1, not-a-number, missing


def _holds(path: Path, k: int = 2, **more: Any) -> bool:
    return oboro.verify(read(path).data, quasi="age", k=k, **more).holds


def test_not_a_number_is_told_from_missing(tmp_path: Path) -> None:
    """Each of the two is alone to a reader of Parquet, Arrow or polars; merged they would pass for two."""
    table = pa.table({"age": TWO})
    pq.write_table(table, tmp_path / "t.parquet")
    feather.write_feather(table, tmp_path / "t.feather")
    assert not _holds(tmp_path / "t.parquet")
    assert not _holds(tmp_path / "t.feather")
    assert not oboro.verify(table, quasi="age", k=2).holds
    assert not oboro.verify(pl.from_arrow(table), quasi="age", k=2).holds
    found = oboro.verify(table, quasi="age", k=1)
    assert [one.id for one in found.warnings] == ["verdict.told_apart"]
    assert "1 more class" in str(found)
    assert type(found).read(found.as_dict()) == found


@pytest.mark.parametrize(
    ("cells", "holds"),
    [
        (["a", "a", '""', ""], False),  # PostgreSQL and Arrow tell them apart
        (["a", "a", '""', '""'], True),
        (["a", "a", "", ""], True),
        (["1", "1", '"2"', "2"], False),  # csv.QUOTE_NONNUMERIC reads a text and a number
        (['"1"', '"1"', "2", "2"], True),
        (["1", "1.0", "2", "2"], False),
        (["1", "01", "2", "2"], False),
        (["a", "a ", "b", "b"], False),
        (['"a,b"', '"a,b"', '"say ""x"""', '"say ""x"""'], True),
    ],
)
def test_cells_of_csv_are_read_as_written(tmp_path: Path, cells: list[str], holds: bool) -> None:
    (tmp_path / "t.csv").write_text("age,x\n" + "".join(f"{cell},1\n" for cell in cells))
    assert _holds(tmp_path / "t.csv") is holds
    done = call("verify", "t.csv", "--quasi", "age", "--k", "2", cwd=tmp_path)
    assert done.code == (0 if holds else 1)


@pytest.mark.parametrize(
    ("rows", "holds"),
    [
        ([{"age": 1}, {"age": 1}, {"age": None}, {}], False),
        ([{"age": 1}, {"age": 1}, {}, {}], True),
        ([{"age": 1}, {"age": 1.0}, {"age": 2}, {"age": 2}], False),
        ([{"age": "*"}, {"age": "*"}, {"age": 2}, {"age": 2}], True),
    ],
)
def test_json_lines_are_read_as_written(tmp_path: Path, rows: list[dict[str, Any]], holds: bool) -> None:
    lines = [json.dumps({"id": number, **row}) for number, row in enumerate(rows)]
    (tmp_path / "t.ndjson").write_text("\n".join(lines))
    assert _holds(tmp_path / "t.ndjson") is holds


def test_a_dictionary_that_has_a_value_twice_is_read_by_its_numbers() -> None:
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 2]), pa.array(["a", "b", "b"]))
    assert not oboro.verify(pa.table({"age": twice}), quasi="age", k=2).holds
    nulls = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, None]), pa.array(["a", None]))
    assert not oboro.verify(pa.table({"age": nulls}), quasi="age", k=2).holds
    plain = pa.array(["a", "a", "b", "b"])
    for same in (plain, plain.dictionary_encode()):
        assert oboro.verify(pa.table({"age": same}), quasi="age", k=2).holds


def test_signs_of_zero_are_told_apart() -> None:
    assert not oboro.verify(pa.table({"age": pa.array([0.0, 0.0, -0.0])}), quasi="age", k=2).holds


def test_secrets_are_read_in_the_way_that_merges_most() -> None:
    """Empty text and missing are one to a reader of CSV, not-a-number and missing one to pandas: one secret, not two."""
    for secrets in (["", None], pa.array([NAN, None], pa.float64(), from_pandas=False)):
        table = pa.table({"age": [1, 1], "s": secrets})
        assert not oboro.verify(table, quasi="age", sensitive="s", l=2).holds
        assert not oboro.verify(table, quasi="age", sensitive="s", alpha=0.5).holds
    # By hand: the class has missing only, everybody half missing, half empty: half the mass must move, unless they are one.
    table = pa.table({"age": [1, 1, 2, 2], "s": pa.array([None, None, NAN, NAN], pa.float64(), from_pandas=False)})
    assert oboro.verify(table, quasi="age", sensitive="s", t=0.6).verdicts[0].achieved == 0.5


# What we write ----------------------------------------------------------------------------------------------------------

CELL = st.sampled_from([None, "", "a", "a ", '"', "1", "1.0", "01"])


def _raw_classes(path: Path) -> list[int]:
    """The naive twin of the strictest reader: the bytes of each line's first cell."""
    text = path.read_text()
    if path.suffix == ".csv":
        rows, quoted, cell = [], False, ""
        for letter in text:
            quoted ^= letter == '"'
            if letter == "\n" and not quoted:
                rows.append(cell.rsplit(",", 1)[0])
                cell = ""
            else:
                cell += letter
        values = rows[1:]
    return [values.count(one) for one in set(values)]


@settings(max_examples=25)
@given(st.lists(CELL, min_size=2, max_size=8))
def test_a_release_holds_under_the_strictest_reading(
    tmp_path_factory: pytest.TempPathFactory, cells: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("strict")
    recipe = oboro.Recipe(
        attributes={"age": {"role": "quasi"}, "x": {"role": "other"}},
        steps=[{"k_anonymize": {"k": 2, "suppress": 1.0}}],
    )
    release = recipe.run(pa.table({"age": pa.array(cells, pa.string()), "x": ["1"] * len(cells)}))
    release.write(folder / "out.csv")
    assert min(_raw_classes(folder / "out.csv")) >= 2
    assert _holds(folder / "out.csv")
    table = pacsv.read_csv(
        folder / "out.csv",
        convert_options=pacsv.ConvertOptions(
            column_types={"age": pa.string()},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    assert min(pc["counts"] for pc in table.column("age").value_counts().to_pylist()) >= 2


@settings(max_examples=25)
@given(picks(["", '""', "a", '"a"', '"a,b"', '"x""y"'], min_size=1, max_size=9))
def test_classes_of_csv_against_the_naive_twin(tmp_path_factory: pytest.TempPathFactory, cells: list[str]) -> None:
    path = tmp_path_factory.mktemp("cells") / "t.csv"
    path.write_text("age,x\n" + "".join(f"{cell},1\n" for cell in cells))
    sizes = _raw_classes(path)
    assert sorted(sizes) == sorted(cells.count(one) for one in set(cells))
    assert oboro.verify(read(path).data, quasi="age").verdicts[0].achieved == min(sizes)
    values = [row[0] for row in list(csv.reader(io.StringIO(path.read_text())))[1:]]
    merged = oboro.verify({"age": values}, quasi="age")
    assert merged.verdicts[0].achieved >= min(sizes)


def test_a_release_of_floats_says_missing_in_one_way(tmp_path: Path) -> None:
    recipe = oboro.Recipe(attributes={"age": {"role": "quasi"}}, steps=[{"k_anonymize": {"k": 2}}])
    release = recipe.run(pl.DataFrame({"age": [1.0, 1.0, NAN, None]}))
    assert release.data["age"].is_nan().sum() == 0
    assert release.data["age"].null_count() == 2
    assert oboro.verify(release.data, quasi="age", k=2).holds
    release.write(tmp_path / "out.parquet")
    assert _holds(tmp_path / "out.parquet")


# One rule: assess, evaluate, and the last look -------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [['""', ""], ['"1"', "1"], ["NA", ""]])
def test_assess_and_evaluate_count_as_the_strictest_reader_of_a_file(tmp_path: Path, cells: list[str]) -> None:
    """The first two people stand alone to a tool that sees quotes; to one that does not they are a class of two."""
    rows = [*cells, '"a,b"', '"a,b"']
    (tmp_path / "out.csv").write_text("age,job\n" + "".join(f"{cell},x\n" for cell in rows))
    (tmp_path / "in.csv").write_text("age,job\n7,x\n8,x\n9,x\n9,x\n")
    found = oboro.assess(tmp_path / "out.csv", quasi=["age"])
    assert (found.k, found.together.unique) == (1, 2)
    report = oboro.evaluate(tmp_path / "in.csv", tmp_path / "out.csv", quasi=["age"], attempts=0, unpaired=True)
    assert (report.exposed.k, report.exposed.by_quasi, report.risk["uniques"]) == (1, 2, 2)
    asked = oboro.evaluate(tmp_path / "in.csv", tmp_path / "out.csv", quasi=["age"], attempts=0, unpaired=True, k=2)
    assert not asked.verification.holds
    other = oboro.evaluate(tmp_path / "in.csv", tmp_path / "out.csv", quasi=["job"], attempts=0, unpaired=True)
    assert (other.exposed.together, other.refused) == (2, True)


def test_assess_counts_not_a_number_and_missing_apart_and_secrets_together() -> None:
    table = pa.table({"age": TWO, "s": pa.array(["", None, "b", "b"])})
    found = oboro.assess(table, quasi=["age"], sensitive=["s"])
    assert (found.k, found.columns[0].unique) == (1, 2)
    assert found.secrets[0].certain == 4  # empty and missing are one secret
    alone = oboro.assess(pa.table({"age": [1, 1], "s": ["", None]}), quasi=["age"], sensitive=["s"])
    assert [one.achieved for one in alone.verification.verdicts] == [2, 1, 0]
    assert [
        one.achieved
        for one in oboro.verify(pa.table({"age": [1, 1], "s": ["", None]}), quasi="age", sensitive="s").verdicts
    ] == [2, 1, 0]


def test_empty_text_is_nobody() -> None:
    """A reader to whom empty text is missing sees one person in the class."""
    table = pa.table({"age": [1, 1], "who": ["a", ""]})
    assert not oboro.verify(table, quasi="age", k=2, person="who").holds
    assert oboro.assess(table, quasi=["age"], person="who").k == 1


CELLS = st.sampled_from([None, "", "a", "a ", '"', "1", "1.0", "01", "*"])


@settings(max_examples=25)
@given(
    st.lists(st.tuples(CELLS, st.sampled_from([None, NAN, 0.0, -0.0, 1.5])), min_size=2, max_size=7),
    st.sampled_from(["csv", "parquet", "feather"]),
)
def test_the_last_look_sees_whom_the_strictest_reader_of_what_is_written_sees(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, Any]], form: str
) -> None:
    """Nobody is unique in the written bytes whom the last look did not count: it needs no second reading of its own release."""
    words, numbers = zip(*rows, strict=True)
    floats = pa.array(
        np.array([0.0 if one is None else one for one in numbers]), mask=np.array([one is None for one in numbers])
    )
    table = pa.table({"q": ["x"] * len(rows), "word": pa.array(words, pa.string()), "number": floats})
    recipe = oboro.Recipe(
        attributes={"q": {"role": "quasi"}, "word": {"role": "other"}, "number": {"role": "other"}},
        steps=[{"k_anonymize": {"k": 2}}],
        accept={"unique_on": ["word", "number"], "because": "a test"},
    )
    release = recipe.run(table)
    path = tmp_path_factory.mktemp("look") / f"out.{form}"
    release.write(path)
    if form == "csv":
        lines = path.read_text().splitlines()[1:]
        assert len(lines) == len(rows)
    else:
        back = pq.read_table(path) if form == "parquet" else feather.read_table(path)
        lines = [repr(tuple(row.values())) for row in back.to_pylist()]
    assert sum(lines.count(one) == 1 for one in lines) <= release.last_look.unique
