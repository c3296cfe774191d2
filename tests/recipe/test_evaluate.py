"""`oboro evaluate` on releases that anybody made, and the reports that the command line writes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from oboro.cli.all_commands import app
from oboro.errors import InputError, UsageError
from oboro.report.report import Report

RUN = CliRunner()


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rows = [(20 + i % 40, "FM"[i % 2], ("flu", "cold", "gout")[i % 3]) for i in range(200)]
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    before.write_text("name,age,sex,disease\n" + "".join(f"n{i},{a},{s},{d}\n" for i, (a, s, d) in enumerate(rows)))
    after.write_text("age,sex,disease\n" + "".join(f"{a // 10 * 10}–{a // 10 * 10 + 9},{s},{d}\n" for a, s, d in rows))
    return before, after


def run(*arguments: Any) -> Any:
    done = RUN.invoke(app, ["evaluate", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_another_tools_release_needs_no_recipe(files: tuple[Path, Path], tmp_path: Path) -> None:
    done = run(
        *files,
        "--quasi",
        "age,sex",
        "--sensitive",
        "disease",
        "--identifier",
        "name",
        "--json",
        "--report",
        tmp_path / "r.html",
    )
    found = json.loads(done.stdout)
    assert found["quasi"] == ["age", "sex"]
    assert {one["name"] for one in found["attacks"]} >= {"linkability", "inference_disease", "record_linkage"}
    assert len(found["files"]["input"]["sha256"]) == 64
    assert "No promise was named; the release is" in (tmp_path / "r.html").read_text()
    assert any("n-th released record" in one["text"] for one in found["warnings"])
    Draft202012Validator(Report.json_schema()).validate(found)


def test_guessed_roles_are_said(files: tuple[Path, Path]) -> None:
    found = json.loads(run(*files, "--json", "--attempts", 0).stdout)
    assert found["quasi"] == ["age", "sex"]
    assert found["sensitive"] == ["disease"]
    assert "guessed" in found["warnings"][0]["text"]
    assert found["attacks"] == []


def test_rows_in_another_order_are_noticed(files: tuple[Path, Path]) -> None:
    lines = files[1].read_text().splitlines()
    mixed = random.Random(1).sample(lines[1:], len(lines) - 1)
    files[1].write_text("\n".join([lines[0], *mixed]) + "\n")
    found = json.loads(run(*files, "--quasi", "age,sex", "--json", "--attempts", 50).stdout)
    assert any("not known which" in one["text"] for one in found["warnings"])
    assert "record_linkage" not in {one["name"] for one in found["attacks"]}


def test_both_reports_and_both_languages(files: tuple[Path, Path], tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.ndjson"
    metrics.write_text('{"seconds": 1, "records_per_second": 5}\n{"seconds": 2, "records_per_second": 7}\n')
    run(*files, "--quasi", "age,sex", "--report", tmp_path / "o.html", "--public-report", tmp_path / "p.html", "--lang", "ja",
        "--attempts", 50, "--fraction", 0.1, "--stream-metrics", metrics)  # fmt: skip
    assert "ストリームの推移" in (tmp_path / "o.html").read_text()
    assert "公開版" in (tmp_path / "p.html").read_text()


def test_bad_options_teach(files: tuple[Path, Path], tmp_path: Path) -> None:
    for arguments, error, words in (
        (["--lang", "fr"], UsageError, "--lang"),
        (["--quasi", "agee"], UsageError, "agee"),
        (["--stream-metrics", str(files[0])], InputError, "metrics"),
    ):
        with pytest.raises(error, match=words):
            RUN.invoke(app, ["evaluate", *map(str, files), "--attempts", "0", *arguments], catch_exceptions=False)


def test_the_schema_of_reports_is_printed() -> None:
    done = RUN.invoke(app, ["schema", "report"], catch_exceptions=False)
    assert json.loads(done.stdout)["title"] == "oboro report"
    with pytest.raises(UsageError, match="schema"):
        RUN.invoke(app, ["schema", "nothing"], catch_exceptions=False)
