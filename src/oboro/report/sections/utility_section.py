"""The sections about utility: what the release lost, and what its statistics still say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oboro.report.page.blocks import Block, Cell, Grid, Notes, Section, Text, words
from oboro.report.text.language import Both, Data, translate
from oboro.text import number

if TYPE_CHECKING:
    from oboro.report.report import Report

__all__ = ["losses", "statistics"]

STATISTICS = (
    "total_variation",
    "kolmogorov_smirnov",
    "wasserstein",
    "kl_histogram",
    "jensen_shannon",
    "kl_density_ratio",
    "association_difference",
    "correlation_difference",
    "propensity_mse",
)
LEARNED = ("learned_from_released", "learned_from_original")


def losses(report: Report) -> Section | None:
    """What generalization and suppression took away, over the table and column by column."""
    mine = [one for one in report.utility if one["name"] not in (*STATISTICS, *LEARNED)]
    return Section("loss", "What the release lost", [*_whole(mine), *_by_column(mine, LOST)]) if mine else None


LOST = "Column by column; 0 means that nothing was lost."
ALIKE = "Column by column; 0: as in the original, where a generalized label is spread evenly over the values under it."


def statistics(report: Report) -> Section | None:
    """What somebody who works with the release would notice."""
    mine = [one for one in report.utility if one["name"] in STATISTICS]
    if not mine:
        return None
    blocks = [Text(LEAD), *_whole(mine), *_by_column(mine, ALIKE), *_learned(report)]
    return Section("statistics", "What its statistics still say", blocks)


LEAD = (
    "How far frequencies, numbers and relations of the release lie from those of the original. What is counted is counted "
    "on all records; what is estimated says from how many, and its error at 95 %."
)


def _whole(measures: Sequence[Mapping[str, Any]]) -> list[Block]:
    """What was measured over the table; what could not be, and why, in a line below."""
    mine = [one for one in measures if one["column"] is None]
    rows = [
        [Cell(one["title"], hint=_explained(one)), Cell(_value(one), meter=_fullness(one))]
        for one in mine
        if one["value"] is not None
    ]
    lacking = [one for one in mine if one["value"] is None and one["note"]]
    reasons = dict.fromkeys(one["note"] for one in lacking)
    notes = [_unmeasured(why, [one["title"] for one in lacking if one["note"] == why]) for why in reasons]
    return [Grid(["measure", "value"], rows, frozenset({1})), *([Notes(notes)] if notes else [])]


def _unmeasured(why: str, titles: Sequence[str]) -> Both:
    japanese = "、".join(translate(one, "ja") for one in titles)
    return Both(f"Not measured: {', '.join(titles)} ({why}).", f"測定なし:{japanese}({translate(why, 'ja')})。")


def _value(measure: Mapping[str, Any]) -> str:
    error = measure["error"]
    if error is None or measure["value"] is None:
        return number(measure["value"])
    return f"{number(measure['value'])} ± {number(float(f'{error:.2g}')).removeprefix('< ')}"


def _explained(measure: Mapping[str, Any]) -> list[str]:
    """What it means, from where to where it goes, which way is better, what was assumed."""
    parts = [measure["meaning"], _range(measure), measure["note"]]
    return [f"{part[0].upper()}{part[1:]}." for part in parts if part]


def _fullness(measure: Mapping[str, Any]) -> float | None:
    bounded = measure["value"] is not None and measure["low"] == 0 and measure["high"] == 1
    return float(measure["value"]) if bounded else None


def _range(measure: Mapping[str, Any]) -> str:
    low, high = ("∞" if end is None else number(end) for end in (measure["low"], measure["high"]))
    low = "−∞" if measure["low"] is None else low
    better = "" if measure["better"] == "neither" else f", {measure['better']} is better"
    return f"{low} to {high}{better}"


def _by_column(measures: Sequence[Mapping[str, Any]], caption: str) -> list[Block]:
    """One row per column, one column per measure; measures that were not yet explained are explained below."""
    mine = [
        one for one in measures if one["column"] is not None and " × " not in one["column"] and one["value"] is not None
    ]
    if not mine:
        return []
    names = list(dict.fromkeys(one["name"] for one in mine))
    found = {(one["column"], one["name"]): Cell(number(one["value"])) for one in mine}
    rows = [
        [Cell(Data(column)), *(found.get((column, name), Cell("")) for name in names)]
        for column in dict.fromkeys(one["column"] for one in mine)
    ]
    told = {one["name"] for one in measures if one["column"] is None and one["value"] is not None}
    meanings = {one["name"]: one["meaning"] for one in mine if one["name"] not in told}
    notes = [
        Both(f"{words(name)}: {meaning}.", f"{translate(words(name), 'ja')}:{translate(meaning, 'ja')}。")
        for name, meaning in meanings.items()
    ]
    head = ["column", *map(words, names)]
    grid = Grid(head, rows, frozenset(range(1, len(head))), caption=caption)
    return [grid, *([Notes(notes)] if notes else [])]


def _learned(report: Report) -> list[Block]:
    """What a model learns about the target column, from the release and from the original."""
    mine = [one for one in report.utility if one["name"] in LEARNED]
    if not mine:
        return []
    rows = [[Cell(words(one["name"]), hint=_explained(one)), Cell(_value(one))] for one in mine]
    return [Grid(["measure", "value"], rows, frozenset({1}), caption=TARGET.format(column=mine[0]["column"]))]


TARGET = "Models that predict {column}: trained on the release and on the original, both tested on the original."
