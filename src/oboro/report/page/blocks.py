"""What a report is made of: sections of a few kinds of blocks, as plain data. How they look is the template's affair.

A new section is a function that returns a `Section`; a new kind of block is a class here and a macro in the template.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

__all__ = [
    "CHECKLISTS",
    "Answer",
    "Answers",
    "Block",
    "Card",
    "Cards",
    "Cell",
    "Code",
    "FactList",
    "Grid",
    "Notes",
    "Picture",
]
__all__ += ["Pictures", "Section", "Text", "Tone", "words"]

Tone = Literal["", "good", "warn", "bad", "quiet"]
CHECKLISTS = {"iso": "ISO/IEC 20889", "appi": "APPI", "hipaa": "HIPAA", "wp216": "WP216"}


@dataclass(frozen=True)
class Cell:
    """One cell of a table: its text, its tone (never the only sign), a second line, how full its meter is (0 … 1)."""

    text: str
    tone: Tone = ""
    hint: str | Sequence[str] = ""
    meter: float | None = None


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True)
class Card:
    """One figure, large."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Cards:
    """The figures that matter most."""

    kind: ClassVar[str] = "cards"
    cards: Sequence[Card]


@dataclass(frozen=True)
class Answer:
    """One question of whoever signs, what is known of it, sentence by sentence, and the section that says more."""

    key: str
    question: str
    tone: Tone
    said: Sequence[str]


@dataclass(frozen=True)
class Answers:
    """The questions that the page is there for."""

    kind: ClassVar[str] = "answers"
    answers: Sequence[Answer]


@dataclass(frozen=True)
class Grid:
    """A table. Columns named in `numbers` are set to the right; one of whole sentences says so with `prose`."""

    kind: ClassVar[str] = "grid"
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers: frozenset[int] = frozenset()
    caption: str = ""
    prose: bool = False


@dataclass(frozen=True)
class Picture:
    """An SVG drawing with its title, a tag beside it, and a line below.

    A drawing as wide as the page brings a `narrow` one for phones, where it would shrink beyond reading.
    """

    title: str
    svg: str
    tag: str = ""
    note: str | Sequence[str] = ""
    narrow: str = ""


@dataclass(frozen=True)
class Pictures:
    """Drawings side by side, as many as the paper has room for."""

    kind: ClassVar[str] = "pictures"
    pictures: Sequence[Picture]
    legend: bool = True


@dataclass(frozen=True)
class FactList:
    """Terms and what is known of them."""

    kind: ClassVar[str] = "facts"
    facts: Sequence[tuple[str, str]]
    title: str = ""
    lead: str = ""


@dataclass(frozen=True)
class Notes:
    """Remarks, one after the other."""

    kind: ClassVar[str] = "notes"
    notes: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Text that is shown as it is."""

    kind: ClassVar[str] = "code"
    code: str


Block = Text | Answers | Cards | Grid | Pictures | FactList | Notes | Code


@dataclass(frozen=True)
class Section:
    """A part of the report under a heading; `key` is its anchor."""

    key: str
    title: str
    blocks: Sequence[Block]

    @property
    def name(self) -> str:
        """What the navigation calls it."""
        return CHECKLISTS.get(self.key, self.key.capitalize())


def words(name: str) -> str:
    """A name of ours for people.

    >>> words("suppressed_cells")
    'suppressed cells'
    """
    return name.replace("_", " ")
