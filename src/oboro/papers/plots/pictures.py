"""The pictures of a benchmark: one PNG each, and all of them on one page that loads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from oboro.errors import UsageError
from oboro.system.atomic_file import atomic
from oboro.system.extras import bring
from oboro.text import Message

__all__ = ["check_altair", "save"]


def check_altair() -> None:
    """Before any work: raise if no pictures can be drawn here."""
    if find_spec("altair") is None:
        raise UsageError(Message("error_bench.altair"))


def save(folder: Path, charts: Mapping[str, Any], page: Any, name: str) -> list[Path]:
    """Write charts of altair, each under its name, and one `page` of them; returns the files."""
    vl_convert = bring("vl_convert")
    files = {
        folder / f"{key}.png": vl_convert.vegalite_to_png(chart.to_dict(), scale=1.5) for key, chart in charts.items()
    }
    files[folder / f"{name}.html"] = vl_convert.vegalite_to_html(page.to_dict(), bundle=True).encode()
    for path, content in files.items():
        with atomic(path) as file:
            file.write(content)
    return list(files)
