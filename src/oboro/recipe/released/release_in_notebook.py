"""A recipe in a notebook, as its plan in words; a release, as what was verified and the first rows.

Columns that stayed in the file are not read.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from oboro.table.dataset import Dataset
from oboro.table.unencoded_columns import unread_columns
from oboro.text.language import system_language

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.release import Release

__all__ = ["recipe_in_notebook", "release_in_notebook"]

ROWS, COLUMNS = 5, 20  # shown at most
MORE = "…"
PRE = '<pre style="white-space: pre-wrap">'  # long sentences do not run out of the page


def recipe_in_notebook(recipe: Recipe) -> str:
    """What each step will do, as HTML."""
    return f"{PRE}{escape(recipe.explain(system_language()))}</pre>"


def release_in_notebook(release: Release) -> str:
    """The summary, and the first rows of the released table, as HTML."""
    return f"{PRE}{escape(release.summary(lang=system_language()))}</pre>{_first_rows(release.frame.data)}"


def _first_rows(data: Dataset) -> str:
    names = list(data)[:COLUMNS]
    unread = unread_columns(data)
    rows = np.arange(min(ROWS, data.rows))
    shown = [[MORE] * rows.size if name in unread else _texts(data, name, rows) for name in names]
    more = [MORE] if len(data.columns) > COLUMNS else []
    body = [_row("td", [*cells, *more]) for cells in zip(*shown, strict=True)]
    if data.rows > ROWS:
        body.append(_row("td", [MORE for _ in (*names, *more)]))
    return f"<table><thead>{_row('th', [*names, *more])}</thead><tbody>{''.join(body)}</tbody></table>"


def _texts(data: Dataset, name: str, rows: np.ndarray) -> list[str]:
    return ["" if value is None else str(value) for value in data[name].take(rows).decode().to_pylist()]


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in cells)}</tr>"
