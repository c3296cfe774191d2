"""Language of the command line, chosen once before any output, from --lang or from the system."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from oboro.errors import UsageError
from oboro.text import LANGUAGES, Message
from oboro.text.language import system_language

__all__ = ["choose", "spoken"]


_spoken = ["en"]


def choose(arguments: Sequence[str]) -> str:
    """Take note of the language of --lang, wherever it stands, else of the system's."""
    given = None
    for one, after in zip_longest(arguments, arguments[1:]):
        if one == "--lang":
            given = after
        elif one.startswith("--lang="):
            given = one.removeprefix("--lang=")
    _spoken[0] = given if given in LANGUAGES else system_language()
    if given is not None and given not in LANGUAGES:
        raise UsageError(Message("error_app.lang", lang=given))
    return _spoken[0]


def spoken() -> str:
    """The language that was chosen."""
    return _spoken[0]
