"""Names of columns, files and steps do not reach a terminal or a log with control characters or line ends."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from tests.command_line import Done, call

FORGED = "FORGED: 2-anonymity holds"
QUASI, SECRET, OTHER = (
    f"age\n{FORGED}",
    f"ill\x1b[2J\x1b]0;t\x07\r{FORGED}",
    f"x\u202eslh\u2066\u2028{FORGED}\x85{FORGED}\t",
)
BAD = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # those of oboro's own tables


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hostile")
    ages = ["31", "32", "31", "32", "45", "45", "46", "46"]
    rows = [[age, "flu" if i % 2 else "cold", str(i % 3)] for i, age in enumerate(ages)]
    with (place / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[QUASI, SECRET, OTHER], *rows])
    attributes = {
        QUASI: {"role": "quasi", "hierarchy": {"intervals": [10]}},
        SECRET: {"role": "sensitive"},
        OTHER: {"role": "quasi"},
    }
    steps = [{"k_anonymize": {"k": 2, "l_diversity": {SECRET: 2}}}]
    recipe = {"attributes": attributes, "steps": steps, "seed": 1}
    (place / "r.json").write_text(json.dumps(recipe))
    wrong = {**recipe, "attributes": {**attributes, f"gone\n{FORGED}": {"role": "quasi"}}}
    (place / "wrong.json").write_text(json.dumps(wrong))
    (place / "odd.json").write_text(
        json.dumps({**recipe, "steps": [{f"step\n{FORGED}\x1b[1m": {}}], f"key\n{FORGED}": 1})
    )
    one = {"attributes": {QUASI: {"role": "quasi"}}, "steps": [{"k_anonymize": {"k": 2}}]}
    (place / "s.json").write_text(json.dumps(one))
    (place / "in.ndjson").write_text("".join(json.dumps({QUASI: age}) + "\n" for age in ages))
    (place / "bad.ndjson").write_text("".join(json.dumps({f"other\n{FORGED}\x1b[1m": age}) + "\n" for age in ages))
    assert call("anonymize", "in.csv", "-r", "r.json", "-o", "out.csv", cwd=place).code == 0
    return place


def assert_clean(done: Done) -> None:
    for text in (done.out, done.err):
        text = COLOURS.sub("", text)
        assert not BAD.search(text), repr(text)
        assert not any(line.strip(" #>|│*-").startswith("FORGED") for line in text.splitlines()), text


COMMANDS = {
    "anonymize": ["anonymize", "in.csv", "-r", "r.json", "-o", "new.csv", "--force"],
    "anonymize, with a report": [
        "anonymize",
        "in.csv",
        "-r",
        "r.json",
        "-o",
        "new.csv",
        "--report",
        "r.html",
        "--force",
    ],
    "anonymize, json": ["anonymize", "in.csv", "-r", "r.json", "-o", "new.csv", "--json", "--force"],
    "anonymize, explained": ["anonymize", "in.csv", "-r", "r.json", "--explain"],
    "anonymize, a column lacks": ["anonymize", "in.csv", "-r", "wrong.json", "-o", "new.csv", "--force"],
    "anonymize, odd keys": ["anonymize", "in.csv", "-r", "odd.json", "-o", "new.csv", "--force"],
    "anonymize, no such file": ["anonymize", f"none\n{FORGED}\x1b.csv", "-r", "r.json", "-o", "new.csv", "--force"],
    "verify": ["verify", "out.csv", "--quasi", f"{QUASI}", "--k", "2", "--sensitive", SECRET, "--l", "2"],
    "verify, broken": ["verify", "in.csv", "--quasi", f"{QUASI}", "--k", "9", "--sensitive", SECRET, "--l", "3"],
    "verify, no model": ["verify", "out.csv", "--quasi", QUASI, "--sensitive", SECRET],
    "verify, recipe": ["verify", "out.csv", "--recipe", "r.json"],
    "verify, unknown": ["verify", "out.csv", "--quasi", f"a\x1b[1m\n{FORGED}", "--k", "2"],
    "assess": ["assess", "out.csv", "--quasi", QUASI, "--sensitive", SECRET],
    "assess, guessed": ["assess", "out.csv"],
    "evaluate": ["evaluate", "in.csv", "out.csv", "--recipe", "r.json"],
    "evaluate, guessed": ["evaluate", "in.csv", "out.csv"],
    "hierarchy": ["hierarchy", "in.csv", QUASI],
    "hierarchy, a text": ["hierarchy", "in.csv", SECRET],
    "hierarchy, unknown": ["hierarchy", "in.csv", f"a\x1b[1m\n{FORGED}"],
    "init": ["init", "in.csv"],
    "init, json": ["init", "in.csv", "--json"],
    "stream": [
        "stream",
        "--recipe",
        "s.json",
        "--from",
        "in.ndjson",
        "--to",
        "so-LANG.ndjson",
        "--state",
        "state-LANG",
        "--json",
    ],
    "stream, refused": [
        "stream",
        "--recipe",
        "s.json",
        "--from",
        "bad.ndjson",
        "--to",
        "sb-LANG.ndjson",
        "--state",
        "refused-LANG",
    ],
    "stream, explained": ["stream", "--recipe", "s.json", "--explain"],
    "an option": ["verify", "out.csv", f"--no\x1b[1m\n{FORGED}"],
    "a command": [f"no\x1b[1m\n{FORGED}"],
}


@pytest.mark.parametrize("lang", ["en", "ja"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_name_writes_to_the_terminal(folder: Path, command: str, lang: str) -> None:
    done = call("--lang", lang, *(word.replace("LANG", lang) for word in COMMANDS[command]), cwd=folder)
    assert done.out + done.err
    assert_clean(done)
