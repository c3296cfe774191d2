"""Streams: every line comes out or is a dead letter, whatever it holds; a state with an accident is refused, or loses nothing."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.fuzz.fuzzing import Case, Fuzzer, asked, refused, require
from tests.fuzz.mutations import mutated, odd_text
from tests.fuzz.tables.json_fuzzer import MARKS

from oboro.recipe.recipe import Recipe
from oboro.recipe.stream import StreamOptions, run_stream

__all__ = ["STREAM_FUZZERS"]

RECIPE = """
attributes:
  age: {role: quasi, hierarchy: {intervals: [10, 20]}}
  sex: {role: quasi}
  id: {role: other}
steps: [{k_anonymize: {k: 2}}]
"""
FILES = ("in.ndjson", "out.ndjson", "dead.ndjson", "snapshot", "log")
POISON = (
    "9223372036854775808",
    "1e400",
    '"\\ud800"',
    "[1]",
    '{"a": 1}',
    "true",
    "null",
    '"\\u0000"',
    '"' + "x" * 3000 + '"',
)


def _line(number: int, age: str = "31", sex: str = '"F"') -> str:
    return f'{{"age": {age}, "sex": {sex}, "id": {number}}}'


def draw_lines(rng: random.Random) -> Case:
    """Lines of records, some of them poisoned, and perhaps an accident."""
    lines = []
    for number in range(int(rng.expovariate(0.1))):
        odd = rng.random() < 0.15
        age = rng.choice(POISON) if odd and rng.random() < 0.5 else str(rng.randint(20, 60))
        lines.append(_line(number, age, json.dumps(odd_text(rng)) if odd else '"F"'))
    data = "\n".join(lines).encode() + rng.choice([b"", b"\n"])
    if rng.random() < 0.5:
        data = mutated(rng, data, MARKS, 1 + int(rng.expovariate(0.5)))
    modes = ["swap", "count"] * 10 + ["sequential", "window"]
    return {
        "data": data,
        "mode": rng.choice(modes),
        "longest": rng.choice([1 << 20, 1 << 20, 60]),
        "state": rng.random() < 0.3,
    }


def _run(place: Path, mode: str, longest: int = 1 << 20, state: bool = True, resume: Any = None) -> Any:
    options = StreamOptions(mode=mode, window=20, categories=["sex"]) if mode == "window" else StreamOptions(mode=mode)  # type: ignore[arg-type]
    return asked(lambda: run_stream(
        _recipe(), options, source=str(place / "in.ndjson"), target=str(place / "out.ndjson"),
        dead_letters=str(place / "dead.ndjson"),
        state=place / "state" if state else None, longest_line=longest, resume=resume,
    ))  # fmt: skip


@lru_cache(1)
def _recipe() -> Recipe:
    return Recipe.parse(RECIPE)


def check_lines(case: Case, place: Path) -> Sequence[str]:
    """As many lines come out, or are dead letters, as came; the second time there is nothing to do."""
    (place / "in.ndjson").write_bytes(case["data"])
    asked_lines = sum(bool(line.strip()) for line in case["data"].removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    for _ in range(2 if case["state"] else 1):
        done = _run(place, case["mode"], case["longest"], case["state"])
        require(not refused(done), f"a stream that ends: {done}")
        out = (place / "out.ndjson").read_bytes().splitlines() if (place / "out.ndjson").exists() else []
        dead = (place / "dead.ndjson").read_bytes().splitlines() if (place / "dead.ndjson").exists() else []
        [json.loads(line) for line in (*out, *dead)]
        require(
            len(out) + len(dead) == asked_lines,
            f"{asked_lines} lines came, {len(out)} came out, {len(dead)} are dead letters",
        )
    return ["dead letters"] if dead else []


# States ---------------------------------------------------------------------------------------------------------------


def draw_state(rng: random.Random) -> Case:
    """How many records there were before, how many come after, and what happened to which file in between."""
    accidents = []
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        kind = rng.choice(["flip", "flip", "cut", "grow", "gone", "empty", "meta", "meta"])
        accidents.append([rng.choice(FILES), kind, rng.random(), rng.randrange(1 << 30)])
    return {
        "before": rng.randint(0, 30),
        "after": rng.randint(0, 20),
        "accidents": accidents,
        "mode": rng.choice(["swap", "swap", "count", "window"]),
    }


def _lines(count: int) -> bytes:
    return "".join(_line(number, str(20 + number * 7 % 30)) + "\n" for number in range(count)).encode()


@lru_cache(400)
def _begun(mode: str, before: int, place: Path) -> dict[str, bytes]:
    """The files of a stream that took so many records."""
    (place / "in.ndjson").write_bytes(_lines(before))
    done = _run(place, mode)
    require(not refused(done), f"a stream that does not begin: {done}")
    return {str(one.relative_to(place)): one.read_bytes() for one in place.rglob("*") if one.is_file()}


def check_state(case: Case, place: Path) -> Sequence[str]:
    """The stream goes on as if nothing had been, or is refused; where files are whole, no record is lost or doubled."""
    inner = place / "begun"
    inner.mkdir()
    files = dict(_begun(case["mode"], case["before"], inner))
    files["in.ndjson"] = _lines(case["before"] + case["after"])
    for name, kind, where, seed in case["accidents"]:
        _accident(files, name, kind, where, seed)
    again = place / "again"
    (again / "state").mkdir(parents=True)
    (again / "state").chmod(0o700)
    for name, data in files.items():
        (again / name).write_bytes(data)
    done = _run(again, case["mode"])
    if refused(done):
        require(bool(case["accidents"]), f"a whole state was refused: {done}")
        return ["refused: state, input and output do not belong together"]
    if not any(kind in ("meta", "grow") or name != "in.ndjson" for name, kind, *_ in case["accidents"]):
        _count(again, files["in.ndjson"])
    elif not any(
        kind == "meta" or (name in ("out.ndjson", "dead.ndjson") and kind != "cut")
        for name, kind, *_ in case["accidents"]
    ):
        _count(again, files.get("in.ndjson", b""))
    return ["went on"]


def _accident(files: dict[str, bytes], name: str, kind: str, where: float, seed: int) -> None:
    found = next((one for one in files if name in one), None)
    if found is None:
        return
    data, rng = files[found], random.Random(seed)
    at = int(where * len(data))
    if kind == "flip" and data:
        files[found] = data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    elif kind == "cut":
        files[found] = data[:at]
    elif kind == "grow":
        files[found] = data + rng.randbytes(rng.randint(1, 40))
    elif kind == "gone":
        del files[found]
    elif kind == "empty":
        files[found] = b""
    elif kind == "meta" and name == "snapshot":
        files[found] = _other_meta(data, rng)


def _other_meta(data: bytes, rng: random.Random) -> bytes:
    """A snapshot of which one part says something else, with checksums that are right."""
    out = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
            names = old.namelist()
            chosen = "meta.npy" if rng.random() < 0.7 else rng.choice(names)
            for name in names:
                inner = old.read(name)
                new.writestr(
                    name, inner[:128] + mutated(rng, inner[128:], MARKS, rng.randint(1, 2)) if name == chosen else inner
                )
    except zipfile.BadZipFile:
        return data
    return out.getvalue()


def _count(place: Path, data: bytes) -> None:
    """Every record that came is there once; those of a line that is none are dead letters."""
    came = Counter[int]()
    for line in data.split(b"\n"):
        try:
            came[int(json.loads(line)["id"])] += 1
        except (ValueError, KeyError, TypeError):
            continue
    out = Counter(json.loads(line).get("id") for line in (place / "out.ndjson").read_bytes().splitlines())
    dead = (place / "dead.ndjson").read_bytes() if (place / "dead.ndjson").exists() else b""
    for number, count in came.items():
        inside = dead.count(f'\\"id\\": {number}}}'.encode()) + dead.count(f'"id":{number}}}'.encode())
        require(
            out[number] + inside == count,
            f"record {number}: {count} came, {out[number]} came out, {inside} are dead letters",
        )


STREAM_FUZZERS = (
    Fuzzer("stream_lines", draw_lines, check_lines, 20),
    Fuzzer("stream_state", draw_state, check_state, 30),
)
