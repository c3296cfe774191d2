"""`oboro evaluate` on releases as other tools write them: figures that were computed by hand, or an error that says the way out."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from oboro.attacks.row_pairing import correspond
from oboro.cli.all_commands import app
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.errors import UsageError
from oboro.hierarchies.recoding import implied_hierarchy
from oboro.recipe.evaluate import comparable, renaming

RUN = CliRunner()
AGES = list(range(20, 60))
ZIPS = ["13053", "13068", "14850", "14853", "02138"]
ROWS = 400
PEOPLE = [(AGES[i % 40], ZIPS[i * 7 % 5], ("HS", "BSc", "MSc")[i * 3 // 2 % 3], i * 1.25 + 0.5) for i in range(ROWS)]
HEAD = ["age", "zip", "edu", "sum"]
SUBTITLE = {"HS": "low", "BSc": "low", "MSc": "high"}


@pytest.fixture(autouse=True)
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training models takes most of the time and is tested elsewhere."""
    monkeypatch.setattr("oboro.report.make.fidelity", lambda *tables, **options: [])


def write(path: Path, head: list[str], rows: list[tuple[Any, ...]], **style: Any) -> Path:
    encoding = style.pop("encoding", "utf-8")
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, **style)
        writer.writerow(head)
        writer.writerows(rows)
    return path


def evaluate(original: Path, released: Path, *options: Any) -> dict[str, Any]:
    attempts = () if "--attempts" in options else ("--attempts", 0)
    arguments = ["evaluate", original, released, "--json", *attempts, *options]
    done = RUN.invoke(app, list(map(str, arguments)), catch_exceptions=False)
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.exit_code == int(found["holds"] is False or found["exposed"]["refused"] > 0), done.output
    return found


def figure(report: dict[str, Any], name: str, column: str | None = None) -> float:
    return next(one["value"] for one in report["utility"] if one["name"] == name and one["column"] == column)  # type: ignore[no-any-return]


def bars(report: dict[str, Any], column: str) -> dict[str, tuple[int, int]]:
    facts = next(one for one in report["columns"] if one["name"] == column)
    return {bar["label"]: (bar["before"], bar["after"]) for bar in facts["distribution"]["bars"]}


# Labels ---------------------------------------------------------------------------------------------------------------

DECADES: list[tuple[str, Callable[[int], str]]] = [
    ("oboro", lambda low: f"{low}–{low + 9}"),
    ("hyphen", lambda low: f"{low}-{low + 9}"),
    ("arx", lambda low: f"[{low}, {low + 10}["),
    ("mathematics", lambda low: f"[{low},{low + 10})"),
    ("pandas", lambda low: f"({low - 1}, {low + 9}]"),
    ("pandas floats", lambda low: f"({low - 1}.0, {low + 9}.0]"),
    ("french", lambda low: f"]{low - 1}, {low + 9}]"),
    ("stars", lambda low: f"{low // 10}*"),
    ("list", lambda low: "[" + ",".join(str(low + i) for i in range(10)) + "]"),
    ("tilde", lambda low: f"{low}~{low + 9}"),
    ("japanese", lambda low: f"{low}代"),
    ("japanese range", lambda low: f"{low}歳以上{low + 10}歳未満"),
    ("words", lambda low: f"group {'abcdef'[low // 10]}"),  # nothing but the records behind it says what it is
]


@pytest.mark.parametrize(("name", "label"), DECADES)
def test_every_notation_gives_the_same_figures(name: str, label: Callable[[int], str], tmp_path: Path) -> None:
    before = write(tmp_path / "o.csv", HEAD, PEOPLE)
    after = write(tmp_path / "r.csv", HEAD, [(label(age // 10 * 10), *rest) for age, *rest in PEOPLE], delimiter=";")
    attacked = name in ("arx", "stars", "words")
    found = evaluate(before, after, "--quasi", "age,edu", "--attempts", 200 if attacked else 0)
    # A decade of forty ages reaches over 9 of the range of 39; ages are even, so nothing moves when labels are spread.
    assert figure(found, "ncp", "age") == pytest.approx(9 / 39)
    assert figure(found, "kolmogorov_smirnov", "age") == pytest.approx(0)
    assert bars(found, "age")[label(20)] == (100, 100)
    assert found["risk"]["uniques"] == 0
    for linked in (one for one in found["attacks"] if one["name"] == "record_linkage"):
        classes = {(age // 10, edu) for age, _, edu, _ in PEOPLE}
        # One of each class, by chance; four standard deviations of 200 guesses.
        assert linked["attack"]["share"] == pytest.approx(len(classes) / ROWS, abs=0.04)
        assert "attack.note.strange" not in [note["id"] for note in linked["notes"]]
    assert attacked == any(one["name"] == "record_linkage" for one in found["attacks"])


def test_sets_prefixes_and_masks_of_categories() -> None:
    original = Column.of(ZIPS * 4)
    for label in (lambda z: z[:3] + "**", lambda z: z[:3], lambda z: z[:3] + "xx" if z == "none" else z[:3] + "**"):
        found = implied_hierarchy("zip", original, Column.of([label(z) for z in ZIPS * 4]), None)
        assert found is not None
        assert [len(level.labels) for level in found.levels] == [5, 3, 1]
        share = dict(zip(found.levels[1].labels.to_pylist(), found.levels[1].share.tolist(), strict=True))
        assert share[label("13053")] == pytest.approx(2 / 5)
        assert share[label("02138")] == 0.0


def test_labels_that_overlap_show_no_hierarchy_and_are_understood_all_the_same(tmp_path: Path) -> None:
    """As Mondrian releases them: 20-35 here, 30-45 there."""
    before = write(tmp_path / "o.csv", HEAD, PEOPLE)
    labels = [f"{age - i % 3}-{age + 5}" for i, (age, *_) in enumerate(PEOPLE)]
    after = write(tmp_path / "r.csv", HEAD, [(label, *rest) for label, (_, *rest) in zip(labels, PEOPLE, strict=True)])
    found = evaluate(before, after, "--quasi", "age")
    assert not any(one["id"].startswith("report.warning.labels") for one in found["warnings"])
    originals, released = Dataset.of({"age": [a for a, *_ in PEOPLE]}), Dataset.of({"age": labels})
    assert implied_hierarchy("age", originals["age"], released["age"], slice(None)) is None


def test_labels_that_nothing_explains_are_a_warning(tmp_path: Path) -> None:
    before = write(tmp_path / "o.csv", HEAD, PEOPLE)
    rows = [(f"group {age % 3}", zip_, SUBTITLE[edu], total) for age, zip_, edu, total in PEOPLE]
    after = write(tmp_path / "r.csv", HEAD, rows)
    warnings = evaluate(before, after, "--quasi", "age,edu", "--unpaired")["warnings"]
    unclear = next(one for one in warnings if one["id"] == "report.warning.labels_unclear")
    assert unclear["values"] == {"columns": ["age", "edu"]}
    assert unclear["text"].startswith("It is not known which values these released labels stand for")


def test_codes_follow_from_values_though_nothing_explains_them() -> None:
    original = Dataset.of({"sex": ["F", "M", "M"] * 50, "edu": ["a", "b", "c", "d", "e"] * 30})
    recoded = Dataset.of({"sex": [1, 2, 2] * 50, "edu": ["x", "x", "y", "y", "z"] * 30})
    assert correspond(original, recoded, ["sex", "edu"])
    mixed = Dataset.of({"sex": [1, 2, 2] * 50, "edu": ["z", "y", "y", "x", "x", "x"] * 25})
    assert not correspond(original, Dataset.of({"edu": mixed["edu"].decode().to_pylist()}), ["edu"])


# Suppressed and missing -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", ["NA", "", "NaN", "NULL", "?", "*"])
def test_na_counts_as_suppressed(nothing: str, tmp_path: Path) -> None:
    before = write(tmp_path / "o.csv", HEAD, PEOPLE)
    after = write(tmp_path / "r.csv", HEAD, [(nothing if age >= 50 else age, *rest) for age, *rest in PEOPLE])
    found = evaluate(before, after, "--quasi", "age,edu")
    assert figure(found, "suppressed_cells", "age") == pytest.approx(0.25)
    assert figure(found, "ncp", "age") == pytest.approx(0.25)
    assert any("count as suppressed: age" in one["text"] for one in found["warnings"]) == (nothing != "*")


def test_a_word_that_the_original_has_is_a_value() -> None:
    before, after = Dataset.of({"country": ["NA", "JP"] * 5}), Dataset.of({"country": ["NA", "*"] * 5})
    kept, released, notes = comparable(before, after, {})
    assert (kept["country"].texts, released["country"].texts, notes) == (["NA", "JP"], ["NA", "*"], [])


def test_values_that_were_missing_before_stay_missing() -> None:
    before, after = Dataset.of({"x": ["1", "NA", "3"]}), Dataset.of({"x": ["NA", "NA", "3"]})
    kept, released, notes = comparable(before, after, {})
    assert (kept["x"].decode().to_pylist(), released["x"].decode().to_pylist(), notes) == (
        ["1", None, "3"],
        [None, None, "3"],
        [],
    )


@pytest.mark.parametrize("form", [",.2f", ".2f"])
def test_decimal_commas_are_numbers(tmp_path: Path, form: str) -> None:
    before = write(tmp_path / "o.csv", HEAD, [(*head, total + 1000) for *head, total in PEOPLE])
    swapped = str.maketrans(",.", ".,")  # 1.001,25
    rows = [(age, zip_, edu, f"{total + 1001:{form}}".translate(swapped)) for age, zip_, edu, total in PEOPLE]
    found = evaluate(before, write(tmp_path / "r.csv", HEAD, rows, delimiter=";"), "--quasi", "age")
    assert any("decimal comma were read as numbers: sum" in one["text"] for one in found["warnings"])
    assert next(one["kind"] for one in found["columns"] if one["name"] == "sum") == "number"
    assert figure(found, "wasserstein", "sum") == pytest.approx(1 / (ROWS * 1.25 - 1.25 + 1))  # everything moved by 1


# Names, rows, files ---------------------------------------------------------------------------------------------------


def test_names_that_differ_in_capitals_and_marks_are_the_same() -> None:
    before = Dataset.of({"marital status": ["a"], "Age": [1], "zip": ["x"], "ZIP": ["y"]})
    after = Dataset.of({"marital.status": ["a"], "AGE": [1], "Zip": ["x"]})
    _, released, notes = comparable(before, after, {})
    assert list(released) == ["marital status", "Age", "Zip"]  # of zip and ZIP nobody knows which
    assert [str(one) for one in notes] == [
        "These columns are taken to be the same although their names differ: marital.status = marital status; AGE = Age."
    ]
    assert list(comparable(before, after, {"Zip": "ZIP"})[1]) == ["marital status", "Age", "ZIP"]


def test_names_that_do_not_fit_are_an_error_with_a_way_out() -> None:
    before, after = Dataset.of({"a": [1], "b": [2]}), Dataset.of({"x": [1], "y": [2]})
    with pytest.raises(UsageError, match="no column in common.*--rename"):
        comparable(before, after, {})
    with pytest.raises(UsageError, match="the release has no column 'z'; it has 'x'"):
        comparable(before, after, {"z": "a"})
    with pytest.raises(UsageError, match="the original table has no column 'c'; it has 'a'"):
        comparable(before, after, {"x": "c"})
    with pytest.raises(UsageError, match="same name"):
        comparable(before, after, {"x": "a", "y": "a"})
    with pytest.raises(UsageError, match="Age=age"):
        renaming("Age")
    assert renaming("A=a, B = b") == {"A": "a", "B": "b"}
    assert renaming(None) == {}


def test_a_column_of_another_name_is_taken_as_dropped_and_said(tmp_path: Path) -> None:
    before = write(tmp_path / "o.csv", HEAD, PEOPLE)
    after = write(tmp_path / "r.csv", ["Age", "ZIP", "Schooling", "Sum"], PEOPLE)
    found = evaluate(before, after, "--quasi", "age,edu")
    assert any("Taken as not released: edu. The release has Schooling" in one["text"] for one in found["warnings"])
    assert found["quasi"] == ["age"]
    assert evaluate(before, after, "--quasi", "age,edu", "--rename", "Schooling=edu")["quasi"] == ["age", "edu"]


def test_other_orders_and_numbers_of_rows_and_columns(tmp_path: Path) -> None:
    before = write(tmp_path / "o.csv", HEAD, PEOPLE)
    turned = write(tmp_path / "turned.csv", HEAD[::-1], [row[::-1] for row in PEOPLE])
    assert figure(evaluate(before, turned, "--quasi", "age,edu"), "ncp") == 0
    fewer = evaluate(before, write(tmp_path / "fewer.csv", HEAD, PEOPLE[:300]), "--quasi", "age", "--attempts", 20)
    assert (fewer["table"]["rows_before"], fewer["table"]["rows_after"]) == (400, 300)
    more = evaluate(before, write(tmp_path / "more.csv", HEAD, PEOPLE + PEOPLE[:50]), "--quasi", "age")
    assert more["table"]["rows_after"] == 450
    for found in (fewer, more):
        assert any("not known which released record" in one["text"] for one in found["warnings"])
        assert "record_linkage" not in {one["name"] for one in found["attacks"]}


@pytest.mark.parametrize("form", ["cp932", "bom", "tab", "parquet"])
def test_files_of_other_forms(form: str, tmp_path: Path) -> None:
    head, rows = ["年齢", "性別"], [(age, "女" if i % 2 else "男") for i, (age, *_) in enumerate(PEOPLE)]
    decades = [(f"{age // 10 * 10}代", sex) for age, sex in rows]
    before = write(tmp_path / "o.csv", head, rows, encoding="cp932")
    if form == "parquet":
        after = tmp_path / "r.parquet"
        pq.write_table(pa.table(dict(zip(head, map(list, zip(*decades, strict=True)), strict=True))), after)
    else:
        style: dict[str, Any] = {
            "cp932": {"encoding": "cp932"},
            "bom": {"encoding": "utf-8-sig"},
            "tab": {"delimiter": "\t"},
        }[form]
        after = write(tmp_path / "r.csv", head, decades, **style)
    found = evaluate(before, after, "--quasi", "年齢,性別")
    assert figure(found, "ncp", "年齢") == pytest.approx(9 / 39)
    assert bars(found, "年齢")["20代"] == (100, 100)


def test_the_verifier_explains_labels_to_a_population(tmp_path: Path) -> None:
    """Who looks like a class is counted by what its labels say; a recipe is not needed for that."""
    everybody = write(tmp_path / "all.csv", HEAD, PEOPLE)
    decades = [(f"[{age // 10 * 10}, {age // 10 * 10 + 10}[", edu) for age, _, edu, _ in PEOPLE[:100]]
    after = write(tmp_path / "r.csv", ["age", "edu"], decades)
    counts = Counter((age // 10, edu) for age, _, edu, _ in PEOPLE)
    least = min(counts[age // 10, edu] for age, _, edu, _ in PEOPLE[:100])
    for k, code in ((least, 0), (least + 1, 1)):
        arguments = ["verify", after, "--quasi", "age,edu", "--population", everybody, "--k-map", k]
        assert RUN.invoke(app, list(map(str, arguments)), catch_exceptions=False).exit_code == code
