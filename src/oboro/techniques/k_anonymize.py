"""k-anonymization: the best generalization and suppression that gives every class at least k members."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from oboro._lazy import loaded_later
from oboro.algorithms.lattice.constraints import Rule, rule_of
from oboro.algorithms.lattice.evaluator import NodeChecker
from oboro.algorithms.lattice.losses import CellLoss
from oboro.algorithms.lattice.problem import Node, Problem
from oboro.algorithms.lattice.search import SearchResult, Strategy, checker_for, search
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups
from oboro.errors import PromiseError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.spec import HierarchySpec
from oboro.notations.kinds import STAR
from oboro.notations.texts import texts_of
from oboro.privacy.attribute import AttributeModel
from oboro.privacy.risk import most_classes
from oboro.schema import Opinion, Schema, Traits
from oboro.system.process import on_cores
from oboro.techniques.base import Outcome, SecretExample, Work
from oboro.techniques.columns import ClassAggregate, aggregated
from oboro.techniques.requirements import AskedOfLevels, WorthAsked, person_left, require_fitting, treated
from oboro.text import Message, Words
from oboro.text.language import silent
from oboro.verifier.identity import KAnonymity, Model
from oboro.verifier.judges import judge_attribute
from oboro.verifier.promises import Promise

if TYPE_CHECKING:
    from oboro.algorithms.lattice.limits import SearchProgress
    from oboro.algorithms.lattice.local_recoding import Recoding
    from oboro.algorithms.lattice.sliced import SlicedChecker

__all__ = [
    "ClassValues",
    "KAnonymize",
    "global_facts",
    "local_facts",
    "mixed",
    "no_levels",
    "progress",
    "runner_up",
    "warnings",
]


# Microaggregated columns ----------------------------------------------------------------------------------------------
# Columns whose released value is made from the records of a class: microaggregation inside k-anonymity.


class ClassValues(WorthAsked):
    """A step whose classes may say a mean instead of a label."""

    aggregates: dict[str, ClassAggregate] = Field(default_factory=dict)
    """Quasi-identifiers whose levels only decide who stands together: in every class their values become the mean, the median, the
    mode (most frequent) or the interval (smallest to largest) of the class."""

    def as_sure(self, found: SearchResult) -> SearchResult:
        """What a search found. With exempt records, suppressing somebody without need makes people who fit no class need no record
        of theirs (a least presence); the search does not try that, so it is not sure of the best."""
        exempt = getattr(self, "suppressed", "class") == "exempt" and getattr(self, "suppress", 0.0) > 0
        unsure = exempt and self.presence is not None and self.presence.min > 0
        return replace(found, exact=False, bound=None) if unsure else found

    def require_aggregates(self, names: Sequence[str]) -> None:
        """Only quasi-identifiers stand in classes."""
        if odd := [name for name in self.aggregates if name not in names]:
            raise UsageError(Message("error_technique.aggregates_of", step=self.step, unknown=odd, names=list(names)))

    def aggregates_told(self, plan: Message) -> Message:
        """The plan, with what classes say instead of labels."""
        if not self.aggregates:
            return plan
        each = [
            Message("technique.k_anonymize.aggregate", column=name, aggregate=how)
            for name, how in self.aggregates.items()
        ]
        return Message("text.sentences", said=[plan, Message("technique.k_anonymize.aggregates", each=each)])

    def with_class_values(self, outcome: Outcome, before: Dataset, names: Sequence[str], gone: np.ndarray) -> Outcome:
        """The outcome with these columns' values made anew in every class, from those of `before`.

        Who is alike stays alike, for a value is that of a whole class. Suppressed records (`gone`) keep their `*`.
        """
        if not self.aggregates or not before.rows:
            return outcome
        data, schema = outcome.data, outcome.schema
        kept = Column(pa.array([False, True]), gone.astype(np.uint8))
        groups = Groups.of([*(data[name] for name in names), kept], data.rows)
        columns, facts = {}, {}
        for name, how in self.aggregates.items():
            made = aggregated(name, before[name], groups, how)
            columns[name] = made.where(gone, STAR) if gone.any() else made
            facts[name] = {"as": how, "values": len(columns[name].values)}
            schema = schema.with_remaining(name, HierarchySpec().build(name, columns[name]))
        told = {**outcome.facts, "aggregates": facts}
        return replace(outcome, data=data.with_columns(columns), schema=schema, facts=told)


# Chosen levels --------------------------------------------------------------------------------------------------------
# Levels that a search chose: in words, as facts, and as a column whose records are on several levels.


def progress(step: str, so_far: SearchProgress) -> Message:
    """Return the progress of a search, in words."""
    figures = {"step": step, "evaluated": so_far.evaluated, "settled": so_far.settled, "size": so_far.size}
    if so_far.loss is None:
        return Message("progress.search", **figures)
    if so_far.bound is None:
        return Message("progress.search_with_best", **figures, loss=so_far.loss)
    del figures["settled"]  # the gap tells more, and a terminal has little room
    return Message("progress.search_with_gap", **figures, loss=so_far.loss, bound=so_far.bound)


def warnings(problem: Problem, found: SearchResult) -> tuple[Message, ...]:
    """That the best node may not be the best of all; that the loss tells no choice from another."""
    told = () if found.stopped is None else (_unsure(found),)
    alike = isinstance(problem.loss, CellLoss) and problem.loss.geometric and problem.loss.scale == 0
    return (*told, Message("search.all_alike", loss=problem.loss.name)) if alike else told


def _unsure(found: SearchResult) -> Message:
    """Why the best node may not be the best of all, and how far that one can be."""
    assert found.best is not None
    why = Message(f"search.{found.stopped}", **({"size": found.size} if found.stopped == "size" else {}))
    if found.bound is None:
        return Message("search.best_so_far", why=why, loss=found.best.loss)
    told = Message("search.best_so_far_bounded", why=why, loss=found.best.loss, bound=found.bound)
    if found.stopped == "interrupt":
        return told
    return Message("search.with_hint", told=told, hint=Message(f"search.hint.{found.stopped}"))


def runner_up(node: Node) -> dict[str, Any]:
    """A node that was checked and is not the best; where its loss is not `exact`, it is at least so much."""
    gone = node.suppressed + node.extra
    return {"levels": list(node.levels), "loss": node.loss, "exact": node.settled, "suppressed": gone}


def mixed(column: Column, hierarchy: Hierarchy, recoded: Recoding, a: int) -> Column:
    """The column with each record on its own level; one look-up table over levels and codes."""
    level_of = np.array([*(node[a] for node in recoded.nodes), 0], dtype=np.uint8)[recoded.rows]
    used = [int(level) for level in np.unique(level_of[recoded.rows >= 0])]
    gone = recoded.rows < 0
    if len(used) <= 1:  # none: everybody is suppressed
        whole = hierarchy.generalize(column, *used or [0])
        return whole.where(gone, STAR) if gone.any() else whole
    labels = [pa.array(texts_of(hierarchy.levels[level].labels), pa.string()) for level in used]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in labels])])
    table = np.zeros((max(used) + 1, len(column.values)), dtype=np.uint32)
    for start, level in zip(starts, used, strict=False):
        table[level] = hierarchy.levels[level].table + np.uint32(start)
    out = Column(pa.concat_arrays(labels), table[level_of, column.codes]).tidy()
    return out.where(gone, STAR) if gone.any() else out


def local_facts(
    problem: Problem, recoded: Recoding, hierarchies: Mapping[str, Hierarchy], *, loss: str, k: int
) -> dict[str, Any]:
    """Facts of local recoding: for each column the number of records on each level."""
    rows = np.bincount(recoded.rows[recoded.rows >= 0], minlength=len(recoded.nodes))
    chosen: dict[str, Any] = {}
    for a, (name, hierarchy) in enumerate(hierarchies.items()):
        height = hierarchy.height
        levels = np.array([node[a] for node in recoded.nodes], dtype=np.int64)
        counts = np.bincount(levels, weights=rows, minlength=height + 1).astype(int)
        chosen[name] = {"records": counts.tolist(), "of": height}
    return {
        "k": k,
        "recoding": "local",
        "levels": chosen,
        "loss": {"name": loss, "value": recoded.loss},
        "suppressed": {"records": recoded.suppressed, "limit": problem.limit, "of": problem.rows},
        "lattice": {"nodes": problem.lattice.size, "used": len(recoded.nodes)},
        "classes": recoded.classes,
    }


def no_levels(
    problem: Problem,
    suppressed: int,
    satisfying: bool,
    names: list[str],
    *,
    step: str,
    given: bool,
    limited: Collection[str] = (),
) -> Message:
    """Why no node can be released: how far away the coarsest (or the given) one is, and the ways out."""
    if problem.k > problem.people:
        only = "only_rows" if problem.person is None else "only_people"
        return Message(f"error_technique.{only}", step=step, k=problem.k, rows=problem.people)
    where = Message("error_technique.on_given" if given else "error_technique.on_coarsest")
    whom, of = ("_people", problem.people) if problem.whole_people else ("", problem.rows)
    how = "left_over" if satisfying else "too_many_suppressed"
    need = Message(f"error_technique.{how}{whom}", where=where, suppressed=suppressed, rows=of)
    figures = {"step": step, "need": need, "limit": problem.limit, "unclear": _unclear(problem, names)}
    if given:
        return Message("error_technique.not_at_given", **figures)
    open_ = [name for name, h in zip(names, problem.hierarchies, strict=True) if len(h.levels[-1].labels) > 1]
    free, bound = ([name for name in open_ if (name in limited) is one] for one in (False, True))
    figures["coarser"] = Message("error_technique.coarser", columns=free) if free else ""
    figures["limited"] = Message("error_technique.limited", columns=bound) if bound else ""
    return Message("error_technique.no_levels", **figures)


def _unclear(problem: Problem, names: list[str]) -> Message | str:
    """That a label of a coarsest level does not tell whom of the population it covers, or that other people might have gone."""
    if problem.whole_people and problem.rules:
        return Message("error_technique.people_untried")
    if problem.population is None or problem.population.unclear is None:
        return ""
    for name, hierarchy, levels in zip(names, problem.hierarchies, problem.population.unclear, strict=True):
        own, top = levels[-1][0], hierarchy.levels[-1]
        if own.any():
            labels = texts_of(top.labels.take(pa.array(np.unique(top.table[own]))))
            return Message("error_technique.unclear", column=name, labels=list(map(str, labels)))
    return ""


def global_facts(
    problem: Problem,
    found: SearchResult,
    hierarchies: Mapping[str, Hierarchy],
    gone: int,
    *,
    loss: str,
    k: int,
    given: bool,
) -> dict[str, Any]:
    """Facts of a global recoding, so many records being suppressed; `given`: nothing was searched."""
    best = found.best
    assert best is not None
    chosen = dict(zip(hierarchies, best.levels, strict=True))
    suppressed = {"records": gone, "of": problem.rows}
    if problem.whole_people:
        suppressed |= {"people": best.suppressed + best.extra, "of_people": problem.people}
    of = "_people" if problem.whole_people else ""
    suppressed |= {f"extra{of}": best.extra, f"limit{of}": problem.limit}
    lattice = {"nodes": found.size, "evaluated": found.evaluated, "tagged": found.tagged, "skipped": found.skipped}
    return {
        **({} if found.stopped is None else {"stopped": found.stopped}),
        "k": k,
        "recoding": "global",
        "levels": {name: {"level": level, "of": hierarchies[name].height} for name, level in chosen.items()},
        "loss": {
            "name": loss,
            "value": best.loss,
            "exact": found.exact,
            "bound": found.bound,
            **({"given": True} if given else {}),
            **({"ranks": list(found.ranks)} if found.ranks else {}),
        },
        "suppressed": suppressed,
        "lattice": lattice,
        "minimal": None if found.minimal is None else list(map(list, found.minimal)),
        "runners_up": list(map(runner_up, found.runners_up)),
        "again": {"levels": chosen},
    }


# k-anonymization ------------------------------------------------------------------------------------------------------


if TYPE_CHECKING:
    from oboro.techniques.level_limits import LevelLimits
else:
    (LevelLimits,) = loaded_later("oboro.techniques.level_limits", "LevelLimits")

Suppressed = Literal["class", "drop", "exempt"]
SMALL_LATTICE = 2000  # up to here all minimal nodes are listed without being asked for


class KAnonymize(ClassValues):
    """Generalize the quasi-identifiers, each to one level for all, so that every record looks like at least k − 1
    others.

    Of all choices of levels the one with the least loss is taken. Records of classes that stay too small (or break
    one of the other demands) are suppressed: every quasi-identifier becomes `*`. The suppressed records are a class
    of the release too, so there are either none of them or enough to keep every demand; where they are too few, whole
    classes join them. With local recoding every class takes the finest levels that it can instead; values of one
    column are then of several levels.

    Given: quasi-identifiers with hierarchies (without one: the value or `*`); for l-diversity, t-closeness and alpha,
    sensitive columns; for k_map and presence, a population that holds everybody of the table. A missing value is a
    value of its own.
    Promises: every class of the release has at least k records and keeps every other demand, suppressed records
    included; at most the share `suppress` of the records is suppressed; no choice of levels that does the same has a
    smaller loss (unless the report says that the lattice was too large or the time too short to be sure, and then how
    far the best can be). The order of the rows does not matter. Other columns, rows and their order stay.
    Checked by: tests/techniques/test_k_anonymize.py and tests/algorithms/test_lattice.py (brute force over the whole lattice),
    and on every release by oboro.verifier.promises. The argument is in docs/guarantees/k-anonymize.md.

    >>> people = {"age": [31, 32, 38, 45], "sex": ["F", "M", "F", "M"]}
    >>> roles = {"age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}}, "sex": {"role": "quasi"}}
    >>> KAnonymize(k=2).apply(people, attributes=roles)
    {'age': ['*', '*', '*', '*'], 'sex': ['F', 'M', 'F', 'M']}
    """

    step: ClassVar[str] = "k_anonymize"
    by_value: ClassVar[bool] = True
    promises: ClassVar[bool] = True
    iso: ClassVar[Words] = Message("technique.k_anonymize.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"k": 2, "suppress": 0.2},
        {"k": 2, "l_diversity": {"disease": 2}},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample(
        {"k": 5, "suppress": 0.1937}, hidden=("0.1937", "19.4 %", "19.37")
    )
    coarser: ClassVar[bool] = True
    opinion: ClassVar[Opinion | None] = "aggregation"
    not_in_stream: ClassVar[Message | None] = None
    uses_hierarchies: ClassVar[bool] = True

    k: int = Field(ge=1)
    """Every equivalence class must have at least this many records, or people where the recipe says whose a row is."""
    suppress: float = Field(default=0.0, ge=0, le=1)
    """At most this share of the records may be suppressed; with `suppress_people`, of the people."""
    suppress_people: bool = False
    """Where the recipe says whose a row is: whether everybody is suppressed with all their records or not at all."""
    suppress_also: list[str] = Field(default_factory=list)
    """Further columns in which a suppressed record gets `*` too, such as secrets that would say who it is."""
    suppressed: Suppressed = "class"
    """What becomes of suppressed records. class: they are released with `*` and must keep every demand as a class of their own;
    drop: they are left out of the release; exempt: they are released with `*`, and nothing is promised of them (as ARX does).
    """
    search: Strategy = "auto"
    """auto: the fastest search; depth_first: bottom-up, depth first. Both find the same optimum."""
    recoding: Literal["global", "local"] = "global"
    """global: one level per column for all records; local: every class has levels of its own, as fine as possible."""
    levels: dict[str, Annotated[int, Field(ge=0)]] | None = None
    """Levels to apply as they are, such as those of an earlier delivery. Nothing is searched; everything is still verified."""
    limits: dict[str, LevelLimits] = Field(default_factory=dict)
    """For some columns which levels may be chosen: least and greatest, forbidden labels, required values."""
    alternatives: dict[str, Annotated[list[HierarchySpec], Field(min_length=1)]] = Field(default_factory=dict)
    """For some columns further hierarchies beside their own; the choice that loses least is taken."""
    blind: bool = False
    """Whether levels and suppression are chosen by the sizes of classes alone, never by the secrets in them: then nobody learns
    more from the choice than the table shows. Where the other demands do not hold on it, nothing is released."""
    minimal: bool | None = None
    """Whether the report lists all minimal nodes of the lattice. Without it: only where the lattice is small."""
    time_limit: float | None = Field(default=None, gt=0)
    """Seconds after which the search takes the best solution so far. Without it: it runs until the optimum is proved, or some
    seconds where there are more than a million choices of levels. Ctrl-C stops it too; a second Ctrl-C ends the program."""
    optimum: bool = False
    """Whether the search goes on until the optimum is proved, however long, where there are more than a million choices of
    levels. The gap to what is proved closes as it goes on. A time limit and Ctrl-C still end it."""

    _fits = model_validator(mode="after")(require_fitting)

    @property
    def traits(self) -> Traits:
        """As the class says; where records are left out, the n-th may be another person's."""
        return replace(super().traits, moves_records=self.suppressed == "drop")

    def promised_over(self, schema: Schema) -> list[Sequence[str]]:
        """The quasi-identifiers, all together."""
        return [schema.chosen(self.quasi, self.step)]

    def cannot_count_people(self) -> Message | None:
        """A population has one row a person, and an average over classes changes with who is in several."""
        if self.population is not None:
            return Message("technique.k_anonymize.population_not_people")
        if self.by_class or self.profitability is not None:
            return Message("technique.k_anonymize.worth_not_people")
        average = self.average_risk is not None or self.of_sizes
        return Message("technique.k_anonymize.average_not_people") if average else None

    def once(self, work: Work) -> Outcome:
        """Search, generalize, suppress; with each choice of hierarchies where there are several."""
        if self.alternatives:
            from oboro.techniques.level_limits import best_of_hierarchies

            alone = self.model_copy(update={"alternatives": {}})
            return best_of_hierarchies(work, self.alternatives, self.step, alone.once)
        asked = self.pose(work)
        if asked.problem is None:
            return Outcome(work.data, work.schema, {"k": self.k, "records": 0}, (asked.promise,))
        run = self._run_local if self.recoding == "local" else self._run_global
        outcome = replace(run(work, asked, asked.problem), promises=(asked.promise,))
        if not self.blind:
            return outcome
        from oboro.techniques.requirements import keeps_or_not

        return keeps_or_not(outcome, asked.promise, person_left(work.person, work.data, outcome.data), self.k)

    def pose(self, work: Work) -> AskedOfLevels:
        """What is to be decided, before anything is."""
        data, schema = work.data, work.schema
        if self.suppress_people and work.person is None:
            raise UsageError(Message("error_technique.whole_people_of_whom", step=self.step))
        names, demands = schema.chosen(self.quasi, self.step), self.demands(schema)
        further = [*self.suppress_also, *([] if self.target is None else [self.target])]
        if self.aggregates:
            self.require_aggregates(names)
        schema.require(data, [*names, *dict(demands), *further], self.step)
        if both := {*names, *dict(demands)}.intersection(self.suppress_also):
            columns = [name for name in self.suppress_also if name in both]
            raise UsageError(Message("error_technique.also_asked", step=self.step, columns=columns))
        population = None
        if self.population is not None:
            from oboro.techniques.population import PopulationCodes

            population = PopulationCodes.read(self.population, work, names)
        held = data.select(names).columns if population is None else population.columns
        hierarchies = dict(zip(names, map(schema.hierarchy, names, held.values()), strict=True))
        models, rules = self._secrets_asked(work, demands)
        models += self.size_models(data.rows if work.person is None else int(np.count_nonzero(work.person.counts)))
        models += [] if population is None else self.population_limits(population.table, hierarchies)
        models += [] if self.profitability is None else self.worth_limits(hierarchies, population)
        promise = Promise(self.step, tuple(names), (KAnonymity(k=self.k), *models), self.suppressed == "exempt")
        asked = AskedOfLevels(promise, hierarchies, self.limits, None)
        if data.rows == 0:
            return asked
        problem = self._problem(held, work, hierarchies, () if self.blind else rules, work.person)
        if population is not None:
            problem = replace(problem, population=self.people_over(population, problem, asked.allowed.levels))
        return replace(asked, problem=asked.allowed.restrict(problem) if self.limits else problem)

    @staticmethod
    def _secrets_asked(
        work: Work, demands: Sequence[tuple[str, AttributeModel]]
    ) -> tuple[list[Model], tuple[Rule, ...]]:
        """What the verifier is to check of each sensitive column, and what the search decides by; nothing without records."""
        models: list[Model] = []
        rules: list[Rule] = []
        secrets: dict[str, list[Column]] = {}
        for name, demand in demands:
            if name not in secrets:
                secrets[name] = work.schema.secret_readings(name, work.data)
            readings, fold = secrets[name], work.schema.fold(name)
            for secret in readings if demand.compares_with_table else readings[:1]:
                tree = work.schema.hierarchy(name, secret) if demand.hierarchical else None
                if secret is readings[0]:
                    models.append(judge_attribute(demand, name, tree).folding(fold))
                if work.data.rows:
                    rule = rule_of(demand.folding(secret, fold) if fold else demand, name, secret, tree)
                    rules.append(rule if work.person is None else rule.counting(work.person))
        return models, tuple(rules)

    def plan(self, schema: Schema) -> Words:
        """What is demanded, of which columns, at what price."""
        whose = "alike" if schema.person is None else "people"
        demands = [Message(f"technique.demand.{whose}", k=self.k, person=schema.person)]
        demands += [demand.plan(name) for name, demand in self.demands(schema)]
        demands += [*self.limits_told(schema), *self.worth_told()]
        limit = Message("technique.k_anonymize.no_suppression")
        if self.suppress:
            people = "_people" if self.suppress_people else ""
            limit = Message(f"technique.k_anonymize.suppress{people}", share=self.suppress)
        if self.suppress and self.suppressed != "class":
            limit = Message("text.sentences", said=[limit, Message(f"technique.k_anonymize.{self.suppressed}")])
        (how, best), columns = self._search_told(), schema.chosen(self.quasi, self.step)
        told = {"how": how, "demands": demands, "limit": limit, "best": best}
        plan = self.aggregates_told(Message("technique.k_anonymize.plan", columns=columns, **told))
        if not self.demands(schema):
            return plan
        from oboro.techniques.requirements import told_of_secrets

        return told_of_secrets(plan, blind=self.blind, suppresses=self.suppress > 0)

    def _search_told(self) -> tuple[Message, Message]:
        """How each column is generalized, and which choice of levels is taken."""
        if self.recoding == "local":
            best = Message("technique.k_anonymize.finest_first", loss=self.loss)
            return Message("technique.k_anonymize.by_class"), best
        if self.levels is not None:
            return Message("technique.k_anonymize.given_levels"), Message("technique.k_anonymize.no_search")
        best = Message("technique.k_anonymize.least_loss", loss=self.loss)
        if self.alternatives:
            return Message("technique.k_anonymize.one_level"), Message(
                "technique.k_anonymize.least_loss_of_hierarchies", loss=self.loss, columns=list(self.alternatives)
            )
        if self.limits:
            best = Message("technique.k_anonymize.least_loss_allowed", loss=self.loss, columns=list(self.limits))
        return Message("technique.k_anonymize.one_level"), best

    def _problem(
        self,
        columns: Mapping[str, Column],
        work: Work,
        hierarchies: Mapping[str, Hierarchy],
        rules: tuple[Rule, ...],
        person: Column | None,
    ) -> Problem:
        held, steps = tuple(columns.values()), tuple(hierarchies.values())
        rows = len(held[0])
        together = self.average_risk is not None and self.suppressed == "class"
        whole = np.count_nonzero(person.counts) if person is not None and self.suppress_people else rows
        return Problem(
            columns=held,
            hierarchies=steps,
            k=self.least_class(rows if person is None else int(np.count_nonzero(person.counts))),
            limit=int(np.floor(self.suppress * whole + 1e-9)),
            rules=rules,
            loss=self.loss_over(columns, hierarchies, work.schema, work.data),
            most_classes=most_classes(self.average_risk or 1.0, rows, self.step) if together else None,
            kept_risk=self.average_risk,
            class_sizes=self.size_limits(rows) if self.of_sizes else (),
            earnings=None if self.profitability is None else self.earnings(hierarchies),
            person=person,
            whole_people=self.suppress_people,
            relaxed=self.suppressed != "class",
        )

    def _run_global(self, work: Work, asked: AskedOfLevels, problem: Problem) -> Outcome:
        data, hierarchies, checker = work.data, asked.hierarchies, checker_for(problem)
        found = self.decide(asked, problem, checker, work.say)
        assert found.best is not None
        rows = checker.suppressed_rows(found.best)
        some = bool(rows.any())

        def release(name: str, held: Column, hierarchy: Hierarchy, level: int) -> Column:
            column = hierarchy.generalize(held, level) if level else data[name]
            return column.where(rows, STAR) if some else column

        found = asked.allowed.found(found) if self.limits else found
        found = found if self.presence is None else self.as_sure(found)
        assert found.best is not None
        each = hierarchies, problem.columns, hierarchies.values(), found.best.levels
        columns = dict(zip(hierarchies, on_cores(release, *each, rows=data.rows), strict=True))
        outcome = self.told(work.schema, problem, found, hierarchies, int(rows.sum()))
        outcome = replace(outcome, data=data.with_columns(columns))
        if self.aggregates:
            outcome = self.with_class_values(outcome, data, asked.names, rows)
        return treated(outcome, self.suppressed, rows, self.suppress_also)

    def told(
        self, schema: Schema, problem: Problem, found: SearchResult, hierarchies: Mapping[str, Hierarchy], gone: int
    ) -> Outcome:
        """What came of the search, without any rows: so many of them are suppressed."""
        assert found.best is not None
        for (name, hierarchy), level in zip(hierarchies.items(), found.best.levels, strict=True):
            if level > 0:
                schema = schema.with_remaining(name, hierarchy.above(level))
        given = self.levels is not None
        facts = global_facts(problem, found, hierarchies, gone, loss=self.loss, k=self.k, given=given)
        return Outcome(Dataset({}, 0), schema, facts, warnings=warnings(problem, found))

    def decide(
        self,
        asked: AskedOfLevels,
        problem: Problem,
        checker: NodeChecker | SlicedChecker,
        say: Callable[[Words], None],
    ) -> SearchResult:
        """The best levels, as the checker counts them; raises where there are none."""
        if self.levels is None:
            found = self._search(problem, checker, say)
        else:
            found = _at(problem, checker, asked.allowed.given(self.levels, asked.names, self.step))
        if found.best is None and found.stopped == "time":
            raise PromiseError(Message("error_technique.time_limit", step=self.step))
        if found.best is None:
            raise PromiseError(self.why_not(problem, found.top.suppressed, found.top.satisfying, asked.names))
        return found

    def _search(
        self, problem: Problem, checker: NodeChecker | SlicedChecker, say: Callable[[Words], None]
    ) -> SearchResult:
        minimal = problem.lattice.size <= SMALL_LATTICE if self.minimal is None else self.minimal
        options: dict[str, Any] = {"strategy": self.search, "minimal": minimal, "time_limit": self.time_limit}
        options["prove"] = self.optimum
        find: Callable[..., SearchResult] = search
        if self.aggregate == "rank":
            from oboro.algorithms.lattice.search import search_by_rank as find
        if say is not silent:
            options["tell"] = lambda so_far: say(progress(self.step, so_far))
        found = find(problem, checker, **options)
        if problem.population is not None:
            from oboro.techniques.population import sure_of_labels

            found = sure_of_labels(found, problem, find)
        if found.stopped == "interrupt":
            say(Message("progress.search_interrupted", step=self.step))
        return found

    def _run_local(self, work: Work, asked: AskedOfLevels, problem: Problem) -> Outcome:
        data, schema, hierarchies = work.data, work.schema, asked.hierarchies
        from oboro.algorithms.lattice.local_recoding import recode

        recoded = recode(problem) if problem.k <= problem.people else None
        if recoded is None:
            raise PromiseError(self.why_not(problem, problem.rows, True, asked.names))
        recoded, columns = asked.allowed.recoded(recoded), {}
        for a, (name, hierarchy) in enumerate(hierarchies.items()):
            columns[name] = mixed(data[name], hierarchy, recoded, a)
            schema = schema.with_remaining(name, HierarchySpec().build(name, columns[name]))
        outcome = Outcome(
            data.with_columns(columns),
            schema,
            local_facts(problem, recoded, hierarchies, loss=self.loss, k=self.k),
        )
        outcome = self.with_class_values(outcome, data, asked.names, recoded.rows < 0)
        return treated(outcome, self.suppressed, recoded.rows < 0, self.suppress_also)

    def why_not(self, problem: Problem, suppressed: int, satisfying: bool, names: list[str]) -> Message:
        """No node can be released: say how far away the coarsest one is, and the ways out."""
        given = self.levels is not None
        return no_levels(problem, suppressed, satisfying, names, step=self.step, given=given, limited=self.limits)


def _at(problem: Problem, checker: NodeChecker | SlicedChecker, levels: tuple[int, ...]) -> SearchResult:
    """One look at levels that somebody gave."""
    node = checker.check(levels)
    best = node if node.feasible else None
    return SearchResult(best, None, [], problem.lattice.size, 1, 0, problem.lattice.size - 1, node, exact=False)
