"""Distinct combinations of codes with their number: what a node is read from instead of the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

import numpy as np

from oboro.decide.lattice.kernels import node_classes as kernels
from oboro.kernels import grouping
from oboro.table.dataset import Column, smallest_unsigned
from oboro.table.groups import Groups

if TYPE_CHECKING:
    from oboro.decide.lattice.population_limits import Population

__all__ = ["DistinctTuples", "number_alike"]

KEY_SPACE = 1 << 62  # keys up to here are summed without overflow; more attributes are keyed in blocks
SAMPLE = 20_000  # rows looked at to guess whether many records share their tuple
ALWAYS = 1 << 17  # rows up to which that is not worth a guess


@dataclass(frozen=True, eq=False)
class DistinctTuples:
    """Distinct combinations of codes and how many records share them."""

    codes: np.ndarray
    """One row per tuple, one column per attribute; the attributes' codes are numbered through."""
    blocks: tuple[range, ...]
    """Attributes in a row whose values together make a key; only where there are very many is there more than one block."""
    offsets: np.ndarray
    """Where each attribute's codes start."""
    weights: np.ndarray
    secrets: tuple[np.ndarray, ...]
    rows: np.ndarray | None
    """Which tuple each record is (None: record i is tuple i)."""
    people: np.ndarray | None = None
    """How many of the population share each tuple, if there is one; then some tuples have people and no record."""
    persons: np.ndarray | None = None
    """Whose each tuple is, where people are counted: tuples come in this order, and no two people share one."""

    def __len__(self) -> int:
        return int(self.weights.size)

    @staticmethod
    def of(
        columns: Sequence[Column],
        secrets: Sequence[np.ndarray],
        rows: int,
        population: Population | None = None,
        person: Column | None = None,
    ) -> DistinctTuples:
        """Reduce the records (and the population, as if it stood below them) to tuples where enough share one."""
        if person is not None:
            return DistinctTuples._by_person(columns, tuple(secrets), rows, person)
        values, codes = list(map(attrgetter("values"), columns)), list(map(attrgetter("codes"), columns))
        secrets = tuple(secrets)
        if population is not None:
            codes = [np.concatenate(both) for both in zip(codes, population.codes, strict=True)]
            secrets = tuple(np.pad(secret, (0, len(population))) for secret in secrets)  # whose counts nobody reads
        every = codes[0].size
        labels, weights = None, np.ones(every, dtype=np.int64)
        weights[rows:] = 0
        people = None if population is None else 1 - weights
        if _many_alike([*codes, *secrets], every):
            groups = Groups.of([*map(Column, values, codes), *map(_as_column, secrets)], every)
            first = itemgetter(groups.first_rows())
            codes, secrets = list(map(first, codes)), tuple(map(first, secrets))
            labels, weights = groups.labels[:rows], groups.sizes if people is None else _sums(groups, weights)
            people = None if people is None else _sums(groups, people)
        widths = list(map(len, values))
        return DistinctTuples(*_numbered_through(codes, widths), weights, secrets, labels, people)

    @staticmethod
    def counted(codes: Sequence[np.ndarray], widths: Sequence[int], weights: np.ndarray) -> DistinctTuples:
        """Tuples that somebody else counted; tied to no records."""
        return DistinctTuples(*_numbered_through(codes, widths), weights, (), None)

    @staticmethod
    def _by_person(
        columns: Sequence[Column], secrets: tuple[np.ndarray, ...], rows: int, person: Column
    ) -> DistinctTuples:
        """The records in the order of their persons; what one person has twice is one tuple."""
        order, starts = np.empty(rows, dtype=np.uint32), np.concatenate([[0], np.cumsum(person.counts)])
        grouping.by_code(person.codes, starts[:-1], order)
        codes, persons = [column.codes[order] for column in columns], person.codes[order].astype(np.int32)
        secrets = tuple(secret[order] for secret in secrets)
        tuples = DistinctTuples(
            *_numbered_through(codes, [len(column.values) for column in columns]),
            np.ones(rows, dtype=np.int64),
            secrets,
            _inverse(order),
            persons=persons,
        )
        if not _many_alike([*codes, *secrets, persons], rows, together=True):
            return tuples
        held = [Column(column.values, part) for column, part in zip(columns, codes, strict=True)]
        return tuples.merged(Groups.of(held, rows).labels)

    def taken(self, which: np.ndarray) -> DistinctTuples:
        """Some of the tuples (a boolean each); no longer tied to records."""
        return replace(
            self,
            codes=self.codes[which],
            weights=self.weights[which],
            secrets=tuple(secret[which] for secret in self.secrets),
            rows=None,
            people=None if self.people is None else self.people[which],
            persons=None if self.persons is None else self.persons[which],
        )

    def merged(self, labels: np.ndarray) -> DistinctTuples:
        """Tuples with the same label (and the same secrets) as one; any of them stands for all."""
        groups = self._alike(labels)
        first = groups.first_rows()
        return replace(
            self,
            codes=self.codes[first],
            weights=_sums(groups, self.weights),
            people=None if self.people is None else _sums(groups, self.people),
            secrets=tuple(secret[first] for secret in self.secrets),
            rows=groups.labels if self.rows is None else groups.labels[self.rows],
            persons=None if self.persons is None else self.persons[first],
        )

    def _alike(self, labels: np.ndarray) -> Groups:
        """Tuples with the same label, the same secrets and the same person; numbered in the order of the tuples."""
        columns = [_as_column(labels), *(_as_column(secret) for secret in self.secrets)]
        if self.persons is None:
            return Groups.of(columns, len(self))
        labels = Groups.of(columns, len(self)).labels if self.secrets else labels
        out, last = np.empty(len(self), dtype=np.uint32), np.full(int(labels.max(initial=0)) + 1, -1, dtype=np.int64)
        found = kernels.number_by_person(labels, self.persons, last, out)
        return Groups(out, np.bincount(out, minlength=found))


def _sums(groups: Groups, numbers: np.ndarray) -> np.ndarray:
    out = np.zeros(len(groups), dtype=np.int64)
    kernels.sizes(groups.labels, numbers, out)
    return out


def _numbered_through(
    codes: Sequence[np.ndarray], widths: Sequence[int]
) -> tuple[np.ndarray, tuple[range, ...], np.ndarray]:
    """The codes side by side, numbered through, the blocks, and where each attribute's codes start."""
    offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    dtype = smallest_unsigned(int(offsets[-1]))
    out = np.empty((codes[0].size, len(codes)), dtype=dtype)
    for a, part in enumerate(codes):
        np.add(part, dtype(offsets[a]), out=out[:, a], casting="unsafe", dtype=dtype)
    return out, _blocks(widths), offsets


def _inverse(order: np.ndarray) -> np.ndarray:
    out = np.empty(order.size, dtype=np.int64)
    out[order] = np.arange(order.size)
    return out


def _many_alike(codes: Sequence[np.ndarray], rows: int, together: bool = False) -> bool:
    """Whether reducing to tuples is worth a grouping: always for small tables, else if a sample says that half share
    one. `together` says that those who may share one stand together: then the sample is of a few runs.
    """
    if rows <= ALWAYS:
        return rows > 0
    chosen = np.linspace(0, rows - 1, SAMPLE).astype(np.int64)
    if together:
        chosen = (np.linspace(0, rows - SAMPLE // 20, 20).astype(np.int64)[:, None] + np.arange(SAMPLE // 20)).ravel()
    sample = [_as_column(part[chosen]) for part in codes]
    return len(Groups.of(sample, SAMPLE)) < SAMPLE * 0.9


def _as_column(codes: np.ndarray) -> Column:
    values = np.arange(int(codes.max(initial=0)) + 1)
    return Column(values, codes)


def _blocks(widths: Sequence[int]) -> tuple[range, ...]:
    blocks, start = [], 0
    for a in range(len(widths)):
        if prod(widths[start : a + 1]) > KEY_SPACE:
            blocks.append(range(start, a))
            start = a
    return (*blocks, range(start, len(widths)))


def number_alike(keys: np.ndarray, space: int) -> tuple[np.ndarray, int]:
    """Number equal keys alike: a counter per possible key where these are few, a hash table otherwise."""
    labels = np.empty(keys.size, dtype=np.uint32)
    if space <= 4 * keys.size + 1024:
        return labels, grouping.number_by_appearance(keys, np.zeros(space, dtype=np.uint32), labels)
    slots = np.full(1 << max(4, (2 * keys.size - 1).bit_length()), -1, dtype=np.int32)
    return labels, kernels.number_by_hash(keys, slots, labels)
