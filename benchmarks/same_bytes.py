"""Did a change of the code change what it releases? Seeded jobs, and a digest of everything that they write.

    python benchmarks/same_bytes.py OUT              runs every job and writes its outputs to the folder OUT
    python benchmarks/same_bytes.py --compare A B    says which files of two such folders differ

Run it with the code before a change and with the code after it (`PYTHONPATH=src`), then compare. Only the public door and the
command line are used, so that it runs on any version. Times and versions are taken out of reports before they are compared.
Adult comes from the folder in OBORO_DATA; without it those jobs are left out, and said so.
"""

from __future__ import annotations

import filecmp
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROLES: dict[str, Any] = {
    "customer_id": {"role": "identifier"},
    "name": {"role": "identifier"},
    "phone": {"role": "identifier"},
    "postal_code": {"role": "other"},
    "birthdate": {"role": "quasi", "hierarchy": {"dates": ["month", "year", "decade"]}},
    "sex": {"role": "quasi"},
    "address": {"role": "quasi", "hierarchy": {"csv": "people.csv.hierarchies/address.csv"}},
    "job": {"role": "quasi", "hierarchy": {"csv": "people.csv.hierarchies/job.csv"}},
    "income": {"role": "other"},
    "last_purchase": {"role": "other"},
    "category": {"role": "other"},
    "amount": {"role": "other"},
    "diagnosis": {"role": "sensitive"},
}
DROP = {"drop_columns": {"attributes": ["customer_id", "name", "phone", "postal_code"]}}
QUASI = ["birthdate", "sex", "address", "job"]
# What ten recipes do; each also drops what names a person.
STEPS: dict[str, list[Any]] = {
    "lattice": [{"k_anonymize": {"k": 5, "suppress": 0.05, "l_diversity": {"diagnosis": 2}}}, "shuffle"],
    "closeness": [{"k_anonymize": {"k": 3, "suppress": 0.1, "t_closeness": {"diagnosis": 0.5}, "loss": "precision"}}],
    "by_class": [{"k_anonymize": {"k": 4, "suppress": 0.02, "recoding": "local", "minimal": True}}],
    "mondrian": [{"local_recode": {"k": 5, "l_diversity": {"diagnosis": 2}}}],
    "top_down": [{"local_recode": {"k": 7, "method": "top_down", "publish": "hierarchy"}}],
    "microaggregation": [
        {"microaggregate": {"attributes": ["income"], "k": 4}},
        {"generalize": {"levels": {"birthdate": 2, "address": 1}}},
        {"sort": {"by": ["-income", "sex"]}},
    ],
    "concealment": [{"k_conceal": {"k": 3}}],
    "random": [
        {"pk_anonymize": {"k": 3, "attributes": ["sex", "job"]}},
        {"noise": {"attribute": "income", "relative": 0.1}},
        {"swap": {"attribute": "diagnosis", "method": "random", "within": ["sex"]}},
    ],
    "intervals": [
        {"partition_univariate": {"attribute": "income", "k": 20, "publish": "interval"}},
        {"round": {"attribute": "amount", "base": 50, "method": "random"}},
        {"sample": {"fraction": 0.5}},
    ],
    "coding": [
        {"top_code": {"attribute": "income", "percentile": 95}},
        {"bottom_code": {"attribute": "income", "at": 1000000}},
        {"drop_records": {"rarer_than": {"attributes": ["job"], "count": 10}}},
        {"synthesize": {"attribute": "income", "k": 10}},
    ],
}
# Released columns single people out that no promise covers. Here that is meant, or most recipes would release nothing to compare.
ACCEPT = {"unique_on": [*QUASI, "income", "last_purchase", "category", "amount"], "because": "made-up people"}
MODES = ("swap", "count", "paper", "sequential", "fixed")
UNSTABLE = re.compile(  # times, versions, digests of files that hold times
    r'"(seconds|bytes|sha256|path|python|oboro|numpy|numba|pyarrow|scipy|scikit-learn)": [^,}\n]+|\d+(\.\d+)? ?(m?s|µs)\b'
)


def oboro(*words: object, check: bool = True, **more: Any) -> subprocess.CompletedProcess[str]:
    """The command line, as a user calls it."""
    command = [sys.executable, "-m", "oboro", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done


def jobs(out: Path) -> None:
    """Everything that is compared, under `out`."""
    out.mkdir(parents=True)
    people = out / "people.csv"
    oboro("synth", "people", "--rows", 3000, "--seed", 7, "--output", people)
    oboro("synth", "purchases", "--rows", 40_000, "--seed", 7, "--columns", 12, "--output", out / "purchases.parquet")
    (out / "starter.yaml").write_text(oboro("init", people).stdout)
    for name, steps in STEPS.items():
        table(out, people, name, {"attributes": ROLES, "steps": [DROP, *steps], "seed": 11, "accept": ACCEPT})
    for kind in ("people.csv", "purchases.parquet"):
        released, recipe = out / f"ready-{kind}", out / f"{kind}.recipe.yaml"
        text = recipe.read_text()
        recipe.write_text(
            text if "\nseed:" in text else f"{text}\nseed: 11\n"
        )  # without one no two releases are the same
        oboro("anonymize", out / kind, "-r", recipe, "-o", released)
    streams(out, people)
    adult(out)


def table(out: Path, source: Path, name: str, recipe: dict[str, Any]) -> None:
    """One recipe: what it explains, releases and reports."""
    path, released = out / f"{name}.json", out / f"{name}.csv"
    path.write_text(json.dumps(recipe))
    (out / f"{name}.explain.txt").write_text(oboro("anonymize", source, "-r", path, "--explain").stdout)
    done = oboro(
        "anonymize", source, "-r", path, "-o", released, "--report", out / f"{name}.html", "--json", check=False
    )
    (out / f"{name}.exit").write_text(str(done.returncode))
    (out / f"{name}.report.json").write_text(UNSTABLE.sub("…", done.stdout))
    page = out / f"{name}.html"
    if page.exists():
        page.write_text(UNSTABLE.sub("…", page.read_text()))


def streams(out: Path, people: Path) -> None:
    """The same people record by record, in every mode."""
    recipe = out / "stream.recipe.json"
    steps = [DROP, {"k_anonymize": {"k": 3}}]
    recipe.write_text(json.dumps({"attributes": ROLES, "steps": steps, "seed": 11}))
    for mode in MODES:
        oboro("stream", "-r", recipe, "--from", people, "--to", out / f"stream-{mode}.ndjson", "--mode", mode)
    numbers = {
        **ROLES,
        **{name: {"role": "other"} for name in QUASI},
        "income": {"role": "quasi"},
        "amount": {"role": "quasi"},
    }
    recipe = out / "window.recipe.json"
    recipe.write_text(json.dumps({"attributes": numbers, "steps": steps, "seed": 11}))
    for index in ("auto", "fdhq"):
        words = ("--mode", "window", "--window", 500, "--index", index)
        oboro("stream", "-r", recipe, "--from", people, "--to", out / f"window-{index}.ndjson", *words)


def adult(out: Path) -> None:
    """ARX's Adult with its own hierarchies."""
    folder = Path(os.environ.get("OBORO_DATA", "")) / "arx-adult"
    if not folder.is_dir():
        print("OBORO_DATA is not set: the jobs on Adult are left out", file=sys.stderr)
        return
    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    quasi: dict[str, Any] = {
        name: {"role": "quasi", "hierarchy": {"csv": str(folder / f"adult_hierarchy_{name}.csv")}} for name in names
    }
    attributes = {**quasi, "salary-class": {"role": "sensitive"}}
    steps = [{"k_anonymize": {"k": 5, "suppress": 0.1, "l_diversity": {"salary-class": 2}}}]
    table(out, folder / "adult.csv", "adult", {"attributes": attributes, "steps": steps, "seed": 1})


def figures(value: Any, place: str = "") -> dict[str, Any]:
    """Every number and every truth value of a report, by where it is."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = {place: value} if isinstance(value, bool | int | float) else {}
    for key, one in inner:
        found |= figures(one, f"{place}/{key}")
    return found


def in_what(one: Path, other: Path) -> str:
    """Whether a report differs in words only: all figures of the first are in the second, at the same places."""
    if not one.name.endswith(".report.json"):
        return ""
    texts = (re.sub(r"(?m)^( *)…", r'\1"": 0', path.read_text()) for path in (one, other))  # what was taken out
    before, after = (figures(json.loads(text or "null")) for text in texts)
    changed = [place for place, value in before.items() if after.get(place) != value]
    return f" in {len(changed)} figures: {', '.join(changed[:5])}" if changed else " in words only"


def compare(one: Path, other: Path) -> int:
    """How many files differ; each is named."""
    names = sorted({path.name for folder in (one, other) for path in folder.iterdir() if path.is_file()})
    _, differ, lacking = filecmp.cmpfiles(one, other, names, shallow=False)
    for name in differ:
        print(f"{name}: differs{in_what(one / name, other / name)}")
    for name in lacking:
        print(f"{name}: is in one folder only")
    print(f"{len(names) - len(differ) - len(lacking)} of {len(names)} files are the same")
    return len(differ) + len(lacking)


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        sys.exit(1 if compare(Path(sys.argv[2]), Path(sys.argv[3])) else 0)
    jobs(Path(sys.argv[1]))
