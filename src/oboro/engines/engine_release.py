"""A release whose rows are where the engine put them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from oboro.engines.coded.value_numbers import RowNumbers
from oboro.engines.engine import EngineTable
from oboro.engines.engine_errors import ChangedData, speaking_for
from oboro.errors import UsageError
from oboro.recipe.release import Release
from oboro.report import Report
from oboro.table.dataset import Dataset
from oboro.text import Message

__all__ = ["EngineRelease", "Phases", "Seal"]

# Rows below which a cluster is not worth it: an estimate, `python -m benchmarks spark` measures smaller tables.
WORTH_IT = 200_000_000


@dataclass
class Phases:
    """How long each phase took."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure one."""
        started = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started


@dataclass(frozen=True)
class Seal:
    """What the verified rows are, in one number: whoever writes them compares."""

    numbers: RowNumbers
    rows: int
    total: int

    def check(self, table: EngineTable, groups: Sequence[Sequence[str]] = ()) -> Sequence[pa.Table]:
        """Raise where a table does not hold exactly these rows; how often combinations of some columns occur in it."""
        found = table.checked(self.numbers, groups)
        if (found.rows, found.total) != (self.rows, self.total):
            raise ChangedData()
        return found.tallies


@dataclass(frozen=True, eq=False, repr=False)
class EngineRelease(Release):
    """The same facts, verdicts and report as on one machine; `data` is a frame of the engine."""

    table: EngineTable | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    """Seconds of each phase."""
    seal: Seal | None = None
    gone: int | None = None
    """How many records are suppressed, where the driver saw no rows."""
    driver: Message | None = None
    """What the driver held of a large table, and why."""

    def suppressed(self, quasi: Sequence[str]) -> int:
        """How many records are suppressed."""
        return super().suppressed(quasi) if self.gone is None else self.gone

    @cached_property
    def report(self) -> Report:
        """As on one machine. Its figures need the codes of all rows."""
        if self.gone is not None:
            raise UsageError(Message("error_engine.no_report", rows=self.original.rows))
        return super().report

    def summary(self, *, lang: str = "en", figures: bool = False) -> str:
        """What was released and verified, in a few lines."""
        return super().summary(lang=lang, figures=figures and self.gone is None)

    @property
    def small(self) -> Message | None:
        """That one machine would have been faster, where that is so."""
        assert self.table is not None
        if self.table.engine != "spark" or self.original.rows >= WORTH_IT:
            return None
        return Message("error_engine.small", rows=self.original.rows, worth=WORTH_IT)

    @cached_property
    def data(self) -> Any:
        """The released table, as a frame of the engine: exactly the rows that were verified."""
        assert self.table is not None
        return self.table.native

    @cached_property
    def dataset(self) -> Dataset:
        """There is none on this machine."""
        raise UsageError(Message("error_engine.not_here"))

    def write(self, path: str | Path, *, force: bool = False, **options: Any) -> None:
        """Write the released table as a folder of Parquet files. All of it appears at once, or nothing does."""
        from oboro.engines.staging import staged

        assert self.table is not None
        assert self.seal is not None
        with staged(str(path), force) as folder, speaking_for(self.table.engine):
            self.seal.check(self.table.settled(folder))
        self.written["output"] = str(path)

    def published_at(self, path: str, reopen: Callable[[str, str], EngineTable]) -> EngineRelease:
        """The same release, whose files have their name now."""
        assert self.table is not None
        self.written["output"] = path
        return replace(self, table=reopen(path, self.table.engine))

    def with_files(self, output: str | Path) -> Report:
        """The report; of a folder that an engine wrote there is no one hash."""
        return self.report

    def write_ledger(self, path: str | Path, *, force: bool = False) -> None:
        """Not on an engine."""
        raise UsageError(Message("error_engine.not_here"))

    def write_truth(self, path: str | Path, *, force: bool = False) -> None:
        """Not on an engine."""
        raise UsageError(Message("error_engine.not_here"))
