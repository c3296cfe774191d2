"""Demands on their way to the page and back: spelled out for its controls, and made whole again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oboro.app.web.desk import Desk
from oboro.table.schema import Role

if TYPE_CHECKING:
    from oboro.explorer.session import Session

__all__ = ["demands_of", "shown_demands"]

NUMBERS = {
    "l_diversity": "l",
    "t_closeness": "t",
    "alpha": "alpha",
    "delta_disclosure": "delta",
    "beta_likeness": "beta",
}


def shown_demands(session: Session, written: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """As a recipe writes them, but demands on secrets always as objects: `{illness: {l: 2}}`."""
    shown: dict[str, Any] = dict(written or session.demands.model_dump(mode="json", exclude_defaults=True))
    for name, number in NUMBERS.items():
        held = shown.get(name)
        if isinstance(held, int | float):
            secret = [one for one in session.table.data if session.role(one) is Role.SENSITIVE]
            held = dict.fromkeys(secret, held)
        if held:
            shown[name] = {c: one if isinstance(one, Mapping) else {number: one} for c, one in held.items()}
    return shown


def demands_of(desk: Desk, given: Mapping[str, Any]) -> dict[str, Any]:
    """As the page sends them, made whole. Files that they name must lie below the root, as those that are picked do."""
    session, demands = desk.now.session, dict(given)
    for name, number in NUMBERS.items():
        if isinstance(held := demands.get(name), Mapping):
            demands[name] = {c: _short(name, number, one) for c, one in held.items()}
    return _with_files(desk, _of_population(_of_loss(session, demands)))


def _short(name: str, number: str, one: Any) -> Any:
    """A number where nothing else is said; a recursive l with its c, and no other with one."""
    if not isinstance(one, Mapping):
        return one
    held = dict(one)
    if name == "l_diversity":
        recursive = held.get("kind") == "recursive"
        held = {**held, "c": held.get("c", 3)} if recursive else {key: held[key] for key in held if key != "c"}
        held["l"] = held["l"] if held.get("kind") == "entropy" else round(held["l"])
    return held[number] if set(held) == {number} else held


def _of_loss(session: Session, demands: dict[str, Any]) -> dict[str, Any]:
    """A target where one is to be predicted, and nowhere else; money only where there are amounts."""
    if demands.get("loss") == "payout" and "profitability" not in demands:
        del demands["loss"]
    if demands.get("loss") != "classification":
        demands.pop("target", None)
    elif "target" not in demands:
        free = (name for name in session.table.data if session.role(name) in (Role.SENSITIVE, Role.OTHER))
        demands["target"] = next(free, None)
    return demands


def _of_population(demands: dict[str, Any]) -> dict[str, Any]:
    """A population where something is asked of it, and something where there is one."""
    for name in ("estimated_k_map", "population_uniqueness"):
        if isinstance(held := demands.get(name), Mapping) and "people" in held:
            demands[name] = {key: value for key, value in held.items() if key != "fraction"}
    journalist = demands.get("profitability", {}).get("attacker") == "journalist"
    if "population" not in demands:
        demands = {name: one for name, one in demands.items() if name not in ("k_map", "presence")}
        if journalist:
            paid = demands["profitability"]
            demands["profitability"] = {key: value for key, value in paid.items() if key != "attacker"}
    elif not journalist and "k_map" not in demands and "presence" not in demands:
        demands["k_map"] = max(2, int(demands.get("k", 2)))
    return demands


def _with_files(desk: Desk, demands: dict[str, Any]) -> dict[str, Any]:
    held = desk.now.session.demands
    if isinstance(named := demands.get("population"), str):
        demands["population"] = desk.named_file(named, held.population)
    if isinstance(named := demands.get("earlier"), list):
        known = set(held.files())
        demands["earlier"] = [desk.named_file(one, one if one in known else None) for one in named]
    if "alternatives" in demands:  # no control changes them, and they may name files
        demands["alternatives"] = held.alternatives
    return demands
