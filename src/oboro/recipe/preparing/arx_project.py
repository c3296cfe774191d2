"""A recipe from a project of the ARX tool (`.deid`): roles, hierarchies, models, suppression, loss and weights.

Such a file is a zip with XML and CSV; its Java objects are never read. What has no counterpart here is said, never left out in
silence.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from oboro.errors import FileError
from oboro.recipe.preparing.taken_over import TakenOver, file_of
from oboro.recipe.recipe import Recipe
from oboro.text import Message

__all__ = ["from_arx"]

LARGEST = 1 << 28  # bytes of one file in the zip
NUMBER = r"([0-9.]+(?:E-?[0-9]+)?)"
OF = r".*? for attribute '(.*)'"
LOSSES = {
    "height": "height",
    "discernab": "discernibility",
    "average": "average_class_size",
    "normalized non-uniform entropy": "arx_entropy",
    "entropy": "arx_bits",
    "ambiguity": "ambiguity",
    "kl-divergence": "kl",
}
AGGREGATES = {"arithmetic": "mean", "median": "median", "mode": "mode", "interval": "interval"}


def from_arx(path: str | Path) -> TakenOver:
    """Read a project. Raises `FileError` where the file is none."""
    try:
        with ZipFile(path) as file:
            return _Reader(file).read()
    except (OSError, BadZipFile, KeyError, ElementTree.ParseError, UnicodeDecodeError) as error:
        raise FileError(Message("error_recipe.no_arx_project", path=str(path), why=str(error))) from None


class _Reader:
    """The parts of one project."""

    def __init__(self, file: ZipFile) -> None:
        self.file, self.notes = file, list[Message]()
        project = self._xml("project.xml") if "project.xml" in file.namelist() else None
        self.separator = (project.findtext("separator") if project is not None else None) or ";"
        self.config, self.definition = self._xml("input/config.xml"), self._xml("input/definition.xml")

    def read(self) -> TakenOver:
        """Everything together."""
        hierarchies: dict[str, list[list[str]]] = {}
        attributes = {name: self._attribute(name, one, hierarchies) for name, one in self._assigned()}
        identifiers = [name for name, one in attributes.items() if one["role"] == "identifier"]
        step = self._step(list(attributes))
        plain: dict[str, Any] = {"attributes": attributes, "steps": []}
        if identifiers:
            plain["steps"].append({"drop_columns": {"attributes": identifiers}})
        plain["steps"].append({"k_anonymize": step})
        return TakenOver(Recipe.model_validate(plain), plain, hierarchies, tuple(self.notes))

    def _text(self, name: str) -> str:
        info = self.file.getinfo(name)
        if info.file_size > LARGEST:
            raise FileError(Message("error_recipe.arx_too_large", name=name, size=info.file_size))
        return self.file.read(name).decode("utf-8-sig")

    def _xml(self, name: str) -> ElementTree.Element:
        text = self._text(name)
        if "<!DOCTYPE" in text or "<!ENTITY" in text:  # nothing that ARX writes
            raise FileError(Message("error_recipe.arx_doctype", name=name))
        return ElementTree.fromstring(re.sub(r"^<\?xml[^>]*\?>", "", text))

    def _assigned(self) -> Iterator[tuple[str, ElementTree.Element]]:
        for one in self.definition.iter("assigment"):  # so ARX spells it
            yield one.findtext("name") or "", one

    def _attribute(self, name: str, one: ElementTree.Element, held: dict[str, list[list[str]]]) -> dict[str, Any]:
        kind = (one.findtext("type") or "").upper()
        role = "quasi" if "QUASI" in kind else "other" if "INSENS" in kind else None
        role = role or ("sensitive" if "SENS" in kind else "identifier")
        found: dict[str, Any] = {"role": role}
        path = f"input/{one.findtext('ref')}"
        if one.findtext("ref") and path in self.file.namelist():
            held[name] = list(csv.reader(io.StringIO(self._text(path)), delimiter=self.separator))
            found["hierarchy"] = {"csv": f"hierarchies/{file_of(name)}"}
        weight = self._weights().get(name)
        return found if weight is None else {**found, "weight": weight}

    def _weights(self) -> dict[str, float]:
        pairs = [
            (one.findtext("attribute") or "", one.findtext("weight")) for one in self.config.iter("attributeWeight")
        ]
        found = {name: float(weight) for name, weight in pairs if weight is not None}
        return found if len(set(found.values())) > 1 else {}

    def _step(self, names: list[str]) -> dict[str, Any]:
        step: dict[str, Any] = {
            "k": 1,
            "suppress": float(self.config.findtext("relativeMaxOutliers") or 0),
            **self._loss(),
        }
        for criterion in self.config.iter("criterion"):
            self._criterion((criterion.text or "").strip(), step)
        limits = {name: limit for name, one in self._assigned() if (limit := self._limits(one))}
        if limits:
            step["limits"] = limits
        made = {name: how for name, one in self._assigned() if (how := self._aggregate(name, one))}
        return {**step, **({"aggregates": made} if made else {})}

    def _aggregate(self, name: str, one: ElementTree.Element) -> str | None:
        """What is made of a column in every class, if anything; what has no counterpart is said."""
        function = (one.findtext("microaggregationFunction") or "").strip()
        if not function or "QUASI" not in (one.findtext("type") or "").upper():
            return None
        found = next((ours for theirs, ours in AGGREGATES.items() if theirs in function.lower()), None)
        if found is None:
            self.notes.append(Message("recipe.arx.microaggregation", column=name, function=function))
        return found

    @staticmethod
    def _limits(one: ElementTree.Element) -> dict[str, int]:
        ends = {"least": one.findtext("min"), "greatest": one.findtext("max")}
        return {end: int(text) for end, text in ends.items() if text is not None and text.isdigit()}

    def _loss(self) -> dict[str, Any]:
        metric = self.config.findtext("metric") or ""
        name = next((ours for theirs, ours in LOSSES.items() if theirs in metric.lower()), None)
        if name is None and "precision" in metric.lower():
            name = "precision"
        if name is None and not metric.startswith("Loss"):
            self.notes.append(Message("recipe.arx.metric", metric=metric))
        factor = re.match(rf"Loss \({NUMBER}/", metric)
        return {
            "loss": name or "arx",
            **({"aggregate": "sum"} if name == "arx_entropy" else {}),
            **({"gen_factor": float(factor[1])} if factor and float(factor[1]) != 0.5 else {}),
        }

    def _criterion(self, text: str, step: dict[str, Any]) -> None:
        """Take one privacy model over, or say that it has no counterpart."""
        for pattern, take in CRITERIA:
            found = re.fullmatch(pattern, text)
            if found:
                take(step, *found.groups())
                return
        self.notes.append(Message("recipe.arx.criterion", criterion=text))


def _put_for(key: str, value: Any, step: dict[str, Any], name: str) -> None:
    step.setdefault(key, {})[name] = value


CRITERIA: list[tuple[str, Any]] = [
    (r"(\d+)-anonymity", lambda step, k: step.update(k=int(k))),
    (rf"distinct-(\d+)-diversity{OF}", lambda step, least, name: _put_for("l_diversity", int(least), step, name)),
    (
        rf"(?:shannon-|\w*-?)entropy-{NUMBER}-diversity{OF}",
        lambda step, least, name: _put_for("l_diversity", {"l": float(least), "kind": "entropy"}, step, name),
    ),
    (
        rf"recursive-\({NUMBER}, ?(\d+)\)-diversity{OF}",
        lambda step, c, least, name: _put_for(
            "l_diversity", {"l": int(least), "c": float(c), "kind": "recursive"}, step, name
        ),
    ),
    (
        rf"{NUMBER}-closeness with (equal|hierarchical|ordered){OF}",
        lambda step, t, distance, name: _put_for("t_closeness", {"t": float(t), "distance": distance}, step, name),
    ),
    (
        rf"{NUMBER}-disclosure privacy{OF}",
        lambda step, d, name: _put_for("delta_disclosure", {"delta": float(d), "values": "held"}, step, name),
    ),
    (
        rf"(basic|enhanced)-{NUMBER}-likeness{OF}",
        lambda step, kind, b, name: _put_for("beta_likeness", {"beta": float(b), "kind": kind}, step, name),
    ),
    (rf"\({NUMBER}\)-avg-reidentification-risk", lambda step, risk: step.update(average_risk=float(risk))),
    (
        rf"\({NUMBER}, {NUMBER}, {NUMBER}\)-avg-reidentification-risk",
        lambda step, mean, risk, share: step.update(
            average_risk=float(mean), records_at_risk={"risk": float(risk), "share": float(share)}
        ),
    ),
    (rf"\({NUMBER}\)-sample-uniqueness", lambda step, share: step.update(sample_uniqueness=float(share))),
]
