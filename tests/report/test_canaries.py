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
from oboro.report import Report
from oboro.techniques import TECHNIQUES

SCHEMA = Draft202012Validator(Report.json_schema())
ROWS = 240
SEED = 918273645
KEY = "canary-key-0123456789abcdef"
RARE = {"job": "Canaryjob", "illness": "Canaryitis"}  # one person each
EXTREME = {"age": 116, "income": 31415926, "height": 271.828}
SETTINGS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {  # what each step is given, and what of it must not show
    "sort": ({"by": ["-income"]}, ("-income",)),
    "shuffle": ({}, ()),
    "pseudonymize": (
        {"attribute": "name", "key_env": "CANARY_KEY", "domain": "canarydomain"},
        ("CANARY_KEY", "canarydomain", KEY),
    ),
    "drop_columns": ({"attributes": ["canarycolumn"]}, ()),
    "drop_records": ({"where": {"income": {"above": 7654321}}}, ("7654321", "7,654,321")),
    "generalize": ({"attribute": "age", "level": 2}, ()),
    "top_code": ({"attribute": "income", "at": 76543}, ("76543", "76,543", "76.5")),
    "bottom_code": ({"attribute": "income", "at": 12345}, ("12345", "12,345")),
    "sample": ({"fraction": 0.8137}, ("0.8137", "81.4", "81.37")),
    "microaggregate": ({"attributes": ["income", "height"], "k": 7}, ()),
    "round": ({"attribute": "height", "base": 0.731}, ("0.731",)),
    "swap": ({"attributes": ["income"], "fraction": 0.3719}, ("0.3719", "37.2", "37.19")),
    "noise": ({"attribute": "income", "scale": 4321.5}, ("4321.5", "4,321", "4322")),
    "k_anonymize": ({"k": 5, "suppress": 0.1937}, ("0.1937", "19.4 %", "19.37")),
    "suppress_cells": ({"k": 5, "importance": {"age": 2.718}}, ("2.718",)),
    "dp_anonymize": ({"epsilon": 1, "delta": 0.00937, "levels": {"age": 2, "job": 1}}, ()),  # ε and δ are public
    "local_recode": ({"k": 5}, ()),
    "k_conceal": ({"k": 3}, ()),
    "pk_anonymize": ({"k": 2.718}, ()),
    "partition_univariate": ({"attribute": "income", "k": 7, "precision": 0.0371}, ("0.0371",)),
    "synthesize": ({"attributes": ["income", "height"], "k": 5}, ()),
}


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
    }


def recipe(step: str, folder: Path) -> oboro.Recipe:
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
        },
        "steps": [{"drop_columns": {"attributes": ["name", "canarycolumn"]}}, {step: SETTINGS[step][0]}],
        "seed": SEED,
        "accept": {"unique_on": ["age", "job", "income", "height"], "because": "canaries are no people"},
    }
    if step == "pseudonymize":
        content["steps"] = [{"drop_columns": {"attributes": ["canarycolumn"]}}, {step: SETTINGS[step][0]}]
    if step == "dp_anonymize":
        others = ["name", "canarycolumn", "illness", "income", "height"]
        content["steps"] = [{"drop_columns": {"attributes": others}}, {step: SETTINGS[step][0]}]
        del content["accept"]
    if step == "drop_columns":
        content["steps"] = content["steps"][:1]
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
        monkeypatch.setattr("oboro.report.utility_measures.fidelity", lambda *tables, **options: [])
        monkeypatch.setattr("oboro.report.measured_release.attack", lambda *tables, **options: [])
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
        *SETTINGS[step][1],
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


def test_every_step_is_tried() -> None:
    assert set(SETTINGS) == set(TECHNIQUES)
