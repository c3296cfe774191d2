"""Import of a project of the ARX tool (`.deid`) as a recipe: roles, hierarchies, models, suppression, loss and weights.

Such a file is a zip with XML and CSV; its Java objects are never read. Settings without a counterpart here are
reported, never dropped silently.
"""

from __future__ import annotations

import csv
import io
import lzma
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from oboro.errors import FileError, OboroError
from oboro.recipe.recipe import Recipe
from oboro.recipe.text import yaml_text
from oboro.system.files import atomic, require_file
from oboro.text import Message
from oboro.text.language import os_reason

__all__ = ["TakenOver", "file_of", "from_arx"]


# Imported recipe ------------------------------------------------------------------------------------------------------
# A recipe from another tool, with its hierarchy files and the settings that have no counterpart here.


@dataclass(frozen=True)
class TakenOver:
    """Recipe from another tool's files with its hierarchy files, and the settings that have no counterpart here."""

    recipe: Recipe
    plain: dict[str, Any]
    hierarchies: dict[str, list[list[str]]] = field(repr=False)
    notes: tuple[Message, ...] = ()

    def to_yaml(self, lang: str = "en") -> str:
        """Return the recipe, with the settings that have no counterpart as comments."""
        said = "".join(f"# {note.say(lang)}\n" for note in self.notes)
        return said + yaml_text(self.plain, 0)

    def write(self, folder: Path, lang: str = "en") -> Path:
        """Write `recipe.yaml` and its hierarchies into a folder; return the path of the recipe."""
        (folder / "hierarchies").mkdir(parents=True, exist_ok=True)
        for name, rows in self.hierarchies.items():
            text = io.StringIO()
            csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
            _put(folder / "hierarchies" / file_of(name), text.getvalue())
        _put(folder / "recipe.yaml", self.to_yaml(lang))
        return folder / "recipe.yaml"


def _put(path: Path, text: str) -> None:
    with atomic(path) as file:
        file.write(text.encode())


LONGEST_NAME = 60  # letters of a column's name in that of its file: a file name has at most 255 bytes, a letter four


def file_of(name: str) -> str:
    """A file name for a column, whatever letters it has; one that loses some gets a number that tells it from others.

    >>> file_of("age"), file_of("a/b") == file_of("a:b"), len(file_of("x" * 500))
    ('age.csv', False, 75)
    """
    plain = re.sub(r"[^\w.-]", "_", name).lstrip(".")[:LONGEST_NAME]
    if plain == name:
        return f"{plain}.csv"
    return f"{plain}-{sha256(name.encode(errors='replace')).hexdigest()[:10]}.csv"


# ARX project ----------------------------------------------------------------------------------------------------------


LARGEST = (
    1 << 26
)  # bytes of all files in the zip that are read: a hierarchy of 500,000 values with five levels has 25 MB
MOST_CELLS = 5_000_000  # in all hierarchies: a line that is empty takes a hundred times its length
LARGEST_XML = 1 << 24  # bytes of a file of XML: one of 10,000 columns has 5 MB
MOST_ELEMENTS = 200_000  # in a file of XML: 20 for each of 10,000 columns; 2,000,000 take 1.3 GB, and 120 KB of a zip
NUMBER = r"([0-9.]+(?:E-?[0-9]+)?)"
OF = r"[^']* for attribute '(.*)'"  # one way to match only: with `.*?` a long text costs the square of its length
LOSSES = {
    "height": "height",
    "discernab": "discernibility",
    "average": "average_class_size",
    "normalized non-uniform entropy": "arx_entropy",
    "entropy": "arx_bits",
    "ambiguity": "ambiguity",
    "kl-divergence": "kl",
}
# Raised by `zipfile` of a damaged zip, one with a password (RuntimeError) or an unknown compression (NotImplementedError), and by
# the readers of text, XML and CSV.
UNREADABLE = (
    *(BadZipFile, zlib.error, lzma.LZMAError, EOFError, OverflowError, RuntimeError, NotImplementedError),
    *(KeyError, UnicodeDecodeError, ElementTree.ParseError, csv.Error),
)
AGGREGATES = {"arithmetic": "mean", "median": "median", "mode": "mode", "interval": "interval"}


def from_arx(path: str | Path) -> TakenOver:
    """Read an ARX project as a recipe. Raises `FileError` where the file is none."""
    try:
        require_file(path)
        with ZipFile(path) as file:
            return _Reader(file).read()
    except OboroError:
        raise
    except OSError as error:
        raise FileError(Message("error_recipe.no_arx_project", path=str(path), why=os_reason(error))) from None
    except UNREADABLE as error:
        # Hierarchies hold values of the data, which texts of other errors may quote.
        quoted = (
            str(error) if isinstance(error, BadZipFile | KeyError | ElementTree.ParseError) else type(error).__name__
        )
        raise FileError(Message("error_recipe.no_arx_project", path=str(path), why=quoted)) from None


class _Reader:
    """The parts of one project."""

    def __init__(self, file: ZipFile) -> None:
        self.archive, self.notes, self.left = file, list[Message](), LARGEST
        self.cells = MOST_CELLS
        project = self._xml("project.xml") if "project.xml" in file.namelist() else None
        self.separator = (project.findtext("separator") if project is not None else None) or ";"
        if len(self.separator) != 1:
            raise FileError(
                Message("error_recipe.arx_separator", path=str(file.filename), separator=self.separator[:40])
            )
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

    def _text(self, name: str, most: int = LARGEST) -> str:
        """The text of one file in the zip; declared sizes may be wrong, so what is unpacked is counted."""
        with self.archive.open(name) as file:
            content = file.read(min(most, self.left) + 1)
        if len(content) > min(most, self.left):
            raise FileError(Message("error_recipe.arx_too_large", name=name, size=self.archive.getinfo(name).file_size))
        self.left -= len(content)
        return content.decode("utf-8-sig")

    def _rows(self, name: str) -> list[list[str]]:
        """The rows of a hierarchy."""
        text = self._text(name)
        self.cells -= sum(map(text.count, {self.separator, "\n", "\r"}))
        if self.cells < 0:
            raise FileError(Message("error_recipe.arx_too_many_cells", name=name, most=MOST_CELLS))
        return list(csv.reader(io.StringIO(text), delimiter=self.separator))

    def _xml(self, name: str) -> ElementTree.Element:
        text = self._text(name, LARGEST_XML)
        if "<!DOCTYPE" in text or "<!ENTITY" in text:  # nothing that ARX writes
            raise FileError(Message("error_recipe.arx_doctype", name=name))
        if text.count("<") > 2 * MOST_ELEMENTS:  # one to open an element, one to close it
            raise FileError(Message("error_recipe.arx_too_many", name=name, most=MOST_ELEMENTS))
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
        if one.findtext("ref") and path in self.archive.NameToInfo:
            held[name] = self._rows(path)
            found["hierarchy"] = {"csv": f"hierarchies/{file_of(name)}"}
        weight = self.weights.get(name)
        return found if weight is None else {**found, "weight": weight}

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each attribute, where they differ."""
        pairs = [
            (one.findtext("attribute") or "", one.findtext("weight")) for one in self.config.iter("attributeWeight")
        ]
        found = {name: _real(weight) for name, weight in pairs if weight is not None}
        return found if len(set(found.values())) > 1 else {}

    def _step(self, names: list[str]) -> dict[str, Any]:
        step: dict[str, Any] = {
            "k": 1,
            "suppress": _real(self.config.findtext("relativeMaxOutliers") or "0"),
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
        return {end: _whole(text) for end, text in ends.items() if text is not None and text.isdecimal()}

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
            **({"gen_factor": _real(factor[1])} if factor and _real(factor[1]) != 0.5 else {}),
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


def _real(text: str) -> float:
    """A number of the project. `FileError` where the text is none: `NUMBER` also matches `1.2.3`."""
    try:
        return float(text)
    except ValueError:
        raise FileError(Message("error_recipe.arx_number", text=text[:40])) from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # Python reads 4,300 digits at most
        raise FileError(Message("error_recipe.arx_number", text=text[:40])) from None


CRITERIA: list[tuple[str, Any]] = [
    (r"(\d+)-anonymity", lambda step, k: step.update(k=_whole(k))),
    (rf"distinct-(\d+)-diversity{OF}", lambda step, least, name: _put_for("l_diversity", _whole(least), step, name)),
    (
        rf"(?:shannon-|\w*-?)entropy-{NUMBER}-diversity{OF}",
        lambda step, least, name: _put_for("l_diversity", {"l": _real(least), "kind": "entropy"}, step, name),
    ),
    (
        rf"recursive-\({NUMBER}, ?(\d+)\)-diversity{OF}",
        lambda step, c, least, name: _put_for(
            "l_diversity", {"l": _whole(least), "c": _real(c), "kind": "recursive"}, step, name
        ),
    ),
    (
        rf"{NUMBER}-closeness with (equal|hierarchical|ordered){OF}",
        lambda step, t, distance, name: _put_for("t_closeness", {"t": _real(t), "distance": distance}, step, name),
    ),
    (
        rf"{NUMBER}-disclosure privacy{OF}",
        lambda step, d, name: _put_for("delta_disclosure", {"delta": _real(d), "values": "held"}, step, name),
    ),
    (
        rf"(basic|enhanced)-{NUMBER}-likeness{OF}",
        lambda step, kind, b, name: _put_for("beta_likeness", {"beta": _real(b), "kind": kind}, step, name),
    ),
    (rf"\({NUMBER}\)-avg-reidentification-risk", lambda step, risk: step.update(average_risk=_real(risk))),
    (
        rf"\({NUMBER}, {NUMBER}, {NUMBER}\)-avg-reidentification-risk",
        lambda step, mean, risk, share: step.update(
            average_risk=_real(mean), records_at_risk={"risk": _real(risk), "share": _real(share)}
        ),
    ),
    (rf"\({NUMBER}\)-sample-uniqueness", lambda step, share: step.update(sample_uniqueness=_real(share))),
]
