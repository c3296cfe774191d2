"""The command line: it translates strings into a recipe and shows what came of it.

Progress and messages go to stderr, data to stdout. Exit codes: 0 done, 1 a privacy promise does not hold, 2 bad usage or input.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oboro.app.evaluate import evaluate
from oboro.app.options import (
    AsJson,
    Data,
    Delimiter,
    Encoding,
    Header,
    Lang,
    Pages,
    PublicReport,
    RecipeFile,
    ReportFile,
    Sheet,
    check_files,
    console,
    print_json,
    read_table,
    stages,
)
from oboro.app.stream import stream
from oboro.app.verify import verify

if TYPE_CHECKING:
    from oboro.recipe.release import Release

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Anonymize personal data, verify the result, and report what it cost.\n\nNew here? Type `oboro demo`.",
)

MEASURED = 250_000  # rows up to which risk and loss are measured without being asked for


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

    _warn_if_cold()
    with stages() as stage:
        story = run(output, rows, seed, stage)
    story.show(console())


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
    from oboro.recipe.starter import starter

    print(starter(read_table(data, encoding, delimiter, header, sheet).data, data.name), end="")


@app.command()
def anonymize(
    data: Data,
    recipe: RecipeFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where the released table goes; the ending chooses the format."),
    ] = None,
    report: ReportFile = None,
    public_report: PublicReport = None,
    lang: Lang = "en",
    truth: Annotated[
        Path | None,
        typer.Option(help="Also write which original row each released record is: as secret as the original."),
    ] = None,
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
    from oboro.recipe.recipe import Recipe

    plan = Recipe.load(recipe)
    if explain:
        print(plan.explain())
        return
    if output is None:
        raise UsageError("say where the released table goes: --output OUT (or --explain to see the plan only)")
    check_output(output)
    pages = Pages(report, public_report, lang)
    check_files({"--truth": truth, **pages.files}, data, recipe, output)
    _warn_if_cold()
    options = {"encoding": encoding, "delimiter": delimiter, "header": header, "sheet": sheet}
    with stages() as stage, _report_loaded(pages.any, stage) as progress:
        release = plan.run(data, progress=progress, reading=options)
        _write(release, output, pages, stage)
        if truth is not None:
            release.write_truth(truth)
    for step in release.steps:
        if "warning" in step.facts:
            print(f"oboro: warning: {step.name}: {step.facts['warning']}", file=sys.stderr)
    if as_json:
        print_json(release.with_files(output).as_dict())
    elif report is not None or public_report is not None:
        print(release.report.in_language(lang).summary(), file=sys.stderr)
    elif release.frame.data.rows <= MEASURED:
        print(release.figures.in_language(lang).summary(), file=sys.stderr)
    else:
        print(release.summary(), file=sys.stderr)


def _warn_if_cold() -> None:
    from oboro.kernels import compiled_before

    if not compiled_before():
        print("The first run compiles what is fast later; it takes about half a minute.", file=sys.stderr)


@contextmanager
def _report_loaded(asked: bool, stage: Any) -> Iterator[Any]:
    """The same progress; while the table is read, what a report needs is imported, which takes two seconds.

    The first step waits for it: it may load parts of scipy that need each other, which two threads must not do at once.
    """
    if not asked:
        yield stage
        return
    import scipy.linalg  # noqa: F401  (numba loads it with its first kernel)

    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(_load_report)

        def progress(what: str, *counts: Any) -> None:
            if what != "reading":
                loading.result()
            stage(what, *counts)

        yield progress


def _load_report() -> None:
    import oboro.report  # noqa: F401
    from oboro.measure.statistics.learning import load

    load()


def _write(release: Release, output: Path, pages: Pages, stage: Any) -> None:
    if pages.any:
        from oboro.report.page.charts import warm_up

        stage("measuring risk and utility")
        release.report  # noqa: B018  (measured before anything is written, so that a failure leaves nothing)
    stage("writing")
    release.write(output, progress=partial(stage, "writing"))
    if pages.any:
        stage("making the report")
        with ThreadPoolExecutor(1) as pool:  # hashes files while the pictures are made ready
            evidence = pool.submit(release.with_files, output)
            warm_up()
            pages.write(evidence.result())


for command in (verify, evaluate):
    app.command()(command)


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

    view = examine(read_table(data, encoding, delimiter, header, sheet).data, column, spec)
    if output is not None:
        view.save(output)
    if as_json:
        print_json(view.as_dict())
    else:
        view.show(console())


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

    with stages() as stage:
        recipe = synthesize(kind, rows, columns, seed, output, stage)
    print(f"{output}: {rows} rows; recipe: {recipe}", file=sys.stderr)


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="The benchmark; a wrong name lists them.")],
    quick: Annotated[bool, typer.Option("--quick", help="A smaller part of the same work, within a minute.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Also what needs gigabytes of memory (lattice: 100M rows).")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A folder for the figures as JSON and the pictures.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce a paper's table on this machine, our figures beside the paper's.

    Real data comes from the folder in OBORO_DATA; without it, that part is left out.

    Example: `oboro bench histogram --quick`
    """
    from oboro.papers import run

    with stages() as stage:
        run(name, quick=quick, full=full, as_json=as_json, output=output, progress=stage)


@app.command()
def schema(
    what: Annotated[str, typer.Argument(help="recipe, or report (what --json prints).")] = "recipe",
) -> None:
    """Print the JSON Schema of recipes, for editors that check and complete YAML, or of reports.

    Example: `oboro schema > recipe.schema.json`
    """
    from oboro.errors import UsageError
    from oboro.recipe.recipe import Recipe
    from oboro.report import Report

    schemas = {"recipe": Recipe.json_schema, "report": Report.json_schema}
    if what not in schemas:
        raise UsageError(f"there is a schema of {' and of '.join(schemas)}; got {what!r}")
    print_json(schemas[what]())


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
