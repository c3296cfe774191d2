"""Evidence: hashes, counts and modes of files, each against an independent computation."""

from __future__ import annotations

import gzip
import hashlib
import json
import stat
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

import oboro
from oboro.cli.all_commands import app
from oboro.errors import FileError, UsageError
from oboro.report.report import Report

RUN = CliRunner()
ROWS = 120


@pytest.fixture(autouse=True)
def no_models_no_attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models and attacks take most of the time and are tested elsewhere."""
    monkeypatch.setattr("oboro.report.make.fidelity", lambda *tables, **options: [])
    monkeypatch.setattr("oboro.report.make.run_attacks", lambda *tables, **options: [])


def people() -> dict[str, list[Any]]:
    rng = np.random.default_rng(3)
    ages = [int(age) if age < 62 else None for age in rng.integers(20, 65, ROWS)]
    sums = [round(float(one), 2) for one in rng.normal(50, 10, ROWS)]
    return {"id": [f"p{i}" for i in range(ROWS)], "age": ages, "job": rng.choice(["a", "b"], ROWS).tolist(), "x": sums}


def recipe(*steps: dict[str, Any], **more: Any) -> oboro.Recipe:
    attributes = {
        "id": {"role": "other"},
        "age": {"role": "quasi", "hierarchy": {"intervals": [10]}},
        "job": {"role": "quasi"},
        "x": {"role": "other"},
    }
    accept = {"unique_on": list(attributes), "because": "made up"}
    return oboro.Recipe(attributes=attributes, steps=list(steps), accept=accept, **more)


def sha256sum(path: Path) -> str:
    return subprocess.run(["sha256sum", str(path)], capture_output=True, text=True, check=True).stdout.split()[0]


# Files ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A folder with a table in every format, a hierarchy file and a recipe that names it."""
    table = pa.table(people())
    rows = [
        ",".join(table.column_names),
        *(",".join("" if c is None else str(c) for c in r.values()) for r in table.to_pylist()),
    ]
    text = "\n".join(rows) + "\n"
    (tmp_path / "in.csv").write_text(text)
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(text.encode()))
    pq.write_table(table, tmp_path / "in.parquet")
    pyarrow.feather.write_feather(table, str(tmp_path / "in.feather"))
    ages = [f"{age};{age // 10 * 10}-{age // 10 * 10 + 9};*" for age in range(15, 70)]
    (tmp_path / "ages.csv").write_text("\n".join(ages))
    content = yaml.safe_load(
        recipe({"drop_columns": {"attributes": ["id"]}}, {"k_anonymize": {"k": 5, "suppress": 0.1}}).to_yaml()
    )
    content["attributes"]["age"]["hierarchy"] = {"csv": "ages.csv"}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(content))
    return tmp_path


@pytest.mark.parametrize(
    ("source", "output"),
    [("in.csv", "out.csv"), ("in.csv.gz", "out.csv.gz"), ("in.parquet", "out.parquet"), ("in.feather", "out.csv.zst")],
)
def test_hashes_are_those_of_the_files(job: Path, source: str, output: str) -> None:
    release = oboro.Recipe.load(job / "recipe.yaml").run(job / source)
    release.write(job / output)
    files = release.with_files(job / output).files
    assert {role: one["path"] for role, one in files.items()} == {
        "input": source,
        "hierarchy of age": "ages.csv",
        "output": output,
    }
    for one in files.values():
        assert one["sha256"] == sha256sum(job / one["path"])
        assert one["bytes"] == (job / one["path"]).stat().st_size


def test_a_table_that_is_replaced_leaves_its_hash(job: Path) -> None:
    before = sha256sum(job / "in.csv")
    release = oboro.Recipe.load(job / "recipe.yaml").run(job / "in.csv")
    release.write(job / "in.csv", force=True)
    files = release.with_files(job / "in.csv").files
    assert files["input"]["sha256"] == before
    assert files["output"]["sha256"] == sha256sum(job / "in.csv") != before


def test_evaluate_leaves_evidence_of_all_that_it_read(job: Path) -> None:
    release = oboro.Recipe.load(job / "recipe.yaml").run(job / "in.csv")
    release.write(job / "out.csv")
    (job / "truth.csv").write_text("row\n" + "".join(f"{i + 1}\n" for i in range(ROWS)))
    names = {"control group": "in.parquet", "truth": "truth.csv", "recipe": "recipe.yaml"}
    options = [
        "--control",
        job / "in.parquet",
        "--truth",
        job / "truth.csv",
        "--recipe",
        job / "recipe.yaml",
        "--attempts",
        0,
        "--json",
    ]
    done = RUN.invoke(app, ["evaluate", *map(str, (job / "in.csv", job / "out.csv", *options))], catch_exceptions=False)
    files = json.loads(done.stdout)["files"]
    names |= {"input": "in.csv", "output": "out.csv", "hierarchy of age": "ages.csv"}
    assert {role: one["sha256"] for role, one in files.items()} == {
        role: sha256sum(job / name) for role, name in names.items()
    }


# Steps ----------------------------------------------------------------------------------------------------------------

STEPS: list[dict[str, Any]] = [
    {"noise": {"attribute": "x", "scale": 2.0}},
    {"round": {"attribute": "x", "base": 5}},
    {"top_code": {"attribute": "age", "at": 50}},
    {"bottom_code": {"attribute": "x", "at": 45}},
    {"generalize": {"attribute": "age", "level": 1}},
    {"k_anonymize": {"k": 5, "suppress": 0.2}},
    {"swap": {"attributes": ["x"], "fraction": 0.3}},
    {"microaggregate": {"attributes": ["x"], "k": 5}},
    {"shuffle": {}},
    {"shuffle": {"attributes": ["x"]}},
    {"sort": {"by": ["x"]}},
    {"sample": {"fraction": 0.5}},
    {"drop_records": {"where": {"x": {"above": 60}}}},
    {"drop_columns": {"attributes": ["x"]}},
    {"pk_anonymize": {"k": 2}},
    {"local_recode": {"k": 5}},
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: "-".join([*step, *step[next(iter(step))]]))
def test_what_a_step_changed_equals_a_naive_count(step: dict[str, Any]) -> None:
    table = people()
    release = recipe(step, seed=7).run(table)
    row = {name: i for i, name in enumerate(table["id"])}
    changed = {
        name: sum(
            _text(table[name][row[person]]) != _text(value)
            for person, value in zip(release.data["id"], values, strict=True)
        )
        for name, values in release.data.items()
    }
    record = release.steps[0]
    assert record.changed == {name: count for name, count in changed.items() if count}
    assert (record.rows_before, record.rows_after) == (ROWS, len(release.data["id"]))


def _text(value: Any) -> str | None:
    """As the report compares: 50.0 is 50."""
    return None if value is None else str(int(value) if isinstance(value, float) and value.is_integer() else value)


def test_the_seed_is_told_to_the_owner_only() -> None:
    shuffled = recipe({"k_anonymize": {"k": 5, "suppress": 0.1}}, {"shuffle": {}}, seed=918273)
    report = shuffled.run(people()).report
    assert "918273; whoever has it" in report.to_html()
    assert "918273" not in report.to_public().to_html()


def test_a_drawn_seed_is_kept_nowhere() -> None:
    """With it whoever has the report could subtract the noise and make the pseudonyms again."""
    release = recipe({"noise": {"attribute": "x", "scale": 2.0}}).run(people())
    assert release.report.seeded is False
    assert "the random choices cannot be repeated" in release.report.to_html()
    assert "seed" not in release.report.recipe


def test_models_are_verified_after_the_last_step() -> None:
    """A sample makes classes smaller: what is told is the smallest class of what is released."""
    release = recipe(
        {"k_anonymize": {"k": 8, "suppress": 0.1}}, {"drop_records": {"where": {"id": {"equals": "p7"}}}}
    ).run(people())
    classes = Counter(zip(release.data["age"], release.data["job"], strict=True))
    verdict = release.report.verdicts[0]
    assert (verdict.holds, verdict.achieved, verdict.groups) == (True, min(classes.values()), len(classes))


# Where reports go -----------------------------------------------------------------------------------------------------


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def anonymize(job: Path, *options: Any) -> Any:
    arguments = ["anonymize", job / "in.csv", "--recipe", job / "recipe.yaml", "--output", job / "out.csv", *options]
    return RUN.invoke(app, list(map(str, arguments)), catch_exceptions=False)


def test_only_the_owner_may_read_the_owners_report(job: Path) -> None:
    (job / "old.html").write_text("an older report, open to all")
    assert (
        anonymize(job, "--report", job / "old.html", "--public-report", job / "public.html", "--force").exit_code == 0
    )
    assert mode(job / "old.html") == 0o600
    assert mode(job / "public.html") == mode(job / "out.csv")
    report = oboro.Recipe.load(job / "recipe.yaml").run(job / "in.csv").report
    report.to_html(job / "python.html")
    report.to_public().to_html(job / "python-public.html")
    assert mode(job / "python.html") == 0o600
    assert mode(job / "python-public.html") == mode(job / "out.csv")
    assert not [one for one in job.iterdir() if one.name.endswith(".part")]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (["--report", "nowhere/r.html"], FileError, "no such folder"),
        (["--report", "."], FileError, "it is a folder"),
        (["--report", "in.csv"], UsageError, "another file of this job"),
        (["--report", "out.csv"], UsageError, "another file of this job"),
        (["--report", "recipe.yaml"], UsageError, "another file of this job"),
        (["--report", "r.html", "--public-report", "r.html"], UsageError, "another file of this job"),
        (["--lang", "fr"], UsageError, "--lang"),
    ],
)
def test_what_cannot_be_written_is_said_before_any_work(
    job: Path, options: list[str], error: type[Exception], words: str
) -> None:
    before = {path.name: path.read_bytes() for path in job.iterdir()}
    places = [option if option.startswith("--") or option == "fr" else job / option for option in options]
    with pytest.raises(error, match=words):
        anonymize(job, *places)
    assert {path.name: path.read_bytes() for path in job.iterdir()} == before


def test_the_report_of_json_is_the_report_of_the_page(job: Path) -> None:
    found = json.loads(anonymize(job, "--json").stdout)
    report = Report.model_validate(found)
    assert found["table"]["rows_before"] == ROWS
    assert (report.table.columns_before, report.table.columns_after, report.table.dropped) == (4, 3, ["id"])
    assert hashlib.sha256((job / "out.csv").read_bytes()).hexdigest() in report.to_html()
