"""Options shared by commands, with reading of tables, progress, and writing of reports."""

from __future__ import annotations

import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import wraps
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from oboro.cli.language import spoken
from oboro.text import Message, say
from oboro.text.language import READING, silent
from oboro.text.printable import json_printable

if TYPE_CHECKING:
    from oboro.io.read import Source
    from oboro.report.report import Report
    from oboro.text import Words

__all__ = [
    "FOUND_OUT",
    "NOTHING_CLAIMED",
    "NO_PAGES",
    "AsJson",
    "Claims",
    "ExcelSafe",
    "Force",
    "Pages",
    "Reading",
    "RecipeFile",
    "check_files",
    "console",
    "engines",
    "gathered",
    "kinds",
    "modes",
    "names",
    "print_json",
    "read_table",
    "say_notes",
    "stages",
    "warn_if_cold",
]


# Sets of options ------------------------------------------------------------------------------------------------------
# Options that several commands share, or that are passed on together: each set is declared once, as a dataclass.


C = TypeVar("C", bound=Callable[..., None])
KEYWORD = inspect.Parameter.KEYWORD_ONLY


def gathered(command: C) -> C:
    """Give a command the options of each dataclass among its parameters; it gets them as that parameter."""
    sets: dict[str, Any] = {}
    shown: dict[str, inspect.Parameter] = {}
    for one in inspect.signature(command, eval_str=True).parameters.values():
        if not is_dataclass(one.annotation):
            shown[one.name] = one.replace(kind=KEYWORD)
            continue
        sets[one.name], hints = one.annotation, get_type_hints(one.annotation, include_extras=True)
        for each in fields(one.annotation):
            shown[each.name] = inspect.Parameter(each.name, KEYWORD, default=each.default, annotation=hints[each.name])

    @wraps(command)
    def called(**given: Any) -> None:
        for name, kind in sets.items():
            given[name] = kind(*map(given.pop, map(attrgetter("name"), fields(kind))))
        command(**given)

    del called.__wrapped__  # typer is to see the options
    called.__signature__ = inspect.Signature(list(shown.values()))  # type: ignore[attr-defined]
    called.__annotations__ = {}  # those of the command are strings of another module; the signature has them evaluated
    return called  # type: ignore[return-value]


@dataclass(frozen=True)
class Reading:
    """What is said of how a file is written."""

    encoding: str | None = None
    delimiter: str | None = None
    header: bool = True
    sheet: str | None = None
    header_row: int | None = None

    @property
    def of_stream(self) -> Reading:
        """How what a stream made of such a file is written: its encoding is found out, since a stream writes UTF-8."""
        return replace(self, encoding=None)

    def said(self) -> dict[str, Any]:
        """The options that somebody gave, as they are written on the command line."""
        given = {name: value for name, value in asdict(self).items() if value != getattr(FOUND_OUT, name)}
        return {("--no-header" if name == "header" else f"--{name.replace('_', '-')}"): given[name] for name in given}


FOUND_OUT = Reading()
"""Nothing is said: everything is found out."""


# Options --------------------------------------------------------------------------------------------------------------


RecipeFile = Annotated[Path, typer.Option("--recipe", "-r")]
ExcelSafe = Annotated[bool, typer.Option("--excel-safe")]
Force = Annotated[bool, typer.Option("--force")]
AsJson = Annotated[bool, typer.Option("--json")]


@contextmanager
def stages() -> Iterator[Any]:
    """A bar on stderr that shows the stage, and where rows are counted how many are done and how fast; only on a terminal."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rows]}"))
    terminal = Console(stderr=True)
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        task = bar.add_task(Message("progress.starting").say(spoken()), total=None, rows="")
        began = {"": time.monotonic()}

        def show(stage: Words, done: int = 0, total: int | None = None) -> None:
            seconds = time.monotonic() - began.setdefault(str(stage), time.monotonic())
            counted = Message("progress.rows", done=done, speed=done / seconds) if done and seconds else ""
            rows = say(counted, spoken())
            bar.update(task, description=say(stage, spoken()), completed=done, total=total, rows=rows)

        yield show


def warn_if_cold() -> None:
    """Say on stderr that the first run takes longer, should it have to compile."""
    from oboro.kernels.jit import tell_when_cold

    tell_when_cold(lambda: print(Message("error_app.cold").say(spoken()), file=sys.stderr))


def console() -> Any:
    """Return the console for results."""
    from rich.console import Console

    return Console()


def names(text: str | None) -> list[str]:
    """Names with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def print_json(content: Any) -> None:
    """A result for programs."""
    print(json_printable(json.dumps(content, ensure_ascii=False, indent=2)))


def read_table(path: str | Path, reading: Reading = FOUND_OUT) -> Source:
    """Read a table with a progress bar on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from oboro.io.read import read

    columns = (TextColumn(READING.say(spoken())), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    terminal = Console(stderr=True)
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def progress(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        found = read(path, **vars(reading), progress=progress)
    say_notes(found)
    return found


def say_notes(source: Source | None) -> None:
    """Say on stderr what was found out about a file."""
    for note in source.notes if source else ():
        print(f"oboro: {note.say(spoken())}", file=sys.stderr)


def check_files(written: Mapping[str, Path | None], *others: str | Path | None, force: bool = False) -> None:
    """Before any work: raise if the file of an option could not be written, or would replace one of the others or of these.

    Without `force`, it may not replace any file.
    """
    from oboro.errors import UsageError
    from oboro.io.places.place import is_plain_file
    from oboro.system.files import check_free, check_place, file_marks

    taken: set[object] = set()
    for one in others:
        if one is not None and str(one) != "-" and is_plain_file(one):
            taken.update(file_marks(one))
    for option, path in written.items():
        special = path is not None and path.exists() and not path.is_file() and not path.is_dir()
        if path is None or str(path) == "-" or special:  # a device and a pipe may be named twice
            continue
        if not taken.isdisjoint(file_marks(path)):
            raise UsageError(Message("error_app.same_file", option=option, path=path))
        check_place(path)
        check_free(path, force)
        taken.update(file_marks(path))


@dataclass(frozen=True)
class Pages:
    """The reports that were asked for."""

    report: Path | None = None
    public_report: Path | None = None
    law: str | None = None
    made_by: str | None = None
    made_for: Annotated[str | None, typer.Option("--for")] = None
    purpose: str | None = None

    def __post_init__(self) -> None:
        """Before any work: raise if a law is unknown."""
        if self.law is not None:
            from oboro.report.checklists.base import LAWS

            LAWS.asked([], names(self.law))

    @property
    def any(self) -> bool:
        """Whether one was asked for."""
        return self.report is not None or self.public_report is not None

    @property
    def files(self) -> dict[str, Path | None]:
        """The option of each, and its file."""
        return {"--report": self.report, "--public-report": self.public_report}

    def completed(self, report: Report) -> Report:
        """With the checklists of the laws that were asked for, and with what was said of who made it."""
        if self.law is not None:
            report = report.for_laws(names(self.law))
        said = {"made_by": self.made_by or "", "made_for": self.made_for or "", "purpose": self.purpose or ""}
        return report.signed(**said)

    def write(self, report: Report) -> None:
        """Each appears whole or not at all. The owner's holds the recipe: nobody else may read it."""
        if self.report is not None:
            report.to_html(self.report, lang=spoken(), force=True)  # `check_files` asked
        if self.public_report is not None:
            report.to_public().to_html(self.public_report, lang=spoken(), force=True)


NO_PAGES = Pages()


# Claimed guarantees ---------------------------------------------------------------------------------------------------
# Guarantees that a release is claimed to satisfy, as options of a command.


@dataclass(frozen=True)
class Claims:
    """What a release is said to keep."""

    k: int | None = None
    l: float | None = None  # noqa: E741
    l_kind: str = "distinct"
    c: float | None = None
    t: float | None = None
    distance: str = "equal"
    alpha: float | None = None

    def demands(self) -> dict[str, Any]:
        """The same for `oboro.verify` and `oboro.evaluate`."""
        given = asdict(self)
        return {"kind": given.pop("l_kind"), **given}


NOTHING_CLAIMED = Claims()


# Shell completion -----------------------------------------------------------------------------------------------------
# Completion of arguments that are one of a few words.


def _of(words: tuple[str, ...], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def engines(incomplete: str) -> list[str]:
    """Where a recipe can run."""
    return _of(("local", "spark", "duckdb"), incomplete)


def kinds(incomplete: str) -> list[str]:
    """The made-up tables."""
    return _of(("people", "purchases"), incomplete)


def modes(incomplete: str) -> list[str]:
    """The modes of a stream without delay."""
    return _of(("swap", "count", "paper", "sequential", "fixed"), incomplete)
