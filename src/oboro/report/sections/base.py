"""Sections of a page: the key, the words and the content of each, and the registry that holds their order.

A section of the report is an object in a file of this package. Its content states its own condition: it is nothing where there is
nothing to say. `SECTIONS` finds the objects by the names in `ORDER`, which is the order of the page. The page of a report or of an
evaluation, that of an assessment and the view of a notebook are made of the same blocks by the same renderer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from oboro.report.page import Block, ShownSection
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["ORDER", "SECTIONS", "Section", "Sections"]


Content = Callable[["Report"], ShownSection | Sequence[ShownSection] | None]
"""Makes what a section shows of a report; None where it has nothing to say."""


class Section:
    """A section: `key` is its anchor, `words` the beginning of the ids of its messages.

    >>> risk = Section("risk")
    >>> risk.said("title").id
    'section.risk.title'
    """

    def __init__(self, key: str, words: str | None = None, *, brief: bool = False) -> None:
        self.key = key
        self.words = words or f"section.{key}"
        self.brief = brief
        """Whether it is in a small view too."""
        self._content: Content | None = None

    def said(self, name: str, /, **values: Any) -> Message:
        """Return its message of this name."""
        return Message(f"{self.words}.{name}", **values)

    def content(self, make: Content) -> Content:
        """Take a function as what makes the content; as a decorator."""
        self._content = make
        return make

    def shown(self, blocks: Sequence[Block], title: str = "title", name: str | None = None) -> ShownSection:
        """Return these blocks under the title of this name; `name`: another message for the navigation."""
        return ShownSection(self.key, self.said(title), blocks, None if name is None else self.said(name))

    def show(self, report: Report) -> list[ShownSection]:
        """Return what it shows of a report; nothing where it has nothing to say."""
        found = None if self._content is None else self._content(report)
        if found is None:
            return []
        return [found] if isinstance(found, ShownSection) else list(found)


# Registry -------------------------------------------------------------------------------------------------------------


ORDER = (
    "overview.GLANCE",
    "guarantees.PROMISES",
    "evidence.WARNINGS",
    "exposure.EXPOSED",
    "exposure.LOOK",
    "risk.RISK",
    "attacks.ATTACKED",
    "series.SERIES",
    "exposure.UNIQUENESS",
    "method.SOLUTION",
    "utility.LOSSES",
    "utility.STATISTICS",
    "utility.ASSOCIATIONS",
    "columns.COLUMNS",
    "stream.STREAM",
    "method.STEPS",
    "evidence.CHECKLISTS",
    "evidence.COUNTING",
    "evidence.EVIDENCE",
    "evidence.RECIPE",
    "evidence.SIGNATURE",
)
"""The sections of a report in the order of the page, each the name of its file and of its object."""


class Sections(Sequence[Section]):
    """The sections of a report in order. Their files are loaded when a page is made."""

    def __init__(self, order: Sequence[str]) -> None:
        self.order = tuple(order)

    def __getitem__(self, place: Any) -> Any:
        return list(self)[place]

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[Section]:
        for name in self.order:
            file, _, section = name.partition(".")
            yield getattr(import_module(f"oboro.report.sections.{file}"), section)

    def show(self, report: Report, *, brief: bool = False) -> list[ShownSection]:
        """Return everything there is to say, in order; in `brief` only the sections of a small view."""
        return [shown for one in self if one.brief or not brief for shown in one.show(report)]


SECTIONS = Sections(ORDER)
