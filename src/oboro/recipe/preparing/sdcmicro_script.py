"""A recipe from a script for sdcMicro and the table that it is about: roles, recoding lists, and the methods in their order.

The script is read, never run. What has no counterpart here is said, never left out in silence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from oboro.errors import FileError
from oboro.recipe.preparing.r_calls import RCall, r_calls
from oboro.recipe.preparing.taken_over import TakenOver, file_of
from oboro.recipe.recipe import Recipe
from oboro.system.named_files import settings_of
from oboro.table.dataset import Dataset
from oboro.text import Message
from oboro.text.os_reasons import os_reason

__all__ = ["from_sdcmicro"]

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
    """Read a script. Raises `FileError` where it makes no object of sdcMicro."""
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
