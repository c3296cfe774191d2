"""What is verified without rows on the driver: every class in one bucket, judged there by the verifier; who is unique, counted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.engines.coded.checked_rows import CombinationCounts
from oboro.engines.coded.scattered_rows import in_chunks, shared_out
from oboro.engines.coded.value_numbers import RowNumbers, drawn_key
from oboro.engines.engine import EngineTable
from oboro.engines.relational import COUNT, rows_of_tally
from oboro.errors import PromiseError
from oboro.text import Message
from oboro.verifier.promise_check import Promise
from oboro.verifier.verdict import WORST_SHOWN, Verdict, Verification

__all__ = ["distinct_rows", "unique_rows", "verified"]

BUCKET = 1 << 20  # rows of a bucket, about


def _parts(rows: int) -> int:
    return max(1, -(-rows // BUCKET))


@dataclass(frozen=True)
class _Classes:
    """Classes of the released rows, each at the part that its values say. It travels to tasks."""

    promise: Promise
    names: tuple[str, ...]
    parts: int
    numbers: RowNumbers

    def scatter(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
        """How often each occurs, some hundred thousand rows together."""
        for table in in_chunks(pa.table(batch) for batch in batches):
            counts = CombinationCounts(self.names)
            counts.add(table)
            found = counts.together()
            arrays = {name: found[name] for name in found.column_names if name != COUNT}
            numbers = self.numbers.of_arrays(arrays, found.num_rows)
            yield from shared_out(found, (numbers % np.uint64(self.parts)).astype(np.uint32), self.parts)

    def judged(self, part: int, blocks: list[Any]) -> bytes:
        """What the verifier says of the whole classes of one part."""
        counts = CombinationCounts(self.names)
        for block in blocks:
            counts.merge(pa.ipc.open_stream(block).read_all())
        data = rows_of_tally(counts.together(), self.names)
        (one,) = self.promise.verify(data).verdicts
        said = [one.holds, one.achieved, one.groups, one.broken_groups, one.broken_records, one.worst_sizes, data.rows]
        return json.dumps(said).encode()


def verified(settled: EngineTable, promise: Promise, rows: int) -> Verification:
    """The promise on what was written, class by class; raises a `PromiseError` where it does not hold."""
    names = tuple(name for name in settled.types if name in promise.quasi)
    how = _Classes(promise, names, _parts(rows), RowNumbers(drawn_key()))
    buckets = settled.bucketed(names, how.scatter, how.parts)
    try:
        said = [json.loads(one) for one in buckets.told(how.judged, "verify")]
    finally:
        buckets.done()
    assert sum(one[-1] for one in said) == rows, "every row was judged once"
    (model,) = promise.models
    worst = sorted(size for one in said for size in one[5])[:WORST_SHOWN]
    verdict = Verdict(
        holds=all(one[0] for one in said),
        model=model.describe(),
        required=model.required,
        achieved=min(one[1] for one in said),
        groups=sum(one[2] for one in said),
        broken_groups=sum(one[3] for one in said),
        broken_records=sum(one[4] for one in said),
        worst_sizes=tuple(worst),
    )
    if not verdict.holds:
        raise PromiseError(Message("error_verifier.broken", step=promise.step, verdicts=[verdict.message()]))
    return Verification.of([verdict], [name for name in promise.quasi if name in names])


@dataclass(frozen=True)
class _Numbered:
    """One number for some columns of each row, at the part that it says."""

    names: tuple[str, ...]
    parts: int
    numbers: RowNumbers

    def scatter(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
        for table in in_chunks(pa.table(batch) for batch in batches):
            numbers = self.numbers.of_arrays({name: table[name] for name in self.names}, table.num_rows)
            part = (numbers % np.uint64(self.parts)).astype(np.uint32)
            yield from shared_out(pa.table({"number": pa.array(numbers)}), part, self.parts)

    def counted(self, part: int, blocks: list[Any]) -> bytes:
        """Return how many different numbers a part has, and how many of them once."""
        tables = [pa.ipc.open_stream(block).read_all() for block in blocks]
        _, sizes = np.unique(pa.concat_tables(tables)["number"].to_numpy(), return_counts=True)
        return np.array([sizes.size, int((sizes == 1).sum())], np.int64).tobytes()


def unique_rows(table: EngineTable, names: Sequence[str], rows: int) -> int:
    """Return how many rows share all these columns with no other; two different rows count as one with a chance of 2⁻⁶⁴."""
    return _combinations(table, names, rows)[1]


def distinct_rows(table: EngineTable, names: Sequence[str], rows: int) -> int:
    """Return how many combinations of values these columns have, with the same chance of error."""
    return _combinations(table, names, rows)[0]


def _combinations(table: EngineTable, names: Sequence[str], rows: int) -> tuple[int, int]:
    how = _Numbered(tuple(names), _parts(rows), RowNumbers(drawn_key()))
    buckets = table.bucketed(how.names, how.scatter, how.parts)
    try:
        found = [np.frombuffer(one, np.int64) for one in buckets.told(how.counted, "last look")]
        distinct, unique = np.sum([np.zeros(2, np.int64), *found], axis=0)
        return int(distinct), int(unique)
    finally:
        buckets.done()
