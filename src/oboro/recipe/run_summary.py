"""A run in a few lines for the terminal: what was verified, rows and columns, and, where asked for, risk and loss.

Nothing of the report is loaded for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from oboro.measure.key_figures import KeyFigures, key_figures
from oboro.recipe.evidence import bound_hierarchies
from oboro.recipe.released.privacy_budget import budget_told
from oboro.text import Message, few
from oboro.text.chosen_levels_said import chosen_levels_said
from oboro.text.lines import labelled
from oboro.verifier.verdict import Verdict

if TYPE_CHECKING:
    from oboro.recipe.release import Release

__all__ = ["run_summary"]


def run_summary(release: Release, *, lang: str = "en", figures: bool = False) -> str:
    """What came of a run; `figures` also measures risk and loss."""
    lines = [
        _headline(release).say(lang),
        *(f"  ✓ {_named(release, one).sentence(lang)}" for one in release.verification.verdicts),
        *(f"  {one.mark} {one.sentence(lang)}" for one in release.verification.joint),
    ]
    lines += [labelled(_said(label), said, lang) for label, said in _table(release)]
    lines += [labelled(_said("caution"), said, lang) for said in release.cautions]
    lines += [labelled(_said("written"), said, lang) for said in release.changed_in_writing.values()]
    lines += [labelled(_said("look"), said, lang) for said in release.looked(figures=figures)]
    if figures:
        lines += [labelled(_said(label), said, lang) for label, said in _figures(release)]
    return "\n".join(lines)


def _said(name: str, /, **values: Any) -> Message:
    return Message(f"report.summary.{name}", **values)


def _headline(release: Release) -> Message:
    if release.verification.apart:
        return Message("report.verdict.holds_apart")
    if release.verification.verdicts:
        return Message("report.verdict.holds")
    by_method = any(step.traits.by_construction for step in release.steps)
    return Message("report.verdict.by_construction" if by_method else "report.verdict.nothing_promised")


def _named(release: Release, verdict: Verdict) -> Verdict:
    """A verdict that names its columns, also where all promises are over the same."""
    return verdict if verdict.over else verdict.naming(release.verification.quasi)


def _table(release: Release) -> Iterator[tuple[str, Message]]:
    before, after = release.original, release.worked.data
    suppressed = release.suppressed(_quasi(release))
    yield "rows", _said("rows_said", before=before.rows, after=after.rows, suppressed=suppressed)
    dropped = [name for name in before if name not in after]
    counts = {"before": len(before.columns), "after": len(after.columns)}
    yield "columns", _said("columns_dropped" if dropped else "columns_said", **counts, dropped=few(dropped))
    for step in release.steps:
        yield from chosen_levels_said(step.facts)
    for told in budget_told([step.technique for step in release.steps], list(after)):
        yield "budget", told
    if release.budget_left is not None:
        yield "budget", release.budget_left


def _quasi(release: Release) -> list[str]:
    return [name for name in release.given.quasi if name in release.original and name in release.worked.data]


def _figures(release: Release) -> Iterator[tuple[str, Message]]:
    quasi = _quasi(release)
    if not quasi:
        return
    trees = bound_hierarchies(release.original, release.given)
    found = key_figures(release.original, release.worked.data, quasi, trees)
    yield from _risk(release, found, quasi)
    losses = [
        _said("measure", title=Message(f"measure.{name}.title"), value=value) for name, value in found.losses.items()
    ]
    if losses:
        yield "loss", _said("loss_said", measures=losses)


def _risk(release: Release, found: KeyFigures, quasi: list[str]) -> Iterator[tuple[str, Message]]:
    """Class sizes say how exposed people are, unless candidates are promised instead, or values are random and nothing is."""
    least = [int(one.achieved or 0) for one in release.verification.verdicts if one.counts_candidates]
    if least:
        yield "risk", _said("candidates", least=min(least))
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
