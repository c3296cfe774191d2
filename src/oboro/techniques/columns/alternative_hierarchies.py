"""Several hierarchies for one column: the step is done with each of them, and the outcome that loses least is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from oboro.errors import PromiseError, UsageError
from oboro.table.hierarchy import HierarchySpec
from oboro.table.schema import Attribute
from oboro.techniques.base import Outcome, Work
from oboro.text import Message

__all__ = ["MOST_CHOICES", "best_of_hierarchies"]

MOST_CHOICES = 64  # each is a search of its own


def best_of_hierarchies(
    work: Work, alternatives: Mapping[str, Sequence[HierarchySpec]], step: str, once: Callable[[Work], Outcome]
) -> Outcome:
    """The outcome with the least loss over every choice of hierarchies: each column's own one, or an alternative of it.

    Of equal losses the first choice, the columns' own hierarchies being the first of all. Where none keeps the promise, the error
    of the columns' own hierarchies is raised. What is found is not for the next delivery: levels are those of one hierarchy.
    """
    work.schema.require(work.data, alternatives, step)
    if coarse := [name for name in alternatives if name in work.schema.remaining]:
        raise UsageError(Message("error_technique.alternatives_after", step=step, columns=coarse))
    count = 1
    for some in alternatives.values():
        count *= len(some) + 1
    if count > MOST_CHOICES:
        raise UsageError(Message("error_technique.alternatives", step=step, choices=count, most=MOST_CHOICES))
    best, failure, sure = None, None, True
    for numbers, one in _choices(work, alternatives):
        try:
            found = once(one)
        except PromiseError as error:
            failure = failure or error
            continue
        loss = found.facts.get("loss", {"value": 0.0, "exact": True})
        sure = sure and bool(loss.get("exact"))
        rank = [round(part, 12) for part in loss.get("ranks", [loss["value"]])]
        if best is None or rank < best[0]:
            facts = {name: fact for name, fact in found.facts.items() if name != "again"}
            best = rank, {**facts, "hierarchies": numbers}, found
    if best is None:
        assert failure is not None
        raise failure
    return replace(best[2], facts=_as_sure(best[1], sure))


def _choices(work: Work, alternatives: Mapping[str, Sequence[HierarchySpec]]) -> Iterator[tuple[dict[str, int], Work]]:
    known = work.schema.attributes
    own = {name: known[name].hierarchy if name in known else None for name in alternatives}
    for chosen in product(*(range(len(some) + 1) for some in alternatives.values())):
        numbers = dict(zip(alternatives, chosen, strict=True))
        changed = dict(known)
        for name, number in numbers.items():
            spec = own[name] if number == 0 else alternatives[name][number - 1]
            changed[name] = known.get(name, Attribute()).model_copy(update={"hierarchy": spec})
        coming = {name: one for name, one in work.schema.coming.items() if not numbers.get(name)}
        yield numbers, replace(work, schema=replace(work.schema, attributes=changed, coming=coming))


def _as_sure(facts: dict[str, Any], sure: bool) -> dict[str, Any]:
    """The best of all choices is certain only where each was."""
    if sure or "loss" not in facts:
        return facts
    return {**facts, "loss": {**facts["loss"], "exact": False, "bound": None}}
