"""CSV: tables written in every style must be read cell by cell; whatever else comes is read as its twin reads it, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.fuzz.fuzzing import Case, Finding, Fuzzer, asked, refused, require
from tests.fuzz.tables.csv_differences import peer_difference, refusal_difference
from tests.fuzz.tables.csv_peers import PEERS
from tests.fuzz.tables.csv_text import drawn_broken, drawn_table, packed, text_of, twin
from tests.fuzz.tables.round_trip import check_written

from oboro.io.bytes import open_stream
from oboro.io.formats.csv import blocks
from oboro.io.formats.csv.dialect import Dialect
from oboro.io.formats.csv.tables import _headed
from oboro.io.read import Source, read
from oboro.kernels.jit import always_compiled

__all__ = ["CSV_FUZZERS"]

Rows = list[list[Any]]


@contextmanager
def _compiled(size: int):  # type: ignore[no-untyped-def]
    """The compiled reader, in blocks so small that records, quotes and line ends fall on their borders."""
    with always_compiled(), patch.multiple(blocks, CELLS=size, BLOCK=size, LONGEST=1 << 20):
        yield


def rows_of(source: Source) -> Rows:
    """Names as the file has them, if it does, and the cells below."""
    data = source.dataset
    made = {note.values["name"] for note in source.notes if note.id == "io.named_by_place"}
    columns = [data[name].decode().to_pylist() for name in data]
    below = [list(row) for row in zip(*columns, strict=True)]
    assert source.dialect is not None
    return [[None if name in made else name for name in data], *below] if source.dialect.header else below


def _read(case: Case, path: Path, options: dict[str, Any]) -> Any:
    """The table; where `blocks` says so it is read twice, by Python and compiled, and both say the same."""
    answer = asked(lambda: read(path, **options))
    if case["blocks"]:
        with _compiled(case["blocks"]):
            again = asked(lambda: read(path, **options))
        if refused(answer) or refused(again):
            same = str(answer) == str(again) or _two_faults(answer, again)
            require(same, f"compiled: {again}; by Python: {answer}")
        else:
            require(rows_of(answer) == rows_of(again), "compiled and by Python, the table differs")
    return answer


def _two_faults(*answers: Any) -> bool:
    """Both refuse the file, and one of them because of a byte that is not in its encoding: blocks decide which is met first."""
    faults = [getattr(getattr(one, "words", None), "id", None) for one in answers]
    return None not in faults and "error_io.bad_byte" in faults


# Valid by construction ------------------------------------------------------------------------------------------------


def check_table(case: Case, place: Path) -> Sequence[str]:
    """Every cell comes back, and others read what we write of it."""
    text = text_of(case)
    path = place / "in.csv"
    path.write_bytes(packed(text.encode(case["encoding"]), case["packed"]))
    options: dict[str, Any] = {}
    if case["given"]:
        options = {name: case[name] for name in ("delimiter", "quote", "encoding")}
    source = _read(case, path, options)
    width = len(case["grid"][0])
    if refused(source):
        return [_refused_table(case, path, options, text, source)]
    dialect = source.dialect
    if dialect.encoding != case["encoding"]:
        require(not case["given"], "another encoding than the given one")
        return ["guessed encoding"]
    rows, expected = rows_of(source), twin(text, dialect)
    require(rows == expected, f"read {rows[:3]}, csv reads {(expected or [])[:3]}")
    same = (dialect.delimiter, dialect.quote, dialect.space) == (case["delimiter"], case["quote"], False)
    if not same:
        require(not case["given"] or dialect.space, "another dialect than the given one")
        return ["guessed dialect" if not case["given"] else "spaces after every delimiter"]
    require(rows == [[cell or None for cell in record] for record in case["grid"]], "other cells than were written")
    found = _peers(text, dialect, width, rows) if case["encoding"] == "utf-8" and case["onward"] else []
    if case["onward"]:
        check_written(source, place)
    return found


def _refused_table(case: Case, path: Path, options: dict[str, Any], text: str, refusal: Exception) -> str:
    """A table may be refused where its encoding or dialect was not given and the guess is another one."""
    if not case["given"] and case["encoding"] in ("cp932", "euc_jp"):
        return "guessed encoding"
    dialect = _dialect(path, options)
    found = refusal_difference(twin(text, dialect), text, dialect) if dialect else None
    require(not case["given"] and found is not None, f"a table was refused: {refusal}")
    return "guessed dialect"


def _dialect(path: Path, options: dict[str, Any]) -> Dialect | None:
    """The dialect that was given or guessed; None where the file is refused before it is known."""
    plain = {
        "delimiter": options.get("delimiter"),
        "quote": options.get("quote"),
        "header": options.get("header", True),
    }

    def headed() -> Dialect:
        with open_stream(path, options.get("encoding")) as stream:
            return _headed(stream, plain)[0]

    def guessed() -> Dialect:
        from oboro.io.formats.csv.dialect import dialect_of

        with open_stream(path, options.get("encoding")) as stream:
            return dialect_of(stream.sample(), **plain)

    found = asked(headed)
    found = asked(guessed) if refused(found) else found
    return None if isinstance(found, Exception) else found


def _peers(text: str, dialect: Dialect, width: int, rows: Rows) -> list[str]:
    """The documented differences to others; a finding where one is not documented."""
    found = []
    for name, records in PEERS.items():
        theirs = records(text.encode(), dialect, width)
        if theirs != rows:
            said = peer_difference(name, text, dialect, rows, theirs)
            if said is None:
                shown = "nothing" if theirs is None else str(theirs[:4])
                raise Finding("difference", f"{name} reads {shown} instead of {rows[:4]}")
            found.append(f"{name}: {said}")
    return found


# Anything -------------------------------------------------------------------------------------------------------------


def check_broken(case: Case, place: Path) -> Sequence[str]:
    """It is read as the twin reads it, or refused for a reason that the twin's records show."""
    path = place / "in.csv"
    path.write_bytes(case["data"])
    options: dict[str, Any] = {"header": case["header"]}
    if case["given"]:
        options |= {"delimiter": case["delimiter"], "quote": case["quote"]}
    source = _read(case, path, options)
    if refused(source):
        return _refused_bytes(case["data"], path, options, source)
    dialect = source.dialect
    try:
        text = case["data"].decode(dialect.encoding)
    except UnicodeDecodeError:
        raise Finding("difference", f"read as {dialect.encoding}, which it is not") from None
    rows, expected = rows_of(source), twin(text, dialect)
    require(rows == expected, f"read {rows[:4]}, csv reads {(expected or [])[:4]}")
    found = (
        _peers(text, dialect, len(list(source.data)), rows) if dialect.encoding == "utf-8" and case["onward"] else []
    )
    if case["onward"]:
        check_written(source, place)
    return found


def _refused_bytes(data: bytes, path: Path, options: dict[str, Any], refusal: Exception) -> list[str]:
    dialect = _dialect(path, options)
    if dialect is None:
        return []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return []
    said = refusal_difference(twin(text, dialect), text, dialect)
    require(said is not None, f"refused what the twin reads: {refusal}")
    return [said] if said else []


CSV_FUZZERS = (
    Fuzzer("csv_table", drawn_table, check_table, 400),
    Fuzzer("csv_broken", drawn_broken, check_broken, 450),
)
