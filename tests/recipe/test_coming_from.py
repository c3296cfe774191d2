"""Every row of the tables for users of ARX and of sdcMicro as small recipes that run and keep what they promise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import oboro

DOCS = Path(__file__).parents[2] / "docs"
PEOPLE: dict[str, list[Any]] = {
    "name": [f"p{i}" for i in range(24)],
    "age": [20 + 7 * i % 40 for i in range(24)],
    "zip": [f"{10 + i % 2}{i % 3}" for i in range(24)],
    "sex": ["F", "M"] * 12,
    "disease": ["flu", "cold", "gout"] * 8,
    "income": [1000 + 137 * i for i in range(24)],
    "remarks": ["none"] * 24,
}
EVERYBODY = {name: 3 * PEOPLE[name] for name in ("age", "zip", "sex")}
ZIP = {"rows": [[zip_, f"{zip_[:2]}*", "*"] for zip_ in dict.fromkeys(PEOPLE["zip"])]}
SEX = {"rows": [["F", "*"], ["M", "*"], ["M", "*"]]}  # a line that stands twice counts once
LADDERS = {"age": {"intervals": [10, 20]}, "zip": ZIP, "sex": SEX}
WORTH = {"benefit": 300, "loss": 100, "gain": 100, "cost": 30}


def k(**more: Any) -> list[dict[str, Any]]:
    """The best levels, with some demands."""
    return [{"k_anonymize": {"k": 2, "suppress": 0.3, **more}}]


def each(name: str, *values: Any, **more: Any) -> list[list[dict[str, Any]]]:
    """One recipe for each value of a parameter."""
    return [k(**{name: value}, **more) for value in values]


def laddered(**ladders: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """With other hierarchies."""
    return k(), ladders


ARX: dict[str, list[Any]] = {
    "identifying, quasi-identifying, sensitive, insensitive": [k()],
    "hierarchy files": [laddered(zip=ZIP, sex=SEX)],
    "interval-, date-, redaction-based hierarchies": [laddered(age={"intervals": [5, 20]}, zip={"mask": "right"})],
    "order- and priority-based hierarchies": [
        laddered(age={"neighbours": {"groups": [3, 2]}}),
        laddered(zip={"priority": {"levels": 3}}),
    ],
    "minimum and maximum generalization": [k(limits={"age": {"least": 1, "greatest": 2}})],
    "suppression limit": [k(suppress=0.05)],
    "attribute weights": [k(loss="arx")],
    "k-anonymity": [k()],
    "distinct, entropy, recursive ℓ-diversity": each(
        "l_diversity", *({"disease": one} for one in (2, {"l": 1.5, "kind": "entropy"}, {"l": 2, "c": 3, "kind": "recursive"}))
    ),
    "t-closeness (equal, ordered, hierarchical)": each(
        "t_closeness", *({"disease": {"t": 0.4, "distance": one}} for one in ("equal", "ordered"))
    ),
    "δ-disclosure privacy": [k(delta_disclosure={"disease": {"delta": 2, "values": "held"}})],
    "basic and enhanced β-likeness": each(
        "beta_likeness", *({"disease": {"beta": 2, "kind": one}} for one in ("basic", "enhanced"))
    ),
    "δ-presence, k-map with a subset": [k(k_map=3, presence={"max": 0.5}, population=EVERYBODY)],
    "k-map, estimated": [k(estimated_k_map={"k": 3, "fraction": 0.5})],
    "average risk, records at risk": [k(average_risk=0.3), k(records_at_risk={"risk": 0.4, "share": 0.2})],
    "sample and population uniqueness": [
        k(sample_uniqueness=0.1),
        *each(
            "population_uniqueness",
            *({"share": 0.3, "fraction": 0.2, "estimator": one} for one in ("dankar", "zayatz", "pitman", "snb")),
        ),
    ],
    "Loss (geometric mean)": each("loss", "arx", "loss"),
    "aggregate functions": each("aggregate", "mean", "geometric", "sum", "max", "rank"),
    "generalization/suppression factor": [k(gen_factor=0.2)],
    "non-uniform entropy; normalized": [k(loss="arx_bits"), k(loss="arx_entropy", aggregate="sum")],
    "precision, height, discernibility, average class size": each(
        "loss", "precision", "height", "discernibility", "average_class_size"
    ),
    "several hierarchies for one attribute": [k(alternatives={"age": [{"intervals": [5, 20]}]})],
    "suppression of further attributes with a record": [k(suppress_also=["remarks"])],
    "local recoding": [k(recoding="local"), [{"local_recode": {"k": 3}}]],
    "microaggregation of quasi-identifiers": [k(aggregates={"age": "mean"}), [{"microaggregate": {"attribute": "age", "k": 3}}]],
    "risk analysis, quality": [k()],
    "(ε, δ)-differential privacy": [
        [{"drop_columns": {"attributes": ["disease", "income", "remarks"]}}, {"dp_anonymize": {"epsilon": 2, "delta": 0.01, **how}}]
        for how in ({"levels": {"age": 2, "zip": 2, "sex": 1}}, {"search_epsilon": 0.5})
    ],
    "profitability (prosecutor, journalist; no attack)": [
        *each("profitability", WORTH, {**WORTH, "attacks": "none"}),
        k(profitability={**WORTH, "attacker": "journalist"}, population=EVERYBODY),
    ],
    "publisher's payout": [k(loss="payout", profitability=WORTH)],
    "classification accuracy": [k(loss="classification", target="disease")],
    "ambiguity": [k(loss="ambiguity")],
    "KL divergence": [k(loss="kl")],
}  # fmt: skip
SDCMICRO: dict[str, list[Any]] = {
    "`createSdcObj(keyVars, numVars, sensibleVar, hhId)`": [k()],
    "`removeDirectID`": [[{"drop_columns": {"attributes": ["remarks"]}}, *k()]],
    "`globalRecode(column, breaks, labels)`": [
        ([{"generalize": {"attribute": "age", "level": 1}}], {"age": {"intervals": {"edges": [[0, 18, 65]], "closed": "right"}}})
    ],
    "`groupAndRename(before, after)`": [laddered(zip={"tree": {"a": ["100", "101", "102"], "b": ["110", "111", "112"]}})],
    "`topBotCoding`": [
        [{"top_code": {"attribute": "age", "at": 50}}, {"bottom_code": {"attribute": "age", "at": 25}}, *k()]
    ],
    "`localSuppression`, `kAnon`": [[{"suppress_cells": {"k": 2, "importance": {"age": 5}}}]],
    "`LocalRecProg`": [k()],
    "`ldiversity`, `suda2`": [k(l_diversity={"disease": 2})],
    "`pram`": [[{"pk_anonymize": {"k": 2}}]],
    "`microaggregation`, `mafast`": [
        [{"microaggregate": {"attribute": "age", "k": 3}}],
        [{"partition_univariate": {"attribute": "income", "k": 3}}, *k()],
    ],
    "`addNoise`, `rankSwap`, `shuffle`": [
        [{"noise": {"attribute": "income", "relative": 0.1}}, *k()],
        [{"swap": {"attribute": "income", "window": 0.2}}, *k()],
    ],
    "`dRisk`, `measure_risk`, `riskyCells`": [k(maximum_risk=0.5), k(sample_uniqueness=0.1)],
    "population frequencies (`freqCalc` with weights)": [k(estimated_k_map={"k": 3, "fraction": 0.5})],
    "`dUtility`, `IL_correl`": [k()],
}  # fmt: skip
PAGES = {"from-arx.md": ARX, "from-sdcmicro.md": SDCMICRO}


@pytest.mark.parametrize("page", PAGES)
def test_every_row_has_its_example(page: str) -> None:
    rows = re.findall(r"^\| (.+?) \| ", (DOCS / page).read_text(), flags=re.MULTILINE)
    assert rows[1:] == list(PAGES[page])


@pytest.mark.parametrize(
    "example",
    [pytest.param(one, id=f"{name}-{i}") for table in PAGES.values() for name, some in table.items() for i, one in enumerate(some)],
)  # fmt: skip
def test_the_example_of_a_row_keeps_its_promise(example: Any) -> None:
    steps, ladders = example if isinstance(example, tuple) else (example, {})
    roles: dict[str, Any] = {"name": "identifier", "disease": "sensitive", "income": "sensitive", "remarks": "other"}
    quasi = {name: {"role": "quasi", "hierarchy": one} for name, one in {**LADDERS, **ladders}.items()}
    attributes = {**{name: {"role": one} for name, one in roles.items()}, **quasi}
    recipe = oboro.Recipe(attributes=attributes, steps=[{"drop_columns": {"attributes": ["name"]}}, *steps])
    release = recipe.run(PEOPLE)
    assert release.verification is None or release.verification.holds
    assert set(release.data) >= {"age", "zip", "sex"}
