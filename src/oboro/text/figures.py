"""Figures and names for people; figures are the same in every language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from unicodedata import east_asian_width

from oboro.errors import listing

__all__ = ["count", "few", "listed", "number", "percent", "quoted", "size"]


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


def few(names: Sequence[str], width: int = 160, joint: str = ", ") -> str:
    """Names with commas; of a long list the first ones, and how many more there are. Evidence has them all.

    >>> few(["age", "sex"]), few(["a long name", "another one", "a third"], width=15)
    ('age, sex', 'a long name … (+2)')
    """
    every = joint.join(names)
    if width_of(every) + 2 <= width:
        return every
    fit = sum(end <= width for end in accumulate(width_of(name) + 2 for name in names)) or 1
    more = len(names) - fit
    return joint.join(names[:fit]) + (f" … (+{more})" if more > 0 else "")


MOST_QUOTED = 50  # names in a sentence; evidence has them all


def quoted(names: Sequence[str], lang: str = "en", last: str = "and") -> str:
    """Column names for a sentence.

    >>> quoted(["age"]), quoted(["age", "income", "born"]), quoted(["age", "income"], "ja")
    ("'age'", "'age', 'income' and 'born'", '「age」「income」')
    """
    more = len(names) - MOST_QUOTED if len(names) > MOST_QUOTED + 1 else 0
    names = names[:MOST_QUOTED] if more else names
    if lang == "ja":
        return "".join(f"「{name}」" for name in names) + (f"ほか {count(more)} 個" if more else "")
    if not names:
        return ""
    first, end = list(names if more else names[:-1]), f"{count(more)} more" if more else repr(names[-1])
    return f"{', '.join(map(repr, first))} {last} {end}" if first else end


def listed(names: Iterable[object], most: int = 30, lang: str = "en") -> str:
    """Names for an error: at most `most` of them, then how many more.

    >>> listed(["age", "sex"]), listed("abc", 2), listed(["age", "sex"], lang="ja"), listed("abc", 2, "ja")
    ("'age', 'sex'", "'a', 'b' and 1 more", '「age」「sex」', '「a」「b」ほか 1 個')
    """
    if lang == "en":
        return listing(names, most)
    items = [f"「{name}」" for name in names]
    return "".join(items[:most]) + (f"ほか {len(items) - most} 個" if len(items) > most else "")


def width_of(text: str) -> int:
    """In letters; Chinese and Japanese ones count twice."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


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
