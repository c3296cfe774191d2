"""Japan: the processing standards for anonymously processed information, and the notice that the law asks for.

Act: 個人情報の保護に関する法律 (Act No. 57 of 2003). Rules: its Enforcement Rules (PPC Rules No. 3 of 2016), as numbered since
April 2022.
"""

from __future__ import annotations

from collections.abc import Sequence

from oboro.measures.exposure import RareValues
from oboro.report.checklists.base import KnownRelease, Law, item, listed
from oboro.report.facts import CheckItem, Checklist, CheckState
from oboro.report.sections.exposure import secrets_said, standing_alone
from oboro.text import Message

__all__ = ["LAW", "PROCESSING", "appi", "of_article", "publication"]


DIRECT = ("name", "email", "phone", "card", "ssn", "account", "photo", "plate", "vehicle")
CODES = (
    "my_number",
    "licence",
    "passport",
    "pension",
    "residence_card",
    "plan",
    "biometric",
)  # Order, Article 1; Rules, Article 4
LINKS = ("code", "medical", "device")
UNUSUAL = ("extreme", "rare")
DUTIES = (  # what no software can do for the owner
    ("35", "security"),
    ("36", "publish"),
    ("37", "provide"),
    ("43-5", "no_matching"),
    ("43-6", "complaints"),
    ("44", "receiver"),
)
MOST_NAMED = 12  # columns with rare values
PROCESSING = tuple(f"34-{number}" for number in range(1, 6))  # items that other rules of the act share
PUBLISHED = "36"  # the item that the notice to the public is about


def appi(known: KnownRelease) -> Checklist:
    """Article 34, items 1 to 5, and the duties around it."""
    items = [_descriptions(known), _codes(known), _links(known), _unusual(known), _other(known), *_duties(known)]
    title, lead = _said("title"), _said("lead")
    return Checklist(key="appi", heading=title, about=lead, items=items, notice=publication(known.released))


def of_article(one: Checklist, law: Law, points: Sequence[str], article: str) -> Checklist:
    """Return some points of this checklist as those of another article of the act, under its words."""
    items = [
        point.model_copy(update={"key": point.key.replace("34", article)}) for point in one.items if point.key in points
    ]
    said = {"heading": law.said("title"), "about": law.said("lead")}
    return one.model_copy(update={"key": law.key, "items": items, "notice": None, **said})


def _descriptions(known: KnownRelease) -> CheckItem:
    title = _said("descriptions.title")
    kept = [name for name in known.identifiers if name in known.released and name not in known.pseudonyms]
    found = [name for name in known.columns_with(*DIRECT) if name not in kept]
    if kept or found:
        return item("34-1", title, "open", _said("descriptions.found", kept=listed(kept), found=listed(found)))
    deleted = listed([name for name in known.identifiers if name not in known.released])
    gone = _said("descriptions.gone", deleted=deleted, pseudonyms=listed(list(known.pseudonyms)))
    sure = known.steps and known.identifiers and not known.unseen
    return item("34-1", title, "evidence" if sure else "stated", gone, _said("descriptions.nothing_else"), *known.but())


def _codes(known: KnownRelease) -> CheckItem:
    title, found = _said("codes.title"), known.columns_with(*CODES)
    if found:
        return item("34-2", title, "open", _said("codes.found", found=listed(found)))
    return item("34-2", title, "stated", _said("codes.none"), *known.but())


def _links(known: KnownRelease) -> CheckItem:
    title, found = _said("links.title"), known.columns_with(*LINKS)
    if found:
        return item("34-3", title, "open", _said("links.found", found=listed(found)))
    if known.pseudonyms:
        keyed = [name for name, method in known.pseudonyms.items() if method == "hmac"]
        said = _said("links.pseudonyms", pseudonyms=listed(list(known.pseudonyms)), keyed=listed(keyed))
        return item("34-3", title, "stated", said)
    none = _said("links.none")
    if not known.steps or known.unseen:
        return item("34-3", title, "stated", none, _said("links.others"), *known.but())
    return item("34-3", title, "evidence", none, _said("links.no_table"))


def _unusual(known: KnownRelease) -> CheckItem:
    steps, odd = list(dict.fromkeys(known.steps_that("coarser"))), known.columns_with(*UNUSUAL)
    rare = [] if known.exposed is None else list(known.exposed.rare)
    seen = [_said("unusual.seen", steps=listed(steps), odd=listed(odd)), *_rare(rare)]
    if known.least is not None:
        told, alone = _said("unusual.candidates", least=known.least), not known.holds
    else:
        told, alone = _said("unusual.uniques", uniques=known.uniques), bool(known.uniques)
    sure = steps and not known.unseen and (known.least is not None or known.uniques is not None)
    state: CheckState = "open" if alone or odd or rare else "evidence" if sure else "stated"
    return item("34-4", _said("unusual.title"), state, *seen, told, *known.but())


def _rare(rare: Sequence[RareValues]) -> list[Message]:
    """Columns with values that few hold, numbers too: an age of 116 is one."""
    told = [
        Message("exposed.rare_column", column=one.column, values=one.values, records=one.records)
        for one in rare[:MOST_NAMED]
    ]
    more = len(rare) - len(told)
    return (
        [_said("unusual.rare_more" if more else "unusual.rare", k=rare[0].k, columns=told, more=more)] if rare else []
    )


def _other(known: KnownRelease) -> CheckItem:
    run = len(known.attacks)
    said = [
        _said("other.verified", models=list(known.models) or "–"),
        _said("other.attacks_better" if known.beaten else "other.attacks", run=run),
    ]
    said += [] if known.exposed is None else [*standing_alone(known.exposed), *secrets_said(known.exposed)]
    if known.steps and not known.steps_that("reorders"):
        said.append(_said("other.in_order"))
    against = known.beaten or known.holds is False or known.apart or known.singled_out
    state: CheckState = "open" if against else "stated"
    return item("34-5", _said("other.title"), state, *said, _said("other.judge"))


def _duties(known: KnownRelease) -> list[CheckItem]:
    columns = listed(known.released)
    return [
        item(key, _said(f"{name}.title"), "stated", _said(f"{name}.duty", columns=columns), public=key == PUBLISHED)
        for key, name in DUTIES
    ]


def publication(columns: Sequence[str]) -> Message:
    """A text for the notice that the law asks for, to be edited."""
    return _said("notice.text", items=[_said("notice.item", column=name) for name in columns])


LAW = Law("appi", appi, shown_in={"ja": 1})
_said = LAW.said
