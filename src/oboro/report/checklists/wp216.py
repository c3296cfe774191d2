"""Europe: the three questions of the Article 29 Working Party (Opinion 05/2014 on anonymisation techniques, WP216)."""

from __future__ import annotations

from collections.abc import Sequence

from oboro.attacks.base import Attack
from oboro.report.checklists.base import KnownRelease, Law, item
from oboro.report.facts import CheckItem, Checklist
from oboro.report.sections.attacks import too_few_said
from oboro.report.sections.exposure import secrets_said, standing_alone
from oboro.schema import Opinion
from oboro.text import Message
from oboro.verifier.verdict import L_DIVERSITY

__all__ = ["LAW", "wp216"]


QUESTIONS = (("singling out", "singling_out"), ("linkability", "linkability"), ("inference", "inference"))
# The opinion's table of strengths and weaknesses, by the trait of the techniques that a row judges.
JUDGED: tuple[tuple[str, Opinion], ...] = (
    ("pseudonymisation", "pseudonymisation"),
    ("noise", "noise"),
    ("k-anonymity", "aggregation"),
)
STRANGE = "attack.note.strange"


def wp216(known: KnownRelease) -> Checklist:
    """The questions, answered by the attacks that were run, and what the opinion says of the techniques that were used."""
    items = [_question(known, key, name) for key, name in QUESTIONS]
    items += [_judged(key, opinion) for key, opinion in JUDGED if known.steps_that("opinion", opinion)]
    if known.holds and not known.apart and any(one.id in L_DIVERSITY for one in known.models):
        items.append(_judged("l-diversity", "l_diversity"))
    return Checklist(key="wp216", heading=_said("title"), about=_said("lead"), items=items)


def _judged(key: str, row: str) -> CheckItem:
    """What the opinion itself says of a technique that was used."""
    told = _said("judged", answers=_said(f"{row}.answers"))
    return item(key, _said(f"{row}.title"), "stated", told)


def _question(known: KnownRelease, key: str, name: str) -> CheckItem:
    title, (exposed, told) = _said(f"question.{name}"), _counted(known, name)
    mine = [one for one in known.attacks if one.question == key and one.found.tried]
    better = any(one.better and not one.allowed for one in mine)
    strange = any(note.id == STRANGE for one in mine for note in one.notes)
    if not mine or (strange and not better):
        return item(key, title, "open" if exposed else "stated", *told, _said("untried"))
    told += [*_strongest(mine, len(known.attacks)), *_too_few(mine)]
    found = any(one.few and one.found.right for one in mine)  # too few guesses are neither a finding nor none
    judged = any(not one.few for one in mine)
    told += [_said("better" if better else "no_better_judged" if found else "no_better")] if judged else []
    return item(key, title, "open" if exposed or better else "stated" if found else "evidence", *told)


def _counted(known: KnownRelease, name: str) -> tuple[bool, list[Message]]:
    """Whether what was counted exactly speaks against the release, and what that is."""
    found = known.exposed
    if found is not None and name == "singling_out":
        return bool(found.together or found.by_quasi), standing_alone(found)
    if found is not None and name == "inference":
        return bool(found.certain), secrets_said(found)
    return False, []


def _strongest(mine: Sequence[Attack], run: int) -> list[Message]:
    risks = [one.risk for one in mine if one.risk is not None]
    if not risks:
        return []
    value, low, high = max(risks, key=lambda risk: risk[0])
    strongest = f"{100 * value:.1f} % ({100 * low:.1f}–{100 * high:.1f} %)"
    return [_said("strongest", mine=len(mine), run=run, strongest=strongest)]


def _too_few(mine: Sequence[Attack]) -> list[Message]:
    """Few guesses with their exact figures: they are never called none."""
    few = [one for one in mine if one.few]
    return [_said("few", attacks=[too_few_said(one) for one in few])] if few else []


LAW = Law("wp216", wp216, names=("gdpr",), shown_in={"en": 1})
_said = LAW.said
