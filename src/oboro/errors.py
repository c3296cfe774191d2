"""What can go wrong, as a tree.

OboroError                  everything that oboro raises on purpose
├── UsageError              a parameter, an option or a recipe is wrong          exit code 2
│   └── RecipeError         … in a recipe: says which step or attribute
├── InputError              the data cannot be used as it is                     exit code 2
│   ├── FileError           a file is unreadable, malformed, or cannot be written
│   ├── BrokerError         a broker is away: what was asked may or may not have been done; asking again is safe
│   ├── ConflictError       the output of a stream holds what its state does not know: somebody else writes there
│   ├── ColumnError         a column is missing, unknown, or holds the wrong kind of value
│   └── HierarchyError      a hierarchy does not fit the data, or itself
└── PromiseError            a privacy promise does not hold, so nothing is released    exit code 1
    └── SingledOutError     … because columns that no promise covers single somebody out

A stream that runs ends with 75 where the fault is `transient`, and with 78 where it is not (`oboro.stream.exit_codes`).

A message says what was wrong, what is allowed and what came, and ends with the way out. It is an id with values
(`oboro.text.Message`): `str(error)` is English, `error.say("ja")` Japanese. Logs keep messages, so these give the kind and the
place of an offending value; `error.show()` gives the value itself, and no other value of the data (`oboro.text.raw`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

__all__ = [
    "BrokerError",
    "ColumnError",
    "ConflictError",
    "FileError",
    "HierarchyError",
    "InputError",
    "OboroError",
    "PromiseError",
    "RecipeError",
    "Sayable",
    "SingledOutError",
    "UsageError",
    "listing",
]


class Sayable(Protocol):
    """Words that are looked up in the reader's language: a message."""

    def say(self, lang: str = "en") -> str:
        """The words, in one language."""

    def show(self, lang: str = "en") -> str:
        """The words with the values of the data in them."""


class OboroError(Exception):
    """Everything that oboro raises on purpose."""

    exit_code: int = 2
    transient: bool = False

    def __init__(self, words: Sayable | str, *, transient: bool = False) -> None:
        super().__init__(words)
        self.words = words
        if transient:  # the same may succeed later, with nothing changed here
            self.transient = True

    def say(self, lang: str = "en") -> str:
        """What went wrong, in one language; text that somebody else wrote stays as it is."""
        return self.words if isinstance(self.words, str) else self.words.say(lang)

    def show(self, lang: str = "en") -> str:
        """The same with the offending value; `str(error)` and `say` give only its kind and place, since logs keep them."""
        return self.words if isinstance(self.words, str) else self.words.show(lang)


class UsageError(OboroError, ValueError):
    """A parameter, an option or a recipe is wrong."""


class RecipeError(UsageError):
    """A recipe is wrong: the message names the step or the attribute."""


class InputError(OboroError, ValueError):
    """The data cannot be used as it is."""


class FileError(InputError):
    """A file is unreadable, malformed, or cannot be written."""


class BrokerError(InputError):
    """A broker is away: what was asked may or may not have been done, and asking again is safe."""

    transient = True


class ConflictError(InputError):
    """The output of a stream holds what its state does not know: somebody else writes there, or the state is an older one."""


class ColumnError(InputError):
    """A column is missing, unknown, or holds the wrong kind of value."""


class HierarchyError(InputError):
    """A hierarchy does not fit the data, or contradicts itself."""


class PromiseError(OboroError):
    """A privacy promise does not hold; nothing is released."""

    exit_code = 1


class SingledOutError(PromiseError):
    """Somebody is unique by released columns that no promise covers, and the recipe does not accept it; nothing is released."""


def listing(names: Iterable[object], most: int = 8) -> str:
    """Names for a message: at most `most` of them, then how many more.

    >>> listing(["age", "sex"])
    "'age', 'sex'"
    >>> listing(range(10), most=2)
    '0, 1 and 8 more'
    """
    items = [repr(name) for name in names]
    if len(items) <= most:
        return ", ".join(items)
    return f"{', '.join(items[:most])} and {len(items) - most} more"
