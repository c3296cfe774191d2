"""A plain `oboro anonymize` does what it prints and no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TRACE = str(Path(__file__).parent.parent.parent / "benchmarks")
CODE = f"""
import sys
sys.path.append({TRACE!r})
import traced_run
print(*traced_run.ways_up(traced_run.entered(sys.argv[1:])), sep="\\n", file=sys.stderr)
print(*sorted(name for name in sys.modules if name.split(".")[0] in ("sklearn", "vl_convert") or name.startswith("oboro.report")))
"""
RECIPE = """
attributes:
  name: {role: identifier}
  age: {role: quasi, hierarchy: {intervals: [10, 20]}}
  sex: {role: quasi}
  disease: {role: sensitive}
steps:
  - drop_columns: {attributes: [name]}
  - k_anonymize: {k: 3, l_diversity: {disease: 2}}
"""
ROWS = "name,age,sex,disease\nAnn,31,F,flu\nBob,38,M,cold\nCid,35,M,flu\nDan,52,M,ulcer\nEve,57,F,flu\nFay,59,F,cold\n"


def run(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    (folder / "people.csv").write_text(ROWS)
    (folder / "recipe.yaml").write_text(RECIPE)
    words = ("anonymize", "people.csv", "--recipe", "recipe.yaml", "--output", "out.csv", *more)
    done = subprocess.run([sys.executable, "-c", CODE, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_it_builds_no_report_and_each_verdict_names_its_columns(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.stdout.split() == [], "modules of the report were loaded"
    *lines, up = done.stderr.splitlines()
    assert up == "", "a call leads from io or techniques back into recipe"
    assert lines[-1].startswith("Loss ")
    assert lines[-7:-1] == [
        "Every promise holds",
        "  ✓ 3-anonymity over age, sex holds in all 2 groups (required 3, achieved 3).",
        "  ✓ distinct 2-diversity of disease over age, sex holds in all 2 groups (required 2, achieved 2).",
        "Rows     6 in, 6 out, 0 suppressed",
        "Columns  4 in, 3 out (dropped: name)",
        "Risk     highest 100 % → 33.3 %, mean 100 % → 33.3 %; unique rows 6 → 0",
    ]


def test_a_report_that_is_asked_for_is_built(tmp_path: Path) -> None:
    assert "oboro.report.make_report" in run(tmp_path, "--report", "report.html").stdout.split()
