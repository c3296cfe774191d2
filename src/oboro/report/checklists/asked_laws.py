"""The checklists that somebody asks for by name: those of the report, and two more of the Japanese act, which share its items.

Anonymously processed information of administrative organs (Act, Article 116; Rules, Article 62) is processed by the same five
standards as that of businesses. Pseudonymously processed information (Act, Article 41; Rules, Article 31) has three, the first
two of them alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from oboro.errors import UsageError
from oboro.report.checklists.known_release import item
from oboro.report.facts import Checklist
from oboro.text import Message

__all__ = ["BY_LANGUAGE", "LAWS", "asked_laws"]

LAWS = ("appi", "appi_public", "appi_pseudonym", "hipaa", "wp216", "iso")
BY_LANGUAGE = {"en": ("wp216", "hipaa"), "ja": ("appi",)}
"""Which are shown where nobody asked: the law that a reader of this language most likely answers to."""
NAMES = {"gdpr": "wp216", "iso20889": "iso"}
PROCESSING = tuple(f"34-{number}" for number in range(1, 6))


def asked_laws(known: Sequence[Checklist], laws: Sequence[str]) -> list[Checklist]:
    """The checklists of these laws, in this order, or of `all`; `known` are those of a report."""
    keys = [NAMES.get(one, one) for one in laws]
    found = {one.key: one for one in known}
    if unknown := [one for one in keys if one not in (*LAWS, *found, "all")]:
        raise UsageError(Message("error_report.law", law=unknown[0], laws=[*LAWS, *NAMES, "all"]))
    if "appi" in found:
        found["appi_public"] = _for(found["appi"], "appi_public", PROCESSING, "62")
        found["appi_pseudonym"] = _pseudonymous(found["appi"])
    wanted = sorted(found, key=_place) if "all" in keys else keys
    return [found[one] for one in dict.fromkeys(wanted) if one in found]


def _place(key: str) -> int:
    """Where it stands among all of them; others come last."""
    return LAWS.index(key) if key in LAWS else len(LAWS)


def _for(one: Checklist, key: str, points: Sequence[str], article: str) -> Checklist:
    """Some of its points, as those of another article."""
    items = [
        point.model_copy(update={"key": point.key.replace("34", article)}) for point in one.items if point.key in points
    ]
    said = {"heading": Message(f"checklist_{key}.title"), "about": Message(f"checklist_{key}.lead")}
    return one.model_copy(update={"key": key, "items": items, "notice": None, **said})


def _pseudonymous(one: Checklist) -> Checklist:
    made = _for(one, "appi_pseudonym", PROCESSING[:2], "31")
    third = item(
        "31-3", Message("checklist_appi_pseudonym.harm.title"), "stated", Message("checklist_appi_pseudonym.harm.duty")
    )
    return made.model_copy(update={"items": [*made.items, third]})
