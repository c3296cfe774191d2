"""A run in a few lines for the terminal: what was verified, rows and columns, and, where asked for, risk and loss.

Nothing of the report is loaded for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from oboro.measure.key_figures import KeyFigures, key_figures
from oboro.text import Message, few, known
from oboro.text.chosen_levels_said import chosen_levels_said, rows_said
from oboro.text.chosen_levels_said import summary_words as _said
from oboro.text.lines import labelled

if TYPE_CHECKING:
    from oboro.recipe.release import Release

__all__ = ["fact_lines", "run_summary"]


def run_summary(release: Release, *, lang: str = "en", figures: bool = False) -> str:
    """What came of a run; `figures` also measures risk and loss."""
    verified = release.verification
    # Each names its columns, also where all promises are over the same.
    named = [one if one.over else one.naming(verified.quasi) for one in verified.verdicts]
    lines = [f"  ✓ {one.message().say(lang)}" for one in named]
    lines += [f"  {one.mark} {one.message().say(lang)}" for one in verified.joint]
    quasi = [name for name in release.given.quasi if name in release.original and name in release.worked.data]
    told = [*_table(release, quasi), *zip(repeat("caution"), release.cautions)]
    told += zip(repeat("written"), release.changed_in_writing.values())
    told += zip(repeat("look"), release.looked(figures=figures))
    told += _figures(release, quasi) if figures and quasi else ()
    lines += [labelled(_said(label), said, lang) for label, said in told]
    return "\n".join([_headline(release).say(lang), *lines])


def _headline(release: Release) -> Message:
    if release.original.rows and not release.worked.data.rows:
        return Message("report.verdict.empty")
    if release.verification.apart:
        return Message("report.verdict.holds_apart")
    cautions = set(map(attrgetter("id"), release.cautions))
    if "exposure.rows.perhaps" in cautions:
        return Message("report.verdict.holds_for_rows")
    if not cautions.isdisjoint(("exposure.known_beside", "exposure.known_by")):
        return Message("report.verdict.holds_as_named")
    if release.verification.verdicts:
        return Message("report.verdict.holds")
    by_method = any(step.traits.by_construction for step in release.steps)
    return Message("report.verdict.by_construction" if by_method else "report.verdict.nothing_promised")


def _table(release: Release, quasi: list[str]) -> Iterator[tuple[str, Message]]:
    before, after = release.original, release.worked.data
    suppressed = release.suppressed(quasi)
    steps = [(step.name, step.rows_before, step.rows_after) for step in release.steps]
    yield "rows", rows_said(before.rows, after.rows, suppressed, steps)
    dropped = [name for name in before if name not in after]
    counts = {"before": len(before.columns), "after": len(after.columns)}
    yield "columns", _said("columns_dropped" if dropped else "columns_said", **counts, dropped=few(dropped))
    for step in release.steps:
        yield from chosen_levels_said(step.facts)
    if spending := [step for step in release.recipe.steps if step.spends()]:
        from oboro.recipe.released.privacy_budget import budget_told

        yield from zip(repeat("budget"), budget_told(spending, list(after)))
    if release.budget_left is not None:
        yield "budget", release.budget_left


def _figures(release: Release, quasi: list[str]) -> Iterator[tuple[str, Message]]:
    trees = release.given.fitting_hierarchies(release.original)
    found = key_figures(release.original, release.worked.data, quasi, trees)
    yield from _risk(release, found, quasi)
    if found.losses:
        yield "loss", _said("loss_said", measures=[one.said() for one in found.losses])


def _risk(release: Release, found: KeyFigures, quasi: list[str]) -> Iterator[tuple[str, Message]]:
    """Class sizes say how exposed people are, unless candidates are promised instead, or values are random and nothing is."""
    counted = list(filter(attrgetter("counts_candidates"), release.verification.verdicts))
    if counted:
        yield "risk", _said("candidates", least=min(int(one.achieved or 0) for one in counted))
    elif release.verification.verdicts or not _randomized(release, quasi):
        highest, mean, uniques = found.risk_before
        before = {"highest_before": highest, "mean_before": mean, "uniques_before": uniques}
        highest, mean, uniques = found.risk
        yield "risk", _said("risk_said", **before, highest=highest, mean=mean, uniques=uniques)


def _randomized(release: Release, quasi: list[str]) -> bool:
    """Whether the values of a quasi-identifier were drawn, disturbed or moved to other records by chance."""
    touched = {
        name
        for step in release.steps
        if step.traits.random
        for name in (*(step.changed or ()), *(step.facts.get("attributes") or ()))
    }
    return not touched.isdisjoint(quasi)


def fact_lines(key: str, value: Any, lang: str) -> list[str]:
    """One fact of a step in words; comparable ones (runners-up) one below the other. Names without words are technical."""
    name = Message(f"fact.{key}").say(lang) if known(f"fact.{key}") else key.replace("_", " ")
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [f"     {name}:", *(f"       {_short(one)}" for one in value)]
    return [f"     {name}: {_short(value)}"]


def _short(value: Any, most: int = 160) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= most else text[: most - 1] + "…"
