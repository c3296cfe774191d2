"""The obvious way to k-anonymize by global recoding: look at every node, with dictionaries and plain loops."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product
from math import log, log2


def breaks(secrets, whole, demand):
    """Whether a class with these sensitive values breaks (kind, parameters)."""
    kind, *rest = demand
    counts = Counter(secrets)
    ordered = sorted(counts.values(), reverse=True)
    total = len(secrets)
    if kind == "distinct":
        return len(counts) < rest[0]
    if kind == "entropy":
        return -sum(c / total * log(c / total) for c in ordered) < log(rest[0]) - 1e-9
    if kind == "recursive":
        return not Fraction(ordered[0]) < Fraction(rest[0]) * sum(ordered[rest[1] - 1 :])
    if kind == "alpha":
        value = rest[1]
        most = ordered[0] if value is None else counts.get(value, 0)
        return most / total > rest[0]
    overall = Counter(whole)
    if kind == "equal":
        distance = sum(abs(Fraction(counts[v], total) - Fraction(overall[v], len(whole))) for v in overall) / 2
    else:  # ordered
        values = sorted(overall)
        carried, moved = Fraction(0), Fraction(0)
        for v in values:
            carried += Fraction(counts[v], total) - Fraction(overall[v], len(whole))
            moved += abs(carried)
        distance = moved / max(1, len(values) - 1)
    return float(distance) > rest[0]


class Naive:
    """`labels[a][level][i]` is record i's label, `shares[a][level][i]` how much of the domain it covers."""

    def __init__(self, labels, shares, k, limit, demands, loss, weights, crowd=None, most=None):
        self.labels, self.shares, self.k, self.limit = labels, shares, k, limit
        self.demands = demands  # (secret values per record, demand)
        self.loss, self.weights = loss, [w / sum(weights) for w in weights]
        self.n = len(labels[0][0])
        self.crowd = crowd  # (labels of the people, as those of the records; k-map; least and greatest presence)
        self.most = most  # classes

    def nodes(self):
        return list(product(*(range(len(levels)) for levels in self.labels)))

    def unsafe(self, members, people=()):
        if len(members) < self.k:
            return True
        if self.crowd is not None:
            _, least, low, high = self.crowd
            if len(people) < least or not low <= len(members) / len(people) <= high:
                return True
        return any(breaks([secret[i] for i in members], secret, demand) for secret, demand in self.demands)

    def check(self, node):
        """(suppressed, extra, satisfying, loss or None)."""
        classes = defaultdict(list)
        for i in range(self.n):
            classes[tuple(self.labels[a][level][i] for a, level in enumerate(node))].append(i)
        people = self.people(node)
        gone = [key for key, members in classes.items() if self.unsafe(members, people[key])]
        out = [i for key in gone for i in classes[key]]
        rest = sorted((key for key in classes if key not in gone), key=lambda key: (len(classes[key]), _text(key)))
        while self.most is not None and len(rest) + bool(out) > self.most:
            out += classes[rest.pop(0)]
        suppressed = len(out)
        if suppressed > self.limit:
            return suppressed, 0, False, None
        while self.told(out, rest, people):
            if not rest or len(out) + len(classes[rest[0]]) > self.limit:
                return suppressed, 0, True, None
            out += classes[rest.pop(0)]
        kept = [classes[key] for key in rest]
        return suppressed, len(out) - suppressed, True, self.cost(node, kept, out)

    def people(self, node):
        """Who of the population looks like each class."""
        found = defaultdict(list)
        if self.crowd is not None:
            labels = self.crowd[0]
            for i in range(len(labels[0][0])):
                found[tuple(labels[a][level][i] for a, level in enumerate(node))].append(i)
        return found

    def told(self, out, rest, people):
        """Whether the suppressed are no safe class, or (if nobody is) people are known to be absent."""
        others = [i for key, some in people.items() if key not in rest for i in some]
        if not out:
            return bool(others) and self.crowd[2] > 0
        return self.unsafe(out, others)

    def cost(self, node, kept, out):
        if self.loss == "discernibility":
            return sum(len(c) ** 2 for c in kept) + self.n * len(out)
        if self.loss == "average_class_size":
            return self.n / (len(kept) + (1 if out else 0)) / self.k
        parts = [self.part(a, level, set(out)) for a, level in enumerate(node)]
        if self.loss == "arx":
            total = 1.0
            for w, part in zip(self.weights, parts, strict=True):
                total *= (1 + part) ** w
            return total - 1
        return sum(w * part for w, part in zip(self.weights, parts, strict=True))

    def part(self, a, level, out):
        if self.loss == "entropy":
            values, labels = Counter(self.labels[a][0]), Counter(self.labels[a][level])
            most = sum(log2(self.n / values[v]) for v in self.labels[a][0])
            bits = sum(
                log2((self.n if i in out else labels[self.labels[a][level][i]]) / values[self.labels[a][0][i]])
                for i in range(self.n)
            )
            return bits / most if most else 0.0
        height = max(len(self.labels[a]) - 1, 1)
        cell = [level / height if self.loss == "precision" else self.shares[a][level][i] for i in range(self.n)]
        return sum(1.0 if i in out else cell[i] for i in range(self.n)) / self.n

    def solve(self):
        """All minimal satisfying nodes, and the best node with its loss (None: nothing can be released)."""
        seen = {node: self.check(node) for node in self.nodes()}
        good = [node for node, result in seen.items() if result[2]]
        minimal = [
            node
            for node in good
            if not any(o != node and all(x <= y for x, y in zip(o, node, strict=True)) for o in good)
        ]
        released = [(round(result[3], 10), node) for node, result in seen.items() if result[3] is not None]
        return sorted(minimal), min(released, default=None), seen


def finer(one, other):
    return all(x <= y for x, y in zip(one, other, strict=True))


def _text(key):
    return tuple((label is not None, label or "") for label in key)
