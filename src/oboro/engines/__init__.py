"""The same recipe where the data is: on Spark, or with DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from oboro.errors import FileError, UsageError
from oboro.io.places.place_names import as_place
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.engines.engine import EngineTable
    from oboro.engines.engine_release import EngineRelease
    from oboro.recipe.recipe import Recipe
    from oboro.text.progress import Progress

__all__ = ["anonymize_place", "open_place", "run_frame"]


def open_place(place: str, engine: str) -> EngineTable:
    """A table that an engine can read."""
    refuse_lists_of_files(place, engine)
    if engine == "spark":
        from oboro.engines.spark import spark_table

        return spark_table(place)
    if engine == "duckdb":
        try:
            from oboro.engines.duck import duck_table

            return duck_table(place)
        except ImportError:
            raise UsageError(Message("error_engine.not_installed", engine="duckdb", extra="duckdb")) from None
    raise UsageError(Message("error_engine.unknown", engine=engine))


def refuse_lists_of_files(place: str, engine: str) -> None:
    """Raise where a place is no plain files: in the folder of a Delta or Iceberg table rows that were deleted would come back."""
    named = as_place(place)
    if named.kind == "table":
        raise UsageError(Message("error_engine.no_table", place=named.shown, engine=engine))
    folder = Path(named.path)
    if named.is_local and (folder / "_delta_log").is_dir():
        raise FileError(Message("error_places.delta", place=named.shown))
    if named.is_local and any(folder.glob("metadata/*.metadata.json")):
        raise FileError(Message("error_places.iceberg", place=named.shown))


def run_frame(recipe: Recipe, frame: Any, progress: Progress | None = None) -> EngineRelease:
    """A recipe on a DataFrame of Spark: the release has one too, and the same facts, verdicts and report as on one machine."""
    from oboro.engines.engine_errors import speaking_for
    from oboro.engines.run_on_engine import run_on_engine
    from oboro.engines.spark import SparkTable

    with speaking_for("spark"):
        return run_on_engine(recipe, SparkTable.of(frame), progress=progress)


def anonymize_place(
    recipe: Recipe,
    place: str,
    output: str,
    *,
    engine: str,
    force: bool = False,
    progress: Progress | None = None,
    measured: bool = False,
    held_rows: int | None = None,
) -> EngineRelease:
    """From one place to another: written, verified, and only then visible under the name of `output`.

    `measured`: its report will be asked for, so that the driver must hold codes of all rows; `held_rows`: of how many it may.
    """
    from oboro.engines.engine_errors import speaking_for
    from oboro.engines.run_on_engine import run_on_engine
    from oboro.engines.staging import check_apart, check_folder, staged

    check_apart(place, check_folder(output, force))
    with speaking_for(engine):
        table = open_place(place, engine)
        with staged(output, force) as folder, speaking_for(engine):
            release = run_on_engine(
                recipe, table, folder=folder, progress=progress, measured=measured, held_rows=held_rows
            )
        return release.published_at(output, open_place)
