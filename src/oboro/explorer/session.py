"""Session of the explorer: one table, encoded once, and every question about how to anonymize it.

A session is immutable. `with_role`, `with_hierarchy`, `with_person` and `with_demands` return another one that shares
everything that did not change: encoded columns, counts, and the evaluated classes of each transformation. Every answer
carries the version of the session that gave it. Sessions may be used from several threads.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import product
from math import log
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

from oboro.data.parameters import names_shown
from oboro.errors import ColumnError, UsageError
from oboro.explorer.answers import Comparison, FrontierPoint, NodeFigures, NodeLook, RowWindow, Solution, finished
from oboro.explorer.frontier import CURVES, Frontier, NearPromise, level_points, nearest_promises, other_points
from oboro.explorer.question import (
    Cancel,
    ColumnCounts,
    PairStrength,
    Question,
    asks,
    compare,
    distribution,
    known_nodes,
    learned_from,
    look,
    only_by_running,
    pair_strengths,
    ready,
    released_distribution,
    released_window,
    row_window,
    solved,
)
from oboro.explorer.table import ColumnTable, ExploredTable, column_table
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.propose import propose
from oboro.hierarchies.spec import HierarchySpec
from oboro.privacy.base import MODELS
from oboro.recipe.recipe import Recipe
from oboro.recipe.run import before_step
from oboro.recipe.starter import init, smallest_class
from oboro.schema import Attribute, Role
from oboro.techniques.drop_columns import DropColumns
from oboro.techniques.k_anonymize import KAnonymize
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.algorithms.lattice.limits import SearchProgress
    from oboro.data.column import Column
    from oboro.explorer.answers import Curve
    from oboro.explorer.table import ExploredColumn
    from oboro.measures.base import Measure
    from oboro.recipe.release import Release
    from oboro.techniques import Technique
    from oboro.techniques.base import Work

__all__ = [
    "Session",
    "TakenAway",
    "choice_of",
    "column_html",
    "demands_with_role",
    "explore",
    "explored_step",
    "frontier_svg",
    "reading_options",
    "role_of",
    "spec_of",
    "taken_away",
    "technique_of",
    "with_choice",
    "with_role_in_steps",
]


# Notebook views -------------------------------------------------------------------------------------------------------
# A session as a table of its columns; the frontier as an SVG picture, readable on light and dark backgrounds.


WIDTH, HEIGHT, LEFT, TOP, RIGHT, BELOW = 640, 300, 52, 14, 225, 40  # on the right, names of lines in words
DASHES = ("", "6 3", "2 3", "8 3 2 3")  # lines differ in their dashes too, for those who see few colours
COLOURS = ("#4269d0", "#c55a11", "#2e8b57", "#a463f2", "#9c6b4e", "#6b7280", "#c2185b")
HEADS = ("column", "role", "alone", "with", "without", "pairs", "why")


def column_html(table: ColumnTable, lang: str) -> str:
    """Render one row for each column: role, people whom it singles out, worst pairs, and why the role was proposed."""
    head = _row("th", (Message(f"explorer.head.{name}").say(lang) for name in HEADS))
    body = "".join(_row("td", _cells(one, lang)) for one in table)
    told = Message("explorer.unique", people=table.unique, of=table.people).say(lang)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{escape(told)}</p>"


def _cells(one: ExploredColumn, lang: str) -> list[str]:
    role = Message(f"section.columns.roles.{one.role.value}").say(lang)
    guess = "" if one.confirmed else Message("explorer.guess").say(lang)
    pairs = "; ".join(f"{' + '.join(pair.columns)}: {pair.people:,}" for pair in one.worst_pairs[:2])
    why = Message("starter.table.why", reasons=list(one.reasons)).say(lang)
    return [
        one.name,
        f"{role}{guess}",
        *map(_count, (one.unique_alone, one.unique_with, one.unique_without)),
        pairs,
        why,
    ]


def _count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in cells)}</tr>"


def frontier_svg(frontier: Frontier, lang: str) -> str:
    """Render the loss over k, one line for each curve and suppression limit; cliffs are ringed."""
    lines = frontier.lines()
    points = [point for line in lines.values() for point in line]
    title = escape(Message("explorer.frontier").say(lang))
    ks = sorted({point.k for point in points}) or [2]
    highest = max((point.loss or 0.0 for point in points), default=0.0) or 1.0
    parts = [*_axes(ks, highest, lang)]
    for place, ((curve, suppress), line) in enumerate(lines.items()):
        parts += _line(line, place, ks, highest, _label(curve, suppress, lang))
    for cliff in frontier.cliffs:
        x, y = _x(cliff.k[1], ks), _y(cliff.loss[1], highest)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="none" stroke="currentColor"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
        f'aria-label="{title}" font-family="sans-serif" font-size="11" fill="currentColor">'
        f"<title>{title}</title>{''.join(parts)}</svg>"
    )


def _label(curve: str, suppress: float, lang: str) -> str:
    name = Message(f"explorer.curve.{curve}").say(lang)
    if curve.startswith("k_anonymize"):
        return Message("explorer.curve_suppress", curve=name, share=suppress).say(lang)
    return name


def _line(line: list[FrontierPoint], place: int, ks: list[int], highest: float, label: str) -> list[str]:
    colour = COLOURS[place % len(COLOURS)]
    at = [(_x(point.k, ks), _y(point.loss or 0.0, highest), point) for point in line]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in at)
    dash = f' stroke-dasharray="{DASHES[CURVES.index(line[0].curve)]}"' if line[0].curve != CURVES[0] else ""
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>']
    for x, y, point in at:
        said = escape(f"k = {point.k}: {point.loss or 0.0:.4f}")
        fill = colour if point.exact or point.curve != CURVES[0] else "none"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}" stroke="{colour}"><title>{said}</title></circle>'
        )
    top = TOP + 12 + 16 * place
    parts.append(
        f'<line x1="{WIDTH - RIGHT + 10}" x2="{WIDTH - RIGHT + 28}" y1="{top - 4}" y2="{top - 4}" stroke="{colour}"/>'
    )
    return [*parts, f'<text x="{WIDTH - RIGHT + 33}" y="{top}">{escape(label)}</text>']


def _axes(ks: list[int], highest: float, lang: str) -> list[str]:
    bottom, right = HEIGHT - BELOW, WIDTH - RIGHT
    parts = [f'<path d="M{LEFT},{TOP}V{bottom}H{right}" fill="none" stroke="currentColor" opacity="0.5"/>']
    for part in range(5):
        value = highest * part / 4
        y = _y(value, highest)
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>')
        parts.append(f'<path d="M{LEFT},{y:.1f}H{right}" stroke="currentColor" opacity="0.12"/>')
    parts += [f'<text x="{_x(k, ks):.1f}" y="{bottom + 16}" text-anchor="middle">{k}</text>' for k in ks]
    loss, size = (escape(Message(f"explorer.axis.{name}").say(lang)) for name in ("loss", "k"))
    parts.append(f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{size}</text>')
    return [
        *parts,
        f'<text transform="translate(12,{(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">{loss}</text>',
    ]


def _x(k: int, ks: list[int]) -> float:
    low, high = log(ks[0]), log(ks[-1])
    return LEFT + 12 + (WIDTH - RIGHT - LEFT - 24) * ((log(k) - low) / (high - low) if high > low else 0.5)


def _y(loss: float, highest: float) -> float:
    return TOP + (HEIGHT - BELOW - TOP) * (1 - loss / highest)


# Steps of a session's recipe ------------------------------------------------------------------------------------------
# Choose the explored step, and apply a change of a role to all steps.


CHOICES = ("k_anonymize", "local_recode", "k_conceal")
SUPPRESS = 0.02
OF_LEVELS = ("levels", "limits", "alternatives")


def explored_step(plan: Recipe, rows: int) -> tuple[list[Technique], int]:
    """Return the steps, with `k_anonymize` where the recipe forms classes, and its place."""
    steps = list(plan.steps)
    place = next((i for i, step in enumerate(steps) if step.step in CHOICES), None)
    if place is None:
        place = next((i for i, step in enumerate(steps) if step.reorders), len(steps))
        steps.insert(place, KAnonymize(k=smallest_class(rows), suppress=SUPPRESS))
    elif not isinstance(steps[place], KAnonymize):
        held = steps[place].model_dump(exclude_defaults=True)
        kept = {name: held[name] for name in ("k", "quasi", *MODELS.in_recipes("attribute")) if name in held}
        steps[place] = KAnonymize(suppress=SUPPRESS, **kept)
    return steps, place


def choice_of(plan: Recipe, place: int) -> KAnonymize:
    """The explored step."""
    step = plan.steps[place]
    assert isinstance(step, KAnonymize)
    return step


def require_mapping(name: str, given: object) -> None:
    """Raise a `UsageError` where a parameter that names values by keys is anything else."""
    if not isinstance(given, Mapping):
        raise UsageError(Message("error_explorer.not_a_mapping", name=name, kind=type(given).__name__))


def technique_of(default: KAnonymize, demands: Mapping[str, Any] | KAnonymize | None) -> KAnonymize:
    """Build a step from demands. Parameters are checked as those of a recipe are; errors list the allowed values."""
    if demands is None:
        return default
    if isinstance(demands, KAnonymize):
        return demands
    require_mapping("demands", demands)
    step = Recipe(attributes={}, steps=[{KAnonymize.step: dict(demands)}]).steps[0]
    assert isinstance(step, KAnonymize)
    return step


def spec_of(name: str, hierarchy: HierarchySpec | Mapping[str, Any]) -> HierarchySpec:
    """Parse a hierarchy as a recipe writes it, with the checks of a recipe."""
    if isinstance(hierarchy, HierarchySpec):
        return hierarchy
    require_mapping("hierarchy", hierarchy)
    found = Recipe(attributes={name: {"hierarchy": dict(hierarchy)}}, steps=[]).attributes[name].hierarchy
    assert found is not None
    return found


def with_choice(plan: Recipe, place: int, technique: KAnonymize) -> list[Technique]:
    """Replace the explored step."""
    return [*plan.steps[:place], technique, *plan.steps[place + 1 :]]


def with_role_in_steps(plan: Recipe, place: int, name: str, role: Role) -> tuple[list[Technique], int]:
    """Apply a role to the steps and return the place of the explored one: identifiers are dropped, others are not."""
    steps, explored = list(plan.steps), plan.steps[place]
    pseudonymized = any(
        name in step.removes_identity for step in steps if not isinstance(step, DropColumns) and step is not explored
    )
    was = plan.columns.get(name)
    if was is not None and was.role is Role.IDENTIFIER and role is not Role.IDENTIFIER:
        steps = _without(steps, name, only=DropColumns)
    elif role is Role.IDENTIFIER and not pseudonymized:
        steps = _dropping(_without(steps, name), name)
    return steps, steps.index(explored)


def _without(steps: list[Technique], name: str, only: type[Technique] | None = None) -> list[Technique]:
    """The steps without those that a column that is gone would be asked by."""
    out = []
    for step in steps:
        names = getattr(step, "attributes", None)
        mine = only is None or isinstance(step, only)
        if mine and getattr(step, "attribute", None) == name:
            continue
        if mine and isinstance(names, list | tuple) and name in names:
            left = type(names)(one for one in names if one != name)
            if not left:
                continue
            step = step.model_copy(update={"attributes": left})
        out.append(step)
    return out


def _dropping(steps: list[Technique], name: str) -> list[Technique]:
    first = next((i for i, step in enumerate(steps) if isinstance(step, DropColumns)), None)
    if first is None:
        return [DropColumns(attributes=(name,)), *steps]
    held = steps[first]
    assert isinstance(held, DropColumns)
    steps[first] = held.model_copy(update={"attributes": (*held.attributes, name)})
    return steps


def demands_with_role(demands: KAnonymize, name: str, role: Role) -> KAnonymize:
    """Drop the demands on a column that its role no longer allows."""
    changed: dict[str, Any] = {}
    for one in (
        *(MODELS.in_recipes("attribute") if role is not Role.SENSITIVE else ()),
        *(OF_LEVELS if role is not Role.QUASI else ()),
    ):
        held = getattr(demands, one, None)
        if isinstance(held, Mapping) and name in held:
            changed[one] = {column: asked for column, asked in held.items() if column != name}
    if role is not Role.QUASI and demands.quasi is not None and name in demands.quasi:
        changed["quasi"] = [one for one in demands.quasi if one != name] or None
    if name in demands.suppress_also and role in (Role.QUASI, Role.IDENTIFIER):
        changed["suppress_also"] = [one for one in demands.suppress_also if one != name]
    if name == demands.target and role in (Role.QUASI, Role.IDENTIFIER):
        changed |= {"target": None, "loss": "loss"}
    return demands.model_copy(update=changed)


def role_of(role: Role | str) -> Role:
    """Return a role by its name; a `UsageError` lists them."""
    try:
        return Role(role)
    except ValueError:
        raise UsageError(Message("error_explorer.no_role", role=str(role), roles=[one.value for one in Role])) from None


# Export of a recipe ---------------------------------------------------------------------------------------------------
# As YAML, as a command, as a script, as a notebook and as a job of a CI service. All of them release the same bytes
# where the recipe has a seed.


SWITCHES = {"header": ("--header", "--no-header")}


class TakenAway(NamedTuple):
    """Export of one recipe in several forms."""

    yaml: str
    command: str
    cells: tuple[str, ...]
    """The script, part by part."""
    output: str
    """The file that it writes."""

    @property
    def python(self) -> str:
        """A script that needs no other file than the data."""
        first, *others = self.cells
        return "\n".join([first, "", *others, ""])

    @property
    def notebook(self) -> str:
        """The script as a notebook of Jupyter."""
        content = {
            "cells": [_cell(number, part) for number, part in enumerate((*self.cells, "release"))],
            "metadata": {"language_info": {"name": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"

    @property
    def ci_job(self) -> str:
        """A job for GitHub's service that runs the command and hands over the release; data and recipe are in the repository."""
        steps = [
            "      - uses: actions/checkout@v5",
            "      - uses: actions/setup-python@v6",
            '        with: {python-version: "3.13"}',
            "      - run: python -m pip install oboro",
            f"      - run: {json.dumps(self.command, ensure_ascii=False)}",
            "      - uses: actions/upload-artifact@v4",
            f"        with: {{name: release, path: {json.dumps(self.output, ensure_ascii=False)}}}",
        ]
        head = ["name: anonymize", "on: [workflow_dispatch]", "permissions: {contents: read}", "jobs:", "  release:"]
        return "\n".join([*head, "    runs-on: ubuntu-latest", "    steps:", *steps, ""])


def taken_away(
    recipe: Recipe, data: str, recipe_path: str, output: str, reading: Mapping[str, Any] | None = None
) -> TakenAway:
    """Export a recipe as YAML, as the command that runs it from a file, and as a script that needs no file but the data."""
    text = recipe.to_yaml()
    held = {name: value for name, value in (reading or {}).items() if value is not None}
    words = ["oboro", "anonymize", data, "--recipe", recipe_path, "--output", output, *reading_options(held)]
    how = f", reading={held!r}" if held else ""
    cells = (
        "import oboro",
        f"recipe = oboro.Recipe.parse({_literal(text)})",
        f"release = recipe.run({data!r}{how})",
        f"release.write({output!r})",
    )
    return TakenAway(text, shlex.join(words), cells, output)


def reading_options(reading: Mapping[str, Any]) -> list[str]:
    """Return the options of a command for reading a file.

    >>> reading_options({"encoding": "cp932", "header": False, "header_row": 3})
    ['--encoding', 'cp932', '--no-header', '--header-row', '3']
    """
    words: list[str] = []
    for name, value in reading.items():
        if name in SWITCHES:
            words += [] if value else [SWITCHES[name][1]]
        elif value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return words


def _cell(number: int, source: str) -> dict[str, Any]:
    lines = source.splitlines(keepends=True)
    return {
        "cell_type": "code",
        "id": f"cell{number}",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": lines,
    }


def _literal(text: str) -> str:
    """Text as Python writes it, line by line where that is the same text."""
    marks = '"""'
    readable = marks not in text and "\\" not in text and text.isprintable() is False and not text.endswith('"')
    if readable and all(line.isprintable() for line in text.split("\n")):
        return f"{marks}\\\n{text}{marks}"
    return repr(text)


# Session --------------------------------------------------------------------------------------------------------------


KS, SHARES, ASKED = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50), (0.0, 0.02, 0.05), 8  # ASKED: questions that are kept ready


@dataclass(frozen=True, eq=False)
class Session:
    """Explored state of one table, returned by `explore`; `with_…` returns the session after a change."""

    table: ExploredTable
    plan: Recipe
    """The recipe so far. The step that is explored is one of its steps."""
    place: int
    """Which one."""
    confirmed: frozenset[str] = frozenset()
    """Columns whose role somebody gave; the others' are guesses."""
    version: int = 0
    _asked: list[Question] = field(default_factory=list, repr=False)

    # State -------------------------------------------------------------------------------------------------------------

    @property
    def person(self) -> str | None:
        """Column that identifies the person of each row, if people are counted."""
        return self.plan.person

    @property
    def demands(self) -> KAnonymize:
        """Default demands."""
        return choice_of(self.plan, self.place)

    @property
    def unconfirmed(self) -> list[str]:
        """Columns whose role is an unconfirmed guess."""
        return [name for name in self.table.data if name not in self.confirmed]

    def role(self, name: str) -> Role:
        """Return the role of a column."""
        self._require(name)
        known = self.plan.columns.get(name)
        return Role.OTHER if known is None else known.role

    def hierarchy(self, name: str) -> Hierarchy:
        """Return the hierarchy of a column."""
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
        """Return the session that counts people, not records: `name` identifies each row's person (None: one person a row)."""
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

    # Questions ----------------------------------------------------------------------------------------------------------

    def columns(self) -> ColumnTable:
        """Return each column's role with its reasons, and the people whom it singles out: alone, in pairs, with and without it."""
        return column_table(self)

    def solve(
        self,
        demands: Mapping[str, Any] | KAnonymize | None = None,
        *,
        cancel: Cancel | None = None,
        tell: Callable[[SearchProgress], None] | None = None,
        first: Sequence[Sequence[int]] = (),
    ) -> Solution:
        """Search the best transformation for some demands, with its proof, or the best so far with a bound.

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
        """Compute the loss of each k under each suppression limit, point by point, the first at once; in the order of search.
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
        """Draw all points of `frontier` as a picture; in a notebook it shows itself, `svg()` gives it as text."""
        return Frontier(tuple(self.frontier(*given, **options)))

    def nodes(self, demands: Mapping[str, Any] | KAnonymize | None = None) -> list[NodeFigures]:
        """Return the evaluated transformations, the best first, with their loss and suppression under these demands.

        Nothing is looked at for it; losses that nobody asked for are bounded from below (`exact`).
        """
        return known_nodes(self.question(technique_of(self.demands, demands)))

    def look(
        self, levels: Mapping[str, int] | Sequence[int], demands: Mapping[str, Any] | KAnonymize | None = None
    ) -> NodeLook:
        """Return details of one transformation: class sizes, suppressed records, the loss of each column, and each neighbour."""
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
        """Compare two transformations, and list the columns in which they differ."""
        question = self.question(technique_of(self.demands, demands))
        return compare(question, question.levels(a), question.levels(b), self.version)

    def nearest(
        self, demands: Mapping[str, Any] | KAnonymize | None = None, *, cancel: Cancel | None = None
    ) -> Iterator[NearPromise]:
        """Return the nearest demands that can be satisfied, each with one demand weakened, where nothing can be released."""

        def kept(one: KAnonymize) -> bool:
            found = self.solve(one.model_copy(update={"levels": None}), cancel=cancel)
            return found.best is not None and found.stopped != "interrupt"

        return nearest_promises(technique_of(self.demands, demands), self.version, kept)

    def distribution(
        self, name: str, levels: Mapping[str, int], demands: Mapping[str, Any] | KAnonymize | None = None
    ) -> ColumnCounts:
        """Count each label of a column, before and after."""
        self._require(name)
        question = self.question(technique_of(self.demands, demands))
        if question.by_running:
            return released_distribution(question, name, self.version)
        return distribution(question, question.levels(levels), name, self.version)

    def pairs(self, levels: Mapping[str, int]) -> list[PairStrength]:
        """Measure the association of columns, before and after, the strongest pair first."""
        question = self.question(self.demands)
        return pair_strengths(question, None if question.by_running else question.levels(levels))

    def learned(self, levels: Mapping[str, int], target: str) -> list[Measure]:
        """Measure how well models learned from the release, and from the original, predict a column of the original."""
        self._require(target)
        question = self.question(self.demands)
        return learned_from(question, None if question.by_running else question.levels(levels), target)

    # Export -------------------------------------------------------------------------------------------------------------

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
        """Release the table: every guarantee verified, all release checks run, as by `Recipe.run`. It is not encoded again."""
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

    # Internals ----------------------------------------------------------------------------------------------------------

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
