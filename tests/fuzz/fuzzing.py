"""What a fuzzer is: it draws cases from a seed, and says of each whether what oboro does with it is right.

A case is plain data (text, bytes, numbers, lists, mappings), so that it can be kept in a file, made smaller and tried again. It is
known by three words: the fuzzer, the seed of the run and its number. A check returns the documented differences that it met
(`docs/reliability.md` lists them), and raises a `Finding` where something is wrong.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from oboro.errors import OboroError

__all__ = ["Case", "Finding", "Fuzzer", "asked", "drawn", "from_text", "refused", "require", "to_text"]

T = TypeVar("T")
Case = dict[str, Any]
LONGEST = 8000  # characters of a message: what came from outside is cut
OFTEN, SOME = 200, 8  # a refusal that was said so often is said in every language only some of the times: one of eight
_said: Counter[str] = Counter()


class Finding(AssertionError):
    """Something that oboro must not do."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"{kind}: {what}")
        self.kind, self.what = kind, what


@dataclass(frozen=True)
class Fuzzer:
    """A name, how cases are drawn, how one is judged, and how many of a thousand cases of a run are its own."""

    name: str
    draw: Callable[[random.Random], Case]
    check: Callable[[Case, Path], Sequence[str]]
    share: int
    shrinks: bool = True  # whether a case may be made smaller: not where parts of it must fit each other
    writes: bool = True  # whether a check leaves files behind


def drawn(fuzzer: Fuzzer, seed: int, number: int) -> Case:
    """One case; the same words give the same case on every machine."""
    return fuzzer.draw(random.Random(f"{fuzzer.name}/{seed}/{number}"))


# What oboro answered --------------------------------------------------------------------------------------------------


def asked(act: Callable[[], T]) -> T | OboroError:
    """What a call gives, or the refusal that it raises; a refusal says something in both languages. Anything else is a finding."""
    try:
        return act()
    except OboroError as refusal:
        _check_said(refusal)
        return refusal
    except Finding:
        raise
    except Exception as error:
        raise Finding("traceback", f"{type(error).__name__}: {str(error)[:300]}") from error


def _check_said(refusal: OboroError) -> None:
    require(not isinstance(refusal.words, str), f"a refusal in one language: {refusal}")
    name = getattr(refusal.words, "id", "")
    _said[name] += 1
    seldom = _said[name] <= OFTEN or _said[name] % SOME == 0
    try:
        said = (
            [words(lang) for lang in ("en", "ja") for words in (refusal.say, refusal.show)]
            if seldom
            else [refusal.show()]
        )
    except Exception as error:
        raise Finding("traceback", f"the refusal cannot be said: {type(error).__name__}: {error}") from error
    for words in said:
        require(bool(words.strip()), "a refusal without words")
        require(len(words) <= LONGEST, f"a refusal of {len(words)} characters: {words[:200]}")


def refused(answer: object) -> bool:
    """Whether it was refused."""
    return isinstance(answer, OboroError)


def require(holds: bool, what: str) -> None:
    """Raise a finding unless it holds."""
    if not holds:
        raise Finding("difference", what)


# Cases in files -------------------------------------------------------------------------------------------------------


def to_text(case: Case) -> str:
    """A case as JSON; bytes are written as the letters of latin-1, which a person can read where they are text."""
    return json.dumps(_marked(case), indent=1)


def from_text(text: str) -> Case:
    """The way back."""
    case: Case = _unmarked(json.loads(text))
    return case


def _marked(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, Mapping):
        return {"pairs": [[_marked(key), _marked(one)] for key, one in value.items()]}
    return [_marked(one) for one in value] if isinstance(value, list | tuple) else value


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        return value["bytes"].encode("latin-1")
    return {_unmarked(key): _unmarked(one) for key, one in value["pairs"]}
