"""Summary of rows and of the levels that a search chose, with their information loss and suppression, from facts of steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from oboro.text import Message

__all__ = ["chosen_levels_said", "lost", "rows_said", "summary_words"]


def chosen_levels_said(facts: Mapping[str, Any]) -> Iterator[tuple[str, Message]]:
    """Labels and sentences; nothing where the step searched no levels."""
    levels, loss, gone = map(facts.get, ("levels", "loss", "suppressed"))
    if not (isinstance(levels, Mapping) and isinstance(loss, Mapping) and isinstance(gone, Mapping)):
        return
    if facts.get("recoding") == "local":
        yield "levels", summary_words("levels_by_class", classes=facts["classes"])
    else:
        yield (
            "levels",
            summary_words(
                "levels_said",
                levels=[_level(name, one, facts.get("hierarchies", {})) for name, one in levels.items()],
            ),
        )
    yield (
        "minimized",
        summary_words(
            "minimized_said", name=lost(loss["name"]), value=loss["value"], how=_how_sure(loss), gone=_gone(gone)
        ),
    )


def rows_said(before: int, after: int, suppressed: int, steps: Iterable[tuple[str, int, int]]) -> Message:
    """Summarize the number of original and released rows, and the rows left out by each step."""
    left_out = [
        summary_words("rows_left_out", rows=came - went, step=step) for step, came, went in steps if went < came
    ]
    told = {"before": before, "after": after, "suppressed": suppressed}
    return summary_words("rows_dropped", **told, left_out=left_out) if left_out else summary_words("rows_said", **told)


def summary_words(name: str, /, **values: Any) -> Message:
    """A message of the summary of a run."""
    return Message(f"report.summary.{name}", **values)


def lost(name: str) -> Message:
    """What is made least, in words: not by what is wanted (a payout), and not by a word of recipes."""
    return summary_words(f"lost_{name}")


def _level(name: str, one: Mapping[str, Any], hierarchies: Mapping[str, int]) -> Message:
    """Which level of how many, and of which hierarchy where it is not the column's own."""
    told = {"column": name, "level": one["level"], "of": one["of"]}
    number = hierarchies.get(name, 0)
    return summary_words("level_of_other", **told, number=number) if number else summary_words("level", **told)


def _how_sure(loss: Mapping[str, Any]) -> Message:
    if loss.get("given"):
        return summary_words("at_given")
    if loss.get("exact"):
        return summary_words("least_of_all")
    if loss.get("bound") is not None:
        return summary_words("least_so_far_bounded", bound=loss["bound"])
    return summary_words("least_so_far")


def _gone(gone: Mapping[str, Any]) -> Message:
    how = {"drop": "gone_dropped", "exempt": "gone_exempt"}.get(gone.get("as", ""), "gone")
    return summary_words(how, records=gone["records"], of=gone["of"])
