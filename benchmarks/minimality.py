"""Who was suppressed for a secret? The minimality attack on Adult, and the price of a choice that does not look at secrets.

Adult (ARX's excerpt, eight quasi-identifiers, salary class as the secret), k = 5, l = 2, at most 10 % suppressed. Prints how often
the attack is right, how often the same guess is right about everybody who is suppressed, and the loss; then the same with
`blind: true`, whose k must be larger, with t-closeness (t = 0.3), and with decoys (classes that keep every demand and are suppressed by chance), which lost.
Run: OBORO_DATA=… python benchmarks/minimality.py [halves]
Each figure is of the whole table; the ranges are means ± 95 % over random halves of it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from oboro import Recipe
from oboro.attacks.minimality import infer_by_minimality
from oboro.errors import PromiseError
from oboro.measure.utility import suppressed_records
from oboro.recipe.evidence import bound_hierarchies
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


def attacked(release: Release, k: int, homogeneous: bool) -> np.ndarray:
    """The rate of the attack, that of its control, the people guessed, the suppressed ones and the loss."""
    trees = bound_hierarchies(release.original, release.given)
    tables = release.original, release.frame.data, QUASI, SECRET, trees
    found = infer_by_minimality(*tables, k=k, homogeneous=homogeneous)
    rates = [np.nan, np.nan] if found is None else [found.found.share or np.nan, found.control.share or np.nan]
    gone = suppressed_records(release.frame.data, QUASI)
    loss = release.steps[0].facts["loss"]["value"]
    return np.array([*rates, 0 if found is None else found.found.tried, gone, loss])


def with_decoys(table: pa.Table, k: int) -> np.ndarray:
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
    total = gone + bad + others
    return np.array([right, usual, bad + others, total, loss + (bad + others) * (1 - kept) / data.rows])


def say(title: str, whole: np.ndarray | None, parts: list[np.ndarray | None]) -> None:
    """One line: the whole table, then the halves."""
    if whole is None:
        print(f"{title:32} refused")
        return
    held = np.array([one for one in parts if one is not None])
    right, control, tried, gone, loss = whole
    print(f"{title:32} {_rates(right, control, tried)}; suppressed {gone:.0f}; loss {loss:.4f}")
    if len(held) > 1:
        mean, half = held.mean(axis=0), 1.96 * held.std(axis=0, ddof=1) / np.sqrt(len(held))
        rates = f"right {mean[0]:.1%} ± {half[0]:.1%}, control {mean[1]:.1%} ± {half[1]:.1%}; " if tried else ""
        print(f"{'':32} {len(held)} of {len(parts)} halves: {rates}loss {mean[4]:.4f} ± {half[4]:.4f}")


def _rates(right: float, control: float, tried: float) -> str:
    return f"right {right:.1%} of {tried:.0f} (control {control:.1%})" if tried else "nobody to guess"


def main() -> None:
    """Today's choice, blind ones, decoys."""
    if not (FOLDER / "adult.csv").exists():
        print(f"No data in {FOLDER}; set OBORO_DATA to a folder with arx-adult/. Nothing was measured.")
        return
    rng = np.random.default_rng(1)
    table, halves = adult(), int(sys.argv[1]) if len(sys.argv) > 1 else 20
    drawn = [table.take(rng.permutation(table.num_rows)[: table.num_rows // 2]) for _ in range(halves)]

    def run(part: pa.Table, k: int, **more: object) -> np.ndarray | None:
        release = made(part, k=k, **({"l_diversity": {SECRET: 2}} | more))
        return None if release is None else attacked(release, k, homogeneous="t_closeness" not in more)

    say("k = 5, l = 2", run(table, 5), [run(part, 5) for part in drawn])
    close = {"l_diversity": {}, "t_closeness": {SECRET: 0.3}}
    say("k = 5, t = 0.3", run(table, 5, **close), [run(part, 5, **close) for part in drawn])
    for k, recoding in ((50, "global"), (110, "global"), (130, "global"), (600, "local"), (800, "local")):
        options = {"blind": True, "recoding": recoding}
        say(f"k = {k}, l = 2, blind, {recoding}", run(table, k, **options), [run(part, k, **options) for part in drawn])
    for k in (20, 50):
        say(f"k = {k}, decoys {DECOYS:.0%}", with_decoys(table, k), [])


if __name__ == "__main__":
    main()
