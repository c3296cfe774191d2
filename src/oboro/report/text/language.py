"""The same report in another language: sections are made in English and then translated, string by string.

The catalogue maps English to Japanese; `{…}` in an entry stands for whatever came there (a count, the name of a column).
Names from tables and names of our own files and steps are `Data` and stay as they are; a `Both` brings its own Japanese.
What the catalogue lacks stays English in the page, and is an error in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, Self

from oboro.text import Message

__all__ = ["Both", "Data", "translate", "translated", "untranslated"]

LEFT_ALONE = ("key", "tone", "code", "head_data")
FIGURE = r"[\d.,%<>– kMGTB∞e+−-]+?"
# Places that hold words of ours; all others hold names of columns, which stay, whatever they are called.
OURS = ("what", "model", "note", "groups", "limits", "records", "said", "why", "kind", "form", "better", "distance")
LETTERS = re.compile(r"[A-Za-z]{2,}")

untranslated: set[str] = set()
"""English that was asked for in Japanese and not found, for the tests."""


class Data(str):
    """A name or a value from a table or a file: the same in every language."""

    __slots__ = ()


class Both(str):
    """English text that brings its own Japanese."""

    ja: str

    def __new__(cls, english: str, japanese: str) -> Self:
        """Both texts in one."""
        made = super().__new__(cls, english)
        made.ja = japanese
        return made


def translate(text: str | Message, lang: str) -> str:
    """One string.

    >>> translate("Every promise holds", "ja"), translate(Data("risk"), "ja")
    ('すべての約束が守られています', 'risk')
    """
    if isinstance(text, Message):
        return text.say(lang)
    if lang == "en" or isinstance(text, Data) or not text.strip():
        return text
    if isinstance(text, Both):
        return text.ja
    found = _found(str(text)) or _sentence(str(text))
    if found is None and LETTERS.search(text):
        untranslated.add(str(text))
    return text if found is None else found


def _found(text: str) -> str | None:
    from oboro.report.text.japanese import JAPANESE

    if text in JAPANESE:
        return JAPANESE[text]
    for pattern, japanese in _patterns():
        if match := pattern.fullmatch(text):
            inner = {key: _inner(key, value) for key, value in match.groupdict().items()}
            return japanese.format(**inner)
    return None


def _inner(key: str, text: str) -> str:
    """What stood in a place; words of ours are translated in turn."""
    found = _found(text) if key in OURS else text
    if found is None and LETTERS.search(text):
        untranslated.add(text)
    return found or text


def _sentence(text: str) -> str | None:
    """A sentence is found by its words without the capital and the full stop; a list of remarks part by part."""
    bare = text.removesuffix(".")
    if bare != text and (found := _found(bare) or _found(bare[0].lower() + bare[1:])) is not None:
        return found + "。"
    parts = [_found(part) or _found(part[:1].lower() + part[1:]) for part in bare.split("; ")]
    if len(parts) < 2 or not all(parts):
        return None
    return "、".join(part for part in parts if part) + ("。" if bare != text else "")


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Entries with places: whole sentences first, then those with the most words of their own: the most particular wins."""
    from oboro.report.text.japanese import JAPANESE

    entries = [entry for entry in JAPANESE.items() if "{" in entry[0]]
    entries.sort(key=lambda entry: (not entry[0].endswith("."), -len(re.sub(r"\{\w+\}", "", entry[0]))))
    return [(re.compile(_regex(english), re.DOTALL), japanese) for english, japanese in entries]


def _regex(english: str) -> str:
    """`{n}`, one letter, stands for a figure; `{name}`, a word, for anything."""
    parts = re.split(r"(\{\w+\})", english)
    return "".join(_place(part[1:-1]) if part.startswith("{") else re.escape(part) for part in parts)


def _place(name: str) -> str:
    return f"(?P<{name}>{FIGURE if len(name) == 1 else '.+?'})"


def translated(value: Any, lang: str) -> Any:
    """Sections, blocks and everything in them; pictures have their words replaced."""
    if isinstance(value, str | Message):
        return translate(value, lang)
    if isinstance(value, list | tuple):
        return type(value)(translated(one, lang) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {}
        for one in fields(value):
            inner = getattr(value, one.name)
            if one.name in ("svg", "narrow"):
                changed[one.name] = _svg(inner, lambda word: translate(word, lang))
            elif one.name not in LEFT_ALONE:
                changed[one.name] = translated(inner, lang)
        return replace(value, **changed)
    return value


def _svg(svg: str, say: Callable[[str], str]) -> str:
    """Titles of axes and our own labels; the labels of data stay."""
    from oboro.report.text.japanese import PICTURE_WORDS

    def word(match: re.Match[str]) -> str:
        text = match.group(1)
        return f">{say(text)}</text>" if text in PICTURE_WORDS else match.group(0)

    return re.sub(r">([^<>]+)</text>", word, svg)
