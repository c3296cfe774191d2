"""The figures of a benchmark: a row each, the data that they are of, what the papers print, and how rows are shown and recorded."""

from __future__ import annotations

import os
import platform
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["BenchRow", "adult_records", "data_folder", "printed", "published", "record"]

PACKAGES = ("oboro", "numpy", "numba", "scipy", "pyarrow", "scikit-learn")


@dataclass(frozen=True)
class BenchRow:
    """One figure: where the paper has it, how it was made, what it is, ours, the paper's (None: not printed there)."""

    table: str
    method: str
    parameters: dict[str, Any]
    metric: str
    ours: float | None
    paper: float | None = None
    seconds: float = field(default=0.0, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, rounded to what is worth keeping."""
        ours = None if self.ours is None else float(f"{self.ours:.6g}")
        return {**asdict(self), "ours": ours, "seconds": round(self.seconds, 4)}


def data_folder(name: str) -> Path | None:
    """The folder of a data set under OBORO_DATA, or None where there is none."""
    root = os.environ.get("OBORO_DATA")
    folder = Path(root) / name if root else None
    if folder is None or not folder.is_dir():
        print(
            f"benchmarks: no {name} data, so that part is left out; set OBORO_DATA to a folder with {name}/",
            file=sys.stderr,
        )
        return None
    return folder


def record(
    name: str, rows: Sequence[BenchRow], *, quick: bool, full: bool = False, seconds: float | None = None
) -> dict[str, Any]:
    """Everything that a reader needs to judge the figures."""
    lasting = "" if seconds is None else f" --seconds {seconds:g}"
    return {
        "bench": name,
        "command": f"python -m benchmarks {name}{' --quick' if quick else ' --full' if full else ''}{lasting}",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {"cores": os.cpu_count(), "processor": _processor(), "system": platform.system()},
        "versions": {"python": platform.python_version(), **{package: version(package) for package in PACKAGES}},
        "rows": [row.as_dict() for row in rows],
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def printed(rows: Sequence[BenchRow]) -> None:
    """One table per table of the paper."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console.width = 160  # a file or a pipe has no width: nothing is cut off there
    for number in dict.fromkeys(row.table for row in rows):
        mine = [row for row in rows if row.table == number]
        keys = list(dict.fromkeys(key for row in mine for key in row.parameters))
        table = Table(title=f"Table {number}" if number.isdigit() else number)
        for heading in ("method", *keys, "metric"):
            table.add_column(heading, no_wrap=True)
        for heading in ("ours", "paper", "ratio", "seconds"):
            table.add_column(heading, justify="right", no_wrap=True)
        for row in mine:
            table.add_row(row.method, *(str(row.parameters.get(key, "")) for key in keys), row.metric, *_figures(row))
        console.print(table)


def _figures(row: BenchRow) -> tuple[str, ...]:
    ours = "" if row.ours is None else f"{row.ours:.4g}" if abs(row.ours) < 1000 else f"{row.ours:.1f}"
    paper = "" if row.paper is None else f"{row.paper:g}"
    ratio = f"{row.ours / row.paper:.3f}" if row.ours is not None and row.paper else ""
    return ours, paper, ratio, f"{row.seconds:.3f}"


# ---------------------------------------------------------------------------------------------------------------------
# The Adult data as the papers use it: all its records, as they stand in the files.


FILES = ("adult.data", "adult.test")
ATTRIBUTES = 15


def adult_records(folder: Path) -> list[list[str]]:
    """The cells of all 48,842 records, adult.data first; adult.test ends its lines with a full stop, which goes."""
    lines = [line for name in FILES for line in (folder / name).read_text(encoding="utf-8").splitlines()]
    records = [[cell.strip() for cell in line.rstrip(".").split(",")] for line in lines]
    return [cells for cells in records if len(cells) == ATTRIBUTES]


# ---------------------------------------------------------------------------------------------------------------------
# The figures that the papers print, read from `published.toml`.


FILE = Path(__file__).with_name("published.toml")


@cache
def published(paper: str) -> dict[Any, Any]:
    """One paper's figures; keys that are whole numbers are numbers."""
    tables: dict[Any, Any] = _numbered(tomllib.loads(FILE.read_text(encoding="utf-8"))[paper])
    return tables


def _numbered(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {int(key) if key.isdecimal() else key: _numbered(one) for key, one in value.items()}
