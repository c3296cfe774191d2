"""Lines for the terminal: a label, and what is said of it, one below the other."""

from __future__ import annotations

from unicodedata import east_asian_width

from oboro.text.message import Message

__all__ = ["labelled"]

LABELS = {"en": 9, "ja": 10}  # letters; Japanese ones count twice


def labelled(label: Message, said: Message, lang: str = "en") -> str:
    """A line whose text begins where that of every other line begins."""
    words = label.say(lang)
    width = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in words)
    return f"{words}{' ' * max(1, LABELS[lang] - width)}{said.say(lang)}"
