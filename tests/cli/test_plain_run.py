"""A plain `oboro anonymize` does what it prints and no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_line import call

from oboro.report import make

TRACE = str(Path(__file__).parent.parent.parent / "benchmarks")
CODE = f"""
import sys
sys.path.append({TRACE!r})
import traced_run
print(*traced_run.ways_up(traced_run.entered(sys.argv[1:])), sep="\\n", file=sys.stderr)
print(*sorted(name for name in sys.modules if name.split(".")[0] in ("sklearn", "vl_convert") or name.startswith("oboro.report.")
    and name != "oboro.report.chosen_levels"))
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


def lay_out(folder: Path) -> list[str]:
    (folder / "people.csv").write_text(ROWS)
    (folder / "recipe.yaml").write_text(RECIPE)
    return ["anonymize", "people.csv", "--recipe", "recipe.yaml", "--output", "out.csv"]


def test_it_builds_no_report_and_each_verdict_names_its_columns(tmp_path: Path) -> None:
    words = [sys.executable, "-c", CODE, *lay_out(tmp_path)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [], "modules of the report were loaded"
    *lines, up = done.stderr.splitlines()
    assert up == "", "a call leads from io or techniques back into recipe"
    assert lines[-1].startswith("Loss ")
    assert lines[-9:-1] == [
        "Every promise holds",
        "  ✓ 3-anonymity over age, sex holds in all 2 groups (required 3, achieved 3).",
        "  ✓ distinct 2-diversity of disease over age, sex holds in all 2 groups (required 2, achieved 2).",
        "Rows     6 in, 6 out, 0 of these suppressed",
        "Columns  4 in, 3 out (dropped: name)",
        "Levels   age 3/3, sex 0/1",
        "Minimized loss 0.5 (the least of all choices); 0 of 6 rows suppressed",
        "Risk     highest 100 % → 33.3 %, mean 100 % → 33.3 %; unique rows 6 → 0",
    ]


def test_a_report_that_is_asked_for_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the modules that must not be loaded otherwise."""
    build, built = make.make_report, []
    monkeypatch.setattr(make, "make_report", lambda *given: built.append(build(*given)) or built[0])
    assert call(*lay_out(tmp_path), "--report", "report.html", cwd=tmp_path).code == 0
    assert len(built) == 1
    assert build.__module__ == "oboro.report.make"
