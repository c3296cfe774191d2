"""Text of oboro: messages as an id with values, and their wording in each language.

A module makes a `Message` ("verdict.broken", with the figures); the words are in `en/` and `ja/`, one file for each first part of
an id, and are put together at the last moment, in the reader's language. Nothing is ever decided by reading a sentence.

>>> print(Message("verdict.holds_because", model=Message("model.k_anonymity", k=3), why=Message("verdict.no_records")))
3-anonymity holds: the table has no records.
>>> Message("model.k_anonymity", k=3).say("ja")
'3-匿名性'
"""

from __future__ import annotations

from oboro.text.message import (
    LANGUAGES,
    Message,
    Words,
    bring_words,
    count,
    few,
    known,
    number,
    percent,
    quoted,
    say,
    size,
)
from oboro.text.raw import Raw

__all__ = [
    "LANGUAGES",
    "Message",
    "Raw",
    "Words",
    "bring_words",
    "count",
    "few",
    "known",
    "number",
    "percent",
    "quoted",
    "say",
    "size",
]
