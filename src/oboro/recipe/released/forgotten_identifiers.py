"""E-mail addresses, telephone numbers and the like that are released as they came: they name people, however many share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oboro.measure.identifiers import WARNED, scan_forms
from oboro.table.unencoded_columns import UnreadColumn
from oboro.text import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oboro.table.dataset import Dataset

__all__ = ["forgotten_said"]

AGES = "over_89"  # what the checklists of laws ask for


def forgotten_said(released: Dataset, columns: Sequence[str]) -> list[Message]:
    """Which of these columns hold identifiers, by their form; those that stay in the file are not seen. O(distinct values)."""
    return [
        Message("report.warning.looks_like_identifiers", column=name, kind=one.kind_name, records=one.records)
        for name in columns
        if not isinstance(released[name], UnreadColumn)
        for one in scan_forms(name, released[name])
        if one.kind in WARNED and one.kind != AGES
    ]
