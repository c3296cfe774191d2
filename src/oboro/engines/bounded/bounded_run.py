"""A recipe on a table of which the driver sees no row: values with their numbers, sums over classes, and the classes that go.

1. Tasks count how often each value of the generalized columns occurs.
2. Rows go, as codes, to buckets that no class crosses; the search asks these for sums over the classes of a few nodes a job.
3. The best node is released, verified class by class on what was written, and only then gets its name.

What the driver holds grows with distinct values and with the classes that are suppressed, not with rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from oboro.decide.lattice.nodes import Levels
from oboro.decide.lattice.problem import Node, Problem
from oboro.disclosure.gate import ReleaseCandidate, StepRecord, check_release
from oboro.engines.bounded.bounded_recipe import generalizing
from oboro.engines.bounded.bucket_checker import BucketChecker, NotBounded, cut_of
from oboro.engines.bounded.bucketed_checks import verified
from oboro.engines.bounded.bucketed_rows import Bucket, BucketCoding, BucketLook, Suppressed
from oboro.engines.bounded.released_labels import ReleasedLabels, plan_of, suppressing
from oboro.engines.bounded.remote_columns import RemoteColumns
from oboro.engines.bounded.tallied_columns import ColumnTallies, TalliedColumn
from oboro.engines.coded.plan import KnownValues
from oboro.engines.coded.value_numbers import RowNumbers, drawn_key
from oboro.engines.engine import Buckets, EngineTable
from oboro.engines.engine_errors import ChangedData
from oboro.engines.engine_release import EngineRelease, Phases, Seal
from oboro.engines.staging import Staged
from oboro.io.files import read_data
from oboro.recipe.recipe import Recipe
from oboro.recipe.released.released_order import moves_rows, warning_of_order
from oboro.recipe.released.secret_seed import warning_of_seed
from oboro.recipe.run import admitted, record_of
from oboro.table.dataset import Column, Dataset
from oboro.table.frames import Frame
from oboro.table.frames.nested_column import NestedColumn
from oboro.table.schema import Schema
from oboro.table.unencoded_columns import UnreadColumn, why_unusable
from oboro.techniques.base import Outcome, Work
from oboro.techniques.k_anonymize import KAnonymize
from oboro.text import Message
from oboro.text.progress import Progress
from oboro.verifier.promise_check import Promise

__all__ = ["BoundedRun"]

BUCKET = 1 << 20  # rows of a bucket, about
LARGEST = 1 << 22  # rows of a class at the cut, at most, where that can be had


@dataclass(frozen=True)
class _Asking:
    """Brings looks to buckets. Every bucket must be seen once, with all its rows, each time: else a worse node, or none that holds,
    would be chosen silently."""

    buckets: Buckets
    rows: int
    seen: list[list[tuple[int, int]]]

    def __call__(self, look: BucketLook, job: str) -> list[bytes]:
        def said(part: int, blocks: list[Any]) -> bytes:
            bucket = Bucket.of(blocks)
            return part.to_bytes(4, "big") + bucket.rows.to_bytes(8, "big") + look.of(bucket)

        found = sorted(self.buckets.told(said, job), key=lambda one: one[:4])
        heads = [(int.from_bytes(one[:4], "big"), int.from_bytes(one[4:12], "big")) for one in found]
        once = len(dict(heads)) == len(heads) and sum(rows for _, rows in heads) == self.rows
        if not once or heads != (self.seen or [heads])[0]:
            raise ChangedData()
        self.seen[:] = [heads]
        return [one[12:] for one in found]


@dataclass(frozen=True)
class _Decided:
    """What is released of the generalized columns."""

    outcome: Outcome
    labels: Mapping[str, ReleasedLabels]
    known: Mapping[str, KnownValues]
    suppressed: Suppressed
    promise: Promise


@dataclass(frozen=True)
class BoundedRun:
    """One run, from the rows to the release. Raises `NotBounded` where it turns out that the driver needs rows."""

    recipe: Recipe
    table: EngineTable
    folder: Staged | None
    say: Progress
    phases: Phases

    def run(self) -> EngineRelease:
        """As `Recipe.run` does."""
        recipe, table, phase = self.recipe, self.table, self.phases.phase
        numbers = RowNumbers(drawn_key())
        self.say(Message("progress.gathering", engine=table.engine))
        with phase("values"):
            original = self._tallied()
        data, given = admitted(recipe, original)
        others = tuple(name for name in recipe_released(recipe, data) if name not in generalizing(recipe))
        with phase("decide"):
            steps, schema, decided = self._stepped(data, given, numbers, others)
        with phase("last look"):
            found = check_release(self._candidate(data, given, schema, steps, decided))
        settled, seal = self._written(numbers, decided, [*recipe_released(recipe, data)])
        with phase("verify"):
            seal.check(settled)
            verification = verified(settled, decided.promise, seal.rows)
        released = Dataset({name: UnreadColumn(seal.rows) for name in settled.types}, seal.rows)
        return EngineRelease(
            worked=Frame.read(released),
            original=original,
            schema=schema,
            given=given,
            steps=tuple(steps),
            verification=found.added_to(verification),
            recipe=recipe,
            cautions=(
                *(warning_of_order(recipe.steps) if recipe.order == "kept" else ()),
                *warning_of_seed(recipe),
                *found.cautions,
            ),
            last_look=found.look,
            identifiers=found.identifiers,
            promises=(decided.promise,),
            table=settled,
            phases=dict(self.phases.seconds),
            seal=seal,
            gone=decided.suppressed.rows,
            driver=Message("error_engine.driver_classes", rows=seal.rows),
        )

    def _tallied(self) -> Dataset:
        names, types = tuple(generalizing(self.recipe)), self.table.types
        how = ColumnTallies(names)
        columns = how.together(self.table.told(names, how.part, "values"), types)
        rows = len(columns[names[0]])
        if not rows:
            raise NotBounded(Message("error_engine.rows_none"))
        return Dataset({name: columns.get(name) or _elsewhere(name, types[name], rows) for name in types}, rows)

    def _stepped(
        self, data: Dataset, schema: Schema, numbers: RowNumbers, others: tuple[str, ...]
    ) -> tuple[list[StepRecord], Schema, _Decided]:
        """Every step; all but one only leave columns out."""
        records: list[StepRecord] = []
        decided: _Decided | None = None
        for step in self.recipe.steps:
            self.say(step.step)
            started = dict(self.phases.seconds)
            work = Work(data, schema, np.random.default_rng(0), None, read_data, self.say)
            changed: dict[str, int] = {}
            with self.phases.phase("step"):
                if isinstance(step, KAnonymize):
                    decided = self._decided(step, work, numbers, others)
                    outcome = replace(decided.outcome, data=data)
                    counts = zip(decided.labels, decided.suppressed.changed, strict=True)
                    changed = {name: count for name, count in counts if count}
                else:
                    outcome = step.run(work)
            seconds = self.phases.seconds.pop("step") - started.get("step", 0.0)
            records.append(record_of(step, work, outcome, seconds, (data.rows, data.rows), changed))
            data, schema = outcome.data, outcome.schema
        assert decided is not None
        return records, schema, decided

    def _decided(self, step: KAnonymize, work: Work, numbers: RowNumbers, others: tuple[str, ...]) -> _Decided:
        asked = step.pose(work)
        problem = asked.problem
        assert problem is not None
        known = {name: KnownValues(work.data[name].values, drawn_key()) for name in asked.hierarchies}
        cut = cut_of(problem, max(LARGEST, work.data.rows // 8))
        coding = _coding(problem, cut, known, numbers, others)
        buckets = self.table.bucketed(coding.names, coding.scatter, coding.parts)
        try:
            ask = _Asking(buckets, work.data.rows, [])
            checker = BucketChecker.asking(problem, cut, ask)
            found = step.decide(asked, problem, checker, work.say)
            node = found.best
            assert node is not None
            found = step.as_sure(asked.allowed.found(found))
            assert found.best is not None
            labels = {
                name: ReleasedLabels.of(work.data[name], hierarchy, level, node.suppressed + node.extra > 0)
                for (name, hierarchy), level in zip(asked.hierarchies.items(), found.best.levels, strict=True)
            }
            look = suppressing(labels, numbers, problem.k, _codes_gone(checker, node))
            suppressed = look.together(ask(look, "suppress"))
        finally:
            buckets.done()
        if suppressed.rows != node.suppressed + node.extra:
            raise ChangedData()
        outcome = step.told(work.schema, problem, found, asked.hierarchies, suppressed.rows)
        return _Decided(outcome, labels, known, suppressed, asked.promise)

    def _candidate(
        self, data: Dataset, given: Schema, schema: Schema, steps: Sequence[StepRecord], decided: _Decided
    ) -> ReleaseCandidate:
        """Return the release as checks see it: values and counts of the generalized columns, and the others where they are."""
        released: dict[str, Column] = {name: UnreadColumn(data.rows) for name in recipe_released(self.recipe, data)}
        for (name, labels), counts in zip(decided.labels.items(), decided.suppressed.counts, strict=True):
            used = np.flatnonzero(counts)
            released[name] = TalliedColumn(labels.values.take(pa.array(used)), counts[used])
        return ReleaseCandidate(
            original=data,
            released=Dataset(released, data.rows),
            given=given,
            schema=schema,
            guarantees=(decided.promise,),
            steps=tuple(steps),
            accept=tuple(self.recipe.acceptances) if self.recipe.accept else (),
            together=self.recipe.together,
            store=RemoteColumns(self.table, tuple(decided.labels), data.rows),
        )

    def _written(self, numbers: RowNumbers, decided: _Decided, names: list[str]) -> tuple[EngineTable, Seal]:
        recipe, table, rows = self.recipe, self.table, decided.outcome.facts["suppressed"]["of"]
        self.say(Message("progress.publishing", engine=table.engine))
        moved = moves_rows(recipe.order, recipe.steps) or recipe.order is None
        types: dict[str, pa.DataType] = {
            name: decided.labels[name].values.type if name in decided.labels else table.types[name] for name in names
        }
        plan = plan_of(decided.labels, decided.known, names, decided.suppressed.keys, rows)
        with self.phases.phase("publish"):
            settled = table.published(plan, types, "random" if moved else "kept").settled(self.folder)
        self.say(Message("progress.verifying_files"))
        return settled, Seal(numbers, rows, decided.suppressed.total)


def _elsewhere(name: str, type_: pa.DataType, rows: int) -> UnreadColumn:
    """Return a column that stays where it is; one of lists or structures cannot be counted there either."""
    why = why_unusable(name, type_)
    return UnreadColumn(rows) if why is None else NestedColumn(rows, why)


def recipe_released(recipe: Recipe, data: Dataset) -> list[str]:
    """The columns that are released, in their order."""
    gone = {name for step in recipe.steps for name in step.removes_identity}
    return [name for name in data if name not in gone]


def _coding(
    problem: Problem, cut: Levels, known: Mapping[str, KnownValues], numbers: RowNumbers, others: tuple[str, ...]
) -> BucketCoding:
    chosen = [hierarchy.levels[level] for hierarchy, level in zip(problem.hierarchies, cut, strict=True)]
    widths = [len(one.labels) for one in chosen]
    parts = [
        one.table.astype(np.uint64) * np.uint64(prod(widths[place + 1 :]) % (1 << 64))
        for place, one in enumerate(chosen)
    ]
    return BucketCoding(uuid4().hex, known, tuple(parts), max(1, -(-problem.rows // BUCKET)), numbers, others)


def _codes_gone(checker: BucketChecker, node: Node) -> list[np.ndarray] | None:
    """For each column one code of every class that goes, where the driver knows these classes."""
    if node.suppressed + node.extra == 0:
        return None
    labels = checker.classes_gone(node)
    if labels is None:
        return None
    return [checker.code_of_label(a, level)[labels[a]] for a, level in enumerate(node.levels)]
