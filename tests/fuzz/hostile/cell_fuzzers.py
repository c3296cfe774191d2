"""Cells, names and values that no person would write: long ones, repeated ones, nested ones, with control characters."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tests.command_line import call
from tests.fuzz.fuzzing import Case, Finding, Fuzzer, asked, refused, require
from tests.fuzz.mutations import LETTERS, odd_number, odd_text, odd_value, some

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.explorer.session import explore
from oboro.hierarchies.spec import HierarchySpec
from oboro.io.formats.csv.formulas import FormulaGuard
from oboro.notations.formulas import guarded_text
from oboro.recipe.assess import assess
from oboro.recipe.starter import init
from oboro.text.raw import values_shown

__all__ = ["CELL_FUZZERS"]

# Long cells -----------------------------------------------------------------------------------------------------------

PIECES = ("1", "1.", "1-", "1.1-", "a", "A1", "0", "-", "–", "~", " ", "\t", "(", "[", "[(", " to ", ",", ";", "'", '"', "''", "=",
    "@", "@a.", "a@a.b ", "/", "1/1/", "2020-01-01", "2020-01-01T", ":", "1:", "%", "+", "+1 ", "e", "1e", "年", "１", "1,", "丁目",
    "東京都", "\n", "*", "\\", "<a>", "{", "ab12", "aA0", "0f", "%s", "\u200b", "é", "\u0301", "http://", "a.b.", "::",
        "1" * 40)  # fmt: skip
RULES: Sequence[dict[str, Any]] = (
    {"mask": "right"}, {"mask": {"side": "left", "steps": [1, 3]}}, {"dates": ["day", "month"]}, {"intervals": [10, 20]},
    {"intervals": {"edges": [[0, 40]]}}, {"japan": "postcode"}, {"japan": "address"}, {"japan": "age"}, {"japan": "era"},
    {"icd10": "chapters"}, {"priority": {"levels": 2}}, {"neighbours": {"groups": [2]}},
)  # fmt: skip


def draw_long(rng: random.Random) -> Case:
    """A cell of one to three pieces over and over, with something before and behind."""
    return {
        "piece": "".join(rng.choices(PIECES, k=rng.randint(1, 3))),
        "length": rng.choice([300, 3_000, 30_000, 100_000]),
        "before": rng.choice(["", *PIECES]),
        "behind": rng.choice(["", *PIECES]),
        "others": [odd_text(rng).replace("\ud800", "").replace("\0", "") for _ in range(rng.randint(0, 4))],
        "copies": rng.choice([1, 1, 1, 10]),  # a megabyte of text takes a third of a second
        "rule": rng.choice(RULES) if rng.random() < 0.5 else None,
        "name": rng.choice(["v", "zip", "name", "date", "住所", "phone", "年齢"]),
    }


def check_long(case: Case, place: Path) -> Sequence[str]:
    """Guessing, measuring and hierarchies take time in proportion to the length; what no hierarchy fits is refused."""
    piece = case["piece"] or "x"
    long = case["before"] + piece * (case["length"] // len(piece)) + case["behind"]
    cells = [f"{number}{long}" if number else long for number in range(case["copies"])]
    column = Column.of([*cells, *case["others"]])
    table = Dataset({case["name"]: column, "sex": Column.of(["F"] * len(column))}, len(column))
    if case["rule"] is not None:
        spec = asked(lambda: HierarchySpec.model_validate(case["rule"]))
        require(isinstance(spec, HierarchySpec) or refused(spec), "no hierarchy")
        if isinstance(spec, HierarchySpec):
            asked(lambda: spec.build(case["name"], column))
        return ["a hierarchy"]
    starter = asked(lambda: init(table))
    require(not refused(starter), f"init refuses: {starter}")
    asked(lambda: assess(table))
    return []


def draw_formula(rng: random.Random) -> Case:
    """Texts with the marks of formulas in all places."""
    letters = "=+-@;,\t\r\n\"'15.%eE ＝–a"
    return {"texts": ["".join(rng.choices(letters, k=rng.randint(0, 7))) for _ in range(6)]}


def check_formula(case: Case, place: Path) -> Sequence[str]:
    """Whatever separates cells, none begins as a formula does; different texts stay different; both guards agree."""
    texts = list(dict.fromkeys(case["texts"]))
    made = [guarded_text(text) for text in texts]
    require(len(set(made)) == len(texts), f"two values became one: {texts} {made}")
    number = r"[+\-＋－](?:[0-9]+(?:[.,][0-9]+)*|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?%?"
    for text in made:
        for place, cell in enumerate(re.split(r"[;,\t\r\n]", text)):
            cell = cell.lstrip('"') if place else cell
            risky = re.match(r"[=+\-@＝＋－＠]", cell) and not re.match(number, cell)
            require(not risky, f"a cell that is a formula: {text!r}")
    found = FormulaGuard().guarded(Dataset({"a": Column.of(texts)}, len(texts)))["a"].decode().to_pylist()
    require(found == made, f"two guards: {found} {made}")
    return []


# Nested values of Python ----------------------------------------------------------------------------------------------


def draw_nested(rng: random.Random) -> Case:
    """Values of a few columns, as a plan that can be kept in a file: `loop` is a list that contains itself."""
    kinds = ["list", "dict", "tuple", "set", "array", "loop", "deep", "plain", "plain", "bytes"]
    cells = [[rng.choice(kinds), odd_value(rng, 1), rng.randint(0, 3)] for _ in range(rng.randint(1, 4))]
    return {"cells": cells, "as": rng.choice(["mapping", "records", "pandas"])}


NESTED: dict[str, Callable[[Any], Any]] = {
    "list": lambda value: [value],
    "deep": lambda value: [value],
    "dict": lambda value: {"a": value},
    "tuple": lambda value: (value, value),
    "array": lambda value: np.array([value, None], object),
    "bytes": lambda value: str(value).encode(errors="replace"),
    "set": lambda value: frozenset([str(value)]),
    "plain": lambda value: value,
}


def _nested(kind: str, value: Any, depth: int) -> Any:
    if kind == "loop":
        loop: Any = [value]
        loop.append({"a": (loop,)} if depth else loop)
        return loop
    for _ in range(depth if kind != "deep" else 5000 * depth):
        value = NESTED[kind](value)
    return value


def check_nested(case: Case, place: Path) -> Sequence[str]:
    """A table, or a refusal; the process does not end."""
    values = [_nested(kind, value, depth) for kind, value, depth in case["cells"]]
    table: Any = {"a": values, "b": list(range(len(values)))}
    if case["as"] == "records":
        table = [{"a": value} for value in values]
    elif case["as"] == "pandas":
        import pandas as pd

        table = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    found = asked(lambda: Frame.read(table))
    if isinstance(found, Frame):
        asked(lambda: init(table))
    return ["a table"] if isinstance(found, Frame) else []


# Names and values on the command line ---------------------------------------------------------------------------------

NAMES = ("\x1b[2J", "\x1b]0;x\x07", "x\n  ✓ 7-anonymity holds", "\r", "\u202e", "\x9b31m", "[bold]", "<b>", "\u2028",
    "a" * 500, "é", "%s", "{a}",
    "__proto__", "../x", "=1+1", "'", '"', "`", "$(x)", "*", " ")  # fmt: skip
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SECRET = "Zquux"  # in every value of the column of names: no message may hold it
WORDS = (
    ("init", "in.csv"), ("assess", "in.csv"), ("assess", "in.ndjson"), ("anonymize", "in.csv", "--recipe", "r.json", "-o",
        "out.csv"),
    ("hierarchy", "in.csv", "--column", "NAME"), ("verify", "in.csv", "--quasi", "NAME", "--k", "2"), ("explain", "r.json"),
    ("evaluate", "in.csv", "in.csv", "--recipe", "r.json"), ("anonymize", "broken.csv", "--recipe", "r.json", "-o", "out.csv"),
    ("assess", "broken.csv"), ("init", "in.csv", "--json"), ("verify", "broken.csv", "--quasi", "NAME", "--k", "2"),
)  # fmt: skip


def draw_names(rng: random.Random) -> Case:
    """A command on a table whose column has a hostile name, and how a file is broken."""
    name = "".join(rng.choices([*NAMES, "age", "b"], k=rng.randint(1, 3)))
    return {"words": list(rng.choice(WORDS)), "name": name, "broken": rng.randrange(6), "k": rng.choice([2, 3, 99])}


def _files(case: Case, place: Path) -> None:
    name = case["name"]
    header = ",".join('"' + one.replace('"', '""') + '"' for one in (name, "who"))
    rows = [f"{30 + number % 3},{SECRET}{number}" for number in range(6)]
    (place / "in.csv").write_text("\n".join([header, *rows]) + "\n", newline="")
    broken = [
        f"{header},{rows[0]}", f'{header}\n{rows[0]}\n"{SECRET}', f"{header}\n{rows[0]},{SECRET}", f"{rows[0]}\n{rows[1]}",
        f"{header}\n{SECRET}\udcff,1", f"{header}{rows[0]}\n{rows[1]}",
    ]  # fmt: skip
    (place / "broken.csv").write_text(broken[case["broken"]] + "\n", newline="", errors="surrogateescape")
    lines = [{name: 30 + number % 3, "who": f"{SECRET}{number}"} for number in range(6)]
    (place / "in.ndjson").write_text("\n".join(map(json.dumps, lines)) + "\n")
    recipe = {
        "attributes": {name: {"role": "quasi"}, "who": {"role": "identifier"}},
        "steps": [{"drop_columns": {"attributes": ["who"]}}, {"k_anonymize": {"k": case["k"], "suppress": 1}}],
    }
    (place / "r.json").write_text(json.dumps(recipe))


def check_names(case: Case, place: Path) -> Sequence[str]:
    """A code that means something, no control characters, no forged line of a verdict, and no value of the data in a message."""
    _files(case, place)
    before = {one.name for one in place.iterdir()}
    words = [case["name"] if word == "NAME" else word for word in case["words"]]
    try:
        with values_shown(False):
            done = call(*words, cwd=place)
    except Exception as error:
        raise Finding("traceback", f"{type(error).__name__}: {str(error)[:300]}") from error
    if "internal error" in done.err or "Traceback" in done.err:
        raise Finding("traceback", done.err[-300:])
    require(done.code in (0, 1, 2, 75, 78), f"exit code {done.code}")
    require(SECRET not in done.err, f"a value of the data in a message: {done.err[-200:]}")
    both = done.out + done.err
    require(not CONTROL.search(both), f"control characters: {CONTROL.search(both)}")
    forged = [line for line in both.splitlines() if re.match(r"\s*✓ 7-anonymity holds", line)]
    require(not forged or words[0] == "init", "a forged line")
    new = {one.name for one in place.iterdir()} - before
    require(new <= ({"out.csv"} if done.code == 0 else set()), f"exit code {done.code}, and yet {sorted(new)}")
    return [f"{words[0]}: exit code {done.code}"]


# Questions of Python --------------------------------------------------------------------------------------------------


def draw_frontier(rng: random.Random) -> Case:
    """Odd fields for the questions of a session."""
    fields = {}
    for name in ("k", "suppress", "curves", "demands", "levels"):
        if rng.random() < 0.5:
            small: list[Any] = [
                [2],
                [0],
                [0.1],
                [2, 3],
                ["k_anonymize"],
                {"k": 2},
                {"age": 1, "sex": 0},
                [1, 0],
                [0, 0],
                {},
            ]
            fields[name] = rng.choice(small) if rng.random() < 0.5 else odd_value(rng)
    return {
        "ask": rng.choice(["frontier", "frontier", "look", "window", "compare", "solve", "recipe"]),
        "fields": fields,
    }


def check_frontier(case: Case, place: Path) -> Sequence[str]:
    """An answer, or a refusal."""
    session = explore({"age": [31, 38, 35, 52], "sex": ["F", "M", "F", "M"]})
    fields = case["fields"]
    demands, levels = fields.get("demands"), fields.get("levels")
    calls = {
        "frontier": lambda: list(session.frontier(**{name: one for name, one in fields.items() if name != "levels"})),
        "look": lambda: session.look(levels, demands),
        "window": lambda: session.window(fields.get("k"), 2, levels, demands),  # type: ignore[arg-type]
        "compare": lambda: session.compare(levels, [0, 0], demands),
        "solve": lambda: session.solve(demands),
        "recipe": lambda: session.recipe(levels, demands),
    }
    found = asked(calls[case["ask"]])
    return [] if refused(found) else ["an answer"]


# Arrow in memory ------------------------------------------------------------------------------------------------------


def draw_bytes(rng: random.Random) -> Case:
    """Bytes that are declared as text."""
    cells = [some(rng, LETTERS, 12).encode(errors="replace") for _ in range(rng.randint(0, 5))]
    return {"cells": [bytes(rng.choice([255, 128, 0]) for _ in range(3)) if rng.random() < 0.2 else cell for cell in cells],
            "number": odd_number(rng)}  # fmt: skip


def check_bytes(case: Case, place: Path) -> Sequence[str]:
    """A table, or a refusal."""
    array = pa.array(case["cells"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(array), array.buffers(), array.null_count)
    found = asked(lambda: init(pa.table({"a": text})))
    return [] if refused(found) else ["a table"]


CELL_FUZZERS = (
    Fuzzer("long_cells", draw_long, check_long, 10, writes=False),
    Fuzzer("formulas", draw_formula, check_formula, 60, writes=False),
    Fuzzer("nested_values", draw_nested, check_nested, 40, writes=False),
    Fuzzer("names", draw_names, check_names, 10, shrinks=False),
    Fuzzer("questions", draw_frontier, check_frontier, 20, writes=False),
    Fuzzer("arrow_text", draw_bytes, check_bytes, 20, writes=False),
)
