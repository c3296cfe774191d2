"""The language of the command line: chosen once, before anything is said, from --lang or from the system."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from oboro.errors import UsageError
from oboro.text import LANGUAGES, Message
from oboro.text.language import system_language

__all__ = ["choose", "spoken"]

_spoken = ["en"]


def choose(arguments: Sequence[str]) -> str:
    """Take note of the language of --lang, wherever it stands, else of the system's."""
    given = [one.removeprefix("--lang=") for one in arguments if one.startswith("--lang=")]
    given += [after for one, after in pairwise(arguments) if one == "--lang"]
    _spoken[0] = system_language() if not given or given[-1] not in LANGUAGES else given[-1]
    if given and given[-1] not in LANGUAGES:
        raise UsageError(Message("error_app.lang", lang=given[-1]))
    return _spoken[0]


def spoken() -> str:
    """The language that was chosen."""
    return _spoken[0]
