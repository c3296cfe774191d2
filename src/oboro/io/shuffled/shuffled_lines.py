"""CSV to CSV in a new order, for files of any size: lines go to buckets while they are made, then bucket after bucket is written.

What waits is what will be released, text that is already anonymized; only its order is still that of the input. It waits in memory,
or in a file that has no name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from oboro.io.csv.copy_through import BlockCopy, CopyThrough
from oboro.io.file_progress import RowProgress
from oboro.io.ordered_threads import in_order
from oboro.io.shuffled import kernels
from oboro.io.shuffled.dealt_runs import DealtRuns
from oboro.table.large_arrays import large_zeros
from oboro.table.rows.row_shuffle import RowShuffle

__all__ = ["ShuffledLines"]

GROUP = 1 << 22  # bytes of text that are put in their places together, at least
MOST_BUCKETS = 1 << 12
LARGEST = 1 << 24  # bytes of a bucket: each is held as a whole, so one with longer lines is split
CHUNK = 1 << 15  # bytes that are read from one run at a time, on average, at least


@dataclass
class DealtBlock:
    """The lines of a block by bucket: their text, their lengths, and where each bucket begins in both."""

    text: np.ndarray
    lengths: np.ndarray
    lines: np.ndarray
    bytes: np.ndarray


@dataclass
class GatheredBuckets:
    """All lines of some neighbouring buckets, run after run."""

    begin: int
    end: int
    text: np.ndarray


@dataclass
class ShuffledLines:
    """The release of a CSV file as CSV text, in the order of `shuffle`. Files that it needs are made in `folder`."""

    copied: CopyThrough
    shuffle: RowShuffle
    folder: str | None
    lengths: list[np.ndarray] = field(default_factory=list)
    lines: list[np.ndarray] = field(default_factory=list)  # where each bucket begins in the lines of each run
    bytes: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        ends, rows = self.copied.untouched.block_ends, self.shuffle.within.size
        size = ends[-1].end if ends else 0
        if size > LARGEST * self.shuffle.buckets:
            self.shuffle = self.shuffle.split(min(-(-size // GROUP), rows, MOST_BUCKETS))

    def parts(self, done: RowProgress | None = None) -> Iterator[memoryview]:
        """The text of all rows, in their new order."""
        runs = DealtRuns(self.folder)
        try:
            for block in self.copied.each(self._deal, done):
                runs.add(block.text)
                self.lengths.append(block.lengths)
                self.lines.append(block.lines)
                self.bytes.append(block.bytes)
            yield from self._placed(runs)
        finally:
            runs.close()

    def _deal(self, block: BlockCopy) -> DealtBlock:
        parts = self.copied.copy(block)
        lengths = block.lengths
        bucket = self.shuffle.bucket[block.first : block.first + lengths.size]
        counts = np.zeros((2, self.shuffle.buckets), dtype=np.int64)
        kernels.size_by_bucket(lengths, bucket, counts[0], counts[1])
        lines, places = (np.concatenate([[0], np.cumsum(one)]) for one in counts)
        dealt = DealtBlock(large_zeros(int(places[-1])), np.empty_like(lengths), lines, places)
        line, cursors = 0, (lines.copy(), places.copy())
        for part in parts:
            text = np.frombuffer(part, dtype=np.uint8)
            line = kernels.deal_lines(text, lengths, bucket, line, *cursors, dealt.lengths, dealt.text)
        return dealt

    def _placed(self, runs: DealtRuns) -> Iterator[memoryview]:
        lengths, lines, places = np.concatenate(self.lengths), np.array(self.lines), np.array(self.bytes)
        lines += np.concatenate([[0], np.cumsum(lines[:-1, -1])])[:, None]  # among the lines of all runs

        def put(group: GatheredBuckets) -> memoryview:
            within, buckets = self.shuffle.within, slice(group.begin, group.end + 1)
            out = np.empty(group.text.size, dtype=np.uint8)
            counts = np.diff(lines[:, buckets])
            starts = self.shuffle.starts[buckets]
            kernels.place_lines(group.text, lengths, lines[:, group.begin].copy(), counts, starts, within, out)
            return memoryview(out.data)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            yield from in_order(pool, _gathered(runs, places), put)


def _gathered(runs: DealtRuns, places: np.ndarray) -> Iterator[GatheredBuckets]:
    """Neighbouring buckets with at least as much text as is worth a turn; `places[r]`: where each begins in run r."""
    ends = places.sum(axis=0)
    least = max(GROUP, CHUNK * len(places))
    begin, buckets = 0, places.shape[1] - 1
    while begin < buckets:
        end = min(max(int(np.searchsorted(ends, ends[begin] + least)), begin + 1), buckets)
        text = np.empty(int(ends[end] - ends[begin]), dtype=np.uint8)
        at = 0
        for number, (first, last) in enumerate(places[:, [begin, end]].tolist()):
            runs.read(number, first, last, text[at : at + last - first])
            at += last - first
        yield GatheredBuckets(begin, end, text)
        begin = end
