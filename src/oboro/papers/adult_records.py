"""The Adult data as the papers use it: all its records, as they stand in the files."""

from __future__ import annotations

from pathlib import Path

__all__ = ["adult_records"]

FILES = ("adult.data", "adult.test")
ATTRIBUTES = 15


def adult_records(folder: Path) -> list[list[str]]:
    """The cells of all 48,842 records, adult.data first; adult.test ends its lines with a full stop, which goes."""
    lines = [line for name in FILES for line in (folder / name).read_text(encoding="utf-8").splitlines()]
    records = [[cell.strip() for cell in line.rstrip(".").split(",")] for line in lines]
    return [cells for cells in records if len(cells) == ATTRIBUTES]
