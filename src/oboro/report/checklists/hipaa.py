"""United States: the 18 identifiers of the HIPAA Safe Harbor, 45 CFR 164.514(b)(2)."""

from __future__ import annotations

from dataclasses import dataclass

from oboro.disclosure.identifiers import RESTRICTED_ZIPS
from oboro.report.checklists.base import KnownRelease, Law, item, listed
from oboro.report.facts import CheckItem, Checklist, CheckState
from oboro.report.sections.exposure import standing_alone
from oboro.text import Message

__all__ = ["LAW", "SAFE_HARBOR", "hipaa"]


@dataclass(frozen=True)
class Identifier:
    """One letter of the rule."""

    letter: str
    kinds: tuple[str, ...]
    """The findings that speak against it."""
    fixed: bool = False
    """Whether the form of its values is so fixed that finding none is evidence."""


SAFE_HARBOR = (
    Identifier("A", ("name",)),
    Identifier("B", ("zip", "small_zip", "place")),
    Identifier("C", ("date", "over_89")),
    Identifier("D", ("phone",)),
    Identifier("E", ("phone",)),
    Identifier("F", ("email",), fixed=True),
    Identifier("G", ("ssn",)),
    Identifier("H", ("medical",)),
    Identifier("I", ("plan",)),
    Identifier("J", ("card", "account")),
    Identifier("K", ("licence", "passport")),
    Identifier("L", ("vehicle", "plate")),
    Identifier("M", ("device",)),
    Identifier("N", ("url",), fixed=True),
    Identifier("O", ("ip",), fixed=True),
    Identifier("P", ("biometric",)),
    Identifier("Q", ("photo",)),
    Identifier("R", ("code", "my_number", "pension", "residence_card")),
)
ANY_OTHER = "R"  # any other unique identifying number, characteristic or code


def hipaa(known: KnownRelease) -> Checklist:
    """The identifiers one by one, and what the covered entity must know."""
    items = [_identifier(known, one) for one in SAFE_HARBOR]
    alone = [] if known.exposed is None else standing_alone(known.exposed)
    state: CheckState = "open" if known.singled_out else "stated"
    items.append(item("ii", _said("knowledge"), state, *alone, Message("checklist.to_state")))
    lead = _said("lead", zips=", ".join(RESTRICTED_ZIPS))
    return Checklist(key="hipaa", heading=_said("title"), about=lead, items=items)


def _identifier(known: KnownRelease, one: Identifier) -> CheckItem:
    title, found = _said(f"identifier.{one.letter}"), known.columns_with(*one.kinds)
    if found:
        return item(one.letter, title, "open", _said("found", columns=listed(found)))
    if one.letter == ANY_OTHER and known.pseudonyms:
        return item(one.letter, title, "stated", _said("pseudonyms", columns=listed(list(known.pseudonyms))))
    if one.fixed:
        return item(one.letter, title, "stated" if known.unseen else "evidence", _said("none"), *known.but())
    return item(one.letter, title, "stated", _said("none"), _said("state_none"), *known.but())


LAW = Law("hipaa", hipaa, shown_in={"en": 2})
_said = LAW.said
