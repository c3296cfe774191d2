"""Rows that agree as one, and their labels on every level; and which levels of one attribute fail by themselves."""

from __future__ import annotations

import numpy as np

from oboro.decide.lattice.kernels.kept.one_class import asked_of
from oboro.decide.lattice.kernels.rolled_counts import slot_of
from oboro.decide.lattice.kernels.rules.class_parts import Room
from oboro.decide.lattice.kernels.rules.judged_nodes import RuleArrays
from oboro.kernels import kernel

__all__ = ["finest_alone", "join_alike", "spread_labels"]


@kernel()
def join_alike(
    codes: np.ndarray,
    numbers: np.ndarray,
    begins: np.ndarray,
    labels: np.ndarray,
    secrets: np.ndarray,
    values: int,
    weights: np.ndarray,
    slots: np.ndarray,
    keys: np.ndarray,
    firsts: np.ndarray,
    sums: np.ndarray,
) -> int:
    """Rows with the same labels and the same secret as one; returns how many are left. O(rows · attributes).

    Code c of attribute a has the label `numbers[begins[a] + c]` of `labels[a]`. All combinations, with the `values` that a secret
    can have, must be fewer than 2^62. `slots` is a power of two, at least twice the rows, and zeroed. Gives in `firsts` a row of
    each, and in `sums` its records.
    """
    found, mask = 0, np.uint64(slots.size - 1)
    for i in range(secrets.size):
        key = np.uint64(secrets[i])
        for a in range(begins.size):
            key = key * np.uint64(labels[a]) + np.uint64(numbers[begins[a] + np.int64(codes[a, i])])
        spot = slot_of(key, slots, mask, keys)
        number = slots[spot]
        if number > 0:
            sums[number - 1] += weights[i]
            continue
        keys[found], sums[found], firsts[found] = key, weights[i], i
        found += 1
        slots[spot] = found
    return found


@kernel()
def spread_labels(
    codes: np.ndarray, numbers: np.ndarray, begins: np.ndarray, owners: np.ndarray, out: np.ndarray
) -> None:
    """Columns of labels: `out[c, i]` is the label of row i, whose code is `codes[owners[c], i]`, from `begins[c]` on."""
    for c in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[c, i] = numbers[begins[c] + np.int64(codes[owners[c], i])]


@kernel()
def finest_alone(
    codes: np.ndarray,
    numbers: np.ndarray,
    begins: np.ndarray,
    labels: np.ndarray,
    widths: np.ndarray,
    heights: np.ndarray,
    secrets: np.ndarray,
    k: int,
    rules: RuleArrays,
    room: Room,
    counters: np.ndarray,
    out: np.ndarray,
) -> None:
    """For each attribute the finest level that does not fail by itself, all others left out. O(rows · attributes).

    What fails so fails in every node. `counters` has two zeroed rows of values for each code of an attribute.
    """
    values = rules.combined.shape[1]
    for a in range(heights.size):
        for i in range(secrets.size):
            counters[0, np.int64(codes[a, i]), np.int64(secrets[i])] += 1
        out[a] = heights[a]
        for level in range(heights[a], -1, -1):
            for code in range(widths[a]):
                label = np.int64(numbers[begins[a, level] + code])
                for value in range(values):
                    counters[1, label, value] += counters[0, code, value]
            bad = False
            for label in range(labels[a, level]):
                size = np.int64(0)
                for value in range(values):
                    size += counters[1, label, value]
                if size > 0 and (size < k or asked_of(counters[1, label], size, k, rules, room) >= 0):
                    bad = True
                    break
            counters[1, : labels[a, level]] = 0
            if bad:
                break
            out[a] = level
        counters[0, : widths[a]] = 0
