"""Lines for the terminal: a label, and what is said of it, one below the other."""

from __future__ import annotations

from oboro.text.figures import width_of
from oboro.text.message import Message

__all__ = ["labelled"]

LABELS = {"en": 9, "ja": 10}  # letters; Japanese ones count twice


def labelled(label: Message, said: Message, lang: str = "en") -> str:
    """A line whose text begins where that of every other line begins."""
    words = label.say(lang)
    return f"{words}{' ' * max(1, LABELS[lang] - width_of(words))}{said.say(lang)}"
