"""Japan: anonymously processed information of administrative organs (Act, Article 116; Rules, Article 62).

It is processed by the same five standards as that of businesses.
"""

from __future__ import annotations

from oboro.report.checklists.appi import PROCESSING, of_article
from oboro.report.checklists.base import Law
from oboro.report.facts import Checklist

__all__ = ["LAW"]


def _derive(one: Checklist) -> Checklist:
    return of_article(one, LAW, PROCESSING, "62")


LAW = Law("appi_public", parent="appi", derive=_derive)
