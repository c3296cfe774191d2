"""Who was suppressed for a secret? The minimality attack on Adult, and the price of a choice that does not look at secrets.

Adult (ARX's excerpt, eight quasi-identifiers, salary class as the secret), k = 5, l = 2, at most 10 % suppressed. Prints how often
the attack is right, how often the same guess is right about everybody who is suppressed, and the loss; then the same with
`blind: true`, whose k must be larger, with t-closeness (t = 0.3), and with decoys (classes that keep every demand and are
suppressed by chance), which lost.
Run: OBORO_DATA=… python -m benchmarks.minimality [halves]
Each figure is of the whole table; the ranges are means ± 95 % over random halves of it. Writes
`benchmarks/results/minimality.json`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from oboro import Recipe
from oboro.attacks.base import Rate
from oboro.attacks.minimality import infer_by_minimality
from oboro.errors import PromiseError
from oboro.measures.risk import suppressed_records
from oboro.recipe.release import Release
from oboro.verifier.classes import Classes

FOLDER = Path(os.environ.get("OBORO_DATA", "../shared/data")) / "arx-adult"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
SECRET = "salary-class"
ATTRIBUTES = {
    **{name: {"role": "quasi", "hierarchy": {"csv": f"adult_hierarchy_{name}.csv"}} for name in QUASI},
    SECRET: {"role": "sensitive"},
}
DECOYS = 0.1
RESULT = Path(__file__).parent / "results" / "minimality.json"


def adult() -> pa.Table:
    """The nine columns, as text."""
    names = [*QUASI, SECRET]
    kinds = pacsv.ConvertOptions(include_columns=names, column_types=dict.fromkeys(names, pa.string()))
    return pacsv.read_csv(FOLDER / "adult.csv", parse_options=pacsv.ParseOptions(delimiter=";"), convert_options=kinds)


def made(table: pa.Table, **step: object) -> Release | None:
    """What `k_anonymize` releases; None where it refuses."""
    recipe = Recipe(attributes=ATTRIBUTES, steps=[{"k_anonymize": {"suppress": 0.1, **step}}])
    recipe._folder = FOLDER
    try:
        return recipe.run(table)
    except PromiseError:
        return None


def attacked(release: Release, k: int, homogeneous: bool) -> dict[str, Any]:
    """The rate of the attack and that of its control, how many were suppressed, and the loss."""
    trees = release.given.fitting_hierarchies(release.original)
    tables = release.original, release.frame.data, QUASI, SECRET, trees
    found = infer_by_minimality(*tables, k=k, homogeneous=homogeneous)
    rates = (
        {} if found is None or not found.found.tried else {"right": _rate(found.found), "control": _rate(found.control)}
    )
    gone = suppressed_records(release.frame.data, QUASI)
    return {**rates, "suppressed": gone, "loss": release.steps[0].facts["loss"]["value"]}


def _rate(rate: Rate) -> dict[str, Any]:
    return {"share": rate.share, "interval": rate.interval, "tried": rate.tried}


def with_decoys(table: pa.Table, k: int) -> dict[str, Any]:
    """The same figures of levels chosen by k alone, homogeneous classes suppressed, and others by chance (expected values)."""
    release = made(table, k=k)
    assert release is not None
    data = release.frame.data
    gone, loss = suppressed_records(data, QUASI), release.steps[0].facts["loss"]["value"]
    classes = Classes.of(data, QUASI)
    secret = data[SECRET]
    tally = classes.tally(secret.codes, len(secret.values))
    starred = classes.sizes == gone  # the class of the suppressed
    bad = int(classes.sizes[(tally.distinct < 2) & ~starred].sum())
    usual = secret.counts.max() / data.rows
    others = DECOYS * (data.rows - gone - bad)
    kept = (loss * data.rows - gone) / (data.rows - gone)  # a record that stays loses so much
    right = (bad + usual * others) / (bad + others)
    rates = {"right": {"share": right, "tried": bad + others}, "control": {"share": usual}}
    return {**rates, "suppressed": gone + bad + others, "loss": loss + (bad + others) * (1 - kept) / data.rows}


def over_halves(parts: list[dict[str, Any] | None]) -> dict[str, Any]:
    """Means over the halves that were released, and the half widths of their 95 % intervals."""
    held = [one for one in parts if one is not None]
    found: dict[str, Any] = {"halves": len(parts), "released": len(held)}
    if len(held) > 1:
        figures = {"loss": [one["loss"] for one in held]}
        if all("right" in one for one in held):
            figures |= {name: [one[name]["share"] for one in held] for name in ("right", "control")}
        found |= {name: _mean(figure) for name, figure in figures.items()}
    return found


def _mean(figures: list[float]) -> list[float]:
    return [float(np.mean(figures)), float(1.96 * np.std(figures, ddof=1) / np.sqrt(len(figures)))]


def say(title: str, whole: dict[str, Any] | None, parts: list[dict[str, Any] | None]) -> dict[str, Any]:
    """What was measured of one setting: the whole table, and its halves."""
    row = {"setting": title, "whole": whole, **({"halves": over_halves(parts)} if parts else {})}
    print(json.dumps(row), flush=True)
    return row


def main() -> None:
    """Today's choice, blind ones, decoys."""
    if not (FOLDER / "adult.csv").exists():
        print(f"No data in {FOLDER}; set OBORO_DATA to a folder with arx-adult/. Nothing was measured.")
        return
    rng = np.random.default_rng(1)
    table, halves = adult(), int(sys.argv[1]) if len(sys.argv) > 1 else 20
    drawn = [table.take(rng.permutation(table.num_rows)[: table.num_rows // 2]) for _ in range(halves)]

    def run(part: pa.Table, k: int, **more: object) -> dict[str, Any] | None:
        release = made(part, k=k, **({"l_diversity": {SECRET: 2}} | more))
        return None if release is None else attacked(release, k, homogeneous="t_closeness" not in more)

    rows = [say("k = 5, l = 2", run(table, 5), [run(part, 5) for part in drawn])]
    close = {"l_diversity": {}, "t_closeness": {SECRET: 0.3}}
    rows += [say("k = 5, t = 0.3", run(table, 5, **close), [run(part, 5, **close) for part in drawn])]
    for k, recoding in ((50, "global"), (110, "global"), (130, "global"), (600, "local"), (800, "local")):
        options, title = {"blind": True, "recoding": recoding}, f"k = {k}, l = 2, blind, {recoding}"
        rows += [say(title, run(table, k, **options), [run(part, k, **options) for part in drawn])]
    rows += [say(f"k = {k}, decoys {DECOYS:.0%}", with_decoys(table, k), []) for k in (20, 50)]
    command = f"python -m benchmarks.minimality {halves}"
    RESULT.write_text(json.dumps({"command": command, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
