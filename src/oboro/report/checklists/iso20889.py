"""ISO/IEC 20889:2018: the steps that were taken, by the names of the standard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oboro.report.checklists.base import KnownRelease, Law, item
from oboro.report.facts import CheckItem, Checklist, trait
from oboro.text import Message
from oboro.verifier.verdict import K_ANONYMITY, L_DIVERSITY, T_CLOSENESS

__all__ = ["LAW", "iso20889"]


MODELS = (  # the standard's names, and the models that bear them
    ("k_anonymity", K_ANONYMITY),
    ("l_diversity", L_DIVERSITY),
    ("t_closeness", T_CLOSENESS),
)


def iso20889(known: KnownRelease) -> Checklist:
    """The steps in their order, each once, and the formal models that were verified."""
    steps = {step["name"]: step for step in known.steps}
    items = [_step(step) for step in steps.values()]
    if not items:
        items = [item("unknown", _said("unknown"), "stated", Message("checklist.to_state"), public=True)]
    models = [_said(f"model.{name}") for name, ids in MODELS if any(one.id in ids for one in known.models)]
    if models and known.holds and not known.apart:
        items.append(item("models", _said("models"), "evidence", _said("listed", models=models), public=True))
    return Checklist(key="iso", heading=_said("title"), about=_said("lead"), items=items)


def _step(step: Mapping[str, Any]) -> CheckItem:
    name: str = step["name"]
    return item(name, name, "evidence", trait(step, "iso") or _said("unnamed"), public=True)


LAW = Law("iso", iso20889, names=("iso20889",))
_said = LAW.said
