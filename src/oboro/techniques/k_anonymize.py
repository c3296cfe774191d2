"""Make everyone look like at least k − 1 others: the best generalization that does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from oboro.errors import PromiseError, UsageError, listing
from oboro.evaluate.models import KAnonymity
from oboro.evaluate.verify import Promise
from oboro.partition.lens import Lens
from oboro.partition.losses import LossName, loss_of
from oboro.partition.problem import Node, Problem
from oboro.partition.recode import Recoding, recode
from oboro.partition.rules import Rule
from oboro.partition.search import Found, Strategy, lens_for, search
from oboro.partition.slices import Slices
from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy import Hierarchy, HierarchySpec
from oboro.table.schema import Schema
from oboro.table.values import STAR, texts_of
from oboro.techniques.base import Outcome, Technique, Work
from oboro.techniques.demands import Alpha, Closeness, Demand, Diversity

__all__ = ["Alpha", "Closeness", "Diversity", "KAnonymize"]

SMALL_LATTICE = 2000  # up to here all minimal nodes are listed without being asked for

Share = Annotated[float, Field(gt=0, le=1)]


class KAnonymize(Technique):
    """Generalize the quasi-identifiers, each to one level for all, so that every record looks like at least k − 1
    others.

    Of all choices of levels the one with the least loss is taken. Records of classes that stay too small (or break
    one of the other demands) are suppressed: every quasi-identifier becomes `*`. The suppressed records are a class
    of the release too, so there are either none of them or enough to keep every demand; where they are too few, whole
    classes join them. With local recoding every class takes the finest levels that it can instead; values of one
    column are then of several levels.

    Given: quasi-identifiers with hierarchies (without one: the value or `*`); for l-diversity, t-closeness and alpha,
    sensitive columns. A missing value is a value of its own.
    Promises: every class of the release has at least k records and keeps every other demand, suppressed records
    included; at most the share `suppress` of the records is suppressed; no choice of levels that does the same has a
    smaller loss (unless the report says that the lattice was too large or the time too short to be sure, and then how
    far the best can be). The order of the rows does not matter. Other columns, rows and their order stay.
    Checked by: tests/test_k_anonymize.py and tests/test_lattice.py (brute force over the whole lattice), and on every
    release by oboro.evaluate.verify. The argument is in docs/guarantees/k-anonymize.md.

    >>> people = {"age": [31, 32, 38, 45], "sex": ["F", "M", "F", "M"]}
    >>> roles = {"age": {"role": "quasi", "hierarchy": {"intervals": [10, 20]}}, "sex": {"role": "quasi"}}
    >>> KAnonymize(k=2).apply(people, attributes=roles)
    {'age': ['*', '*', '*', '*'], 'sex': ['F', 'M', 'F', 'M']}
    """

    step: ClassVar[str] = "k_anonymize"
    uses_hierarchies: ClassVar[bool] = True

    k: int = Field(ge=1)
    """The least number of records that must look alike."""
    suppress: float = Field(0.0, ge=0, le=1)
    """The greatest share of the records that may be suppressed."""
    l_diversity: dict[str, Annotated[float, Field(ge=1)] | Diversity] = Field(default_factory=dict)
    """For each sensitive column the number of different values that every class must hold, or l with kind and c."""
    t_closeness: dict[str, Annotated[float, Field(ge=0, le=1)] | Closeness] = Field(default_factory=dict)
    """For each sensitive column how far a class may be from the whole table, or t with distance."""
    alpha: Share | dict[str, Share | Alpha] = Field(default_factory=dict)
    """The greatest part of a class that one sensitive value may make up: for all sensitive columns, or for each."""
    loss: LossName = "loss"
    """What is minimized: loss (share of the domain, NCP), precision, entropy, discernibility, average_class_size, or
    arx.
    """
    search: Strategy = "auto"
    """auto: whatever is fastest; depth_first: bottom-up with a stack. Both are exact and find the same."""
    recoding: Literal["global", "local"] = "global"
    """global: one level per column for all records; local: every class takes the finest levels that it can."""
    levels: dict[str, Annotated[int, Field(ge=0)]] | None = None
    """Levels found earlier, to be applied as they are (to the next delivery, say): nothing is searched, all is
    checked.
    """
    quasi: list[str] | None = Field(None, min_length=1)
    """The columns to generalize; without it all quasi-identifiers."""
    minimal: bool | None = None
    """Whether to list all minimal nodes in the report; without it only where the lattice is small."""
    time_limit: float | None = Field(None, gt=0)
    """Seconds after which the best choice so far is taken; without it the search goes on until it is sure."""

    @model_validator(mode="after")
    def _fits(self) -> KAnonymize:
        if self.levels is not None and self.recoding == "local":
            raise ValueError("levels: local recoding chooses its own; give one or the other")
        return self

    def run(self, work: Work) -> Outcome:
        """Search, generalize, suppress."""
        data, schema = work.data, work.schema
        names, demands = self._quasi(schema), self._demands(schema)
        schema.require(data, [*names, *(sensitive for sensitive, _ in demands)], self.step)
        hierarchies = {name: schema.hierarchy(name, data[name]) for name in names}
        trees = {name: schema.hierarchy(name, data[name]) for name, demand in demands if demand.hierarchical}
        models = [demand.model(name, trees.get(name) if demand.hierarchical else None) for name, demand in demands]
        promise = Promise(self.step, tuple(names), (KAnonymity(k=self.k), *models))
        if data.rows == 0:
            return Outcome(data, schema, {"k": self.k, "records": 0}, (promise,))
        rules = tuple(demand.rule(name, data[name], trees.get(name)) for name, demand in demands)
        problem = self._problem(data, schema, hierarchies, rules)
        run = self._run_local if self.recoding == "local" else self._run_global
        released, schema, facts = run(data, schema, problem, hierarchies)
        return Outcome(released, schema, facts, (promise,))

    def explain(self, schema: Schema) -> str:
        """What is demanded, of which columns, at what price."""
        demands = [f"at least {self.k} records look alike"]
        demands += [demand.words(name) for name, demand in self._demands(schema)]
        some = f"at most {self.suppress:.4g} of the records may be suppressed (`*`)"
        how, best = "each to one level", f"Among all levels that do, take those with the least loss ({self.loss})"
        if self.levels is not None:
            how, best = "each to the level given", "Nothing is searched"
        if self.recoding == "local":
            how, best = (
                "each class as little as it can",
                f"Go from the finest levels to the coarsest by their loss ({self.loss})",
            )
        return (
            f"Generalize {listing(self._quasi(schema), most=30)}, {how}, so that in every class "
            f"{', '.join(demands)}; {some if self.suppress else 'no record is suppressed'}. {best}."
        )

    def _quasi(self, schema: Schema) -> list[str]:
        names = self.quasi if self.quasi is not None else schema.quasi
        if not names:
            raise UsageError(
                f"{self.step}: there is no quasi-identifier; give a column that role, or name columns in quasi"
            )
        if len(set(names)) < len(names):
            raise UsageError(
                f"{self.step}: a column is named twice in quasi: {listing(names, most=30)}; name each once"
            )
        return names

    def _demands(self, schema: Schema) -> list[tuple[str, Demand]]:
        """Every demand beyond k with its sensitive column."""
        alpha: Mapping[str, float | Alpha]
        alpha = self.alpha if isinstance(self.alpha, dict) else dict.fromkeys(schema.sensitive, self.alpha)
        if not alpha and self.alpha:
            raise UsageError(f"{self.step}: alpha needs a sensitive column; give one that role, or name it under alpha")
        demands: list[tuple[str, Demand]] = []
        demands += [(name, d if isinstance(d, Diversity) else Diversity(l=d)) for name, d in self.l_diversity.items()]
        demands += [(name, d if isinstance(d, Closeness) else Closeness(t=d)) for name, d in self.t_closeness.items()]
        demands += [(name, d if isinstance(d, Alpha) else Alpha(alpha=d)) for name, d in alpha.items()]
        both = [name for name, _ in demands if name in self._quasi(schema)]
        if both:
            raise UsageError(f"{self.step}: {listing(both)} is a quasi-identifier; a column is either known or secret")
        return demands

    def _problem(
        self, data: Dataset, schema: Schema, hierarchies: Mapping[str, Hierarchy], rules: tuple[Rule, ...]
    ) -> Problem:
        columns = tuple(data[name] for name in hierarchies)
        weights = [schema.attributes[name].weight if name in schema.attributes else 1.0 for name in hierarchies]
        return Problem(
            columns=columns,
            hierarchies=tuple(hierarchies.values()),
            k=self.k,
            limit=int(np.floor(self.suppress * data.rows + 1e-9)),
            rules=rules,
            loss=loss_of(self.loss, columns, tuple(hierarchies.values()), weights, self.k),
        )

    def _run_global(
        self, data: Dataset, schema: Schema, problem: Problem, hierarchies: Mapping[str, Hierarchy]
    ) -> tuple[Dataset, Schema, dict[str, Any]]:
        lens = lens_for(problem)
        found = self._search(problem, lens, list(hierarchies))
        if found.best is None:
            raise PromiseError(self._why_not(problem, found.top.suppressed, found.top.satisfying, list(hierarchies)))
        rows = lens.suppressed_rows(found.best.levels)
        columns = {}
        for (name, hierarchy), level in zip(hierarchies.items(), found.best.levels, strict=True):
            column = hierarchy.generalize(data[name], level)
            columns[name] = column.where(rows, STAR) if rows.any() else column
            if level > 0:
                schema = schema.with_remaining(name, hierarchy.above(level))
        return data.with_columns(columns), schema, self._facts(problem, found, list(hierarchies))

    def _search(self, problem: Problem, lens: Lens | Slices, names: list[str]) -> Found:
        if self.levels is None:
            minimal = problem.lattice.size <= SMALL_LATTICE if self.minimal is None else self.minimal
            return search(problem, lens, strategy=self.search, minimal=minimal, time_limit=self.time_limit)
        node = lens.look(self._fixed(problem, names))
        best = node if node.feasible else None
        return Found(best, None, [], problem.lattice.size, 1, 0, problem.lattice.size - 1, node, exact=False)

    def _fixed(self, problem: Problem, names: list[str]) -> tuple[int, ...]:
        """The levels that were given."""
        assert self.levels is not None
        if set(self.levels) != set(names):
            raise UsageError(
                f"{self.step}: levels must name the quasi-identifiers {listing(names, most=30)}, each once"
            )
        levels = tuple(self.levels[name] for name in names)
        high = [n for n, level, top in zip(names, levels, problem.lattice.heights, strict=True) if level > top]
        if high:
            raise UsageError(f"{self.step}: the level of {listing(high)} is above the top of its hierarchy")
        return levels

    def _run_local(
        self, data: Dataset, schema: Schema, problem: Problem, hierarchies: Mapping[str, Hierarchy]
    ) -> tuple[Dataset, Schema, dict[str, Any]]:
        recoded = recode(problem) if problem.k <= problem.rows else None
        if recoded is None:
            raise PromiseError(self._why_not(problem, problem.rows, True, list(hierarchies)))
        columns = {}
        for a, (name, hierarchy) in enumerate(hierarchies.items()):
            columns[name] = _mixed(data[name], hierarchy, recoded, a)
            schema = schema.with_remaining(name, HierarchySpec().build(name, columns[name]))
        return data.with_columns(columns), schema, self._local_facts(problem, recoded, list(hierarchies))

    def _why_not(self, problem: Problem, suppressed: int, satisfying: bool, names: list[str]) -> str:
        """No node can be released: say how far away the coarsest one is, and the ways out."""
        where = "even on the coarsest levels" if self.levels is None else "on the levels given"
        need = f"{where} {suppressed} of {problem.rows} records would have to be suppressed"
        if problem.k > problem.rows:
            need = f"the table has only {problem.rows} records"
        elif satisfying:
            need = (
                f"{where} {suppressed} of {problem.rows} records are left, too few or too alike to be a "
                "safe class of their own, and adding whole classes passes the limit"
            )
        open_ = [name for name, h in zip(names, problem.hierarchies, strict=True) if len(h.levels[-1].labels) > 1]
        coarser = f"give {listing(open_)} a coarser level (such as `*`), " if open_ else ""
        return (
            f"{self.step}: no choice of levels keeps the promise: {need}, and suppress allows {problem.limit}; "
            f"raise suppress, {coarser}lower k or relax the other demands, or use fewer quasi-identifiers"
        )

    def _facts(self, problem: Problem, found: Found, names: list[str]) -> dict[str, Any]:
        best = found.best
        assert best is not None
        chosen = zip(names, best.levels, problem.lattice.heights, strict=True)
        gone = best.suppressed + best.extra
        lattice = {"nodes": found.size, "evaluated": found.evaluated, "tagged": found.tagged, "skipped": found.skipped}
        return {
            "k": self.k,
            "recoding": "global",
            "levels": {name: {"level": level, "of": height} for name, level, height in chosen},
            "loss": {"name": self.loss, "value": best.loss, "exact": found.exact, "bound": found.bound},
            "suppressed": {"records": gone, "extra": best.extra, "limit": problem.limit, "of": problem.rows},
            "lattice": lattice,
            "minimal": None if found.minimal is None else [list(levels) for levels in found.minimal],
            "runners_up": [_runner_up(node) for node in found.runners_up],
        }

    def _local_facts(self, problem: Problem, recoded: Recoding, names: list[str]) -> dict[str, Any]:
        rows = np.bincount(recoded.rows[recoded.rows >= 0], minlength=len(recoded.nodes))
        chosen: dict[str, Any] = {}
        for a, (name, height) in enumerate(zip(names, problem.lattice.heights, strict=True)):
            levels = [node[a] for node in recoded.nodes]
            counts = np.bincount(levels, weights=rows, minlength=height + 1).astype(int)
            chosen[name] = {"records": counts.tolist(), "of": height}
        return {
            "k": self.k,
            "recoding": "local",
            "levels": chosen,
            "loss": {"name": self.loss, "value": recoded.loss},
            "suppressed": {"records": recoded.suppressed, "limit": problem.limit, "of": problem.rows},
            "lattice": {"nodes": problem.lattice.size, "used": len(recoded.nodes)},
            "classes": recoded.classes,
        }


def _runner_up(node: Node) -> dict[str, Any]:
    """A node that was looked at and is not the best; where its loss is not `exact`, it is at least so much."""
    gone = node.suppressed + node.extra
    return {"levels": list(node.levels), "loss": node.loss, "exact": node.settled, "suppressed": gone}


def _mixed(column: Column, hierarchy: Hierarchy, recoded: Recoding, a: int) -> Column:
    """The column with each record on its own level; one look-up table over levels and codes."""
    level_of = np.array([*(node[a] for node in recoded.nodes), 0], dtype=np.uint8)[recoded.rows]
    used = [int(level) for level in np.unique(level_of[recoded.rows >= 0])]
    gone = recoded.rows < 0
    if len(used) == 1:
        whole = hierarchy.generalize(column, used[0])
        return whole.where(gone, STAR) if gone.any() else whole
    labels = [pa.array(texts_of(hierarchy.levels[level].labels), pa.string()) for level in used]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in labels])])
    table = np.zeros((max(used) + 1, len(column.values)), dtype=np.uint32)
    for start, level in zip(starts, used, strict=False):
        table[level] = hierarchy.levels[level].table + np.uint32(start)
    mixed = Column(pa.concat_arrays(labels), table[level_of, column.codes]).tidy()
    return mixed.where(gone, STAR) if gone.any() else mixed
