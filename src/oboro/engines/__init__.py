"""The same recipe where the data is: on Spark, or with DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oboro.errors import UsageError
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.engines.engine import EngineTable
    from oboro.engines.engine_release import EngineRelease
    from oboro.recipe.recipe import Recipe
    from oboro.text.progress import Progress

__all__ = ["anonymize_place", "open_place", "run_frame"]


def open_place(place: str, engine: str) -> EngineTable:
    """A table that an engine can read."""
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
