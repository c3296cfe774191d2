"""Local recoding by plain loops over lists, to compare the kernels with.

A table is described by `domains`, one per attribute: ("ordered", places, missing rank or −1) or ("tree", tables,
losses), tables[level][code]. A group is a list of [record number, how many].
"""

from __future__ import annotations

import numpy as np

GOLDEN = 0x9E3779B97F4A7C15


def closure(domain, codes):
    """What codes of one attribute have in common, as something that can be published."""
    if domain[0] == "ordered":
        return min(codes), max(codes)
    for level, table in enumerate(domain[1]):
        if len({table[code] for code in codes}) == 1:
            return level, table[codes[0]]
    raise AssertionError("no root")


def loss_of(domain, codes, weight):
    if domain[0] == "ordered":
        low, high = min(codes), max(codes)
        if low == high:
            return 0.0
        return weight if high == domain[2] else domain[1][high] - domain[1][low]
    level, _ = closure(domain, codes)
    return domain[2][level][codes[0]]


class Naive:
    """One table of distinct records, and the rules that a group must keep (a predicate on [(record, how many)])."""

    def __init__(self, records, domains, weights, k, keeps=lambda group: True):
        self.records, self.domains, self.weights, self.k, self.keeps = records, domains, weights, k, keeps

    def size(self, group):
        return sum(load for _, load in group)

    def loss(self, numbers):
        total = 0.0
        for j, domain in enumerate(self.domains):
            total += loss_of(domain, [self.records[i][j] for i in numbers], self.weights[j])
        return total

    def apart(self, a, b):
        total = 0.0
        for j, domain in enumerate(self.domains):
            pair = [self.records[a][j], self.records[b][j]]
            if pair[0] != pair[1]:
                total += loss_of(domain, pair, self.weights[j])
        return total

    def fine(self, group):
        return self.size(group) >= self.k and self.keeps(group)

    def groups(self, loads, split, order):
        """Split until nothing can be split."""
        done, waiting = [], [[[i, loads[i]] for i in order]]
        while waiting:
            group = waiting.pop()
            parts = split(group) if self.size(group) >= 2 * self.k else None
            if parts is None:
                done.append(group)
            else:
                waiting.extend(parts)
        return done

    # Top-down ---------------------------------------------------------------------------------------------------------

    def top_down(self, loads):
        order = sorted(range(len(loads)), key=lambda i: i * GOLDEN % 2**64)
        return self.groups(loads, self.split_top_down, order)

    def split_top_down(self, group):
        u, v, most = 0, 0, 0.0
        for _ in range(3):
            distances = [self.apart(i, group[v][0]) for i, _ in group]
            if max(distances) <= most:
                break
            most = max(distances)
            u, v = v, distances.index(most)
        if u == v:
            return None
        sides = ([group[u]], [group[v]])
        member = {u: 0, v: 1}
        for place, (i, load) in enumerate(group):
            if place in member:
                continue
            growth = []
            for side in sides:
                numbers = [number for number, _ in side]
                before = self.size(side) * self.loss(numbers)
                growth.append((self.size(side) + load) * self.loss([*numbers, i]) - before)
            smaller = 0 if self.size(sides[0]) <= self.size(sides[1]) else 1
            to = smaller if growth[0] == growth[1] else growth.index(min(growth))
            sides[to].append([i, load])
            member[place] = to
        first = [one for place, one in enumerate(group) if member[place] == 0]
        second = [one for place, one in enumerate(group) if member[place] == 1]
        if self.fine(first) and self.fine(second):
            return [first, second]
        return self.balanced(group, first, second)

    def balanced(self, group, first, second):
        if self.size(first) > self.size(second):
            first, second = second, first
        if self.fine(first):
            first, second = second, first
        numbers = [i for i, _ in first]
        queue = sorted(second, key=lambda one: self.loss([*numbers, one[0]]))
        size = self.size(first)
        more = self.k - size if size < self.k else self.k
        while size + more <= self.size(group) - self.k:
            taken, lacking = {}, more
            for i, load in queue:
                taken[i] = min(load, lacking)
                lacking -= taken[i]
            held = dict(map(tuple, first))
            grown = [[i, held.get(i, 0) + taken.get(i, 0)] for i, _ in group]
            rest = [[i, load - part] for (i, load), (_, part) in zip(group, grown, strict=True)]
            parts = [[one for one in part if one[1] > 0] for part in (grown, rest)]
            if all(map(self.fine, parts)):
                return parts
            more *= 2
        return None

    # Top-down as published ---------------------------------------------------------------------------------------------

    def published(self, seed):
        self.state = seed
        return self.groups([1] * len(self.records), self.split_published, range(len(self.records)))

    def coin(self):
        self.state = (self.state + GOLDEN) % 2**64
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return z ^ z >> 31

    def split_published(self, group):
        numbers = [i for i, _ in group]
        u = v = numbers[self.coin() % len(numbers)]
        for _ in range(6):
            distances = [self.apart(i, v) for i in numbers]
            if max(distances) == 0:
                break
            u, v = v, numbers[distances.index(max(distances))]
        if u == v:
            return None
        parts = self.assigned(numbers, u, v)
        if not all(self.fine([[i, 1] for i in part]) for part in parts):
            parts = self.filled(numbers, *parts)
        return parts and [[[i, 1] for i in numbers if i in part] for part in parts]

    def assigned(self, numbers, u, v):
        order = list(numbers)
        for i in range(len(order) - 1, 0, -1):
            j = self.coin() % (i + 1)
            order[i], order[j] = order[j], order[i]
        parts = [[u], [v]]
        for i in order:
            if i not in (u, v):
                growth = [self.total([*part, i]) - self.total(part) for part in parts]
                smaller = 0 if len(parts[0]) <= len(parts[1]) else 1
                parts[smaller if growth[0] == growth[1] else growth.index(min(growth))].append(i)
        return parts

    def filled(self, numbers, first, second):
        if len(first) > len(second):
            first, second = second, first
        if self.fine([[i, 1] for i in first]):
            first, second = second, first
        more = self.k - len(first) if len(first) < self.k else self.k
        first, second = list(first), [i for i in numbers if i in second]
        while len(first) + more <= len(numbers) - self.k:
            for _ in range(more):
                nearest = min(second, key=lambda i: self.loss([*first, i]))
                first.append(nearest)
                second.remove(nearest)
            if all(self.fine([[i, 1] for i in part]) for part in (first, second)):
                return [first, second] if self.total(first) + self.total(second) < self.total(numbers) else None
            more *= 2
        return None

    def total(self, numbers):
        return len(numbers) * self.loss(numbers)

    # Mondrian ---------------------------------------------------------------------------------------------------------

    def mondrian(self, loads, relaxed):
        return self.groups(loads, lambda group: self.cut(group, relaxed), range(len(loads)))

    def cut(self, group, relaxed):
        losses = [
            loss_of(domain, [self.records[i][j] for i, _ in group], self.weights[j])
            for j, domain in enumerate(self.domains)
        ]
        for j in sorted(range(len(losses)), key=lambda j: (-losses[j], j)):
            if losses[j] == 0:
                return None
            cut = self.cut_ordered if self.domains[j][0] == "ordered" else self.cut_tree
            parts = cut(group, j, relaxed)
            if parts is not None:
                return parts
        return None

    def cut_ordered(self, group, j, relaxed):
        def below(limit):
            return [[one for one in group if (self.records[one[0]][j] < limit) is wanted] for wanted in (True, False)]

        ranks = sorted(self.records[i][j] for i, load in group for _ in range(load))
        n, missing = len(ranks), self.domains[j][2]
        tries = [below(missing)] if ranks[-1] == missing else []
        middle = ranks[(n + 1) // 2 - 1]
        if relaxed:
            lacking = n // 2 - sum(rank < middle for rank in ranks)
            lower, upper = [], []
            for i, load in group:
                rank = self.records[i][j]
                part = load if rank < middle else min(load, lacking) if rank == middle else 0
                lacking -= part if rank == middle else 0
                lower += [[i, part]] if part else []
                upper += [[i, load - part]] if part < load else []
            tries.append([lower, upper])
        strict = [below(middle), below(middle + 1)]
        tries += sorted(strict, key=lambda parts: abs(self.size(parts[0]) - self.size(parts[1])))
        return next((parts for parts in tries if all(map(self.fine, parts))), None)

    def cut_tree(self, group, j, relaxed):
        level, _ = closure(self.domains[j], [self.records[i][j] for i, _ in group])
        children = {}
        for i, load in group:
            children.setdefault(self.domains[j][1][level - 1][self.records[i][j]], []).append([i, load])
        alone = {child: part for child, part in sorted(children.items()) if self.fine(part)}
        rest = [one for child, part in sorted(children.items()) if child not in alone for one in part]
        for child in sorted(children, key=lambda child: (self.size(children[child]), child)):
            if not rest or self.fine(rest):
                break
            alone.pop(child, None)
            rest = [one for other, part in sorted(children.items()) if other not in alone for one in part]
        parts = [*alone.values(), *([rest] if rest else [])]
        return parts if len(parts) > 1 else None


def as_sets(groups):
    """Groups regardless of their order: for each the numbers of its records with how many, sorted."""
    return sorted(sorted((int(i), int(load)) for i, load in group) for group in groups)


def grouped(labels, item_of_row):
    """The same, from a label per row."""
    groups = []
    for label in np.unique(labels):
        items, counts = np.unique(item_of_row[labels == label], return_counts=True)
        groups.append(list(zip(items.tolist(), counts.tolist(), strict=True)))
    return as_sets(groups)
