"""Commands with any arguments: an exit code that means something, no internal error, and no file but those that were asked for."""

from __future__ import annotations

import io
import random
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer.main
from tests.command_line import call
from tests.fuzz.fuzzing import Case, Finding, Fuzzer, require
from tests.fuzz.mutations import odd_text

from oboro.cli.all_commands import app

__all__ = ["ARGUMENT_FUZZERS"]

COMMANDS = ("init", "anonymize", "verify", "assess", "evaluate", "hierarchy", "stream", "schema", "synth")
TABLE = "name,age,sex,disease\nAnn,31,F,flu\nBob,38,M,cold\nCid,35,F,flu\nDan,52,M,flu\nEve,57,F,cold\nFay,59,M,flu\n"
RECIPE = (
    "attributes:\n  name: {role: identifier}\n  age: {role: quasi, hierarchy: {intervals: [10, 20]}}\n  sex: {role: quasi}\n"
    "  disease: {role: sensitive}\nsteps:\n  - drop_columns: {attributes: [name]}\n  - k_anonymize: {k: 2, suppress: 1}\n"
)
FILES = {
    "in.csv": TABLE, "released.csv": "age,sex,disease\n30–39,*,flu\n30–39,*,cold\n30–39,*,flu\n", "recipe.yaml": RECIPE,
    "empty.csv": "",
    "in.ndjson": '{"name": "a", "age": 31, "sex": "F", "disease": "flu"}\n', "h.csv": "31;30-39;*\n",
    "broken.yaml": "attributes: [",
    "one.csv": "age\n31\n",
}  # fmt: skip
NUMBERS = ("0", "1", "2", "3", "5", "-1", "0.5", "1e9", "nan", "inf", "99999999999999999999", "x", "")
PASSWORD = "p4ssw0rd"  # must be in no word of ours
ADDRESSES = (  # nothing answers there; each is refused, or names a file that is not there
    f"sqlite:///none.db?table=a&key={PASSWORD}", "sqlite:///in.csv?table=a", "duckdb:///in.csv?query=", "memory://b/out.csv",
    f"jdbc:x://u:{PASSWORD}@h/x.csv", f"postgres:/u:{PASSWORD}@h/x.csv", f"bogus://u:{PASSWORD}@[::1/x.csv", "s3://",
    f"az://u:{PASSWORD}@c/x.csv", "folder/*.csv", "**", "folder/",
)  # fmt: skip
BROKERS = (f"redis://u:{PASSWORD}@[::1/K", "redis://[::1/K", "nats://h:99999/x", f"nats://{PASSWORD}@h/x", "mqtt://", "kafka:///",
    f"kafka://h/T?password={PASSWORD}", f"amqp://u:{PASSWORD}@h/q", f"tcp://u:{PASSWORD}@[::1:x")  # fmt: skip
PLACES = (
    *FILES,
    *ADDRESSES,
    "out.csv",
    "out.parquet",
    "out.xlsx",
    "out.html",
    "none/out.csv",
    "folder",
    "-",
    "nothing.csv",
    "out",
    "",
    ".",
    "a" * 300 + ".csv",
)
WORDS = ("age", "sex", "disease", "name", "age,sex", "utf-8", "cp932", "utf-16", "swap", "window", "csv", "ndjson", "all",
    "appi",
         "tcp://", "unix:///none", "people", "[/bold]", ",", ";", "right", "day,month", "10,20")  # fmt: skip
SLOW = ("report", "public_report")  # pictures take a second, whatever is asked for
FITTING = {
    "data": ("in.csv", "in.csv", "released.csv"), "original": ("in.csv",), "released": ("in.csv", "released.csv"),
    "recipe": ("recipe.yaml",),
    "quasi": ("age,sex", "sex", "age"), "sensitive": ("disease",), "k": ("1", "2", "3"), "column": ("age", "sex"),
    "source": ("in.ndjson",),
    "target": ("out.ndjson",), "dead_letters": ("dead.ndjson",), "output": ("out.csv", "out.parquet", "out.xlsx"),
    "kind": ("people",),
    "person": ("name",), "mode": ("swap", "count", "window"), "state": ("state",), "sheet": ("Sheet1",),
    "encoding": ("utf-8",), "l": ("1", "2"),
    "truth": ("truth.csv",), "ledger": ("ledger.csv",), "rows": ("10",),
}  # fmt: skip


@lru_cache(1)
def _command() -> Any:
    return typer.main.get_command(app)


def draw(rng: random.Random) -> Case:
    """A command with options of its own, mostly, and values that fit, mostly."""
    name = rng.choice(COMMANDS)
    parameters = _command().commands[name].params
    words = [name]
    for one in parameters:
        if one.name in SLOW:
            continue
        rows = one.name == "rows"  # without it, synth makes very many; purchases always have 500,000 addresses
        needed = rows or one.required or (one.name in ("output", "quasi") and rng.random() < 0.8)
        if (
            rows
            or (needed and rng.random() < 0.95)
            or (not needed and one.param_type_name == "option" and rng.random() < 0.08)
        ):
            words += _given(rng, one)
    if rng.random() < 0.1:
        words.insert(rng.randint(0, len(words)), rng.choice([odd_text(rng), "--help", "--", "--no-such", "-x"]))
    return {"words": [word.replace("\0", "").replace("\ud800", "") for word in words]}


def _given(rng: random.Random, one: Any) -> list[str]:
    value = _value(rng, one)
    if one.param_type_name == "argument":
        return [value]
    option = rng.choice([*one.opts, *one.secondary_opts])
    return [option] if getattr(one, "is_flag", False) else [option, value]


def _value(rng: random.Random, one: Any) -> str:
    kind = str(one.type_descriptor.annotation)
    if rng.random() < 0.05:
        return odd_text(rng).lstrip("/.~")[:100]
    if one.name in FITTING and rng.random() < 0.8:
        return rng.choice(FITTING[one.name])
    if one.name in ("data", "original", "released", "output"):
        return rng.choice(PLACES)
    if one.name == "source":
        return rng.choice(["in.ndjson", "in.csv", "nothing.csv", "unix:///none", "folder", *BROKERS])
    if one.name in ("target", "dead_letters"):
        return rng.choice(["out.ndjson", "out.csv", "in.ndjson", "folder", "none/out.csv", *BROKERS])
    if "int" in kind or "float" in kind:
        return rng.choice(NUMBERS) if one.name != "rows" else rng.choice(["0", "10", "-1", "x"])
    return rng.choice(PLACES) if "Path" in kind else rng.choice(WORDS)


def check(case: Case, place: Path) -> Sequence[str]:
    """One of the codes, no internal error, and files as they must be."""
    for name, text in FILES.items():
        (place / name).write_text(text)
    (place / "folder").mkdir()
    before = {one.name for one in place.iterdir()}
    empty = io.TextIOWrapper(io.BytesIO(b""))
    _command()  # before it is put in the place of what makes it
    try:
        with patch.object(typer.main, "get_command", lambda _: _command()), patch.object(sys, "stdin", empty):
            done = call(*case["words"], cwd=place)
    except Exception as error:
        raise Finding("traceback", f"{type(error).__name__}: {str(error)[:300]}") from error
    require(done.code in (0, 1, 2, 75, 78), f"exit code {done.code}")
    if "internal error" in done.err or "Traceback" in done.err:
        raise Finding("traceback", done.err[-300:])
    require(PASSWORD not in done.err + done.out, "a password was said")
    require(done.code == 0 or bool(done.err.strip() or done.out.strip()), f"exit code {done.code} without a word")
    _check_files(case["words"], place, before, done.code)
    return [f"{case['words'][0]}: exit code {done.code}"] if case["words"] and case["words"][0] in COMMANDS else []


def _check_files(words: Sequence[str], place: Path, before: set[str], code: int) -> None:
    for name in ("recipe.yaml", "h.csv") if "--force" in words else FILES:
        require((place / name).read_text() == FILES[name] if (place / name).exists() else False, f"{name} was changed")
    new = {one.name for one in place.iterdir()} - before
    if code and "stream" not in words:
        require(not new, f"exit code {code}, and yet {sorted(new)}")
    named = " ".join(words)
    beside = (
        tuple(word.rstrip("/") for word in words if len(word) > 2) if "synth" in words else ()
    )  # its recipe, hierarchies
    asked_for = [name for name in new if name in named or name == "lock" or name.startswith(beside)]
    require(len(asked_for) == len(new), f"nobody asked for {sorted(new)}")


ARGUMENT_FUZZERS = (Fuzzer("arguments", draw, check, 20, shrinks=False),)
