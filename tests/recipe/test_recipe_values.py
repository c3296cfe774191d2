"""A value that a recipe names means the same in every format of one table, and a misspelt one does not pass silently."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oboro
from oboro.data.column import Column
from oboro.data.matching import absent, equal_values, matched, near_values
from oboro.errors import ColumnError, PromiseError
from oboro.techniques.conditions import Condition
from oboro.verifier.series import shared_codes

# 12 people: stage 1 three times among them, twice in the young class.
AGE = [21, 22, 23, 24, 31, 32, 33, 34, 35, 36, 37, 38]
STAGE = [1, 1, 2, 3, 1, 2, 2, 3, 3, 2, 3, 2]
ILL = [True, True, False, False] * 3
SEEN = ["2024-01-31", "2024-02-29", "2024-03-01", "2024-03-01"] * 3


def _table() -> pa.Table:
    return pa.table(
        {
            "age": pa.array(AGE, pa.int64()),
            "stage": pa.array([float(one) for one in STAGE], pa.float64()),
            "ill": pa.array(ILL),
            "seen": pa.array(SEEN).cast(pa.date32()),
        }
    )


def _csv(folder: Path, spelt: Callable[[float], str] = str) -> Path:
    lines = [
        f"{a},{spelt(s)},{i},{d}" for a, s, i, d in zip(AGE, map(float, STAGE), ILL, SEEN, strict=True)
    ]  # as pandas writes it: 1.0, True
    (folder / "t.csv").write_text("age,stage,ill,seen\n" + "\n".join(lines) + "\n")
    return folder / "t.csv"


def _ndjson(folder: Path) -> Path:
    rows = [
        dict(zip(("age", "stage", "ill", "seen"), row, strict=True)) for row in zip(AGE, STAGE, ILL, SEEN, strict=True)
    ]
    (folder / "t.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "t.ndjson"


def _written(name: str, write: Callable[[pa.Table, Path], Any]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        write(_table(), folder / name)
        return folder / name

    return make


FORMS: dict[str, Callable[[Path], Any]] = {
    "csv": _csv,
    "csv of whole numbers": lambda folder: _csv(folder, lambda one: str(int(one))),
    "csv of two decimals": lambda folder: _csv(folder, lambda one: f"{one:.2f}"),
    "ndjson": _ndjson,
    "parquet": _written("t.parquet", pq.write_table),
    "arrow": _written("t.feather", feather.write_feather),
    "excel": _written("t.xlsx", lambda table, path: table.to_pandas().to_excel(path, index=False)),
    "pandas": lambda folder: _table().to_pandas(),
    "pandas of objects": lambda folder: _table().to_pandas().astype(object),
    "polars": lambda folder: pl.from_arrow(_table()),
    "pyarrow": lambda folder: _table(),
    "dict": lambda folder: _table().to_pydict(),
}


def _recipe(alpha: Any, drop: Any = None, stage: Any = None) -> oboro.Recipe:
    rows = [[1, "low", "*"], [2, "low", "*"], [3, "high", "*"]] if stage is None else stage
    steps: list[Any] = [] if drop is None else [{"drop_records": {"where": drop}}]
    return oboro.Recipe(
        attributes={
            "age": {"role": "quasi", "hierarchy": {"intervals": [10]}},
            "stage": {"role": "sensitive", "hierarchy": {"rows": rows}},
            "ill": {"role": "sensitive"},
            "seen": {"role": "other"},
        },
        steps=[*steps, {"k_anonymize": {"k": 2, "suppress": 0.0, "alpha": alpha}}],
        accept={"unique_on": ["seen"], "because": "a test"},
    )


def _ages(release: oboro.Release) -> list[Any]:
    return [str(one) for one in release.dataset["age"].decode().to_pylist()]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [1, 1.0, "1", "1.0", "1.00"])
def test_alpha_protects_every_format_alike(tmp_path: Path, form: str, value: Any) -> None:
    """Two of the four in their twenties have stage 1: with alpha 0.4 they must join the others."""
    release = _recipe({"stage": {"alpha": 0.4, "value": value}}).run(FORMS[form](tmp_path))
    assert _ages(release) == ["*"] * 12
    verdict = next(one for one in release.verification.verdicts if one.id == "model.alpha_k_anonymity_of_one")
    assert (verdict.holds, verdict.achieved, verdict.note) == (True, 3 / 12, None)
    loose = _recipe({"stage": {"alpha": 0.5, "value": value}}).run(FORMS[form](tmp_path))
    assert sorted(_ages(loose)) == ["20–29"] * 4 + ["30–39"] * 8


@pytest.mark.parametrize("form", FORMS)
def test_truth_dates_and_hierarchies_mean_the_same_in_every_format(tmp_path: Path, form: str) -> None:
    drop = {"seen": {"in": ["2024/3/1"]}, "ill": {"equals": False}, "stage": {"equals": "3.0"}}
    release = _recipe({"ill": {"alpha": 0.7, "value": True}}, drop).run(FORMS[form](tmp_path))
    assert not release.steps[0].warnings
    gone = [s == 3 and not i and d == "2024-03-01" for s, i, d in zip(STAGE, ILL, SEEN, strict=True)]
    assert release.steps[0].facts["dropped"] == sum(gone) == 3
    closeness = _recipe({}).model_copy(
        update={
            "steps": [
                oboro.KAnonymize(k=2, t_closeness={"stage": {"t": 1.0, "distance": "hierarchical"}}),
            ]
        }
    )
    found = closeness.run(FORMS[form](tmp_path))
    verdict = next(one for one in found.verification.verdicts if one.id == "model.t_closeness")
    # By hand: twenties 2·1, 1·2, 1·3 of 4, all 3·1, 5·2, 4·3 of 12; leaves and low/high, mean of the total variations.
    leaves = (abs(2 / 4 - 3 / 12) + abs(1 / 4 - 5 / 12) + abs(1 / 4 - 4 / 12)) / 2
    above = (abs(3 / 4 - 8 / 12) + abs(1 / 4 - 4 / 12)) / 2
    assert verdict.achieved == pytest.approx((leaves + above) / 2)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_value_that_nobody_has_is_an_error_that_names_near_ones(tmp_path: Path, form: str) -> None:
    source = FORMS[form](tmp_path)
    with pytest.raises(ColumnError, match=r"no record has 11 in 'stage'.*absent: allowed"):
        _recipe({"stage": {"alpha": 0.4, "value": 11}}).run(source)
    allowed = _recipe({"stage": {"alpha": 0.4, "value": 11, "absent": "allowed"}}).run(source)
    assert "no record has 11" in allowed.summary()
    assert allowed.verification.holds


def test_a_typing_error_is_told_from_what_was_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    people = {"age": [1, 1], "disease": ["influenza", "cold"]}
    with pytest.raises(ColumnError, match="did you mean 'influenza'") as caught:
        oboro.verify(people, quasi="age", sensitive="disease", alpha=0.5, value="Influensa")
    monkeypatch.delenv("OBORO_SHOW_VALUES", raising=False)
    assert "influenza" not in str(caught.value)  # a near value is one of the data
    assert "'Influensa'" in str(caught.value)  # the recipe's own is not
    roles = {"age": {"role": "quasi"}, "disease": {"role": "sensitive"}}
    with pytest.raises(ColumnError, match="no record has 'flue'"):
        oboro.KAnonymize(k=2, alpha={"disease": {"alpha": 0.5, "value": "flue"}}).apply(people, attributes=roles)


def test_a_condition_that_names_what_nobody_has_warns() -> None:
    drop = oboro.Recipe(
        attributes={"disease": {"role": "sensitive"}},
        steps=[{"drop_records": {"where": {"disease": {"in": ["flu", "colt"]}}}}],
    )
    release = drop.run({"disease": ["flu", "cold"]})
    assert [str(one) for one in release.steps[0].warnings] == [
        "no record has 'colt' in 'disease'; did you mean 'cold'?"
    ]
    assert "colt" in release.explain()


def test_verify_compares_by_meaning() -> None:
    for column in (["1", "1", "2"], [1, 1, 2], [1.0, 1.0, 2.0], ["1.0", "1.0", "*"], np.array([1, 1, 2], np.int8)):
        table = {"age": [1, 1, 1], "stage": list(column)}
        for value in (1, 1.0, "1", "1.0"):
            asked: dict[str, Any] = {"quasi": "age", "sensitive": "stage", "alpha": 0.5, "value": value}
            assert not oboro.verify(table, **asked).holds, (column, value)


def test_a_broken_alpha_is_not_hidden_by_a_later_step() -> None:
    """The value is there when the step runs; where a later step takes it away, the verdict says that nothing was limited."""
    recipe = oboro.Recipe(
        attributes={"age": {"role": "quasi"}, "s": {"role": "sensitive"}},
        steps=[
            {"k_anonymize": {"k": 2, "alpha": {"s": {"alpha": 0.5, "value": 1}}}},
            {"drop_records": {"where": {"s": {"equals": 1.0}}}},
        ],
    )
    release = recipe.run({"age": ["a"] * 4, "s": ["1", "2", "2", "3"]})
    assert "nothing was limited" in release.verification.sentence()
    with pytest.raises(PromiseError):
        recipe.run({"age": ["a"] * 4, "s": ["1.0", "1", "1", "3"]})


def test_a_domain_and_an_order_are_matched_by_meaning() -> None:
    pk = oboro.PkAnonymize(k=1.5, attributes=("stage",), domain={"stage": [1, 2.0, "3"]})
    for column in (["1", "2", "3", "1"], [1.0, 2.0, 3.0, 1.0], ["1.0", "2.0", "3.0", "1.0"]):
        out = pk.apply({"stage": column}, seed=1)["stage"]
        assert set(out) <= set(column)  # one spelling: a replaced value does not tell that it was
    order = {"quasi": "a", "sensitive": "s", "t": 0.1, "distance": "ordered", "order": ["1", "2", "10"]}
    for column in (["1", "2", "10"], [1, 2, 10], [1.0, 2.0, 10.0], ["1.0", "2.0", "10.0"]):
        assert oboro.verify({"a": [0, 0, 0], "s": column}, **order).holds


def test_a_population_in_another_format() -> None:
    roles = {"age": {"role": "quasi", "hierarchy": {"intervals": [10]}}}
    everybody = pd.DataFrame({"age": [21.0, 22.0, 23.0, 31.0]})
    for ages in (["21", "22"], [21, 22], ["21.0", "22.0"]):
        step = oboro.KAnonymize(k=1, k_map=3, population=everybody)
        assert step.apply({"age": ages}, attributes=roles)["age"] == ["20–29"] * 2


@pytest.mark.parametrize("mode", ["swap", "count"])
def test_streams_match_hierarchies_by_meaning(mode: Any) -> None:
    spec = {"role": "quasi", "hierarchy": {"rows": [[1, "low"], [2, "low"], [True, "yes"], ["2024-01-31", "early"]]}}
    recipe = oboro.Recipe(attributes={"x": spec}, steps=[{"k_anonymize": {"k": 2}}])
    for value, label in ((1, "low"), (1.0, "low"), ("1", "low"), ("1.0", "low"), ("2024/1/31", "early")):
        stream = recipe.stream(mode=mode)
        released = [stream.push({"x": one})[0]["x"] for one in (2 if label == "low" else value, value, value)]
        assert released[-1] in (label, value), (value, released)


# The one function -----------------------------------------------------------------------------------------------------

SPELLINGS = st.sampled_from(
    ["1", "1.0", "01", "-0.0", "0", "2", "x", "X", " x", "true", "True", "2024-01-31", "2024/1/31"]
)


def _means(one: str, other: str, kind: str) -> bool:
    """The naive twin: equal text, or equal numbers, dates or truth values in a column of that kind."""
    if one == other:
        return True
    if kind in ("integer", "number"):
        return _number(one) is not None and _number(one) == _number(other)
    if kind == "date":
        return _date(one) is not None and _date(one) == _date(other)
    return kind == "words" and one.lower() == other.lower()


def _number(text: str) -> float | None:
    return float(text) if text in ("1", "1.0", "-0.0", "0", "2") else None  # 01 is a code


def _date(text: str) -> str | None:
    return "2024-01-31" if text.startswith("2024") else None


@given(st.lists(SPELLINGS, min_size=1, max_size=6), SPELLINGS)
def test_equal_values_against_the_naive_twin(texts: list[str], value: str) -> None:
    column = Column.of(texts)
    kind = "words" if all(text.lower() == "true" for text in texts) else column.kind.value
    expected = [_means(text or "", value, kind) for text in column.texts]
    assert equal_values(column, "x", [value]).tolist() == expected
    assert (absent(column, "x", [value]) == []) == any(expected)
    assert Condition(equals=value).holds(column, "x").tolist() == expected


@given(st.lists(SPELLINGS, min_size=1, max_size=6), st.lists(SPELLINGS, min_size=1, max_size=6, unique=True))
def test_matched_against_the_naive_twin(asked: list[str], known: list[str]) -> None:
    column = Column.of(asked)
    kind = "words" if all(text.lower() == "true" for text in asked) else column.kind.value
    for text, place in zip(column.texts, matched(column.values, pa.array(known)).tolist(), strict=True):
        same = [i for i, one in enumerate(known) if _means(text or "", one, kind)]
        assert place == (known.index(text or "") if text in known else same[0] if len(same) == 1 else -1)


DAYS = [date(2024, 1, 31), date(2024, 2, 1)]
MIDNIGHTS = [datetime(2024, 1, 31), datetime(2024, 2, 1)]
SAME_DAYS = {
    "days": pa.array(DAYS),
    "text": pa.array(["2024/1/31", "2024-02-01"]),
    "seconds": pa.array(["2024-01-31T00:00", "2024-02-01 00:00:00"]),
    **{unit: pa.array(MIDNIGHTS, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
}


@pytest.mark.parametrize("asked", SAME_DAYS)
@pytest.mark.parametrize("known", SAME_DAYS)
def test_a_day_is_its_midnight_however_it_is_written(asked: str, known: str) -> None:
    hours = pa.array([datetime(2024, 1, 31, 5), datetime(2024, 2, 1, 0, 0, 1)])
    assert matched(SAME_DAYS[asked], SAME_DAYS[known]).tolist() == [0, 1]
    assert matched(hours, SAME_DAYS[known]).tolist() == [-1, -1]


def test_columns_of_a_series_share_what_any_of_them_wrote_before() -> None:
    codes, values = shared_codes([Column.of([2]), Column.of([1, 2]), Column.of(["1.0", "2.0"])])
    assert [one.tolist() for one in codes[1:]] == [[1, 0], [1, 0]], values


def test_large_whole_numbers_are_not_confused() -> None:
    asked = pa.array([2**53 + 1])
    assert matched(asked, pa.array([str(2**53), f"{2**53}.0"])).tolist() == [-1]
    assert equal_values(Column.of([2**53, 2**53 + 1]), "x", [2**53 + 1]).tolist() == [False, True]


def test_near_values_are_those_written_alike() -> None:
    near = near_values("influensa", Column.of(["influenza", "Influenza A", "cold", None, "*"]))
    assert [one.value for one in near][:1] == ["influenza"]
    assert near_values("HIV", Column.of(["cold"])) == []
