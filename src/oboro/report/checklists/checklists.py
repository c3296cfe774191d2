"""The checklists of laws, opinions and standards: filled in where the software can know, "to be stated" where it cannot.

Each is a file here and a file of messages in every language (`checklist_<key>.toml`). None is legal advice, and each says so.
"""

from __future__ import annotations

from oboro.report.checklists.appi import appi
from oboro.report.checklists.hipaa import hipaa
from oboro.report.checklists.iso20889 import iso20889
from oboro.report.checklists.known_release import KnownRelease
from oboro.report.checklists.wp216 import wp216
from oboro.report.facts import Checklist

__all__ = ["CHECKLISTS", "KnownRelease", "checklists"]

CHECKLISTS = (appi, hipaa, wp216, iso20889)


def checklists(known: KnownRelease) -> list[Checklist]:
    """All of them."""
    return [make(known) for make in CHECKLISTS]
