"""(ε, δ)-differentially private release of a table: a random sample, generalized, without small classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from oboro.algorithms.private_sampling import (
    DETAIL,
    MOST_NODES,
    drawn_records,
    largest_sampling,
    least_class_size,
    node_details,
    node_scores,
    nodes_between,
    noisy_best,
    risk_of_sample,
)
from oboro.data.grouping import Groups
from oboro.data.parameters import Parameters
from oboro.errors import UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.notations.texts import texts_of
from oboro.schema import Opinion, PrivacySpent, Schema
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.text import Message, Words
from oboro.verifier.differential import SampledPrivacy
from oboro.verifier.promises import Promise

__all__ = ["DpAnonymize", "LevelRange"]


class LevelRange(Parameters):
    """Between which levels one may be chosen."""

    least: int = Field(default=0, ge=0)
    """The finest level."""
    greatest: int | None = Field(default=None, ge=0)
    """The coarsest level; without it the last one."""


class DpAnonymize(Technique):
    """Keep each record with a fixed probability, generalize, and leave out what occurs fewer than k times.

    Whether any one person's record is in the table changes the probability of every possible release by a factor of e^ε at most,
    but for a probability of δ (SafePub; Li, Qardaji and Su). k follows from ε, δ and the sampling. Levels are given, or chosen at
    random so that better ones are likelier (`search_epsilon`, a part of `epsilon`). Rows come in the order of their values.

    Given: all columns that are still there are quasi-identifiers (drop the others before); one record a person; hierarchies that
    do not depend on the table, and before this step only steps that look at each record alone.
    Promises: (ε, δ)-differential privacy of the released table, whatever is done to it later, against whoever knows everybody
    else's records and this method; at least k equal rows wherever there is one.
    Checked by: tests/techniques/test_dp_anonymize.py (the distribution of the release, exactly, on small tables; neighbouring
    tables over many runs; sensitivity of the scores), and on every release by oboro.verifier.promises, which computes k
    again. The argument is in docs/guarantees/differential-privacy.md.

    >>> people = {"sex": ["F", "M"] * 200}
    >>> step = DpAnonymize(epsilon=1, delta=1e-4, levels={"sex": 0})
    >>> sorted(set(step.apply(people, attributes={"sex": {"role": "quasi"}})["sex"]))
    ['F', 'M']
    """

    step: ClassVar[str] = "dp_anonymize"
    promises: ClassVar[bool] = True
    iso: ClassVar[Words] = Message("technique.dp_anonymize.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"epsilon": 1, "delta": 1e-3, "quasi": ["age", "sex"], "levels": {"age": 1, "sex": 1}},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample(
        {"epsilon": 1, "delta": 0.00937, "levels": {"age": 2, "job": 1}},
        dropped=("name", "canarycolumn", "illness", "income", "height", "visit"),
    )
    random: ClassVar[bool] = False
    coarser: ClassVar[bool] = True
    reorders: ClassVar[bool] = True
    moves_records: ClassVar[bool] = True
    uses_hierarchies: ClassVar[bool] = True
    by_construction: ClassVar[Words | None] = Message("technique.dp_anonymize.by_construction")
    opinion: ClassVar[Opinion | None] = "aggregation"

    epsilon: float = Field(ge=1e-3, le=4)
    """The whole budget: one record more or less changes no probability by more than a factor of e^epsilon."""
    delta: float = Field(gt=0, le=0.01)
    """With which probability more than that may be told; well below 1 / the number of records."""
    quasi: list[str] | None = Field(default=None, min_length=1)
    """The columns. Without it: all quasi-identifiers. No other column may be left."""
    levels: dict[str, Annotated[int, Field(ge=0)]] | None = None
    """The level of each column, chosen without a look at the table."""
    search_epsilon: float | None = Field(default=None, gt=0)
    """Instead of `levels`: the part of epsilon that choosing them takes (exponential mechanism)."""
    limits: dict[str, LevelRange] = Field(default_factory=dict)
    """With `search_epsilon`: for some columns between which levels to choose."""
    sampling: float | None = Field(default=None, gt=0, lt=1)
    """Which part of the records is drawn. Without it the largest that epsilon allows: more records, but a larger k."""

    @model_validator(mode="after")
    def _fits(self) -> DpAnonymize:
        if (self.levels is None) == (self.search_epsilon is None):
            raise ValueError(Message("error_technique.dp_levels"))
        if self.search_epsilon is not None and self.search_epsilon >= self.epsilon:
            raise ValueError(Message("error_technique.dp_search", epsilon=self.epsilon))
        if self.limits and self.search_epsilon is None:
            raise ValueError(Message("error_technique.dp_limits"))
        if self.sampling is not None and self.sampling > largest_sampling(self.left):
            raise ValueError(
                Message("error_technique.dp_sampling", most=largest_sampling(self.left), epsilon=self.left)
            )
        return self

    @property
    def left(self) -> float:
        """Part of epsilon that remains after choosing the levels."""
        return self.epsilon - (self.search_epsilon or 0.0)

    @property
    def drawn(self) -> float:
        """Part of the records that is drawn."""
        return self.sampling or largest_sampling(self.left)

    @property
    def k(self) -> int:
        """Number of sampled records that a class needs."""
        return least_class_size(self.left, self.delta, self.drawn)

    @property
    def rests_on_chance(self) -> bool:
        """It does, but on none that a seed repeats."""
        return False

    def spends(self) -> tuple[PrivacySpent, ...]:
        """Epsilon and delta, of somebody's record being there or not."""
        return (PrivacySpent("record", self.epsilon, self.delta),)

    def cannot_count_people(self) -> Message | None:
        """One record more or less is not one person more or less."""
        return Message("technique.dp_anonymize.not_people")

    def promises_known(self, schema: Schema) -> tuple[Promise, ...]:
        """Classes as large as the sample needs, and no column beside them."""
        spent = self.search_epsilon or 0.0
        model = SampledPrivacy(epsilon=self.epsilon, delta=self.delta, sampling=self.drawn, spent=spent)
        return (Promise(self.step, tuple(schema.chosen(self.quasi, self.step)), (model,)),)

    def promised_over(self, schema: Schema) -> list[Sequence[str]]:
        """All columns."""
        return [schema.chosen(self.quasi, self.step)]

    def reads(self, names: Sequence[str]) -> Sequence[str]:
        """All: what is beside its columns must be seen, to be refused."""
        return names

    def require_before(self, steps: Sequence[Technique]) -> None:
        """Whatever looked at several records lets one of them change what is released of others."""
        if looking := [step.step for step in steps if not step.record_by_record]:
            raise UsageError(Message("error_technique.dp_before", step=self.step, steps=looking))

    def run(self, work: Work) -> Outcome:
        """Choose levels, draw, generalize, leave small classes out."""
        names = work.schema.chosen(self.quasi, self.step)
        work.schema.require(work.data, names, self.step)
        self._require_alone(work, names)
        data, schema = work.data, work.schema.with_labels_of_any_number()
        hierarchies = {name: schema.hierarchy(name, work.data[name]) for name in names}
        levels = self._levels(work, hierarchies)
        for (name, hierarchy), level in zip(hierarchies.items(), levels, strict=True):
            data = data.with_columns({name: hierarchy.generalize(data[name], level)})
            schema = schema.with_remaining(name, hierarchy.above(level)) if level else schema
        data = data.take(np.flatnonzero(drawn_records(data.rows, self.drawn)))
        groups = Groups.of([data[name] for name in names], data.rows)
        data = data.take(np.flatnonzero(groups.sizes[groups.labels] >= self.k)) if data.rows else data
        data = data.take(_by_values([data[name] for name in names], data.rows))
        warned = (Message("technique.dp_anonymize.not_private"),)
        return Outcome(
            data,
            schema,
            self._facts(hierarchies, levels, work.data.rows, data.rows),
            self.promises_known(work.schema),
            warned,
        )

    def plan(self, schema: Schema) -> Words:
        """The budget, the sample, k, and how levels come about."""
        columns = schema.chosen(self.quasi, self.step)
        how = Message("technique.dp_anonymize.given_levels")
        if self.search_epsilon is not None:
            how = Message("technique.dp_anonymize.chosen_levels", epsilon=self.search_epsilon)
        figures = {"epsilon": self.epsilon, "delta": self.delta, "sampling": self.drawn, "k": self.k}
        return Message("technique.dp_anonymize.plan", columns=columns, how=how, **figures)

    def _require_alone(self, work: Work, names: Sequence[str]) -> None:
        """No other column, and no hierarchy that depends on the table."""
        if beside := [name for name in work.data if name not in names]:
            raise UsageError(Message("error_technique.dp_beside", step=self.step, columns=beside))
        given = {name: work.schema.attributes[name].hierarchy for name in names if name in work.schema.attributes}
        if bent := [name for name, one in given.items() if one is not None and one.of_the_table]:
            raise UsageError(Message("error_technique.dp_hierarchies", step=self.step, columns=bent))
        labelled = {name: one for name, one in given.items() if one is not None and name in work.schema.remaining}
        if open_ := [name for name, one in labelled.items() if one.of_any_number is not one]:
            raise UsageError(Message("error_technique.dp_numbers", step=self.step, columns=open_))

    def _levels(self, work: Work, hierarchies: Mapping[str, Hierarchy]) -> Sequence[int]:
        heights = [hierarchy.height for hierarchy in hierarchies.values()]
        if self.levels is not None:
            if set(self.levels) != set(hierarchies):
                raise UsageError(Message("error_technique.levels_of", step=self.step, names=list(hierarchies)))
            self._require_heights({name: LevelRange(greatest=one) for name, one in self.levels.items()}, hierarchies)
            return [self.levels[name] for name in hierarchies]
        return self._chosen(work, hierarchies, heights)

    def _require_heights(self, ranges: Mapping[str, LevelRange], hierarchies: Mapping[str, Hierarchy]) -> None:
        for name, one in ranges.items():
            top = hierarchies[name].height if name in hierarchies else -1
            if max(one.least, one.greatest or 0) > top or one.least > (top if one.greatest is None else one.greatest):
                level = max(one.least, one.greatest or 0)
                raise UsageError(
                    Message("error_technique.level_range", step=self.step, name=name, height=top, level=level)
                )

    def _chosen(self, work: Work, hierarchies: Mapping[str, Hierarchy], heights: Sequence[int]) -> Sequence[int]:
        """Levels by the exponential mechanism, on the whole table."""
        assert self.search_epsilon is not None
        work.schema.require(work.data, self.limits, self.step)
        self._require_heights(self.limits, hierarchies)
        limits = [self.limits.get(name, LevelRange()) for name in hierarchies]
        greatest = [top if one.greatest is None else one.greatest for one, top in zip(limits, heights, strict=True)]
        count = int(np.prod([high - one.least + 1 for one, high in zip(limits, greatest, strict=True)], dtype=object))
        if count > MOST_NODES:
            raise UsageError(Message("error_technique.dp_nodes", step=self.step, nodes=count, most=MOST_NODES))
        nodes = nodes_between([one.least for one in limits], greatest)
        known = work.schema.attributes
        weights = [known[name].weight if name in known else 1.0 for name in hierarchies]
        details = node_details(nodes, heights, weights)
        columns, least = [work.data[name] for name in hierarchies], ceil(self.k / self.drawn)
        scores = node_scores(nodes, details, columns, list(hierarchies.values()), least)
        return nodes[noisy_best(scores, DETAIL, self.search_epsilon)]

    def _facts(
        self, hierarchies: Mapping[str, Hierarchy], levels: Sequence[int], before: int, after: int
    ) -> dict[str, Any]:
        pairs = zip(hierarchies.items(), levels, strict=True)
        return {
            "k": self.k,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "search_epsilon": self.search_epsilon,
            "sampling": self.drawn,
            "delta_reached": risk_of_sample(self.k, self.left, self.drawn),
            "levels": {name: {"level": level, "of": hierarchy.height} for (name, hierarchy), level in pairs},
            "records": before,
            "kept": after,
        }


def _by_values(columns: Sequence[Any], rows: int) -> np.ndarray:
    """The rows in the order of their texts, so that their order tells nothing else."""
    keys = []
    for column in reversed(columns):
        texts = texts_of(column.values)
        place = np.empty(len(texts), dtype=np.int64)
        place[sorted(range(len(texts)), key=lambda i: (texts[i] is not None, texts[i] or ""))] = np.arange(len(texts))
        keys.append(place[column.codes])
    return np.asarray(np.lexsort(keys)) if keys else np.arange(rows)
