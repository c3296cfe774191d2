"""Checklists of laws, opinions and standards: the facts that may serve as evidence, the items, and the registry of laws.

Each law is one file of this package with an object `LAW`, and one file of messages in every language (`checklist_<key>.toml`). A
checklist is filled in where the software can know, and "to be stated" where it cannot. None is legal advice, and each says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from oboro.attacks.base import Attack
from oboro.disclosure.identifiers import Finding
from oboro.errors import UsageError
from oboro.report.facts import CheckItem, Checklist, CheckState, ExposedPeople, trait
from oboro.text import Message, Words, few

__all__ = ["LAWS", "KnownRelease", "Law", "Laws", "item", "listed"]


@dataclass(frozen=True)
class KnownRelease:
    """What is known of the release and may serve as evidence."""

    identifiers: Sequence[str]  # columns that name a person, as given
    released: Sequence[str]
    steps: Sequence[Mapping[str, Any]]  # none: somebody else made the release
    findings: Sequence[Finding]
    attacks: Sequence[Attack]
    uniques: int | None
    least: int | None  # of a concealed release: how many people the most exposed record can be
    models: Sequence[Message]  # that were verified
    holds: bool | None
    apart: bool = False  # whether the promises, over different columns, do not hold over all of these together
    exposed: ExposedPeople | None = None  # who stands alone, and for whom a secret is certain
    unseen: Sequence[str] = field(default_factory=tuple)  # released columns that were not, or not wholly, looked at

    def steps_that(self, name: str, value: object = True) -> list[str]:
        """The names of the steps whose technique has this trait."""
        return [step["name"] for step in self.steps if trait(step, name) == value]

    @property
    def pseudonyms(self) -> dict[str, str]:
        """Columns that hold pseudonyms, and how those were made."""
        made = [step.get("facts", {}) for step in self.steps if trait(step, "opinion") == "pseudonymisation"]
        return {name: str(facts.get("method", "")) for facts in made for name in facts.get("values", {})}

    def columns_with(self, *kinds: str) -> list[str]:
        """Released columns that look like one of these kinds; pseudonyms count as what they are, whatever their column's name."""
        hits = [one for one in self.findings if one.kind in kinds and not (one.named and one.column in self.pseudonyms)]
        return list(dict.fromkeys(one.column for one in hits))

    @property
    def beaten(self) -> bool:
        """Whether an attack does better than its control, beyond what the model that holds allows."""
        return any(one.better and not one.allowed for one in self.attacks)

    @property
    def singled_out(self) -> int:
        """How many are unique by columns that no promise covers and nobody accepted."""
        return 0 if self.exposed is None else self.exposed.refused

    def but(self) -> list[Message]:
        """After a finding of nothing: the columns that it does not cover."""
        return [Message("checklist.unseen", columns=listed(self.unseen))] if self.unseen else []


def item(key: str, title: Words, state: CheckState, *said: Words, public: bool = False) -> CheckItem:
    """One point of a checklist; what is known of it is one sentence after the other."""
    known = said[0] if len(said) == 1 else Message("text.sentences", said=list(said))
    return CheckItem(key=key, point=title, state=state, known=known, public=public)


def listed(names: Sequence[str]) -> str:
    """Names with commas; of very many the first: the notice and the section of evidence have them all."""
    return few(names, 400) if names else "–"


# Registry -------------------------------------------------------------------------------------------------------------


ORDER = ("appi", "appi_public", "appi_pseudonym", "hipaa", "wp216", "iso20889")
"""The laws in the order of a report that shows all of them, each the name of its file."""
ALL = "all"


@dataclass(frozen=True)
class Law:
    """A law, an opinion or a standard: how its checklist is made, and the languages in which it is shown unasked."""

    key: str
    fill: Callable[[KnownRelease], Checklist] | None = None
    """Makes the checklist of a release; None for a law that shares the items of another one."""
    parent: str = ""
    """The key of the law whose items it shares."""
    derive: Callable[[Checklist], Checklist] | None = None
    """Makes the checklist from the parent's."""
    names: tuple[str, ...] = ()
    """Other names by which it can be asked for."""
    shown_in: Mapping[str, int] = field(default_factory=dict)
    """Languages of readers who most likely answer to it, with its place among the checklists that are shown unasked."""

    def said(self, name: str, **values: object) -> Message:
        """Return its words of this name."""
        return Message(f"checklist_{self.key}.{name}", **values)


class Laws(Mapping[str, Law]):
    """All laws by their keys, in order. The file of a law is loaded when it is asked for."""

    def __init__(self, order: Sequence[str]) -> None:
        self.order = tuple(order)
        self._added: tuple[Law, ...] = ()

    def register(self, law: Law) -> None:
        """Add a law of your own, after the others."""
        self._added = (*self._added, law)

    def _all(self) -> dict[str, Law]:
        every = [import_module(f"oboro.report.checklists.{name}").LAW for name in self.order]
        return {one.key: one for one in (*every, *self._added)}

    def __getitem__(self, key: str) -> Law:
        return self._all()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self.order) + len(self._added)

    def fill(self, known: KnownRelease) -> list[Checklist]:
        """Fill in the checklist of every law that has items of its own."""
        return [law.fill(known) for law in self.values() if law.fill is not None]

    def asked(self, known: Sequence[Checklist], asked: Sequence[str]) -> list[Checklist]:
        """Return the checklists of these laws, in this order, or of `all`; `known` are those of a report."""
        laws = self._all()
        names = {name: law.key for law in laws.values() for name in law.names}
        keys = [names.get(one, one) for one in asked]
        found = {one.key: one for one in known}
        if unknown := [one for one in keys if one not in (*laws, *found, ALL)]:
            raise UsageError(Message("error_report.law", law=unknown[0], laws=[*laws, *names, ALL]))
        for law in laws.values():
            if law.derive is not None and law.parent in found:
                found[law.key] = law.derive(found[law.parent])
        place = {key: number for number, key in enumerate(laws)}
        wanted = sorted(found, key=lambda key: place.get(key, len(place))) if ALL in keys else keys
        return [found[one] for one in dict.fromkeys(wanted) if one in found]

    def unasked(self, known: Sequence[Checklist], lang: str) -> list[Checklist]:
        """Return the checklists that a reader of this language sees without asking."""
        shown = sorted((law.shown_in[lang], law.key) for law in self.values() if lang in law.shown_in)
        return self.asked(known, [key for _, key in shown])


LAWS = Laws(ORDER)
