"""Japan: pseudonymously processed information (Act, Article 41; Rules, Article 31).

It has three standards. The first two are those of anonymously processed information.
"""

from __future__ import annotations

from oboro.report.checklists.appi import PROCESSING, of_article
from oboro.report.checklists.base import Law, item
from oboro.report.facts import Checklist

__all__ = ["LAW"]


def _derive(one: Checklist) -> Checklist:
    made = of_article(one, LAW, PROCESSING[:2], "31")
    third = item("31-3", LAW.said("harm.title"), "stated", LAW.said("harm.duty"))
    return made.model_copy(update={"items": [*made.items, third]})


LAW = Law("appi_pseudonym", parent="appi", derive=_derive)
