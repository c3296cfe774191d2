"""The Promise screen: the demanded guarantees, the live answer, the frontier, and other solutions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oboro.explorer.answers import plain
from oboro.explorer.frontier import Frontier
from oboro.text import Message
from oboro.web.screens.form import demands_of, shown_demands
from oboro.web.screens.state import shown_state
from oboro.web.server import Ask, Cancelled, Desk, State

if TYPE_CHECKING:
    from oboro.explorer.frontier import NearPromise

__all__ = ["answer", "compare", "frontier", "look", "nearest", "nodes", "set_demands", "take"]


LISTED = 300  # solutions that are shown
SMALL_LATTICE = 150  # nodes up to which the lattice is drawn
SEARCHING = Message("web.searching")


def set_demands(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Ask for other promises, and answer. A move that comes after a newer one changes nothing."""
    demands, act = demands_of(desk, given["demands"]), f"move:{given.get('control', 'demands')}"

    def moved(now: State) -> State:  # while nobody else changes the state: of two at a time the newer one wins
        if not desk.in_order("demands", given.get("move")):
            raise Cancelled
        return replace(now, session=now.session.with_demands(demands), levels=None)

    state = desk.change(act, moved)
    return {"state": shown_state(desk, state, ask), "answer": answered(desk, state, ask)}


def answer(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """The answer to the current demands."""
    state = desk.state(given.get("version"))
    return {"state": shown_state(desk, state, ask), "answer": answered(desk, state, ask)}


def answered(desk: Desk, state: State, ask: Ask) -> dict[str, Any]:
    """One answer for all panels of a state: the solution, its proof, a close look at it.

    The search begins with what the last one found: on Adult the next k then takes a tenth of the time.
    """
    session = state.session
    first = desk.found(session)
    found = session.solve(cancel=ask.cancel, tell=lambda progress: ask.tell(SEARCHING), first=first)
    if ask.cancel.is_set():  # somebody moved on; what was found so far may not be the best
        raise Cancelled
    desk.keep_found(session, found.levels)
    levels = state.levels or found.levels
    shown = {**found.as_dict(), "version": state.number, "why": None if found.why is None else ask.say(found.why)}
    question = session.question(session.demands)
    loss = session.demands.loss
    named = None if loss == "loss" else ask.say(Message(f"demand_form.loss.{loss}.name"))
    shown |= {"levels": levels, "least": question.problem.k, "lost_as": named}
    if not levels or question.by_running:
        return {**shown, "look": None, "steps": []}
    return {**shown, "look": _looked(state, levels), "steps": _steps(state, levels)}


def _steps(state: State, levels: Mapping[str, int]) -> list[dict[str, Any]]:
    """Each column's place on its ladder: its level of how many, how many labels are left, and one of them."""
    out = []
    for name, level in levels.items():
        tree = state.session.hierarchy(name)
        labels = tree.levels[level].labels
        example = labels[len(labels) // 2].as_py() if len(labels) else None
        shown = {"labels": len(labels), "example": None if example is None else str(example)}
        out.append({"column": name, "level": level, "height": tree.height, **shown})
    return out


def _looked(state: State, levels: Mapping[str, int]) -> dict[str, Any]:
    seen = state.session.look(levels).as_dict()
    return {**seen, "version": state.number}


def nearest(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """The nearest promises that can be kept."""
    state = desk.state(given.get("version"))
    ask.tell(SEARCHING)
    ways = state.session.nearest(cancel=ask.cancel)
    found = [
        {**plain(one), "demands": shown_demands(state.session, one.demands), "said": ask.say(_said(one))}
        for one in ways
    ]
    if ask.cancel.is_set():
        raise Cancelled
    return {"version": state.number, "nearest": found}


def _said(near: NearPromise) -> Message:
    """A nearer promise in a few words."""
    if near.value is None:
        return Message("demand_form.near.without", demand=Message(f"demand_form.named.{near.demand}"))
    return Message(f"demand_form.near.{near.demand}", value=near.value)


def take(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Take a point of the frontier (other demands), or levels as they are; without levels, the best again."""
    levels = given.get("levels")
    demands = None if given.get("demands") is None else demands_of(desk, given["demands"])

    def made(now: State) -> State:
        session = now.session if demands is None else now.session.with_demands(demands)
        return replace(now, session=session, levels=None if levels is None else {n: int(v) for n, v in levels.items()})

    state = desk.change("take", made)
    return {"state": shown_state(desk, state, ask), "answer": answered(desk, state, ask)}


def frontier(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """What each promise costs, point by point; each is told as soon as it is known."""
    state = desk.state(given.get("version"))
    points = []
    asked: dict[str, Any] = {
        "k": given.get("k"),
        "suppress": given.get("suppress"),
        "curves": given.get("curves") or ["k_anonymize"],
    }
    for point in state.session.frontier(**asked, cancel=ask.cancel):
        points.append(point)
        ask.hear({"stage": ask.say(SEARCHING), "point": {**plain(point), "version": state.number}})
    if ask.cancel.is_set():
        raise Cancelled
    found = Frontier(tuple(points)).as_dict()
    for point, shown in zip(points, found["points"], strict=True):
        shown["why"] = None if point.why is None else ask.say(point.why)
    return {**found, "version": state.number}


def nodes(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """The solutions that were looked at, the best first; where the lattice is small, all of it."""
    state = desk.state(given.get("version"))
    session = state.session
    question = session.question(session.demands)
    size = question.problem.lattice.size
    if size <= SMALL_LATTICE:
        from itertools import product

        for levels in product(*(range(one) for one in question.problem.lattice.shape)):
            ask.tell(SEARCHING)
            question.node(levels)
    found = session.nodes()
    shown = [plain(one) for one in found[:LISTED]] if size > SMALL_LATTICE else [plain(one) for one in found]
    heights = {name: one.height for name, one in question.hierarchies.items()}
    return {"version": state.number, "nodes": shown, "known": len(found), "size": size, "heights": heights,
            "small": size <= SMALL_LATTICE}  # fmt: skip


def look(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """One choice of levels, closely."""
    state = desk.state(given.get("version"))
    return _looked(state, given["levels"])


def compare(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Two choices of levels side by side."""
    state = desk.state(given.get("version"))
    found = state.session.compare(given["a"], given["b"])
    return {**found.as_dict(), "loss": found.loss, "version": state.number}
