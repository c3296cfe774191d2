"""Attacks on non-homogeneous releases by an attacker who knows all quasi-identifiers: linkage, medoid, rerun.

The definition of k-concealment asks what is possible; an attacker asks what is likely. Where a record was built around its
true owner, the owner is the middle one of those who fit it, and guessing the middle one is right far more often than 1/k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from oboro.attacks import kernels
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups
from oboro.errors import UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.measures.base import Measure
from oboro.text import Message
from oboro.verifier.matching import Relation, correspondence, relation

__all__ = ["candidates", "cascade", "linkage", "medoid", "rerun"]


Hierarchies = Mapping[str, Hierarchy] | None

CANDIDATES = 400  # of one record that are compared with each other


def linkage(
    original: Dataset,
    released: Dataset,
    quasi: Sequence[str],
    hierarchies: Hierarchies = None,
    *,
    k: int,
    again: Dataset | None = None,
    seed: int = 0,
) -> list[Measure]:
    """All attacks, each with what a blind guess among k would be: medoid, cascade from one and from five percent, and
    re-run where the attacker's own release `again` is given. `released.origin_rows` are the true owners."""
    few = max(1, original.rows // 20)
    found = [medoid(original, released, quasi, hierarchies)]
    if again is not None:
        found.append(rerun(original, released, again, quasi))
    blind = Message("measure.note.blind_guess", share=f"{1 / k:.3g}")
    return [replace(one, notes=(blind,)) for one in found] + [
        cascade(original, released, quasi, hierarchies, disclosed=count, seed=seed)
        for count in sorted({1, few})
        if count < released.rows
    ]


def candidates(original: Dataset, released: Dataset, quasi: Sequence[str], hierarchies: Hierarchies = None) -> Measure:
    """The least number of people that any released record can be, over all ways to match people and records."""
    found = correspondence(relation(original, released, quasi, hierarchies))
    least = float(found.candidates.min()) if found.possible and released.rows else None
    return Measure("least_candidates", least, "higher", high=None)


def medoid(original: Dataset, released: Dataset, quasi: Sequence[str], hierarchies: Hierarchies = None) -> Measure:
    """Guess the person with the least sum of distances to all who fit; of several such, one at random."""
    found = relation(original, released, quasi, hierarchies)
    firsts = found.originals.first_rows()
    places, caps = _places([original[name] for name in quasi])
    sums = np.empty(found.heads.size)
    kernels.medoids(
        np.ascontiguousarray(places[:, firsts]),
        caps,
        found.starts,
        found.heads,
        found.originals.sizes,
        CANDIDATES,
        sums,
    )
    return Measure("medoid_attack", _hits(found, sums, _owners(original, released)), "lower")


def rerun(original: Dataset, released: Dataset, again: Dataset, quasi: Sequence[str]) -> Measure:
    """Guess by a second release `again` that the attacker made of the originals, and of which they know the owners."""
    owners, known = _owners(original, released), _owners(original, again)
    both = [Column.encode(_joined(released[name], again[name])) for name in quasi]
    groups = Groups.of(both, released.rows + again.rows)
    mine, theirs = groups.labels[: released.rows], groups.labels[released.rows :]
    alike = np.bincount(theirs, minlength=len(groups))
    label_of = np.full(original.rows, -1, dtype=np.int64)
    label_of[known] = theirs
    right = label_of[owners] == mine
    score = (right / np.maximum(1, alike[mine])).sum() / max(1, released.rows)
    return Measure("rerun_attack", float(score), "lower")


def cascade(
    original: Dataset,
    released: Dataset,
    quasi: Sequence[str],
    hierarchies: Hierarchies = None,
    *,
    disclosed: int = 1,
    seed: int = 0,
) -> Measure:
    """Disclose the records of some people, chosen at random, and see whose records are then certain."""
    if not 0 < disclosed < max(2, released.rows):
        raise UsageError(Message("error_attack.disclosed", rows=released.rows, disclosed=disclosed))
    owners = _owners(original, released)
    rest = np.ones(released.rows, dtype=bool)
    rest[np.random.default_rng(seed).choice(released.rows, disclosed, replace=False)] = False
    unknown = np.ones(original.rows, dtype=bool)
    unknown[owners[~rest]] = False
    found = correspondence(relation(original.take(unknown), released.take(rest), quasi, hierarchies))
    certain = float((found.candidates == 1).mean()) if found.possible and rest.any() else None
    return Measure("cascade_attack", certain, "lower", notes=(Message("measure.note.disclosed", records=disclosed),))


def _owners(original: Dataset, released: Dataset) -> np.ndarray:
    owners = released.origin_rows
    if owners.size and (owners.min() < 0 or owners.max() >= original.rows):
        raise UsageError(Message("error_attack.origins"))
    return owners


def _hits(found: Relation, sums: np.ndarray, owners: np.ndarray) -> float:
    """The expected part of right guesses; like people, and equally good ones, share the guess."""
    if not owners.size:
        return 0.0
    least = np.full(len(found.released), np.inf)
    np.minimum.at(least, found.tails, sums)
    best = sums <= least[found.tails] * (1 + 1e-12) + 1e-12
    share = np.bincount(found.tails, weights=best * found.originals.sizes[found.heads], minlength=len(found.released))
    edge = found.tails.astype(np.int64) * len(found.originals) + found.heads
    edges, chosen = np.sort(edge), best[np.argsort(edge)]
    kind = found.released.labels.astype(np.int64)
    asked = kind * len(found.originals) + found.originals.labels[owners]
    at = np.minimum(np.searchsorted(edges, asked), edges.size - 1)
    right = (edges[at] == asked) & chosen[at]
    return float((right / np.maximum(1, share[kind])).mean())


def _places(columns: Sequence[Column]) -> tuple[np.ndarray, np.ndarray]:
    """Where people stand, for Σ min(|x − y|, 1): numbers within their range, categories and missing numbers apart."""
    places = np.empty((len(columns), len(columns[0])))
    for a, column in enumerate(columns):
        if column.kind.numeric:
            numbers = column.numbers()
            low, high = np.nanmin(numbers), np.nanmax(numbers)
            line = (numbers - low) / (high - low or 1.0)
            places[a] = np.where(np.isnan(line), -2.0, line)[column.codes]
        else:
            places[a] = 2.0 * column.codes
    return places, np.ones(len(columns))


def _joined(one: Column, other: Column) -> pa.Array:
    texts = [pa.array(column.texts, pa.string()).take(pa.array(column.codes)) for column in (one, other)]
    return pa.concat_arrays(texts)
