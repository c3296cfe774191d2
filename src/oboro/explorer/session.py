"""A session: one table, encoded once, and every question that choosing an anonymization asks of it.

A session is never changed. `with_role`, `with_hierarchy`, `with_person` and `with_demands` return another one that shares
everything that did not change: encoded columns, counts, and what was seen of the classes of each choice of levels. Every answer
carries the version of the session that gave it. Sessions may be asked from several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from oboro.errors import ColumnError, UsageError
from oboro.explorer.answers import Comparison, FrontierPoint, NodeFigures, NodeLook, RowWindow, Solution
from oboro.explorer.before_after import (
    ColumnCounts,
    PairStrength,
    distribution,
    learned_from,
    pair_strengths,
    released_distribution,
)
from oboro.explorer.column_table import ColumnTable, column_table
from oboro.explorer.explored_table import ExploredTable
from oboro.explorer.looking import compare, known_nodes, look, released_window, row_window
from oboro.explorer.planned_steps import (
    choice_of,
    demands_with_role,
    explored_step,
    require_mapping,
    role_of,
    spec_of,
    technique_of,
    with_choice,
    with_role_in_steps,
)
from oboro.explorer.promises.frontier import Frontier, level_points
from oboro.explorer.promises.nearest_promise import NearPromise, nearest_promises
from oboro.explorer.promises.other_curves import CURVES, other_points
from oboro.explorer.question import Question
from oboro.explorer.solving import Cancel, asks, only_by_running, ready, solved
from oboro.explorer.taking_away import TakenAway, taken_away
from oboro.explorer.waiting import finished
from oboro.recipe.preparing.starter import init
from oboro.recipe.run import before_step
from oboro.table.hierarchy import Hierarchy, HierarchySpec
from oboro.table.hierarchy.propose import propose
from oboro.table.named_columns import names_shown
from oboro.table.schema import Attribute, Role
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.decide.lattice.search_progress import SearchProgress
    from oboro.explorer.answers import Curve
    from oboro.measure.metrics import Measure
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.release import Release
    from oboro.table.dataset import Column
    from oboro.techniques.base import Work
    from oboro.techniques.k_anonymize import KAnonymize

__all__ = ["Session", "explore"]

KS, SHARES, ASKED = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50), (0.0, 0.02, 0.05), 8  # ASKED: questions that are kept ready


@dataclass(frozen=True, eq=False)
class Session:
    """What `explore` gives: ask it; `with_…` gives the session after a change."""

    table: ExploredTable
    plan: Recipe
    """The recipe so far. The step that is explored is one of its steps."""
    place: int
    """Which one."""
    confirmed: frozenset[str] = frozenset()
    """Columns whose role somebody gave; the others' are guesses."""
    version: int = 0
    _asked: list[Question] = field(default_factory=list, repr=False)

    # The state ---------------------------------------------------------------------------------------------------------

    @property
    def person(self) -> str | None:
        """The column that says whose a row is, if people are counted."""
        return self.plan.person

    @property
    def demands(self) -> KAnonymize:
        """What is asked where nothing else is said."""
        return choice_of(self.plan, self.place)

    @property
    def unconfirmed(self) -> list[str]:
        """Columns whose role is a guess that nobody confirmed."""
        return [name for name in self.table.data if name not in self.confirmed]

    def role(self, name: str) -> Role:
        """What a column is."""
        self._require(name)
        known = self.plan.columns.get(name)
        return Role.OTHER if known is None else known.role

    def hierarchy(self, name: str) -> Hierarchy:
        """How a column's values become coarser."""
        column, dropped = self.column(name), name not in self.work.data
        return (self.plan.schema_given if dropped else self.work.schema).hierarchy(name, column)

    def column(self, name: str) -> Column:
        """A column as the steps before the explored one leave it; one that they drop as it came."""
        self._require(name)
        return self.work.data[name] if name in self.work.data else self.table.data[name]

    def with_role(self, name: str, role: Role | str) -> Session:
        """The session in which a column has another role. Identifiers are dropped; a quasi-identifier gets a proposed hierarchy."""
        self._require(name)
        role = role_of(role)
        if name == self.person and role is not Role.IDENTIFIER:
            raise UsageError(Message("error_explorer.person_identifies", column=name))
        held = self.plan.columns.get(name, Attribute())
        tree = held.hierarchy
        if role is Role.QUASI and tree is None:
            tree = propose(name, self.table.data[name])
        changed = held.model_copy(update={"role": role, "hierarchy": tree})
        steps, place = with_role_in_steps(self.plan, self.place, name, role)
        steps[place] = demands_with_role(self.demands, name, role)
        return self._with({**self.plan.attributes, name: changed}, steps=steps, place=place, confirmed={name})

    def with_hierarchy(self, name: str, hierarchy: HierarchySpec | Mapping[str, Any] | None) -> Session:
        """The session in which a column has another hierarchy (None: the value or `*`), built and checked now."""
        self._require(name)
        spec = None if hierarchy is None else spec_of(name, hierarchy)
        (spec or HierarchySpec()).build(name, self.column(name), self.plan.folder)
        held = self.plan.attributes.get(name, Attribute())
        return self._with({**self.plan.attributes, name: held.model_copy(update={"hierarchy": spec})})

    def with_person(self, name: str | None) -> Session:
        """The session in which people are counted, not rows: `name` says whose a row is (None: every row is somebody else's)."""
        if name is None:
            return self._with(self.plan.attributes, person=None)
        moved = self.with_role(name, Role.IDENTIFIER)
        return moved._with(moved.plan.attributes, person=name, confirmed={name})

    def with_demands(self, demands: Mapping[str, Any] | KAnonymize) -> Session:
        """The session in which these demands are asked where nothing else is said."""
        return self._with(
            self.plan.attributes, steps=with_choice(self.plan, self.place, technique_of(self.demands, demands))
        )

    def confirm(self, *names: str) -> Session:
        """The session in which the roles of these columns (none named: of all) are no guesses any more."""
        self._require(*names)
        return self._with(self.plan.attributes, confirmed=set(names or self.table.data))

    # Asking -------------------------------------------------------------------------------------------------------------

    def columns(self) -> ColumnTable:
        """Each column's role with the reasons for it, and whom it singles out: alone, in pairs, with and without it."""
        return column_table(self)

    def solve(
        self,
        demands: Mapping[str, Any] | KAnonymize | None = None,
        *,
        cancel: Cancel | None = None,
        tell: Callable[[SearchProgress], None] | None = None,
        first: Sequence[Sequence[int]] = (),
    ) -> Solution:
        """The best choice of levels for some demands, with its proof, or the best so far with a bound.

        `demands` are the parameters of `k_anonymize`; those of the session where there are none. `cancel`, an event or a function,
        ends the search within a tenth of a second, the first one too. `tell` hears how far it is. `first` are levels to begin
        with.
        """
        return solved(self, technique_of(self.demands, demands), asks(cancel), tell, first)

    def frontier(
        self,
        k: Sequence[int] | None = None,
        suppress: Sequence[float] | None = None,
        demands: Mapping[str, Any] | KAnonymize | None = None,
        *,
        curves: Sequence[Curve] = ("k_anonymize",),
        cancel: Cancel | None = None,
    ) -> Iterator[FrontierPoint]:
        """What each k costs under each limit on suppression, point by point, the first at once; the order is that of the search.
        `curves` may also name other methods: `k_anonymize_local` (levels by class), `local_recode` and `k_conceal`."""
        asked, over = technique_of(self.demands, demands), asks(cancel)
        curves = _listed("curves", curves, str)
        unknown = [one for one in curves if one not in CURVES]
        if unknown:
            raise UsageError(Message("error_explorer.no_curve", unknown=unknown, curves=list(CURVES)))
        few = [one for one in KS if one <= max(2, self.table.data.rows)]
        ks = few if k is None else _listed("k", k, Integral)
        shares = (
            [*dict.fromkeys([*SHARES, asked.suppress])] if suppress is None else _listed("suppress", suppress, Real)
        )

        def one(k: int, share: float, last: Sequence[Sequence[int]]) -> Solution:
            return self.solve(asked.model_copy(update={"k": k, "suppress": share}), cancel=cancel, first=last)

        for number, share in product((min(ks, default=1), max(ks, default=1)), (*shares, 0)):
            technique_of(asked, {"k": number, "suppress": share})  # what a recipe may not ask is refused here too

        for curve in dict.fromkeys(curves):
            if curve == "k_anonymize":
                alone = only_by_running(asked) or finished(lambda: ready(self, asked).problem.only_k, over)
                yield from level_points(one, ks, shares, over, hardest_first=bool(alone))
            else:
                yield from other_points(asked, self.work, curve, ks, self.version, over)

    def plot(self, *given: Any, **options: Any) -> Frontier:
        """All points of `frontier` as a picture; in a notebook it shows itself, `svg()` gives it as text."""
        return Frontier(tuple(self.frontier(*given, **options)))

    def nodes(self, demands: Mapping[str, Any] | KAnonymize | None = None) -> list[NodeFigures]:
        """The choices of levels that were looked at, the best first, with what they lose and suppress under these demands.

        Nothing is looked at for it; losses that nobody asked for are bounded from below (`exact`).
        """
        return known_nodes(self.question(technique_of(self.demands, demands)))

    def look(
        self, levels: Mapping[str, int] | Sequence[int], demands: Mapping[str, Any] | KAnonymize | None = None
    ) -> NodeLook:
        """One choice of levels: its classes by size, what goes, what each column loses, and what each neighbour would."""
        question = self.question(technique_of(self.demands, demands))
        return look(question, question.levels(levels), self.version)

    def window(
        self,
        start: int,
        n: int,
        levels: Mapping[str, int] | Sequence[int],
        demands: Mapping[str, Any] | KAnonymize | None = None,
    ) -> RowWindow:
        """Some rows as they came and as they would be released, in the order of the table.

        Where classes have levels of their own (`recoding: local`), `levels` does not matter.
        """
        _require_whole("start", start)
        _require_whole("n", n)
        question = self.question(technique_of(self.demands, demands))
        if question.by_running:
            return released_window(question, start, n, self.version)
        return row_window(question, question.levels(levels), start, n, self.version)

    def compare(
        self,
        a: Mapping[str, int] | Sequence[int],
        b: Mapping[str, int] | Sequence[int],
        demands: Mapping[str, Any] | KAnonymize | None = None,
    ) -> Comparison:
        """Two choices of levels side by side, and the columns in which they differ."""
        question = self.question(technique_of(self.demands, demands))
        return compare(question, question.levels(a), question.levels(b), self.version)

    def nearest(
        self, demands: Mapping[str, Any] | KAnonymize | None = None, *, cancel: Cancel | None = None
    ) -> Iterator[NearPromise]:
        """Where nothing can be released: the nearest promises that can be kept, each with one demand weakened."""

        def kept(one: KAnonymize) -> bool:
            found = self.solve(one.model_copy(update={"levels": None}), cancel=cancel)
            return found.best is not None and found.stopped != "interrupt"

        return nearest_promises(technique_of(self.demands, demands), self.version, kept)

    def distribution(
        self, name: str, levels: Mapping[str, int], demands: Mapping[str, Any] | KAnonymize | None = None
    ) -> ColumnCounts:
        """How often each label stands in a column, before and after."""
        self._require(name)
        question = self.question(technique_of(self.demands, demands))
        if question.by_running:
            return released_distribution(question, name, self.version)
        return distribution(question, question.levels(levels), name, self.version)

    def pairs(self, levels: Mapping[str, int]) -> list[PairStrength]:
        """How strongly columns hang together, before and after, the strongest pair first."""
        question = self.question(self.demands)
        return pair_strengths(question, None if question.by_running else question.levels(levels))

    def learned(self, levels: Mapping[str, int], target: str) -> list[Measure]:
        """How well models that learn from the release, and from the original, predict a column of the original."""
        self._require(target)
        question = self.question(self.demands)
        return learned_from(question, None if question.by_running else question.levels(levels), target)

    # Taking away --------------------------------------------------------------------------------------------------------

    def recipe(
        self,
        levels: Mapping[str, int] | None = None,
        demands: Mapping[str, Any] | KAnonymize | None = None,
        **changes: Any,
    ) -> Recipe:
        """The recipe for these demands: with levels, nothing is searched when it runs; without, it finds the best itself.

        `changes` are other parts of a recipe, such as `seed_env` or `accept`.
        """
        technique = technique_of(self.demands, demands)
        if levels is not None:
            require_mapping("levels", levels)
            for name, level in levels.items():
                _require_whole(str(name), level)
            technique = technique.model_copy(update={"levels": {name: int(level) for name, level in levels.items()}})
        steps = with_choice(self.plan, self.place, technique)
        changed = self.plan.model_copy(update={"steps": steps})
        if not changes:
            return changed
        whole = type(changed)(**{**{name: getattr(changed, name) for name in changed.model_fields_set}, **changes})
        whole._folder, whole._path = changed.folder, changed.path
        return whole

    def release(
        self,
        levels: Mapping[str, int] | None = None,
        demands: Mapping[str, Any] | KAnonymize | None = None,
        **changes: Any,
    ) -> Release:
        """The release: every promise verified, the last look taken, as by `Recipe.run`. The table is not encoded again."""
        return self.recipe(levels, demands, **changes).run(self.table.again)

    def take_away(
        self,
        recipe: Recipe,
        *,
        data: str,
        recipe_path: str = "recipe.yaml",
        output: str,
        reading: Mapping[str, Any] | None = None,
    ) -> TakenAway:
        """A recipe as YAML, as a command, as a script, as a notebook. With a seed, all of them release the same bytes."""
        return taken_away(recipe, data, recipe_path, output, reading)

    # Inside -------------------------------------------------------------------------------------------------------------

    @cached_property
    def work(self) -> Work:
        """The table as the steps before the explored one leave it."""
        work = before_step(self.plan, self.table.data, self.place)
        return replace(work, data=self.table.same(work.data), schema=replace(work.schema, _built=self.table.built))

    def question(self, technique: KAnonymize) -> Question:
        """The demands, posed to this table; the latest few are kept ready."""
        for known in self._asked:
            if known.technique == technique:
                return known
        made = Question.of(self.table, technique, self.work)
        self._asked.insert(0, made)
        del self._asked[ASKED:]
        return made

    def _with(
        self,
        attributes: Mapping[str, Attribute],
        *,
        steps: Sequence[Any] | None = None,
        place: int | None = None,
        confirmed: set[str] | frozenset[str] = frozenset(),
        **changes: Any,
    ) -> Session:
        held = {"attributes": dict(attributes), **changes, **({} if steps is None else {"steps": list(steps)})}
        plan = self.plan.model_copy(update=held)
        return Session(
            self.table,
            plan,
            self.place if place is None else place,
            self.confirmed | confirmed,
            next(self.table.versions),
        )

    def _require(self, *names: str) -> None:
        for name in (one for one in names if one not in self.table.data):
            columns = names_shown(self.table.data, [name, *self.plan.attributes])
            raise ColumnError(Message("error_explorer.no_column", column=name, columns=columns))

    def __repr__(self) -> str:
        held = [f"{role.value}: {', '.join(names)}" for role in Role if (names := self.plan.schema_given.named(role))]
        return f"Session({self.table.data.rows} rows; {'; '.join(held)}; version {self.version})"

    def _repr_html_(self) -> str:
        return self.columns()._repr_html_()


def _require_whole(name: str, given: object) -> None:
    """Raise a `UsageError` where a parameter is no whole number."""
    if not isinstance(given, Integral) or isinstance(given, bool):
        raise UsageError(Message("error_explorer.not_whole", name=name, given=repr(given)))


def _listed(name: str, given: object, kind: type) -> list[Any]:
    """The values of a parameter that takes several. `UsageError` where it is no list of that kind."""
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    values = list(given) if several else []  # type: ignore[call-overload]
    if not several or any(not isinstance(one, kind) or isinstance(one, bool) for one in values):
        raise UsageError(Message("error_explorer.not_a_list", name=name, given=repr(given)))
    return [int(one) if kind is Integral else float(one) if kind is Real else one for one in values]


def explore(source: Any, recipe: Recipe | None = None, *, reading: Mapping[str, Any] | None = None) -> Session:
    """Explore a table: a pandas, polars or pyarrow frame, or a file (`reading` says how it is read). It is encoded once.

    Roles and hierarchies are guesses to begin with, as those of `init`, or those of a recipe. Then ask: `columns`, `solve`,
    `frontier`, `look`, `window`; change: `with_role`, `with_hierarchy`, `with_person`; and take away a `recipe` or a verified
    `release`.

    >>> session = explore({"age": [31, 38, 35, 52, 57, 59] * 10, "sex": ["F", "M", "M"] * 20})
    >>> session.solve({"k": 5}).levels
    {'age': 0, 'sex': 0}
    """
    table = ExploredTable.of(source, reading)
    if recipe is None:
        starter = init(table.data)
        table.guesses = starter.roles
        plan, confirmed = starter.recipe, frozenset[str]()
    else:
        plan, confirmed = recipe, frozenset(recipe.attributes)
    steps, place = explored_step(plan, table.data.rows)
    return Session(table, plan.model_copy(update={"steps": steps}), place, confirmed, next(table.versions))
