"""What the report says of utility, of releases without classes, and in which language it shows itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.building import english_left
from tests.report.report_cases import Page
from typer.testing import CliRunner

import oboro
from oboro.cli.all_commands import app
from oboro.errors import UsageError
from oboro.measures.statistics import fidelity
from oboro.report.report import Report

ROWS = 300


def table() -> dict[str, list[Any]]:
    rng = np.random.default_rng(2)
    ages = rng.integers(20, 80, ROWS)
    return {
        "id": [f"n{i}" for i in range(ROWS)],
        "age": ages.tolist(),
        "sex": rng.choice(["F", "M"], ROWS).tolist(),
        "illness": rng.choice(["flu", "cold", "gout"], ROWS).tolist(),
        "paid": (ages * 100 + rng.integers(0, 900, ROWS)).tolist(),
    }


ROLES = {"id": "identifier", "age": "quasi", "sex": "quasi", "illness": "sensitive", "paid": "other"}


def run(*steps: dict[str, Any], **more: Any) -> Any:
    attributes: dict[str, Any] = {name: {"role": role, **more.get(name, {})} for name, role in ROLES.items()}
    accept = {"unique_on": list(ROLES), "because": "made up"}
    return oboro.Recipe(attributes=attributes, steps=list(steps), seed=3, accept=accept).run(table())


@pytest.fixture(scope="module")
def made() -> Any:
    """Pseudonyms, noise and classes: everything can be measured."""
    steps: list[dict[str, Any]] = [
        {"pseudonymize": {"attribute": "id", "method": "random"}},
        {"noise": {"attribute": "paid", "relative": 0.1}},
        {"microaggregate": {"attributes": ["age"], "k": 5}},
    ]
    return run(*steps)


@pytest.fixture(scope="module")
def noisy(made: Any) -> Report:
    report: Report = made.report
    return report


@pytest.fixture(scope="module")
def concealed() -> Report:
    return run({"drop_columns": {"attributes": ["id"]}}, {"k_conceal": {"k": 4}}).report


# Measures -------------------------------------------------------------------------------------------------------------

OVERALL = {
    "records_released", "suppressed_records", "suppressed_cells", "ncp", "discernibility", "average_class_size",
    "non_uniform_entropy", "sse", "mean_squared_error", "lost_values", "total_variation", "kolmogorov_smirnov", "wasserstein",
    "kl_histogram", "jensen_shannon", "kl_density_ratio", "association_difference", "correlation_difference",
    "propensity_mse",
}  # fmt: skip


def test_every_measure_is_there_overall_per_column_and_per_pair(noisy: Report) -> None:
    def of(kind: str) -> set[str]:
        where = {"whole": lambda c: c is None, "pair": lambda c: c and " × " in c}
        return {one.name for one in noisy.utility if where[kind](one.column)}

    assert of("whole") >= OVERALL
    assert of("pair") == {"association_difference", "correlation_difference"}
    found = {(one.name, one.column): one for one in noisy.utility}
    for name in ("kl_histogram", "jensen_shannon", "kl_density_ratio", "wasserstein", "kolmogorov_smirnov"):
        assert found[name, "paid"].value is not None
    for one in noisy.utility:
        assert str(one.meaning)
        assert one.better in ("lower", "higher", "neither")
        assert one.low is not None


def test_pseudonyms_are_no_loss_of_statistics(noisy: Report) -> None:
    assert not [one for one in noisy.utility if one.column and "id" in one.column.split(" × ")]


def test_measures_are_those_of_fidelity(made: Any) -> None:
    names = ["age", "sex", "illness", "paid"]
    trees = made.given.fitting_hierarchies(made.original)
    measures = fidelity(made.original, made.dataset, columns=names, hierarchies=trees)
    found = {(one.name, one.column): one.value for one in made.report.utility}
    for one in measures:
        assert found[one.name, one.column] == pytest.approx(one.value), one.title


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_page_explains_every_measure(noisy: Report, lang: str) -> None:
    text = " ".join(Page(noisy.to_html(lang=lang)).text.split())
    for one in noisy.utility:
        if one.column is None:
            assert one.title.say(lang) in text
        if one.column is None and one.value is not None:
            assert one.meaning.say(lang)[1:] in text  # its first letter is a capital
    assert "±" in text


def test_the_schema_knows_the_new_fields(noisy: Report) -> None:
    properties = Report.json_schema()["properties"]
    assert {"lang", "risk_applies", "least_candidates", "utility"} <= set(properties)
    assert json.loads(json.dumps(noisy.as_dict()))["risk_applies"] is True


def test_a_target_is_learned_and_shown(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", table())
    page, options = tmp_path / "r.html", ["--quasi", "age,sex", "--target", "paid", "--identifier", "id"]
    files = [str(tmp_path / "a.csv")] * 2
    result = CliRunner().invoke(app, ["evaluate", *files, *options, "--report", str(page), "--lang", "ja", "--json"])
    assert result.exit_code == 1, result.output  # the original itself: everybody is unique by id
    found = {one["name"]: one for one in json.loads(result.stdout)["utility"] if one["column"] == "paid"}
    assert found["learned_from_released"]["value"] == pytest.approx(found["learned_from_original"]["value"], abs=0.2)
    assert found["learned_from_released"]["error"] > 0
    assert "paid を予測するモデル" in Page(page.read_text()).text
    result = CliRunner().invoke(app, ["evaluate", *files, "--quasi", "age", "--target", "nope"])
    assert isinstance(result.exception, UsageError)
    assert "target: both tables" in str(result.exception)


def write(path: Path, columns: dict[str, list[Any]]) -> None:
    rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([",".join(columns), *rows]) + "\n")


# Releases without classes ---------------------------------------------------------------------------------------------


def test_risks_that_count_classes_do_not_apply_to_a_concealed_release(concealed: Report) -> None:
    assert concealed.holds
    assert concealed.risk_applies is False
    assert concealed.least_candidates is not None
    assert concealed.least_candidates >= 4
    assert all("does not apply" in one.note for one in concealed.risk_measures)
    assert concealed.uniqueness is None
    assert concealed.special is None
    assert concealed.to_public().least_candidates == concealed.least_candidates
    item = next(one for one in concealed.checklists[0].items if one.key == "34-4")
    assert f"at least {concealed.least_candidates} people" in item.evidence


@pytest.mark.parametrize(
    ("lang", "said", "not_said", "least"),
    [
        ("en", "not made of equivalence classes", "prosecutor: the most exposed record", "fewest candidates"),
        ("ja", "同値類からなるものではありません", "検察官モデル・最大", "最少候補数"),
    ],
)
def test_the_page_says_what_applies_instead(concealed: Report, lang: str, said: str, not_said: str, least: str) -> None:
    text = Page(concealed.to_html(lang=lang)).text
    assert said in text
    assert least in text
    assert not_said not in text
    assert lang == "en" or english_left(concealed) == set()
    assert least in concealed.in_language(lang).summary()


def test_risks_apply_to_classes(noisy: Report) -> None:
    assert noisy.risk_applies
    assert noisy.least_candidates is None
    assert "prosecutor: the most exposed record" in Page(noisy.to_html()).text


# Language -------------------------------------------------------------------------------------------------------------


def test_a_report_shows_itself_in_its_language(noisy: Report) -> None:
    japanese = noisy.in_language("ja")
    lines = japanese.summary().splitlines()
    assert lines[0].startswith("すべての約束") or lines[0].startswith("約束がない")
    assert any(line.startswith("リスク") for line in lines)
    assert "提供した行" in japanese._repr_html_()
    assert "rows released" in noisy._repr_html_()
    assert '<html lang="ja">' in japanese.to_html()
    assert english_left(noisy) == set()
    assert japanese.as_dict() == {**noisy.as_dict(), "lang": "ja"}
    with pytest.raises(UsageError, match="lang"):
        noisy.in_language("fr")
