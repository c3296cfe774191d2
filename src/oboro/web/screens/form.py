"""The controls of the Promise screen as data: the available guarantees, in groups, with the values demanded now.

The page draws fields without knowing their meaning. A field changes one place of the demands (`path`). When it is set
to `off`, the entry at `drop` is removed; when it is first set, `also` lists the entries it requires.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from oboro.privacy.base import MODELS, Control, PrivacyModel
from oboro.schema import Role
from oboro.text import Message
from oboro.web.server import Ask, Desk, State

if TYPE_CHECKING:
    from oboro.explorer.session import Session

__all__ = ["demand_form", "demands_of", "shown_demands"]


# Encoding of demands --------------------------------------------------------------------------------------------------
# Demands between library and page: spelled out for the controls of the page, and reassembled.


def _limits() -> dict[str, str]:
    """Return the parameter that a bare number stands for, of each model of a sensitive attribute."""
    return {key: MODELS[key].limit for key in MODELS.in_recipes("attribute")}


def shown_demands(session: Session, written: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """As a recipe writes them, but demands on secrets always as objects: `{illness: {l: 2}}`."""
    shown: dict[str, Any] = dict(written or session.demands.model_dump(mode="json", exclude_defaults=True))
    for name, number in _limits().items():
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
    for name, number in _limits().items():
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
    for name in [key for key, one in MODELS.items() if "people" in one.model_fields]:
        if isinstance(held := demands.get(name), Mapping) and "people" in held:
            demands[name] = {key: value for key, value in held.items() if key != "fraction"}
    journalist = demands.get("profitability", {}).get("attacker") == "journalist"
    of_population = set(MODELS.in_recipes("population"))
    if "population" not in demands:
        demands = {name: one for name, one in demands.items() if name not in of_population}
        if journalist:
            paid = demands["profitability"]
            demands["profitability"] = {key: value for key, value in paid.items() if key != "attacker"}
    elif not journalist and of_population.isdisjoint(demands):
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


# Controls -------------------------------------------------------------------------------------------------------------


KS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000)
SUPPRESS = (0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)
RISKS = (1, 0.5, 0.33, 0.2, 0.1, 0.09, 0.05, 0.02, 0.01)
FEW = (1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0)
SCALES: dict[str, Sequence[float]] = {"k": KS, "risk": RISKS, "few": FEW}
"""The values of sliders, by the names that models give them."""
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
        asked = sum(key in form.demands for key in (*keys, *(key for key, _, _ in _models(name))))
        if fields:
            groups.append({"name": name, "title": form.word(f"group.{name}"), "asked": asked, "fields": fields})
    return {"version": state.number, "groups": groups, "demands": form.demands}


GROUPS = {
    "secrets": (),
    "risk": (),
    "population": (),
    "hidden": ("suppressed", "suppress_also", "suppress_people"),
    "coarseness": ("limits", "recoding", "blind"),
    "worth": ("loss", "gen_factor", "profitability"),
}
"""The groups of controls with their parameters, beside the models that name the group."""


def _models(group: str) -> list[tuple[str, type[PrivacyModel], Control]]:
    """Return the models with a control in a group, in the order of the form."""
    found = [(key, one, one.control) for key, one in MODELS.items() if one.control is not None]
    return sorted((one for one in found if one[2].group == group), key=lambda one: one[2].last)


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
        for key, _, control in _models("main"):
            for column in self.secret:
                yield self._of_model(key, control, column)

    def _of_model(self, key: str, control: Control, column: str | None = None) -> Field:
        """Return the slider that asks for a model, of a sensitive column where it is a model of one."""
        path = tuple(part for part in (key, column, control.part) if part is not None)
        more: dict[str, Any] = {} if column is None else {"column": column}
        if control.part is not None:
            more["drop"] = path[:-1]
        if control.amount is not None:
            more["also"] = control.also
        steps = SCALES[control.steps] if isinstance(control.steps, str) else control.steps
        return self.slider(key, path, control.off, steps=steps, show=control.show, **more)

    def secrets(self) -> Iterator[Field]:
        for column in self.secret:
            if self.held(("l_diversity", column)) is not None:
                kinds = ("distinct", "entropy", "recursive")
                yield self.select("l_kind", ("l_diversity", column, "kind"), kinds, column=column)
            if self.held(("l_diversity", column, "c")) is not None:
                yield self.amount("l_c", ("l_diversity", column, "c"))
        for key, model, control in _models("secrets"):
            for column in self.secret:
                slider = self._of_model(key, control, column)
                yield slider
                if (choice := control.choice) and self.held(slider.path) is not None:
                    yield self.select(f"{key}_{choice}", (key, column, choice), model.choices(choice))

    def risk(self) -> Iterator[Field]:
        for key, _, control in _models("risk"):
            yield self._of_model(key, control)
            if control.amount is not None and self.held((key,)) is not None:
                part, label = control.amount
                yield self.amount(label, (key, part), show="percent")

    def population(self) -> Iterator[Field]:
        models = _models("population")
        for key, model, control in models:
            if model.scope == "population":
                continue
            first = control.also or {str(control.part): max(2, self.session.demands.k)}
            said = self.word(f"{key}_people.said")
            yield self.amount(f"{key}_people", (key, "people"), drop=(key,), also=first, said=said)
            if self.held((key,)) is not None:
                yield self._of_model(key, control)
        file = ("population",)
        label, said = self.word("population.label"), self.word("population.said")
        yield Field("population", "file", file, label, self.held(file), said=said)
        if self.held(file) is not None:
            for key, model, control in models:
                if model.scope == "population":
                    yield self._of_model(key, control)

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
