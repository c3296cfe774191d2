"""Import of an sdcMicro script and its table as a recipe: roles, recoding lists, and the methods in their order.

Calls in the R script are read, as far as their arguments are plain values; nothing is run. Settings without a counterpart
here are reported, never dropped silently.

>>> [(call.name, call.named) for call in r_calls("x <- f(d, breaks = c(0, 18.5), labels = 1:2)  # why")]
[('f', {'breaks': [0, 18.5], 'labels': [1, 2]})]
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oboro.data.dataset import Dataset
from oboro.errors import FileError
from oboro.recipe.importers.arx import TakenOver, file_of
from oboro.recipe.recipe import Recipe
from oboro.system.files import settings_of
from oboro.text import Message
from oboro.text.language import os_reason

__all__ = ["UNREAD", "RCall", "from_sdcmicro", "r_calls"]


# Calls in an R script -------------------------------------------------------------------------------------------------


TOKENS = re.compile(
    # A quote that is never closed takes all of the rest: tried anew at each later quote, it would cost the square of the length.
    r"""(?P<space>\s+|\#[^\n]*)"""
    r"""|(?P<text>"(?:[^"\\]|\\(?:.|\Z))*(?:"|\Z)|'(?:[^'\\]|\\(?:.|\Z))*(?:'|\Z))"""
    r"""|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?L?)"""
    r"""|(?P<name>[A-Za-z.][\w.]*|`[^`]*`)"""
    r"""|(?P<mark><-|->|::?:?|.)""",
    re.DOTALL,
)
WORDS = {"TRUE": True, "FALSE": False, "T": True, "F": False, "NULL": None, "NA": None, "Inf": math.inf}
UNREAD = object()  # an argument that is no plain value
OPEN, CLOSE = "([{", ")]}"
VECTORS = ("c", "list")
DEEPEST = (
    100  # brackets within brackets: every call reads its arguments to their end, so that the cost is depth times length
)
MOST_VALUES = (
    1_000_000  # in all vectors of a script together: they name columns and edges, and `1:200000000` would take 4 GB
)


@dataclass
class RCall:
    """One call: its name, and its arguments."""

    name: str
    given: list[Any] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)

    def argument(self, *names: str, place: int | None = None, default: Any = None) -> Any:
        """An argument by one of its names, or by its place among those without a name."""
        for name in names:
            if name in self.named:
                return self.named[name]
        return self.given[place] if place is not None and place < len(self.given) else default


def r_calls(text: str, path: str = "script") -> list[RCall]:
    """Return all calls, the outermost first, in the order of the script. O(length · depth).

    `FileError` where brackets are nested deeper than `DEEPEST`, or vectors have more than `MOST_VALUES` values.
    """
    found = [(one.lastgroup or "", one[0], one.start()) for one in TOKENS.finditer(text) if one.lastgroup != "space"]
    depth = 0
    for kind, mark, place in found:
        depth = max(0, depth + (kind == "mark" and mark in OPEN) - (kind == "mark" and mark in CLOSE))
        if depth > DEEPEST:
            line = text.count("\n", 0, place) + 1
            raise FileError(Message("error_recipe.r_too_deep", path=path, line=line, most=DEEPEST))
    return _ScriptText([(kind, mark) for kind, mark, _ in found], path).calls()


Token = tuple[str, str]
Tokens = Sequence[Token]


class _ScriptText:
    """The tokens of one script, and how many values its vectors may still have."""

    def __init__(self, tokens: Tokens, path: str) -> None:
        self.tokens, self.path, self.left = tokens, path, MOST_VALUES

    def calls(self) -> list[RCall]:
        """All calls but those that make vectors, which are arguments."""
        return [call for place in range(len(self.tokens)) if (call := self._call(place)) is not None]

    def _call(self, place: int) -> RCall | None:
        tokens = self.tokens
        if tokens[place][0] != "name" or tokens[place + 1 : place + 2] != [("mark", "(")]:
            return None
        if tokens[place][1] in VECTORS:
            return None
        call = RCall(tokens[place][1].strip("`"))
        for part in _parts(tokens, place + 1):
            if len(part) > 2 and part[0][0] in ("name", "text") and part[1] == ("mark", "="):
                call.named[_plain(part[0])] = self._value(part[2:])
            elif part:
                call.given.append(self._value(part))
        call.given = [one for one in call.given if one is not UNREAD]  # the table itself, first of all
        call.named = {name: one for name, one in call.named.items() if one is not UNREAD}
        return call

    def _value(self, tokens: Tokens) -> Any:
        """A number, a text, a truth, a range, or `c(…)` of these; UNREAD for anything else."""
        if len(tokens) == 2 and tokens[0] in (("mark", "-"), ("mark", "+")):
            found = self._value(tokens[1:])
            return UNREAD if not isinstance(found, int | float) else -found if tokens[0][1] == "-" else found
        if len(tokens) == 1:
            return _single(*tokens[0])
        if len(tokens) == 3 and tokens[1] == ("mark", ":") and tokens[0][0] == tokens[2][0] == "number":
            return self._range(_single(*tokens[0]), _single(*tokens[2]))
        if tokens[0] in [("name", one) for one in VECTORS] and tokens[1] == ("mark", "("):
            parts = [self._value(_unnamed(part)) for part in _parts(tokens, 1) if part]
            flat = [one for part in parts for one in (part if isinstance(part, list) else [part])]
            return UNREAD if any(one is UNREAD for one in flat) else flat
        return UNREAD

    def _range(self, first: int | float, last: int | float) -> Any:
        """`first:last` as R counts: by one, upwards or downwards, and never beyond the last."""
        if not math.isfinite(first) or not math.isfinite(last):
            return UNREAD
        if abs(last - first) >= self.left:
            said = Message("error_recipe.r_too_many", path=self.path, first=first, last=last, most=MOST_VALUES)
            raise FileError(said)
        count, step = int(abs(last - first)) + 1, 1 if last >= first else -1
        self.left -= count
        return [first + step * place for place in range(count)]


def _parts(tokens: Tokens, start: int) -> Iterator[Tokens]:
    """The tokens between the commas of the brackets that open at a place."""
    depth, begin = 0, start + 1
    for place in range(start, len(tokens)):
        kind, mark = tokens[place]
        depth += (kind == "mark" and mark in OPEN) - (kind == "mark" and mark in CLOSE)
        if depth == 0 or (depth == 1 and (kind, mark) == ("mark", ",")):
            yield tokens[begin:place]
            begin = place + 1
        if depth == 0:
            return


def _plain(token: Token) -> str:
    return token[1][1:-1] if token[0] == "text" or token[1].startswith("`") else token[1]


def _unnamed(part: Tokens) -> Tokens:
    return part[2:] if len(part) > 2 and part[1] == ("mark", "=") else part


def _single(kind: str, text: str) -> Any:
    if kind == "text":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if kind == "number":
        number = float(text.rstrip("L"))
        return int(number) if number.is_integer() else number
    return WORDS.get(text, UNREAD) if kind == "name" else UNREAD


# sdcMicro script ------------------------------------------------------------------------------------------------------


NO_STEP = {  # all that changes a table there and has no step here; what only measures, prints or reads is passed over
    *(
        "pram",
        "addNoise",
        "rankSwap",
        "shuffle",
        "recordSwap",
        "LocalRecProg",
        "localSupp",
        "dataGen",
        "undolast",
        "importProblem",
    ),
    *(
        "mafast",
        "microaggrGower",
        "mvTopCoding",
        "addGhostVars",
        "createNewID",
        "argus_microaggregation",
        "argus_rankswap",
    ),
    *("mergeHouseholdData", "selectHouseholdData", "set.sdcMicroObj", "nextSdcObj"),
}
LARGEST = (
    1 << 20
)  # bytes of a script: those that come with sdcMicro have 10 KB, and a token takes a hundred times its length


def from_sdcmicro(script: str | Path, table: Dataset) -> TakenOver:
    """Read an sdcMicro script as a recipe. Raises `FileError` where it makes no object of sdcMicro."""
    path = Path(script)
    try:
        text = settings_of(path, LARGEST).decode("utf-8-sig")
    except OSError as error:
        raise FileError(Message("error_recipe.r_unreadable", path=str(path), why=os_reason(error))) from None
    except ValueError:  # no UTF-8, or a name that no file can have
        raise FileError(Message("error_recipe.no_sdcmicro", path=str(path))) from None
    calls = r_calls(text, str(path))
    made = next((call for call in calls if call.name == "createSdcObj"), None)
    if made is None:
        raise FileError(Message("error_recipe.no_sdcmicro", path=str(path)))
    return _Script(made, table).read(calls)


class _Script:
    """The parts of one script."""

    def __init__(self, made: RCall, table: Dataset) -> None:
        self.table, self.names = table, list(table)
        self.notes, self.hierarchies = list[Message](), dict[str, list[list[str]]]()
        self.steps, self.levels = list[dict[str, Any]](), dict[str, int]()
        self.keys = self._columns(made.argument("keyVars", place=0))
        roles = dict.fromkeys(self.names, "other") | dict.fromkeys(self.keys, "quasi")
        roles |= dict.fromkeys(self._columns(made.argument("sensibleVar")), "sensitive")
        self.person = next(iter(self._columns(made.argument("hhId"))), None)
        dropped = self._columns(made.argument("excludeVars"))
        roles |= dict.fromkeys([*dropped, *([] if self.person is None else [self.person])], "identifier")
        self.attributes: dict[str, dict[str, Any]] = {name: {"role": role} for name, role in roles.items()}

    def read(self, calls: Sequence[RCall]) -> TakenOver:
        """Everything together."""
        for call in calls:
            if call.name in STEPS:
                STEPS[call.name](self, call)
            elif call.name in NO_STEP:
                self._not_taken(call)
        gone = [name for name, one in self.attributes.items() if one["role"] == "identifier"]
        drop: list[dict[str, Any]] = [{"drop_columns": {"attributes": gone}}] if gone else []
        plain: dict[str, Any] = {"attributes": self.attributes, "steps": [*drop, *self.steps]}
        if self.person is not None:
            self.notes.append(Message("recipe.sdcmicro.household", column=self.person))
        return TakenOver(Recipe.model_validate(plain), plain, self.hierarchies, tuple(self.notes))

    def _columns(self, given: Any) -> list[str]:
        """Columns by name, or by number from 1 as R counts."""
        found, known = [], set(self.names)
        for one in given if isinstance(given, list) else [] if given is None else [given]:
            name = self.names[one - 1] if isinstance(one, int) and 0 < one <= len(self.names) else one
            if name in known:
                found.append(str(name))
            else:
                self.notes.append(Message("recipe.sdcmicro.column", column=str(one)))
        return found

    def _not_taken(self, call: RCall) -> None:
        self.notes.append(Message("recipe.sdcmicro.call", call=call.name))

    def recode(self, call: RCall) -> None:
        """`globalRecode`: a level of intervals, which hold their upper end."""
        name, breaks = self._one(call, "column"), call.argument("breaks", place=1)
        labels = call.argument("labels", place=2)
        if name is None or not isinstance(breaks, list) or "hierarchy" in self.attributes[name]:
            self._not_taken(call)
            return
        edges = sorted(one for one in breaks if isinstance(one, int | float) and math.isfinite(one))
        spec: dict[str, Any] = {"edges": [edges], "closed": "right"}
        if isinstance(labels, list) and len(labels) in (len(edges) - 1, len(edges) + 1):
            spec["labels"] = [[str(one) for one in labels]]
        elif isinstance(labels, list):
            self.notes.append(Message("recipe.sdcmicro.labels", column=name))
        self.attributes[name]["hierarchy"] = {"intervals": spec}
        self._generalize(name)

    def group(self, call: RCall) -> None:
        """`groupAndRename`: one more level of a list; values that it does not name stay."""
        name = self._one(call, "var", "column")
        before, after = (call.argument(key, place=place) for key, place in (("before", 1), ("after", 2)))
        if name is None or before is None or after is None or "intervals" in self.attributes[name].get("hierarchy", {}):
            self._not_taken(call)
            return
        old = {str(one) for one in (before if isinstance(before, list) else [before])}
        new = str(after[0] if isinstance(after, list) else after)
        rows = self.hierarchies.get(name) or [[text] for text in self.table[name].texts if text is not None]
        self.hierarchies[name] = [[*row, new if row[-1] in old else row[-1]] for row in rows]
        self.attributes[name]["hierarchy"] = {"csv": f"hierarchies/{file_of(name)}"}
        self._generalize(name)

    def _generalize(self, name: str) -> None:
        """The last step generalizes to the new level; recodings that follow each other are one step."""
        self.levels[name] = self.levels.get(name, 0) + 1
        if self.steps and "generalize" in self.steps[-1]:
            self.steps[-1]["generalize"]["levels"][name] = self.levels[name]
            return
        self.steps.append({"generalize": {"levels": {name: self.levels[name]}}})

    def bound(self, call: RCall) -> None:
        """`topBotCoding`."""
        name, value = self._one(call, "column"), call.argument("value", place=0)
        kind = call.argument("kind", place=2, default="top")
        if name is None or not isinstance(value, int | float) or kind not in ("top", "bottom"):
            self._not_taken(call)
            return
        if call.argument("replacement", place=1, default=value) != value:
            self.notes.append(Message("recipe.sdcmicro.replacement", column=name))
        self.steps.append({f"{kind}_code": {"attribute": name, "at": value}})

    def cells(self, call: RCall) -> None:
        """`localSuppression` and `kAnon`: there 1 is the most important column, here more is dearer."""
        k, ranks = call.argument("k", place=0, default=2), call.argument("importance", place=1)
        step: dict[str, Any] = {"k": k if isinstance(k, int) else 2}
        if _all_numbers(ranks) and len(ranks) == len(self.keys):
            step["importance"] = {
                name: max(ranks) + 1 - rank for name, rank in zip(self.keys, ranks, strict=True) if rank > 0
            }
        self.steps.append({"suppress_cells": step})

    def microaggregate(self, call: RCall) -> None:
        """`microaggregation`."""
        names = self._columns(call.argument("variables"))
        method = call.argument("method", default="mdav")
        if not names or method not in ("mdav", "onedims"):
            self._not_taken(call)
            return
        own = {"k": call.argument("aggr", default=3), "method": "mdav" if method == "mdav" else "fixed"}
        if (measure := call.argument("measure", default="mean")) in ("median", "mode"):
            own["aggregate"] = measure
        self.steps.append({"microaggregate": {"attributes": names, **own}})

    def remove(self, call: RCall) -> None:
        """`removeDirectID`: columns that are left out."""
        for name in self._columns(call.argument("var", place=0)):
            self.attributes[name]["role"] = "identifier"

    def _one(self, call: RCall, *names: str) -> str | None:
        found = self._columns(call.argument(*names, place=3 if call.name == "topBotCoding" else 0))
        return found[0] if len(found) == 1 else None


def _all_numbers(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(one, int | float) for one in given)


STEPS: dict[str, Callable[[_Script, RCall], None]] = {
    "globalRecode": _Script.recode,
    "groupAndRename": _Script.group,
    "topBotCoding": _Script.bound,
    "localSuppression": _Script.cells,
    "kAnon": _Script.cells,
    "microaggregation": _Script.microaggregate,
    "removeDirectID": _Script.remove,
}
