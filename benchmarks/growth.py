"""How costs grow with rows, columns, quasi-identifiers and k: one picture each, with the exponent.

    python -m benchmarks.growth [--full | --quick] [--folder DIR]

Seconds of the processor in this process, from file to file (purchases, `k_anonymize`; quasi-identifiers: `local_recode` of people
of twenty kinds), the least of two; above ten million rows of one. The exponent is the slope of the logarithms over the upper half:
1 is in proportion, 0 not at all.
`--full` goes up to 100 million rows and 5,000 columns, and takes about ten minutes on two cores and 10 GB of disk; `--quick` only
looks whether everything works, the picture too, and writes nothing. Writes `benchmarks/results/growth.json` and `growth.png`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import yaml

import oboro
from benchmarks.rows import record

RESULTS = Path(__file__).parent / "results"
ROWS = [10_000, 30_000, 100_000, 300_000, 1_000_000]
MANY_ROWS = [3_000_000, 10_000_000, 30_000_000, 100_000_000]
COLUMNS, MANY_COLUMNS = [4, 16, 64, 256, 1024], [5000]
QUASI, KS = [2, 4, 8, 12, 16, 24], [2, 5, 10, 30, 100, 300, 1000]

LARGE = 1 << 29  # bytes

Sizes = list[int]


def purchases(folder: Path, rows: int, columns: int) -> Path:
    """A table of purchases with its recipe beside it."""
    path = folder / f"{rows}x{columns}.csv"
    if not path.exists():
        words = ["synth", "purchases", "--rows", str(rows), "--columns", str(columns), "-o", str(path), "--force"]
        subprocess.run([sys.executable, "-m", "oboro", *words], check=True, capture_output=True)
    return path


def recipe(path: Path, k: int = 3) -> oboro.Recipe:
    """Any part of the rows may be suppressed: of few rows no levels keep the promise otherwise."""
    content = yaml.safe_load(Path(f"{path}.recipe.yaml").read_text(encoding="utf-8"))
    asked = {"k_anonymize": {"k": k, "suppress": 1.0}}
    content["steps"] = [asked if "k_anonymize" in step else step for step in content["steps"]]
    return oboro.Recipe.parse(yaml.safe_dump(content), folder=path.parent)


def anonymized(path: Path, plan: oboro.Recipe) -> float:
    """Seconds of the processor from file to file, the least of two; a large file is taken once."""
    found = []
    for _ in range(2 if path.stat().st_size < LARGE else 1):
        start = time.process_time()
        plan.run(path).write(path.with_name("out.csv"), force=True)
        found.append(time.process_time() - start)
    return min(found)


def by_rows(folder: Path, rows: int) -> float:
    """Four columns."""
    path = purchases(folder, rows, 4)
    seconds = anonymized(path, recipe(path))
    path.unlink()
    return seconds


def by_columns(folder: Path, columns: int) -> float:
    """5,000 rows, four quasi-identifiers."""
    path = purchases(folder, 5_000, columns)
    return anonymized(path, recipe(path))


def by_k(folder: Path, k: int) -> float:
    """100,000 rows, four columns."""
    path = purchases(folder, 100_000, 4)
    return anonymized(path, recipe(path, k))


def by_quasi(folder: Path, width: int) -> float:
    """20,000 people of twenty kinds whose attributes follow the kind; groups by local recoding, k = 5."""
    rng = np.random.default_rng(5)
    kind, typical = rng.integers(0, 20, 20_000), rng.integers(0, 60, (20, width))
    codes = np.where(rng.random((20_000, width)) < 0.8, typical[kind], rng.integers(0, 60, (20_000, width)))
    path = folder / f"kinds{width}.csv"
    pacsv.write_csv(pa.table({f"a{i}": codes[:, i] for i in range(width)}), path)
    attributes = {f"a{i}": {"role": "quasi"} for i in range(width)}
    return anonymized(path, oboro.Recipe(attributes=attributes, steps=[{"local_recode": {"k": 5}}]))


def exponent(points: list[tuple[int, float]]) -> float:
    """The slope of the logarithms over the upper half."""
    upper = np.log(np.array(points[len(points) // 2 :], dtype=float))
    return float(np.polyfit(upper[:, 0], upper[:, 1], 1)[0])


def grown(title: str, sizes: Sizes, act: Callable[[Path, int], float], folder: Path) -> dict[str, Any]:
    """The costs at some sizes; the smallest is run once before, which compiles."""
    act(folder, sizes[0])
    points = []
    for size in sizes:
        points.append((size, round(act(folder, size), 3)))
        print(title, *points[-1], flush=True)
    return {"by": title, "points": points, "exponent": round(exponent(points), 2)}


def draw(curves: list[dict[str, Any]], path: Path) -> None:
    """Both axes logarithmic, one panel a curve."""
    import altair as alt
    import vl_convert

    def panel(curve: dict[str, Any]) -> Any:
        values = [{"size": size, "seconds": seconds} for size, seconds in curve["points"]]
        x = alt.X("size:Q", scale=alt.Scale(type="log", nice=False), title=curve["by"], axis=alt.Axis(format="~s"))
        y = alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="CPU seconds")
        title = f"{curve['by']}: exponent {curve['exponent']:.2f}"
        return (
            alt.Chart(alt.InlineData(values=values), title=title, width=230, height=180)
            .mark_line(point=True)
            .encode(x, y)
        )

    chart = alt.concat(*(panel(curve) for curve in curves), columns=2)
    path.write_bytes(vl_convert.vegalite_to_png(chart.to_dict(), scale=1.5))


def main() -> None:
    """Measure all four, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    more = (MANY_ROWS, MANY_COLUMNS) if given.full else ([], [])
    few = 3 if given.quick else None
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        folder = Path(made)
        curves = [
            grown("rows", ROWS[:few] + more[0], by_rows, folder),
            grown("columns", COLUMNS[:few] + more[1], by_columns, folder),
            grown("quasi-identifiers", QUASI[:few], by_quasi, folder),
            grown("k", KS[:few], by_k, folder),
        ]
        if given.quick:
            draw(curves, folder / "growth.png")
            return
    facts = record("growth", [], quick=False) | {"command": f"python -m benchmarks.growth{' --full' * given.full}"}
    facts.pop("rows")
    (RESULTS / "growth.json").write_text(json.dumps(facts | {"curves": curves}, indent=1) + "\n")
    draw(curves, RESULTS / "growth.png")


if __name__ == "__main__":
    main()
