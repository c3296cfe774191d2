"""What is known of a release and may serve as evidence in a checklist; and the items that checklists are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oboro.attacks.base import Attack
from oboro.disclosure.identifiers import Finding
from oboro.report.facts import CheckItem, CheckState, ExposedPeople, trait
from oboro.text import Message, Words, few

__all__ = ["KnownRelease", "item", "listed"]


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
