"""The command line: it translates strings into a recipe and shows what came of it.

Progress and messages go to stderr, data to stdout. Exit codes: 0 done, 1 a privacy promise does not hold, 2 bad usage or input.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oboro.app.stream import stream

if TYPE_CHECKING:
    from oboro.evaluate.report import Report
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
PublicReport = Annotated[
    Path | None,
    typer.Option("--public-report", help="Also write a report without anything that helps to undo the processing."),
]
Lang = Annotated[str, typer.Option(help="Language of the reports: en or ja.")]
Fraction = Annotated[
    float, typer.Option(help="The part of the population that the table holds (population uniqueness).")
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of CSV input; found out if not given.")]
Delimiter = Annotated[str | None, typer.Option(help="Delimiter of CSV input; found out if not given.")]
Header = Annotated[bool, typer.Option(help="Whether the first line of CSV input names the columns.")]
Sheet = Annotated[str | None, typer.Option(help="Sheet of Excel input; the first if not given.")]
MEASURED = 250_000  # rows up to which risk and loss are measured without being asked for
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
    """A bar on stderr that shows the stage, and where rows are counted how many are done and how fast; only on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rows]}"))
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=None, rows="")
        began = {"": time.monotonic()}

        def show(stage: str, done: int = 0, total: int | None = None) -> None:
            seconds = time.monotonic() - began.setdefault(stage, time.monotonic())
            rows = f"{done:,} rows, {done / seconds:,.0f} rows/s" if done and seconds else ""
            bar.update(task, description=stage, completed=done, total=total, rows=rows)

        yield show


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

    _warn_if_cold()
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
    public_report: PublicReport = None,
    lang: Lang = "en",
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
    _warn_if_cold()
    options = {"encoding": encoding, "delimiter": delimiter, "header": header, "sheet": sheet}
    with _stages() as stage:
        release = plan.run(data, progress=stage, reading=options)
        _write(release, output, _Pages(report, public_report, lang), stage)
    for step in release.steps:
        if "warning" in step.facts:
            print(f"oboro: warning: {step.name}: {step.facts['warning']}", file=sys.stderr)
    if as_json:
        _print_json(release.with_files(output).as_dict())
    elif report is not None or public_report is not None:
        print(release.report.summary(), file=sys.stderr)
    elif release.frame.data.rows <= MEASURED:
        print(release.figures.summary(), file=sys.stderr)
    else:
        print(release.summary(), file=sys.stderr)


def _warn_if_cold() -> None:
    from oboro.kernels import compiled_before

    if not compiled_before():
        print("The first run compiles what is fast later; it takes about half a minute.", file=sys.stderr)


@dataclass(frozen=True)
class _Pages:
    """The reports that were asked for."""

    owner: Path | None
    public: Path | None
    lang: str

    def __post_init__(self) -> None:
        from oboro.errors import UsageError

        if self.lang not in ("en", "ja"):
            raise UsageError(f"--lang: must be en or ja; got {self.lang!r}")

    @property
    def any(self) -> bool:
        return self.owner is not None or self.public is not None

    def write(self, report: Report) -> None:
        """Each appears whole or not at all."""
        from oboro.io.output import atomic

        for path, facts in ((self.owner, report), (self.public, report.to_public() if self.public else report)):
            if path is not None:
                with atomic(path) as file:
                    file.write(facts.to_html(lang=self.lang).encode())


def _write(release: Release, output: Path, pages: _Pages, stage: Any) -> None:
    if pages.any:
        stage("measuring risk and utility")
        release.report  # noqa: B018  (measured before anything is written, so that a failure leaves nothing)
    stage("writing")
    release.write(output, progress=partial(stage, "writing"))
    if pages.any:
        stage("making the report")
        pages.write(release.with_files(output))


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
    maximum_risk: Annotated[float | None, typer.Option(help="1 / the smallest class is at most this.")] = None,
    average_risk: Annotated[float | None, typer.Option(help="Classes / records are at most this.")] = None,
    population: Annotated[
        Path | None, typer.Option(help="A table of everybody, not generalized, for --k-map and --presence.")
    ] = None,
    k_map: Annotated[int | None, typer.Option(help="Like every class look at least so many of the population.")] = None,
    presence: Annotated[
        str | None, typer.Option(help="δ-presence: the least and the greatest part of them in the table: 0.1,0.6.")
    ] = None,
    recipe: Annotated[
        Path | None, typer.Option(help="The recipe whose hierarchies explain the labels to the population.")
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
    everybody = _read(population, encoding, delimiter, header, sheet).data if population else None
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
        maximum_risk=maximum_risk,
        average_risk=average_risk,
        population=everybody,
        k_map=k_map,
        presence=_presence(presence),
        hierarchies=_hierarchies(recipe, everybody, _names(quasi)) if recipe else None,
    )
    if as_json:
        _print_json(result.as_dict())
    else:
        print(result)
    raise typer.Exit(0 if result.holds else 1)


def _presence(text: str | None) -> tuple[float, float] | None:
    from oboro.errors import UsageError

    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--presence: two numbers with a comma, such as 0.1,0.6; got {text!r}") from None
    return low, high


def _hierarchies(recipe: Path, everybody: Any, quasi: list[str]) -> dict[str, Any]:
    """The hierarchies of a recipe, for the population's values."""
    from oboro.errors import UsageError
    from oboro.recipe import Recipe
    from oboro.table.schema import Schema

    if everybody is None:
        raise UsageError("--recipe: explains labels to a population; give --population too")
    schema = Schema(Recipe.load(recipe).attributes, recipe.parent)
    return {name: schema.hierarchy(name, everybody[name]) for name in quasi if name in everybody}


@app.command()
def evaluate(
    original: Data,
    released: Data,
    recipe: Annotated[
        Path | None, typer.Option("--recipe", "-r", help="The recipe, for roles and hierarchies.")
    ] = None,
    quasi: Annotated[str | None, typer.Option(help="Without a recipe: the quasi-identifiers, with commas.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="Without a recipe: the sensitive columns.")] = None,
    identifier: Annotated[str | None, typer.Option(help="Without a recipe: the columns that name people.")] = None,
    report: ReportFile = None,
    public_report: PublicReport = None,
    lang: Lang = "en",
    fraction: Fraction = 1.0,
    control: Annotated[
        Path | None, typer.Option(help="People who are in neither table: the control group of the attacks.")
    ] = None,
    attempts: Annotated[int, typer.Option(min=0, help="Guesses of each attack; 0: no attack is run.")] = 2000,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="The rows of the release stand in another order.")
    ] = False,
    truth: Annotated[
        Path | None,
        typer.Option(help="A table whose first column says which original row each released record is, from 1."),
    ] = None,
    stream_metrics: Annotated[
        Path | None, typer.Option(help="What `oboro stream --json` printed, one line each, for the timelines.")
    ] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = True,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Attack a release, measure the risk that is left in it and what it lost, whoever made it.

    Roles come from the recipe (its steps are not run), from the options, or are guessed, which the report then says.

    Example: `oboro evaluate people.csv released.csv --quasi age,sex,zip --sensitive disease --report report.html`
    """
    from oboro.app.evaluating import Question
    from oboro.app.evaluating import evaluate as measure
    from oboro.table.schema import Role

    pages = _Pages(report, public_report, lang)
    files = {"input": original, "output": released, **({"control group": control} if control else {})}
    tables = {role: _read(path, encoding, delimiter, header, sheet).data for role, path in files.items()}
    roles = {Role.QUASI: _names(quasi), Role.SENSITIVE: _names(sensitive), Role.IDENTIFIER: _names(identifier)}
    group = tables.get("control group")
    known = _read(truth, encoding, delimiter, header, sheet).data if truth else None
    question = Question(recipe, roles, fraction, group, stream_metrics, unpaired, attempts, known)
    with _stages() as stage:
        stage("measuring")
        found = measure(tables["input"], tables["output"], question, files)
        pages.write(found)
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
    from oboro.app.bench import run

    with _stages() as stage:
        run(name, quick=quick, full=full, as_json=as_json, output=output, progress=stage)


@app.command()
def schema(
    what: Annotated[str, typer.Argument(help="recipe, or report (what --json prints).")] = "recipe",
) -> None:
    """Print the JSON Schema of recipes, for editors that check and complete YAML, or of reports.

    Example: `oboro schema > recipe.schema.json`
    """
    from oboro.errors import UsageError
    from oboro.evaluate.report import Report
    from oboro.recipe import Recipe

    schemas = {"recipe": Recipe.json_schema, "report": Report.json_schema}
    if what not in schemas:
        raise UsageError(f"there is a schema of {' and of '.join(schemas)}; got {what!r}")
    _print_json(schemas[what]())


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
