"""What may be found on the disk after a process was killed, and what may not."""

from __future__ import annotations

import csv
import io
import json
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.faults.commands import CANARY, OLD, Command, people
from tests.faults.lives import Life, drafts_in

FAULTS = (
    "lost",
    "doubled",
    "half written",
    "readable by others",
    "raw values",
    "said wrongly",
    "hung",
    "promise broken",
)


def judge_life(command: Command, folder: Path, life: Life, expected: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    """Faults after any life, as kind and words."""
    if life.hung:
        yield "hung", life.phase
    yield from _judge_words(command, life)
    yield from _judge_modes(command, folder)
    yield from _judge_raw(command, folder)
    if command.kind == "batch":
        yield from _judge_outputs(command, folder, life, expected)


def _judge_words(command: Command, life: Life) -> Iterator[tuple[str, str]]:
    for bad in ("Traceback", "internal error", "Fatal Python", "Exception ignored"):
        if bad in life.said:
            yield "said wrongly", life.said[-500:]
    if CANARY in life.said:
        yield "raw values", f"in a message: {life.said[:200]}"
    if life.code not in (0, 2, 75, 78, 141) and life.code >= 0:
        yield "said wrongly", f"exit code {life.code}: {life.said[-300:]}"


def _judge_modes(command: Command, folder: Path) -> Iterator[tuple[str, str]]:
    inputs = {"recipe.yaml", *(one.name for one in folder.glob("in.*"))}
    linked = {(folder / name).resolve() for name in command.outputs}
    for path in folder.rglob("*"):
        top = path.relative_to(folder).parts[0]
        if (
            top in inputs
            or (command.piped and top in command.outputs)
            or (path in linked and top not in command.private)
        ):
            continue
        private = top in command.private or (top not in command.outputs and path.is_file() and not path.is_symlink())
        if private and stat.S_IMODE(path.lstat().st_mode) & 0o077:
            yield "readable by others", f"{path.name}: {stat.S_IMODE(path.lstat().st_mode):o}"


def _judge_raw(command: Command, folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("*"):
        top = path.relative_to(folder).parts[0]
        if path.is_file() and not top.startswith("in.") and top not in command.raw:
            if _is_draft_of(path.name, command.raw):
                continue
            if CANARY.encode() in path.read_bytes():
                yield "raw values", f"in {path.name}"


def _is_draft_of(name: str, files: frozenset[str]) -> bool:
    return any(name.startswith(f".{one}.oboro-") for one in files)


def content_of(path: Path) -> bytes:
    """All of a file, but of a workbook without the time at which it was made, and of a page only whether it is whole."""
    content = path.read_bytes()
    if path.suffix == ".html":
        page = content.strip().lower()
        return b"a page" if page.startswith(b"<!doctype") and page.endswith(b"</html>") else b"no page"
    if path.suffix != ".xlsx" or content == OLD:
        return content
    try:
        with zipfile.ZipFile(path) as book:
            parts = [(name, book.read(name)) for name in sorted(book.namelist()) if not name.startswith("docProps")]
    except zipfile.BadZipFile:
        return b"no workbook"
    return repr(parts).encode()


def _judge_outputs(command: Command, folder: Path, life: Life, expected: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    if command.piped:
        yield from _judge_pipe(command, folder, life, expected)
        return
    there = {Path(name).name: content_of(folder / name) for name in command.outputs if (folder / name).exists()}
    for name, found in there.items():
        if found not in (expected[name], OLD):
            yield "half written", f"{name}: {len(found)} of {len(expected[name])} bytes"
    if life.code == 0 and there != expected:
        yield "said wrongly", "exit code 0 over an output that is not there"
    lacking = [name for name in command.lists if name not in there]
    if lacking and there.get(Path(command.outputs[0]).name, OLD) != OLD:
        yield "lost", f"{lacking} of a table that is there"
    drafts = sorted(drafts_in(folder) - life.drafts_before)
    if drafts and life.code >= 0:
        yield "half written", f"{drafts} stays though the process ended by itself"
    if "nothing was" in life.said and any(found != OLD for found in there.values()):
        yield "said wrongly", life.said[-300:]


def _judge_pipe(command: Command, folder: Path, life: Life, expected: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    """What came through the pipe is the beginning of the table, and all of it where the exit code says so."""
    (name,) = command.outputs
    came = (folder / name).read_bytes()
    if not expected[name].startswith(came):
        yield "half written", f"{len(came)} bytes that are not the beginning of the table"
    if life.code == 0 and came != expected[name]:
        yield "said wrongly", f"exit code 0 after {len(came)} of {len(expected[name])} bytes"
    if "nothing was" in life.said and came:
        yield "said wrongly", life.said[-300:]


# A stream that came to its end ------------------------------------------------------------------------------------------


def judge_stream(command: Command, folder: Path) -> Iterator[tuple[str, str]]:
    """Every record is out once, or a dead letter; in a pipe, or in doubt."""
    form = command.forms["form"]
    released = list(records(folder / command.outputs[0], form))
    letters = [json.loads(line) for line in (folder / "dead.ndjson").read_bytes().splitlines()]
    seen = Counter(one["note"] for one in released)
    doubted = _in_doubt(letters)
    for row in people(160):
        count = seen.pop(row["note"], 0)
        if count == 0 and row["note"] not in doubted:
            yield "lost", f"{row['note']}"
        if count > 1:
            yield "doubled", f"{row['note']} {count} times"
    if seen:
        yield "half written", f"records that nobody sent: {list(seen)[:3]}"
    yield from _judge_letters(letters, form)
    if not command.piped:
        yield from _judge_promise(command, released)


def records(path: Path, form: str) -> Iterator[dict[str, Any]]:
    text = path.read_bytes().decode()
    if form == "ndjson":
        yield from map(json.loads, text.splitlines())
    else:
        yield from csv.DictReader(io.StringIO(text, newline=""), strict=True)


def _in_doubt(letters: list[dict[str, Any]]) -> set[str]:
    found = (re.search(r"\bn\d+\b", one.get("record", "")) for one in letters if "may or may not" in one["reason"])
    return {one[0] for one in found if one}


def _judge_letters(letters: list[dict[str, Any]], form: str) -> Iterator[tuple[str, str]]:
    from tests.faults.commands import BAD

    rejected = Counter(one["record"] for one in letters if "may or may not" not in one["reason"])
    wanted = Counter(bad.decode().rstrip("\n") for bad in BAD[form])
    for record in wanted - rejected:
        yield "lost", f"the dead letter {record!r}"
    for record in rejected - wanted:
        yield "doubled", f"the dead letter {record!r}"


def _judge_promise(command: Command, released: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """What was promised holds over all lives together: a restart forgets nobody."""
    if "window" in command.words:
        counts = Counter((one["age"], one["sex"]) for one in released)
        if min(counts.values()) < 3:
            yield "promise broken", f"{min(counts.values())} records alike"
        return
    from oboro.verifier.stream import verify_stream

    rows = [{"age": row["age"], "sex": row["sex"]} for row in people(160)]
    shown = [{"age": one["age"], "sex": one["sex"]} for one in released]
    if command.forms["form"] == "csv":
        rows = [{"age": str(row["age"]), "sex": row["sex"]} for row in rows]
    verdict = verify_stream(rows, shown, attributes=["age", "sex"], k=3, hierarchies={"age": {"intervals": [10, 40]}})
    if not verdict.holds:
        yield "promise broken", str(verdict)
