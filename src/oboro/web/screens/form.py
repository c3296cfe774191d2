"""The controls of the Promise screen, as data: what can be asked for, in groups, with the values that are asked for now.

The page draws fields and knows nothing of what they mean. A field changes one place of the demands (`path`). Where it is put to
`off`, what stands at `drop` is left out; where it is first asked for, `also` says what must stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from oboro.schema import Role
from oboro.text import Message
from oboro.web.server import Ask, Desk, State

if TYPE_CHECKING:
    from oboro.explorer.session import Session

__all__ = ["demand_form", "demands_of", "shown_demands"]


# Demands sent ---------------------------------------------------------------------------------------------------------
# Demands on their way to the page and back: spelled out for its controls, and made whole again.


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
        demands["population"] = desk.named_file(named, next((one.name for one in held.populations), None))
    if isinstance(named := demands.get("earlier"), list):
        known = set(held.files())
        demands["earlier"] = [desk.named_file(one, one if one in known else None) for one in named]
    if "alternatives" in demands:  # no control changes them, and they may name files
        demands["alternatives"] = held.alternatives
    return demands


# Form screen ----------------------------------------------------------------------------------------------------------


KS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000)
SUPPRESS = (0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)
SHARES = (1, 0.7, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05)
RISKS = (1, 0.5, 0.33, 0.2, 0.1, 0.09, 0.05, 0.02, 0.01)
FEW = (1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0)
OF_SECRETS = {  # the name of the number, its steps, what stands for "not asked for", how it is written, and a further choice
    "t_closeness": ("t", SHARES, 1, "number", "distance", ("equal", "ordered", "hierarchical")),
    "alpha": ("alpha", SHARES, 1, "percent", None, ()),
    "delta_disclosure": ("delta", (0, 5, 4, 3, 2, 1.5, 1, 0.5), 0, "number", "values", ("all", "held")),
    "beta_likeness": ("beta", (0, 5, 4, 3, 2, 1, 0.5), 0, "number", "kind", ("enhanced", "basic")),
}
LOSSES = (
    *("loss", "precision", "entropy", "discernibility", "average_class_size", "height", "arx", "arx_entropy"),
    *("ambiguity", "kl", "classification"),
)
AMOUNTS = {"benefit": 1200, "loss": 300, "gain": 300, "cost": 4}  # as in the example of Wan et al. 2015


@dataclass(frozen=True)
class Field:
    """One control."""

    key: str
    kind: Literal["slider", "select", "check", "amount", "columns", "file"]
    path: tuple[str, ...]
    label: str
    value: Any = None
    off: Any = None
    said: str = ""
    """In plain words what the value promises; `{value}` is written by the page."""
    steps: Sequence[float] = ()
    show: Literal["number", "percent", "count"] = "number"
    options: Sequence[tuple[Any, str]] = ()
    exact: bool = False
    """Whether any number can be typed beside the slider."""
    drop: tuple[str, ...] | None = None
    also: Any = None


def demand_form(desk: Desk, given: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """Every group with its fields, and how many demands of it are asked for."""
    state = desk.state(given.get("version"))
    form = _Form(state, ask)
    groups = [{"name": "", "title": "", "asked": 0, "fields": [*form.main()]}]
    for name, keys in GROUPS.items():
        fields = [*getattr(form, name)()]
        asked = sum(key in form.demands for key in keys)
        if fields:
            groups.append({"name": name, "title": form.word(f"group.{name}"), "asked": asked, "fields": fields})
    return {"version": state.number, "groups": groups, "demands": form.demands}


GROUPS = {
    "secrets": tuple(OF_SECRETS),
    "risk": ("maximum_risk", "average_risk", "sample_uniqueness", "records_at_risk"),
    "population": ("estimated_k_map", "population_uniqueness", "k_map", "presence"),
    "hidden": ("suppressed", "suppress_also", "suppress_people"),
    "coarseness": ("limits", "recoding", "blind"),
    "worth": ("loss", "gen_factor", "profitability"),
}


class _Form:
    """The fields of a state, in the reader's language."""

    def __init__(self, state: State, ask: Ask) -> None:
        self.session, self.ask = state.session, ask
        self.demands = shown_demands(state.session)
        self.secret = [name for name in self.session.table.data if self.session.role(name) is Role.SENSITIVE]

    def word(self, id: str, **values: Any) -> str:
        return Message(f"demand_form.{id}", **values).show(self.ask.lang)

    def held(self, path: Sequence[str]) -> Any:
        found: Any = self.demands
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def _said(self, id: str) -> str:
        """What a value promises; the page writes the value into it."""
        return self.word(id, value="{value}")

    def slider(self, id: str, path: tuple[str, ...], off: Any, **more: Any) -> Field:
        value = self.held(path)
        values = {"column": more.pop("column")} if "column" in more else {}
        label = self.word(f"{id}.label", **values)
        said = self._said(f"{id}.said")
        return Field(".".join(path), "slider", path, label, off if value is None else value, off, said, **more)

    def select(self, id: str, path: tuple[str, ...], names: Sequence[str], **more: Any) -> Field:
        value = self.held(path) or names[0]
        values = {"column": more.pop("column")} if "column" in more else {}
        options = [(name, self.word(f"{id}.{name}.name")) for name in names]
        said = self.word(f"{id}.{value}.said")
        return Field(".".join(path), "select", path, self.word(f"{id}.label", **values), value, names[0], said,
                     options=options, **more)  # fmt: skip

    def check(self, id: str, path: tuple[str, ...], on: Any = True, **more: Any) -> Field:
        said = self.word(f"{id}.said")
        return Field(".".join(path), "check", path, self.word(f"{id}.label"), self.held(path) is not None, None, said,
                     options=[(on, "")], **more)  # fmt: skip

    def amount(self, id: str, path: tuple[str, ...], **more: Any) -> Field:
        return Field(".".join(path), "amount", path, self.word(f"{id}.label"), self.held(path), **more)

    # Groups -------------------------------------------------------------------------------------------------------------

    def main(self) -> Iterator[Field]:
        counted = "people" if self.session.person else "records"
        k = self.slider(f"k_{counted}", ("k",), None, steps=KS, show="count", exact=True)
        yield k
        yield self.slider("suppress", ("suppress",), 0, steps=SUPPRESS, show="percent", exact=True)
        for column in self.secret:
            path = ("l_diversity", column, "l")
            yield self.slider("l_diversity", path, 1, steps=(1, 2, 3, 4, 5, 6, 8, 10), show="number", column=column,
                              drop=path[:2])  # fmt: skip

    def secrets(self) -> Iterator[Field]:
        for column in self.secret:
            if self.held(("l_diversity", column)) is not None:
                kinds = ("distinct", "entropy", "recursive")
                yield self.select("l_kind", ("l_diversity", column, "kind"), kinds, column=column)
            if self.held(("l_diversity", column, "c")) is not None:
                yield self.amount("l_c", ("l_diversity", column, "c"))
        for id, (part, steps, off, show, choice, names) in OF_SECRETS.items():
            for column in self.secret:
                path: tuple[str, ...] = (id, column, part)
                yield self.slider(id, path, off, steps=steps, show=show, column=column, drop=path[:2])
                if choice and self.held(path) is not None:
                    yield self.select(f"{id}_{choice}", (id, column, choice), names)

    def risk(self) -> Iterator[Field]:
        yield self.slider("maximum_risk", ("maximum_risk",), 1, steps=RISKS, show="percent")
        yield self.slider("average_risk", ("average_risk",), 1, steps=RISKS, show="percent")
        yield self.slider("sample_uniqueness", ("sample_uniqueness",), 1, steps=FEW, show="percent")
        at = ("records_at_risk",)
        yield self.slider("records_at_risk", (*at, "share"), 1, steps=FEW, show="percent", drop=at, also={"risk": 0.2})
        if self.held(at) is not None:
            yield self.amount("above_risk", (*at, "risk"), show="percent")

    def population(self) -> Iterator[Field]:
        for id, part, off, steps, show in (
            ("estimated_k_map", "k", 1, KS, "count"),
            ("population_uniqueness", "share", 1, FEW, "percent"),
        ):
            first = {"k": max(2, self.session.demands.k)} if part == "k" else {"share": 0.05}
            yield self.amount(
                f"{id}_people", (id, "people"), drop=(id,), also=first, said=self.word(f"{id}_people.said")
            )
            if self.held((id,)) is not None:
                yield self.slider(id, (id, part), off, steps=steps, show=show, drop=(id,))
        file = ("population",)
        label, said = self.word("population.label"), self.word("population.said")
        yield Field("population", "file", file, label, self.held(file), said=said)
        if self.held(file) is not None:
            yield self.slider("k_map", ("k_map",), 1, steps=KS, show="count")
            yield self.slider("presence", ("presence", "max"), 1, steps=RISKS, show="percent", drop=("presence",))

    def hidden(self) -> Iterator[Field]:
        yield self.select("suppressed", ("suppressed",), ("class", "drop", "exempt"))
        if self.session.person:
            yield self.check("suppress_people", ("suppress_people",))
        others = [name for name in self.session.table.data if self.session.role(name) is Role.OTHER]
        if others:
            also = ("suppress_also",)
            yield Field("suppress_also", "columns", also, self.word("suppress_also.label"), self.held(also) or [],
                        options=[(name, name) for name in others])  # fmt: skip

    def coarseness(self) -> Iterator[Field]:
        yield self.check("local", ("recoding",), "local")
        yield self.check("blind", ("blind",))
        names = self.session.demands.quasi or [
            name for name in self.session.table.data if self.session.role(name) is Role.QUASI
        ]
        for name in names:
            height = self.session.hierarchy(name).height
            levels = [(level, self.word("level", level=level)) for level in range(height + 1)]
            for part, off in (("least", 0), ("greatest", height)):
                path = ("limits", name, part)
                held = self.held(path)
                yield Field(".".join(path), "select", path, self.word(f"{part}.label", column=name),
                            off if held is None else held, off, options=levels)  # fmt: skip

    def worth(self) -> Iterator[Field]:
        paid, loss = self.held(("profitability",)), self.held(("loss",))
        names = [name for name in self.session.table.data if self.session.role(name) in (Role.SENSITIVE, Role.OTHER)]
        losses = [one for one in LOSSES if one != "classification" or names]
        yield self.select("loss", ("loss",), [*losses, *(["payout"] if paid else [])])
        if loss == "classification":
            options = [(name, name) for name in names]
            yield Field(
                "target", "select", ("target",), self.word("target.label"), self.held(("target",)), options=options
            )
        yield self.check("profitability", ("profitability",), AMOUNTS)
        for part in AMOUNTS if paid else ():
            yield self.amount(f"pay_{part}", ("profitability", part))
        if paid:
            yield self.select("attacks", ("profitability", "attacks"), ("allowed", "none"))
        if paid and self.held(("population",)) is not None:
            yield self.select("attacker", ("profitability", "attacker"), ("prosecutor", "journalist"))
