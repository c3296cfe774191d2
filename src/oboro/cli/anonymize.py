"""`oboro anonymize`: run a recipe on a table."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oboro._lazy import require_extra
from oboro.cli.language import spoken
from oboro.cli.options import (
    FOUND_OUT,
    NO_PAGES,
    AsJson,
    ExcelSafe,
    Force,
    Pages,
    Reading,
    RecipeFile,
    check_files,
    engines,
    gathered,
    print_json,
    say_notes,
    stages,
    warn_if_cold,
)
from oboro.recipe.release import MEASURED
from oboro.system.files import put_aside
from oboro.text import Message
from oboro.text.language import READING

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.release import Release
    from oboro.text import Words

__all__ = ["anonymize"]


WRITING = Message("progress.writing")
SMALL_FILE = 1 << 19  # bytes: few records, whose report needs little of what can be loaded ahead


@gathered
def anonymize(
    data: str,
    recipe: RecipeFile,
    output: Annotated[str | None, typer.Option("--output", "-o")] = None,
    pages: Pages = NO_PAGES,
    truth: Path | None = None,
    ledger: Path | None = None,
    force: Force = False,
    explain: Annotated[bool, typer.Option("--explain")] = False,
    reading: Reading = FOUND_OUT,
    output_encoding: str | None = None,
    excel_safe: ExcelSafe = False,
    engine: Annotated[str, typer.Option(autocompletion=engines)] = "local",
    as_json: AsJson = False,
) -> None:
    """Apply a recipe to a table, verify every promise on the result, and only then write it.

    Example: `oboro anonymize people.csv --recipe recipe.yaml --output released.csv --report report.html`
    """
    from oboro.errors import UsageError
    from oboro.io.places.place import is_plain_file
    from oboro.io.write import check_output, refuse_forgotten
    from oboro.recipe.recipe import Recipe

    plan = Recipe.load(recipe)
    if explain:
        print(plan.explain(spoken()))
        return
    if output is None:
        raise UsageError(Message("error_app.no_output"))
    if ledger is not None and plan.person is None:  # said before anything is written
        raise UsageError(Message("error_recipe.ledger_of_whom"))
    if engine != "local":
        given: dict[str, Any] = {"--truth": truth, "--ledger": ledger, "--output-encoding": output_encoding}
        _refuse_options(engine, given | {"--excel-safe": excel_safe or None, **reading.said()})
        refuse_forgotten(output)
        check_files(pages.files, data, recipe, output, *plan.files, force=force)
        _on_engine(plan, data, output, engine, pages, force=force, as_json=as_json)
        return
    file = Path(output) if is_plain_file(output) else None
    check_files({"--output": file}, data, recipe, *plan.files, force=force)
    check_output(output, output_encoding, excel_safe, force, data)
    check_files({"--truth": truth, "--ledger": ledger, **pages.files}, data, recipe, file, *plan.files, force=force)
    warn_if_cold()
    with stages() as stage, _report_loaded(pages.any, data, stage) as progress:
        release = plan.run(data, progress=progress, reading=vars(reading))
        how = {"force": force, "encoding": output_encoding, "excel_safe": excel_safe}
        _write(release, output, pages, stage, how, {truth: release.write_truth, ledger: release.write_ledger})
    say_notes(release.source)
    for step in release.steps:
        for warning in step.warnings:
            print(Message("error_app.warning", step=step.name, warning=warning).say(spoken()), file=sys.stderr)
    if as_json:
        print_json(pages.completed(release.with_files(output)).as_dict())
    elif pages.any:
        print(release.report.in_language(spoken()).summary(), file=sys.stderr)
    else:
        print(release.summary(lang=spoken(), figures=release.worked.data.rows <= MEASURED), file=sys.stderr)


def _refuse_options(engine: str, given: Mapping[str, Any]) -> None:
    """Raise where an option was given that an engine does not have."""
    from oboro.errors import UsageError

    for option, value in given.items():
        if value is not None:
            raise UsageError(Message("error_engine.option", option=option, engine=engine))


def _on_engine(plan: Recipe, data: str, output: str, engine: str, pages: Pages, *, force: bool, as_json: bool) -> None:
    """Anonymize a place that an engine reads to a folder that it writes."""
    from oboro.engines.run import anonymize_place

    with stages() as stage:
        measured = pages.any or as_json
        release = anonymize_place(plan, data, output, engine=engine, force=force, progress=stage, measured=measured)
        report = pages.completed(release.report) if measured else None
        if report is not None and pages.any:
            pages.write(report)
    for step in release.steps:
        for warning in step.warnings:
            print(Message("error_app.warning", step=step.name, warning=warning).say(spoken()), file=sys.stderr)
    if report is not None and as_json:
        print_json(report.as_dict())
    elif report is None:
        print(release.summary(lang=spoken(), figures=release.worked.data.rows <= MEASURED), file=sys.stderr)
    for told in filter(None, (release.driver, release.small)):
        print(told.say(spoken()), file=sys.stderr)


@contextmanager
def _report_loaded(asked: bool, data: str, stage: Any) -> Iterator[Any]:
    """The same progress; while a large table is read, what its report needs is imported, which takes half a second.

    The first step waits for it: it may load what the report needs too, which two threads must not do at once.
    """
    if not asked:
        yield stage
        return
    require_extra("report")  # one that is missing is said before any work
    with ThreadPoolExecutor(1) as pool:
        if os.path.isfile(data) and os.path.getsize(data) < SMALL_FILE:
            yield stage
            return
        loading = pool.submit(_load_report)

        def progress(what: Words, *counts: Any) -> None:
            if what != READING:
                loading.result()
            stage(what, *counts)

        yield progress


def _load_report() -> None:
    import oboro.report.make  # noqa: F401


Lists = Mapping[Path | None, Callable[..., None]]  # where lists of whose the rows are go, and how they are written


def _write(release: Release, output: str, pages: Pages, stage: Any, how: Mapping[str, Any], lists: Lists) -> None:
    if pages.any:
        stage(Message("progress.measuring_release"))
        release.reported(files=True)  # measured before anything is written, so that a failure leaves nothing
    stage(WRITING)
    with _written_before(lists):
        release.write(output, progress=partial(stage, WRITING), **how)
    if pages.any:
        stage(Message("progress.making_report"))
        pages.write(pages.completed(release.with_files(output)))


@contextmanager
def _written_before(lists: Lists) -> Iterator[None]:
    """Whose the released rows are, written before they are: after a kill, a release without its list could never be followed.

    Where the release then cannot be written, the lists go too, and one that was replaced comes back.
    """
    with ExitStack() as stack:
        for path, write in lists.items():
            if path is not None:
                stack.enter_context(put_aside(Path(os.path.realpath(path))))
                write(path, force=True)
        yield
