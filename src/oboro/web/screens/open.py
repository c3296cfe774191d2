"""The Open screen: a dropped file, a file below the chosen folder, or example data."""

from __future__ import annotations

from functools import partial
from typing import Any

from oboro.errors import UsageError
from oboro.explorer.session import explore
from oboro.io.formats.base import FORMATS, inner_ending
from oboro.io.formats.excel import open_workbook
from oboro.io.read import read
from oboro.text import Message
from oboro.text.language import READING
from oboro.web.screens.state import changed
from oboro.web.server import Ask, Desk, OpenTable

__all__ = ["open_file", "open_sample", "opened", "redo", "sheets", "show_files", "undo"]


SAMPLES = ("people", "purchases")
MOST_MADE_UP = 1_000_000
READING_OPTIONS = ("encoding", "delimiter", "header", "sheet", "header_row")
LOOKING = Message("web.looking")


def show_files(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """List the files that can be opened in a folder below the root."""
    return desk.picker.listed(str(given.get("folder", "")))


def sheets(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """The sheets of an Excel file."""
    path, name, _ = desk.file(given)
    format_ = FORMATS.of_ending(inner_ending(name)[0])
    if format_ is None or "sheet" not in format_.options:
        return {"sheets": []}
    with open_workbook(str(path), name) as book:
        return {"sheets": book.sheets}


def open_file(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Read and encode a table. A file that was dropped is not needed after that."""
    path, name, called = desk.file(given)
    reading = {one: given[one] for one in READING_OPTIONS if given.get(one) not in (None, "")}
    if "header_row" in reading:
        reading["header_row"] = int(reading["header_row"])
    ask.tell(READING)
    source = read(path, **reading, progress=partial(ask.tell, READING))
    ask.tell(LOOKING)
    session = explore(source)
    ask.tell(LOOKING)
    notes = tuple(source.notes)
    state = desk.put(OpenTable(name, called, path.stat().st_size, reading, notes=notes), session)
    return changed(desk, ask, state)


def open_sample(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Make up a table to play with."""
    from oboro.recipe.starter import write_sample

    kind, rows = str(given.get("kind", "people")), int(given.get("rows", 20_000))
    if kind not in SAMPLES or not 100 <= rows <= MOST_MADE_UP:
        raise UsageError(Message("error_web.no_sample", kinds=list(SAMPLES), most=MOST_MADE_UP))
    ask.tell(Message("progress.making_up", rows=rows))
    path = desk.scratch.folder() / f"{kind}.csv"
    columns = 20
    write_sample(kind, path, rows=rows, columns=columns, lang=ask.lang)
    ask.tell(READING)
    session = explore(read(path, progress=partial(ask.tell, READING)))
    width = f" --columns {columns}" if kind == "purchases" else ""
    command = f"oboro synth {kind} --rows {rows}{width} --output {path.name}"
    return changed(desk, ask, desk.put(OpenTable(path.name, path.name, path.stat().st_size, made_up=command), session))


def undo(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """One act back."""
    return changed(desk, ask, desk.undo())


def redo(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """One act forward again."""
    return changed(desk, ask, desk.redo())


def opened(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """The first rows of the table, and what each column holds."""
    state = desk.state(given.get("version"))
    data = state.session.table.data
    rows = {name: column.decode().slice(0, 8).to_pylist() for name, column in data.columns.items()}
    shown = {name: ["" if one is None else str(one) for one in values] for name, values in rows.items()}
    return {"version": state.number, "columns": list(data), "rows": shown}
