"""Matching of released records to originals: the candidates of each record of a non-homogeneous release.

An attacker who knows all originals looks for all ways in which the released records could correspond to them, one
person each: perfect matchings of the graph of which original matches which record. A person is a candidate of a record
only if some matching pairs them.

One matching is enough to find all candidates: an edge is in some perfect matching exactly if it lies on a cycle that
alternates between edges in and out of the one found, that is, if both its ends are in one strongly connected component
(Dulmage & Mendelsohn 1958; Tassa 2012). Equal originals and equal records are one node each, with a multiplicity, so
that a table of many equal people stays small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from oboro._lazy import bring
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups
from oboro.errors import InputError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.recoding import PossibleValues, possible_values
from oboro.text import Message
from oboro.verifier import kernels

__all__ = ["Correspondence", "Relation", "correspondence", "relation"]


LARGEST = 500_000_000  # edges between kinds of people and kinds of records


@dataclass(frozen=True, eq=False)
class Relation:
    """Kinds of originals, kinds of released records, and which fit which: `heads[starts[r]:starts[r + 1]]` are the kinds
    of originals that fit the r-th kind of record."""

    originals: Groups
    released: Groups
    starts: np.ndarray
    heads: np.ndarray

    @staticmethod
    def of(possible: Sequence[PossibleValues], codes: Sequence[np.ndarray], rows: int) -> Relation:
        """From one `PossibleValues` per attribute and the released codes; `rows` released records. O(kinds² · attributes) at
        worst, usually far less: the most telling attribute cuts the candidates."""
        originals = Groups.of([_column(one.ranks, one.width) for one in possible], possible[0].ranks.size)
        released = Groups.of([_column(one, int(one.max(initial=0)) + 1) for one in codes], rows)
        return _fitting(possible, codes, originals, released)

    @property
    def tails(self) -> np.ndarray:
        """The kind of released record of each edge."""
        return np.repeat(np.arange(len(self.released)), np.diff(self.starts))


@dataclass(frozen=True, eq=False)
class Correspondence:
    """The relation, and which of its edges are in some perfect matching. `possible` is False if there is none."""

    relation: Relation
    usable: np.ndarray
    possible: bool

    @cached_property
    def candidates(self) -> np.ndarray:
        """For each released record, how many originals it can correspond to."""
        found = self.relation
        return self._counted(found.tails, found.originals.sizes[found.heads], found.released)

    @cached_property
    def records(self) -> np.ndarray:
        """For each original, how many released records it can correspond to."""
        found = self.relation
        return self._counted(found.heads, found.released.sizes[found.tails], found.originals)

    def _counted(self, ends: np.ndarray, sizes: np.ndarray, kinds: Groups) -> np.ndarray:
        """For each row the sizes at the other ends of the usable edges of its kind, summed up."""
        counts = np.bincount(ends, weights=sizes * self.usable, minlength=len(kinds))
        return np.asarray(counts.astype(np.int64)[kinds.labels])


def correspondence(found: Relation) -> Correspondence:
    """Find one matching and the components of its residual graph. Originals that were not released may be left over."""
    csr_array = bring("scipy.sparse").csr_array
    connected_components = bring("scipy.sparse.csgraph").connected_components
    kinds, records = len(found.originals), len(found.released)
    left = int(found.originals.sizes.sum() - found.released.sizes.sum())
    nobody = Correspondence(found, np.zeros(found.heads.size, dtype=bool), False)
    if left < 0 or (records and np.diff(found.starts).min() == 0):
        return nobody
    tails, heads = found.tails, found.heads
    demands = found.released.sizes
    if left:  # whoever was not released "corresponds" to one more record that fits everybody
        tails = np.concatenate([tails, np.full(kinds, records)])
        heads = np.concatenate([heads, np.arange(kinds)])
        demands = np.append(demands, left)
    flow = _flow(tails, heads, found.originals.sizes, demands)
    if flow is None:
        return nobody
    there = heads.astype(np.int64), tails + kinds
    back = flow > 0
    rows = np.concatenate([there[0], there[1][back]])
    columns = np.concatenate([there[1], there[0][back]])
    nodes = kinds + demands.size
    graph = csr_array((np.ones(rows.size, dtype=np.int8), (rows, columns)), shape=(nodes, nodes))
    _, labels = connected_components(graph, directed=True, connection="strong")
    usable = (labels[there[0]] == labels[there[1]])[: found.heads.size]
    return Correspondence(found, usable, True)


def relation(
    original: Dataset, released: Dataset, quasi: Sequence[str], hierarchies: Mapping[str, Hierarchy] | None = None
) -> Relation:
    """Build the relation of originals to the released records that they match, from the two tables."""
    possible = [possible_values(original[name], released[name], (hierarchies or {}).get(name)) for name in quasi]
    if not possible:  # nothing is known of anybody
        everything = np.zeros(original.rows, dtype=np.int64)
        return Relation.of(
            [PossibleValues.of(everything, 1, [(0, 0)])], [np.zeros(released.rows, np.int64)], released.rows
        )
    return Relation.of(possible, [released[name].codes for name in quasi], released.rows)


def _column(codes: np.ndarray, width: int) -> Column:
    return Column(pa.nulls(width), codes.astype(np.uint32))


def _fitting(
    possible: Sequence[PossibleValues], codes: Sequence[np.ndarray], originals: Groups, released: Groups
) -> Relation:
    people, records = originals.first_rows(), released.first_rows()
    low, high, row = (
        np.stack([getattr(one, part)[code[records]] for one, code in zip(possible, codes, strict=True)], axis=1)
        for part in ("low", "high", "row")
    )
    offsets = np.append(0, np.cumsum([one.bits.size for one in possible]))[:-1]
    row = np.where(row >= 0, row + offsets, -1)
    bits = np.concatenate([one.bits for one in possible])
    ranks = np.stack([one.ranks[people] for one in possible], axis=1)
    widths = np.array([max(1, one.width) for one in possible])
    telling = int(((high - low + 1) / widths).mean(axis=0).argmin()) if len(records) else 0
    order = np.argsort(ranks[:, telling], kind="stable")
    line = ranks[order, telling]
    begin, end = np.searchsorted(line, low[:, telling], "left"), np.searchsorted(line, high[:, telling], "right")
    arguments = np.ascontiguousarray(ranks[order]), low, high, row, bits, begin, np.maximum(begin, end)
    starts = np.zeros(len(records) + 1, dtype=np.int64)
    kernels.fitting(*arguments, starts, np.empty(0, dtype=np.int32))
    starts = np.cumsum(starts)
    if starts[-1] > LARGEST:
        raise InputError(Message("error_verifier.too_many_pairs", pairs=int(starts[-1]), most=LARGEST))
    heads = np.empty(int(starts[-1]), dtype=np.int32)
    if heads.size:
        kernels.fitting(*arguments, starts, heads)
    return Relation(originals, released, starts, order[heads].astype(np.int32))


def _flow(tails: np.ndarray, heads: np.ndarray, supplies: np.ndarray, demands: np.ndarray) -> np.ndarray | None:
    """How many originals of a kind go to a kind of record, edge by edge, in one solution; None if there is none."""
    csr_array, graphs = bring("scipy.sparse").csr_array, bring("scipy.sparse.csgraph")
    shape = supplies.size, demands.size
    if supplies.max(initial=1) == 1 == demands.max(initial=1):
        graph = csr_array((np.ones(tails.size, dtype=np.int8), (heads, tails)), shape=shape)
        to = graphs.maximum_bipartite_matching(graph, perm_type="column")
        return None if (to < 0).any() else np.asarray(to[heads] == tails)
    nodes = sum(shape) + 2
    source, sink = nodes - 2, nodes - 1
    ends = np.concatenate([np.full(shape[0], source), heads, np.arange(shape[0], nodes - 2)])
    starts = np.concatenate([np.arange(shape[0]), tails + shape[0], np.full(shape[1], sink)])
    most = np.minimum(supplies[heads], demands[tails])
    capacity = np.concatenate([supplies, most, demands]).astype(np.int32)
    network = csr_array((capacity, (ends, starts)), shape=(nodes, nodes))
    solved = graphs.maximum_flow(network, source, sink)
    if solved.flow_value != supplies.sum():
        return None
    return np.asarray(csr_array(solved.flow)[heads, tails + shape[0]]).ravel()
