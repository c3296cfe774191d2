"""The command line: it translates strings into a recipe and shows what came of it.

Progress and messages go to stderr, data to stdout. Exit codes: 0 done, 1 a privacy promise does not hold, 2 bad usage or input.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oboro.app.stream import stream

if TYPE_CHECKING:
    from oboro.io.files import Source
    from oboro.release import Release

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Anonymize personal data, verify the result, and report what it cost.\n\nNew here? Type `oboro demo`.",
)

Data = Annotated[Path, typer.Argument(help="CSV, Parquet, Feather/Arrow or Excel file (also .csv.gz, .csv.zst).")]
RecipeFile = Annotated[Path, typer.Option("--recipe", "-r", help="The recipe (YAML or JSON).")]
ReportFile = Annotated[
    Path | None, typer.Option("--report", help="Also write a report as one self-contained HTML file.")
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of CSV input; found out if not given.")]
Delimiter = Annotated[str | None, typer.Option(help="Delimiter of CSV input; found out if not given.")]
Header = Annotated[bool, typer.Option(help="Whether the first line of CSV input names the columns.")]
Sheet = Annotated[str | None, typer.Option(help="Sheet of Excel input; the first if not given.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON for programs.")]


def main() -> None:
    """Run the command line; errors become one clear message and an exit code, never a traceback."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        app()
    except Interrupted:
        _fail("interrupted; nothing was written under the output's name")
    except Exception as error:
        from oboro.errors import OboroError

        if isinstance(error, OboroError):
            _fail(str(error), error.exit_code)
        if os.environ.get("OBORO_DEBUG"):
            raise
        _fail(_unexpected(error))


class Interrupted(BaseException):
    """Somebody pressed Ctrl-C or asked the process to end. Typer would answer a KeyboardInterrupt with an exit code of its own."""


def _interrupt(signal_number: int, frame: object) -> None:
    raise Interrupted


def _fail(message: str, code: int = 2) -> None:
    print(f"oboro: {message}", file=sys.stderr)
    sys.exit(code)


def _unexpected(error: Exception) -> str:
    """What may be said of an error that nobody foresaw: where it happened, not what was in it (that may be personal data)."""
    if isinstance(error, OSError):
        return f"{error.filename or 'the system'}: {error.strerror or type(error).__name__}"
    if isinstance(error, MemoryError):
        return "not enough memory for this table; nothing was written"
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else "?"
    return (
        f"internal error ({type(error).__name__} at {where}); set OBORO_DEBUG=1 to see all of it, and please report it"
    )


@contextmanager
def _stages() -> Iterator[Any]:
    """A spinner on stderr that names the stage; silent when stderr is not a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("starting") as status:
        yield lambda stage: status.update(stage)


def _console() -> Any:
    from rich.console import Console

    return Console()


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def _print_json(content: Any) -> None:
    print(json.dumps(content, ensure_ascii=False, indent=2))


def _read(
    path: Path,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    sheet: str | None = None,
) -> Source:
    """Read a table with a progress bar on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from oboro.io.files import read

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("reading", total=None)

        def progress(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        return read(path, encoding=encoding, delimiter=delimiter, header=header, sheet=sheet, progress=progress)


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")] = Path("oboro-demo"),
    rows: Annotated[int, typer.Option(min=100, max=1_000_000, help="How many people to make up.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Another seed makes other people.")] = 42,
) -> None:
    """Make up a table of people, anonymize it, verify it and write a report: nothing to prepare.

    Example: `oboro demo --rows 20000`
    """
    from oboro.app.demo import run
    from oboro.kernels import compiled_before

    if not compiled_before():
        print("The first run compiles what is fast later; it takes about half a minute.", file=sys.stderr)
    with _stages() as stage:
        story = run(output, rows, seed, stage)
    story.show(_console())


@app.command()
def init(
    data: Data,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = True,
    sheet: Sheet = None,
) -> None:
    """Print a starter recipe for a table: guessed roles, proposed hierarchies, comments that explain.

    Example: `oboro init people.csv > recipe.yaml`
    """
    from oboro.app.starter import starter

    print(starter(_read(data, encoding, delimiter, header, sheet).data, data.name), end="")


@app.command()
def anonymize(
    data: Data,
    recipe: RecipeFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where the released table goes; the ending chooses the format."),
    ] = None,
    report: ReportFile = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what would be done, and do nothing.")] = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = True,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Apply a recipe to a table, verify every promise on the result, and only then write it.

    Example: `oboro anonymize people.csv --recipe recipe.yaml --output released.csv --report report.html`
    """
    from oboro.errors import UsageError
    from oboro.io.output import check_output
    from oboro.recipe import Recipe

    plan = Recipe.load(recipe)
    if explain:
        print(plan.explain())
        return
    if output is None:
        raise UsageError("say where the released table goes: --output OUT (or --explain to see the plan only)")
    check_output(output)
    source = _read(data, encoding, delimiter, header, sheet)
    with _stages() as stage:
        release = plan.run(source, progress=stage)
        _write(release, output, report, stage)
    if as_json:
        _print_json(release.report.as_dict())
    else:
        print(release.report.summary(), file=sys.stderr)


def _write(release: Release, output: Path, report: Path | None, stage: Any) -> None:
    if report is not None:
        stage("measuring risk and utility")
        release.report  # noqa: B018  (measured before anything is written, so that a failure leaves nothing)
    stage("writing")
    release.write(output)
    if report is not None:
        stage("making the report")
        _write_page(release.with_files(output).to_html(), report)


def _write_page(page: str, path: Path) -> None:
    from oboro.io.output import atomic

    with atomic(path) as file:
        file.write(page.encode())


@app.command()
def verify(
    released: Data,
    quasi: Annotated[str, typer.Option(help="The quasi-identifiers, with commas.")],
    k: Annotated[int | None, typer.Option(help="k-anonymity: every combination occurs at least k times.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="The sensitive column, for --l, --t and --alpha.")] = None,
    l: Annotated[float | None, typer.Option("--l", help="l-diversity of the sensitive column in every class.")] = None,  # noqa: E741
    l_kind: Annotated[str, typer.Option(help="distinct, entropy or recursive (then also --c).")] = "distinct",
    c: Annotated[float | None, typer.Option("--c", help="The c of recursive (c, l)-diversity.")] = None,
    t: Annotated[float | None, typer.Option("--t", help="t-closeness of the sensitive column.")] = None,
    distance: Annotated[
        str, typer.Option(help="The distance of t-closeness: equal, ordered or hierarchical.")
    ] = "equal",
    hierarchy: Annotated[
        Path | None, typer.Option(help="Hierarchy file of the sensitive column, for --distance hierarchical.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="(α,k): no sensitive value is more frequent than α in a class.")
    ] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = True,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Check a released table alone, whoever made it. Exit code 0: every promise holds; 1: one is broken.

    Example: `oboro verify released.csv --quasi age,sex,zip --k 5 --sensitive disease --l 2`
    """
    from oboro.evaluate.verify import verify as check
    from oboro.table.hierarchy import HierarchySpec

    table = _read(released, encoding, delimiter, header, sheet)
    result = check(
        table.data,
        quasi=_names(quasi),
        k=k,
        sensitive=sensitive,
        l=l,
        kind=l_kind,
        c=c,
        t=t,
        distance=distance,
        hierarchy=HierarchySpec(csv=str(hierarchy)) if hierarchy else None,
        alpha=alpha,
    )
    if as_json:
        _print_json(result.as_dict())
    else:
        print(result)
    raise typer.Exit(0 if result.holds else 1)


@app.command()
def evaluate(
    original: Data,
    released: Data,
    recipe: RecipeFile,
    report: ReportFile = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = True,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Measure the risk that is left in a release and what it lost, whoever made it.

    The recipe says which columns are quasi-identifiers and sensitive; its steps are not run.

    Example: `oboro evaluate people.csv released.csv --recipe recipe.yaml --report report.html`
    """
    from oboro.recipe import Recipe

    plan = Recipe.load(recipe)
    before = _read(original, encoding, delimiter, header, sheet)
    after = _read(released, encoding, delimiter, header, sheet)
    with _stages() as stage:
        stage("measuring")
        found = plan.evaluate(before.data, after.data)
        if report is not None:
            _write_page(found.to_html(), report)
    if as_json:
        _print_json(found.as_dict())
    else:
        print(found.summary())


@app.command()
def hierarchy(
    data: Data,
    column: Annotated[str, typer.Argument(help="The column.")],
    spec: Annotated[
        str | None, typer.Option(help="What stands after `hierarchy:` in a recipe, for example '{intervals: [5, 10]}'.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also save it as an ARX-style CSV file.")
    ] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = True,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Build, check and preview the hierarchy of one column, level by level. Without --spec, one is proposed.

    Example: `oboro hierarchy people.csv age --spec '{intervals: [5, 10, 20]}'`
    """
    from oboro.app.hierarchy import examine

    view = examine(_read(data, encoding, delimiter, header, sheet).data, column, spec)
    if output is not None:
        view.save(output)
    if as_json:
        _print_json(view.as_dict())
    else:
        view.show(_console())


@app.command()
def synth(
    kind: Annotated[str, typer.Argument(help="people or purchases.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the table goes.")],
    rows: Annotated[int, typer.Option(min=1, help="How many rows.")] = 10_000,
    columns: Annotated[int, typer.Option(min=4, help="How many columns (purchases).")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Another seed makes another table.")] = 42,
) -> None:
    """Make up a table to try things on, with hierarchies and a ready recipe beside it (OUTPUT.recipe.yaml).

    Example: `oboro synth people --rows 100000 --output people.csv`
    """
    from oboro.app.demo import synthesize

    with _stages() as stage:
        recipe = synthesize(kind, rows, columns, seed, output, stage)
    print(f"{output}: {rows} rows; recipe: {recipe}", file=sys.stderr)


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="The benchmark; a wrong name lists them.")],
    quick: Annotated[bool, typer.Option("--quick", help="A smaller part of the same work, within a minute.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A folder for the figures as JSON and the pictures.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce a paper's table on this machine, our figures beside the paper's.

    Real data comes from the folder in OBORO_DATA; without it, that part is left out.

    Example: `oboro bench histogram --quick`
    """
    from oboro.app.bench import run

    with _stages() as stage:
        run(name, quick=quick, as_json=as_json, output=output, progress=stage)


@app.command()
def schema() -> None:
    """Print the JSON Schema of recipes, for editors that check and complete YAML.

    Example: `oboro schema > recipe.schema.json`
    """
    from oboro.recipe import Recipe

    _print_json(Recipe.json_schema())


app.command()(stream)


def _version(value: bool) -> None:
    if value:
        from oboro import __version__

        print(f"oboro {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


if __name__ == "__main__":
    main()
