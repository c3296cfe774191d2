"""Canaries: what would help to undo the processing (values, parameters, names) is nowhere in a public report, whatever the step."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from jsonschema import Draft202012Validator

import oboro
from oboro.report.report import Report
from oboro.techniques import TECHNIQUES
from oboro.techniques.base import SecretExample

SCHEMA = Draft202012Validator(Report.json_schema())
ROWS = 240
SEED = 918273645
KEY = "canary-key-0123456789abcdef"
RARE = {"job": "Canaryjob", "illness": "Canaryitis"}  # one person each
EXTREME = {"age": 116, "income": 31415926, "height": 271.828}


def people() -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)

    def some(values: list[Any], last: Any) -> list[Any]:
        return [*rng.choice(values, ROWS - 1).tolist(), last]

    return {
        "name": [f"Canaryname{i:03d}" for i in range(ROWS)],
        "canarycolumn": [f"Canarycell{i % 9}" for i in range(ROWS)],
        "age": some(list(range(20, 60)), EXTREME["age"]),
        "job": some(["cook", "clerk", "nurse"], RARE["job"]),
        "illness": some(["flu", "cold"], RARE["illness"]),
        "income": [*rng.integers(20_000, 90_000, ROWS - 1).tolist(), EXTREME["income"]],
        "height": [*np.round(rng.normal(170, 9, ROWS - 1), 3).tolist(), EXTREME["height"]],
        "visit": some([f"2024-03-0{day}" for day in range(1, 10)], "2024-03-01"),
    }


def example_of(step: str) -> SecretExample:
    example = TECHNIQUES[step].secret_example
    assert example is not None, f"{step}: name a `secret_example` in {TECHNIQUES[step].__name__}"
    return example


def recipe(step: str, folder: Path) -> oboro.Recipe:
    example = example_of(step)
    lines = [f"{age};{age // 20 * 20}-{age // 20 * 20 + 19};Canarylabel{age // 60};*" for age in range(20, 120)]
    (folder / "canaryhierarchy.csv").write_text("\n".join(lines))
    content = {
        "attributes": {
            "name": {"role": "identifier"},
            "canarycolumn": {"role": "identifier"},
            "age": {"role": "quasi", "hierarchy": {"csv": "canaryhierarchy.csv"}},
            "job": {"role": "quasi"},
            "illness": {"role": "sensitive"},
            "income": {"role": "other"},
            "height": {"role": "other"},
            "visit": {"role": "other"},
        },
        "steps": [
            *([{"drop_columns": {"attributes": [*example.dropped]}}] if example.dropped else []),
            {step: example.parameters},
        ],
        "seed": SEED,
        "accept": {"unique_on": ["age", "job", "income", "height", "visit"], "because": "canaries are no people"},
    }
    if {"income", "height"} & {*example.dropped}:
        del content["accept"]
    return oboro.Recipe.parse(yaml.safe_dump(content), folder=folder)


def everything(report: Report) -> str:
    """All that a reader could see or look up: the page with its source, the JSON, the summary, the notebook's view."""
    shown = [report.for_laws("all").to_html(), report.summary(), report._repr_html_()]
    shown.append(json.dumps(report.as_dict(), ensure_ascii=False))
    return "\n".join([*shown, *map(unescape, shown)])


@pytest.mark.parametrize("step", list(TECHNIQUES))
def test_no_canary_sings(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)
    if step not in ("noise", "k_anonymize"):  # models and attacks take most of the time
        monkeypatch.setattr("oboro.report.make.fidelity", lambda *tables, **options: [])
        monkeypatch.setattr("oboro.report.make.run_attacks", lambda *tables, **options: [])
    table = people()
    source, output = tmp_path / "canaryinput.csv", tmp_path / "canaryoutput.csv"
    rows = zip(*table.values(), strict=True)
    source.write_text("\n".join([",".join(table), *(",".join(map(str, row)) for row in rows)]) + "\n")
    release = recipe(step, tmp_path).run(source)
    release.write(output)
    owner = release.with_files(output)
    for report in (owner, owner.to_public()):
        SCHEMA.validate(report.as_dict())
    public = everything(owner.to_public())
    released = output.read_text()
    canaries = [
        str(SEED),
        "anaryname",
        "anarycell",
        "anarycolumn",
        "anaryhierarchy",
        "anaryinput",
        "anaryoutput",
        "anarylabel",
    ]
    canaries += [
        *RARE.values(),
        *example_of(step).hidden,
        KEY,
        str(EXTREME["income"]),
        f"{EXTREME['income']:,}",
        "271.828",
        "31.4159",
    ]
    canaries += [owner.files["input"]["sha256"], owner.files["hierarchy of age"]["sha256"]]
    assert [one for one in canaries if one in public and one not in released] == []
    labels = [bar.label for one in owner.to_public().columns if one.distribution for bar in one.distribution.bars]
    assert not [label for label in labels if re.search(r"\b116\b", label) and label not in released]
    assert owner.files["output"]["sha256"] in public
    rates = [rate.share for one in owner.to_public().attacks for rate in (one.found, one.control) if rate.share]
    assert rates == [round(rate, 2) for rate in rates]


def test_the_owner_hears_them(tmp_path: Path) -> None:
    """The canaries are real: the owner's report has parameters and names that the public one lacks, and no rare value either."""
    release = recipe("top_code", tmp_path).run(people())
    owner = everything(release.report)
    for heard in (str(SEED), "canarycolumn", "canaryhierarchy", "76543"):
        assert heard in owner, heard
    assert "Canaryname007" not in owner
    assert RARE["job"] not in owner
