"""What a search over levels chose, in two lines: the levels, and what they lose and suppress. From the facts of a step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from oboro.text.message import Message

__all__ = ["chosen_levels_said"]


def chosen_levels_said(facts: Mapping[str, Any]) -> Iterator[tuple[str, Message]]:
    """Labels and sentences; nothing where the step searched no levels."""
    levels, loss, gone = (facts.get(name) for name in ("levels", "loss", "suppressed"))
    if not (isinstance(levels, Mapping) and isinstance(loss, Mapping) and isinstance(gone, Mapping)):
        return
    if facts.get("recoding") == "local":
        yield "levels", _said("levels_by_class", classes=facts["classes"])
    else:
        yield "levels", _said("levels_said", levels=[_level(name, one) for name, one in levels.items()])
    yield (
        "minimized",
        _said("minimized_said", name=loss["name"], value=loss["value"], how=_how_sure(loss), gone=_gone(gone)),
    )


def _said(name: str, /, **values: Any) -> Message:
    return Message(f"report.summary.{name}", **values)


def _level(name: str, one: Mapping[str, Any]) -> Message:
    return _said("level", column=name, level=one["level"], of=one["of"])


def _how_sure(loss: Mapping[str, Any]) -> Message:
    if loss.get("exact"):
        return _said("least_of_all")
    if loss.get("bound") is not None:
        return _said("least_so_far_bounded", bound=loss["bound"])
    return _said("least_so_far")


def _gone(gone: Mapping[str, Any]) -> Message:
    how = {"drop": "gone_dropped", "exempt": "gone_exempt"}.get(gone.get("as", ""), "gone")
    return _said(how, records=gone["records"], of=gone["of"])
