"""Page model of a report: sections of a few kinds of blocks, as plain data. The template decides their appearance.

A text field holds a `Message`, rendered in the reader's language when the page is made, or text from a table or a file,
which is the same in every language.

A new section is a file in `sections/`; a new kind of block is a class here and a macro in the template.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from oboro.text import Message, Words

__all__ = [
    "Answer",
    "Answers",
    "Block",
    "Card",
    "Cards",
    "Cell",
    "Code",
    "Drawing",
    "FactList",
    "Grid",
    "Notes",
    "Picture",
    "Pictures",
    "ShownSection",
    "Text",
    "Tone",
]


Tone = Literal["", "good", "warn", "bad", "quiet"]
Drawing = Callable[[str], str]
"""Makes a picture as SVG, with its words in the given language."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table: its text, its tone (never the only sign), a second line, how full its meter is (0 … 1)."""

    text: Words
    tone: Tone = ""
    hint: Words | Sequence[Words] = ""
    meter: float | None = None


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: Words


@dataclass(frozen=True)
class Card:
    """One figure, large."""

    label: Words
    value: str
    note: Words = ""


@dataclass(frozen=True)
class Cards:
    """The figures that matter most."""

    kind: ClassVar[str] = "cards"
    cards: Sequence[Card]


@dataclass(frozen=True)
class Answer:
    """One question of whoever signs, what is known of it, sentence by sentence, and the section that says more."""

    key: str
    question: Words
    tone: Tone
    said: Sequence[Words]


@dataclass(frozen=True)
class Answers:
    """The questions that the page is there for."""

    kind: ClassVar[str] = "answers"
    answers: Sequence[Answer]


@dataclass(frozen=True)
class Grid:
    """A table. Columns named in `numbers` are set to the right; one of whole sentences says so with `prose`."""

    kind: ClassVar[str] = "grid"
    head: Sequence[Words]
    rows: Sequence[Sequence[Cell]]
    numbers: frozenset[int] = frozenset()
    caption: Words = ""
    prose: bool = False


@dataclass(frozen=True)
class Picture:
    """A drawing with its title, a tag beside it, and a line below.

    A drawing as wide as the page brings a `narrow` one for phones, where it would shrink beyond reading.
    """

    title: Words
    draw: Drawing
    tag: Words = ""
    note: Words | Sequence[Words] = ""
    narrow: Drawing | None = None


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
    facts: Sequence[tuple[Words, Words]]
    title: Words = ""
    lead: Words = ""


@dataclass(frozen=True)
class Notes:
    """Remarks, one after the other."""

    kind: ClassVar[str] = "notes"
    notes: Sequence[Words]


@dataclass(frozen=True)
class Code:
    """Text that is shown as it is."""

    kind: ClassVar[str] = "code"
    code: str


Block = Text | Answers | Cards | Grid | Pictures | FactList | Notes | Code


@dataclass(frozen=True)
class ShownSection:
    """A part of a page under a heading; `key` is its anchor."""

    key: str
    title: Words
    blocks: Sequence[Block]
    short: Words | None = None

    @property
    def name(self) -> Words:
        """What the navigation calls it."""
        return self.short or Message(f"section.{self.key}.name")
