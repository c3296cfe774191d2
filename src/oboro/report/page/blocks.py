"""What a report is made of: sections of a few kinds of blocks, as plain data. How they look is the template's affair.

A new section is a function that returns a `Section`; a new kind of block is a class here and a macro in the template.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Literal
from unicodedata import east_asian_width

__all__ = [
    "CHECKLISTS",
    "Answer",
    "Answers",
    "Block",
    "Card",
    "Cards",
    "Cell",
    "Code",
    "Facts",
    "Grid",
    "Notes",
    "Picture",
]
__all__ += ["Pictures", "Section", "Text", "Tone", "count", "few", "number", "percent", "size", "words"]

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
class Facts:
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


Block = Text | Answers | Cards | Grid | Pictures | Facts | Notes | Code


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


def count(value: int | None) -> str:
    """A whole number for people.

    >>> count(12345), count(None)
    ('12,345', '–')
    """
    return "–" if value is None else f"{value:,}"


def number(value: float | None) -> str:
    """Four significant digits, four decimals at most: nobody acts on a fifth. Nothing but zero is called zero.

    >>> number(0.123456), number(1234567.0), number(None), number(0.00001234), number(-0.00001)
    ('0.1235', '1,234,567', '–', '< 0.0001', '> -0.0001')
    """
    if value is None:
        return "–"
    if value and abs(value) < 0.0001:
        return "< 0.0001" if value > 0 else "> -0.0001"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{round(float(f'{value:.4g}'), 4):g}"


def percent(value: float | None) -> str:
    """A share for people; small ones keep two digits, and nothing but zero is called zero.

    What is left of zero by the arithmetic of floats (the lower end of an interval) is zero.

    >>> percent(0.2), percent(0.01234), percent(0.000001), percent(0), percent(1e-19)
    ('20 %', '1.2 %', '< 0.01 %', '0 %', '0 %')
    """
    if value is None:
        return "–"
    if 1e-12 < value < 0.0001:
        return "< 0.01 %"
    return f"{float(f'{100 * value:.2g}') if 1e-12 < value < 0.1 else round(100 * value, 1):g} %"


def few(names: Sequence[str], width: int = 160) -> str:
    """Names with commas; of a long list the first ones, and how many more there are. Evidence has them all.

    >>> few(["age", "sex"]), few(["a long name", "another one", "a third"], width=15)
    ('age, sex', 'a long name … (+2)')
    """
    fit = sum(end <= width for end in accumulate(_width(name) + 2 for name in names)) or 1
    more = len(names) - fit
    return ", ".join(names[:fit]) + (f" … (+{more})" if more > 0 else "")


def _width(text: str) -> int:
    """In letters; Chinese and Japanese ones count twice."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def size(value: int) -> str:
    """Bytes for people.

    >>> size(999), size(20480), size(3_500_000)
    ('999 B', '20.5 kB', '3.5 MB')
    """
    amount, unit = float(value), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            break
        amount /= 1000
    return f"{amount:.3g} {unit}"


def words(name: str) -> str:
    """A name of ours for people.

    >>> words("suppressed_cells")
    'suppressed cells'
    """
    return name.replace("_", " ")
