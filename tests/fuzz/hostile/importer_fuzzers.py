"""Projects of ARX and scripts for sdcMicro: whatever they say, they become a recipe or are refused."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.fuzz.fuzzing import Case, Fuzzer, asked, refused, require
from tests.fuzz.mutations import mutated, odd_text

from oboro.data.dataset import Dataset
from oboro.data.frames import Frame
from oboro.recipe.importers.arx import from_arx
from oboro.recipe.importers.sdcmicro import from_sdcmicro
from oboro.recipe.recipe import Recipe

__all__ = ["IMPORTER_FUZZERS"]

CONFIG = """<config><relativeMaxOutliers>0.25</relativeMaxOutliers><metric>Loss (0.5/1.0/1.0)</metric>
<attributeWeights><attributeWeight><attribute>age</attribute><weight>0.8</weight></attributeWeight>
<attributeWeight><attribute>sex</attribute><weight>0.5</weight></attributeWeight></attributeWeights>
<criteria><criterion>2-anonymity</criterion><criterion>distinct-2-diversity for attribute 'ill'</criterion>
<criterion>0.2-closeness with equal ground-distance for attribute 'ill'</criterion>
<criterion>recursive-(1.5, 2)-diversity for attribute 'ill'</criterion>
<criterion>(0.1)-sample-uniqueness</criterion></criteria></config>"""
DEFINITION = """<definition><assigment><name>name</name><type>IDENTIFYING_ATTRIBUTE</type></assigment>
<assigment><name>age</name><type>QUASI_IDENTIFYING_ATTRIBUTE</type><ref>hierarchies/age.csv</ref><min>1</min><max>All</max>
<microaggregationFunction>ARITHMETIC_MEAN</microaggregationFunction></assigment>
<assigment><name>sex</name><type>QUASI_IDENTIFYING_ATTRIBUTE</type></assigment>
<assigment><name>ill</name><type>SENSITIVE_ATTRIBUTE</type></assigment></definition>"""
PROJECT = "<project><name>p</name><separator>;</separator></project>"
HIERARCHY = "31;3x;*\n32;3x;*\n38;3x;*\n45;4x;*\n"
PARTS = {
    "project.xml": PROJECT,
    "input/config.xml": CONFIG,
    "input/definition.xml": DEFINITION,
    "input/hierarchies/age.csv": HIERARCHY,
}
MARKS = tuple(mark.encode() for mark in (
    "<", ">", "</", "&", "&amp;", "&#0;", "<!DOCTYPE x>", "<criterion>", "</criterion>", "<min>", "</min>", "1.2.3", "9" * 5000,
    "²", "-1", "1e400", "nan", "inf", "''", "' for attribute '", "..", "../../etc/passwd", ";;", "\t", "\0", '"', "é",
    "<separator></separator>", "-anonymity", "All", "0",
))  # fmt: skip


def draw_project(rng: random.Random) -> Case:
    """The parts of a project, some of them changed or gone, and accidents in the zip."""
    parts: dict[str, bytes] = {}
    for name, text in PARTS.items():
        if rng.random() < 0.04:
            continue
        parts[name] = mutated(rng, text.encode(), MARKS, int(rng.expovariate(0.7)))
    return {
        "parts": parts,
        "packed": rng.random() < 0.7,
        "accidents": rng.randrange(1 << 30) if rng.random() < 0.3 else None,
    }


def check_project(case: Case, place: Path) -> Sequence[str]:
    """A recipe that can be written, or a refusal."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED if case["packed"] else zipfile.ZIP_STORED) as out:
        for name, content in case["parts"].items():
            out.writestr(zipfile.ZipInfo(name), content)
    data = made.getvalue()
    if case["accidents"] is not None:
        data = mutated(random.Random(case["accidents"]), data, (b"PK\x03\x04", b"PK\x01\x02", b"\xff\xff", b"\0"), 2)
    (place / "p.deid").write_bytes(data)
    return _check_taken(asked(lambda: from_arx(place / "p.deid")), place)


def _check_taken(found: Any, place: Path) -> Sequence[str]:
    if refused(found):
        return []
    text = found.to_yaml()
    require(isinstance(Recipe.parse(text), Recipe), "what was taken over is no recipe")
    written = asked(lambda: found.write(place / "out"))
    require(not refused(written), f"not written: {written}")
    inside = [one for one in place.rglob("*") if one.is_file() and (place / "out") not in one.parents]
    require({one.name for one in inside} <= {"p.deid", "s.R"}, f"written elsewhere: {inside}")
    return ["a recipe after all"]


SCRIPT = """library(sdcMicro)   # not run
sdc <- createSdcObj(dat = people, keyVars = c('age', "town"), numVars = 'income', sensibleVar = "ill", hhId = "house")
sdc <- globalRecode(sdc, column = "age", breaks = c(0, 18, 65, 120), labels = c("child", "adult", "old"))
sdc <- groupAndRename(sdc, var = "town", before = c("a", "b"), after = "a_b")
sdc <- topBotCoding(sdc, value = 9000, replacement = 9000, kind = "top", column = "income")
sdc <- microaggregation(sdc, aggr = 2, method = "mdav", variables = "income")
sdc <- localSuppression(sdc, k = 2, importance = c(1, 2))
sdc <- pram(sdc, variables = "town")
removeDirectID(sdc, var = "house")
kAnon(sdc, k = 3)
"""
TOKENS = ("(", ")", "[", "{", "c(", "list(", ",", "=", '"', "'", "\\", "`", "#", "\n", "1:200000000", "3:1", "1.5:3", "1e999", "-",
    "1L", "NA", "NULL", "Inf", "TRUE", "'age'", "'town'", "c(1, 'a')", "c()", "f(" * 200, "createSdcObj(", "globalRecode(",
    "keyVars =", "breaks =", "labels =", "importance =", "k =", "value =", "before =", "é", "\0", "x" * 3000)  # fmt: skip


def draw_script(rng: random.Random) -> Case:
    """A script after accidents."""
    marks = [token.encode() for token in TOKENS]
    return {"script": mutated(rng, SCRIPT.encode(), marks, 1 + int(rng.expovariate(0.4)))}


@lru_cache(1)
def _people() -> Dataset:
    columns: dict[str, list[Any]] = {
        "house": [1, 2, 3], "age": [5, 18, 19], "town": list("abc"), "income": [0, 100, 9000], "ill": list("xyx"),
    }  # fmt: skip
    return Frame.read(columns).data


def check_script(case: Case, place: Path) -> Sequence[str]:
    """A recipe that can be written, or a refusal."""
    (place / "s.R").write_bytes(case["script"])
    return _check_taken(asked(lambda: from_sdcmicro(place / "s.R", _people())), place)


def draw_repeated(rng: random.Random) -> Case:
    """A piece of a script, many times."""
    pieces = rng.choices(TOKENS, k=rng.randint(1, 3))
    if rng.random() < 0.3:
        pieces.append(odd_text(rng).replace("\ud800", ""))
    return {"before": rng.choice(["", "createSdcObj(d, keyVars=", "x\n"]), "piece": "".join(pieces), "length": 50_000}


def check_repeated(case: Case, place: Path) -> Sequence[str]:
    """It takes time in proportion to its length."""
    piece = case["piece"] or "x"
    text = case["before"] + piece * (case["length"] // len(piece))
    return check_script({"script": text.encode(errors="replace")}, place)


IMPORTER_FUZZERS = (
    Fuzzer("arx_project", draw_project, check_project, 60),
    Fuzzer("sdcmicro_script", draw_script, check_script, 60),
    Fuzzer("sdcmicro_long", draw_repeated, check_repeated, 3),
)
