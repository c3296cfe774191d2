"""The obvious way to k-anonymize by global recoding: look at every node, with dictionaries and plain loops."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, product
from math import log, log2, prod

SECRET_TREE = {"a": ["x", "w", "*"], "b": ["x", "w", "*"], "c": ["c", "w", "*"], "d": ["d", "d", "*"]}


class TooMany(Exception):
    """There are too many sets of classes to try them all."""


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
    if kind in ("disclosure", "held", "basic", "enhanced"):
        return compared(counts, total, overall, len(whole), demand)
    if kind == "hierarchical":
        distance = climbed({v: Fraction(counts[v], total) - Fraction(overall[v], len(whole)) for v in overall})
    elif kind == "equal":
        distance = sum(abs(Fraction(counts[v], total) - Fraction(overall[v], len(whole))) for v in overall) / 2
    else:  # ordered
        values = sorted(overall)
        carried, moved = Fraction(0), Fraction(0)
        for v in values:
            carried += Fraction(counts[v], total) - Fraction(overall[v], len(whole))
            moved += abs(carried)
        distance = moved / max(1, len(values) - 1)
    return float(distance) > rest[0]


def climbed(surplus):
    """What it takes to even out what each value has too much, over `SECRET_TREE` (Li et al. 2007, 4.3)."""
    height, cost = len(SECRET_TREE["a"]), Fraction(0)
    for level in range(1, height + 1):
        nodes = defaultdict(Counter)
        for value, part in surplus.items():
            path = [value, *SECRET_TREE[value]]
            nodes[path[level]][path[level - 1]] += part
        for below in nodes.values():
            over = sum(part for part in below.values() if part > 0)
            cost += Fraction(level, height) * min(over, over - sum(below.values()))
    return cost


def compared(counts, total, overall, everybody, demand):
    """Whether shares of a class (of `total` records or people) break δ-disclosure or β-likeness; `everybody`: of the table."""
    kind, limit = demand
    table = {v: Fraction(overall[v], everybody) for v in counts}
    if kind in ("disclosure", "held"):
        if kind == "disclosure" and len(counts) < len(overall):
            return True
        ratios = [Fraction(c, total) / table[v] for v, c in counts.items()]
        return any(max(ratio, 1 / ratio) >= 2.0**limit for ratio in ratios)
    most = {v: min(limit, -log(p)) if kind == "enhanced" else limit for v, p in table.items()}
    return any((Fraction(c, total) - table[v]) / table[v] > most[v] for v, c in counts.items())


class Naive:
    """`labels[a][level][i]` is record i's label, `shares[a][level][i]` how much of the domain it covers."""

    def __init__(self, labels, shares, k, limit, demands, loss, weights, crowd=None, most=None, risk=None):
        self.labels, self.shares, self.k, self.limit = labels, shares, k, limit
        self.demands = demands  # (secret values per record, demand)
        self.loss, self.weights = loss, weights
        self.n = len(labels[0][0])
        self.crowd = crowd  # (labels of the people, as those of the records; k-map; least and greatest presence)
        self.most = most  # classes
        self.risk = risk  # classes a record, of those kept
        self.aggregate, self.factor, self.relaxed = None, 0.5, False
        self.sizes = ()  # limits on all sizes: (classes smaller than this, the part of the records), or a function of the sizes

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
        suppressed, smallest = len(out), list(rest)
        while self.too_many(len(smallest), suppressed):
            suppressed += len(classes[smallest.pop(0)])
        for small, share in (one for one in self.sizes if not callable(one)):
            risky = sum(len(classes[key]) for key in rest if len(classes[key]) < small)
            most = max(n for n in range(self.n + 1) if n / self.n <= share)
            suppressed = max(suppressed, len(out) + max(0, risky - most))
        if suppressed > self.limit:
            return suppressed, 0, False, None
        found = self.joined(node, classes, out, rest, people)
        if found is None:
            return suppressed, 0, True, None
        return suppressed, found[1] - suppressed, True, found[0]

    def too_many(self, kept, suppressed):
        if self.most is not None and not self.relaxed and kept + (suppressed > 0) > self.most:
            return True
        return self.risk is not None and suppressed < self.n and kept / (self.n - suppressed) > self.risk

    def joined(self, node, classes, out, rest, people):
        """The least loss, and then the fewest suppressed, over every set of classes that may join the suppressed."""
        some = [key for key in rest if len(out) + len(classes[key]) <= self.limit]
        best, tried, count = None, 0, -1
        while (count := count + 1) <= len(some):
            enough = set()
            for chosen in combinations(some, count):
                tried += 1
                if tried > 3000:
                    raise TooMany
                gone = [*out, *(i for key in chosen for i in classes[key])]
                left = [key for key in rest if key not in chosen]
                if len(gone) > self.limit or self.too_many(len(left), len(gone)) or self.told(gone, left, people):
                    continue
                if self.sized([len(classes[key]) for key in left] + ([len(gone)] if gone else [])):
                    continue
                enough |= {chosen}
                loss = self.cost(node, [classes[key] for key in left], gone)
                best = min(best or (loss, len(gone)), (loss, len(gone)), key=lambda pair: (_rounded(pair[0]), pair[1]))
            if count == 0 and best is not None:
                return best  # nothing has to join: more suppression never loses less
            some = [key for key in some if (key,) not in enough]  # who is enough alone needs nobody beside
        return best

    def sized(self, sizes):
        """Whether the sizes of all classes break a limit."""
        fine = [
            not one(sizes) if callable(one) else sum(s for s in sizes if s < one[0]) / self.n <= one[1]
            for one in self.sizes
        ]
        return not all(fine)

    def people(self, node):
        """Who of the population looks like each class."""
        found = defaultdict(list)
        if self.crowd is not None:
            labels = self.crowd[0]
            for i in range(len(labels[0][0])):
                found[tuple(labels[a][level][i] for a, level in enumerate(node))].append(i)
        return found

    def told(self, out, rest, people):
        """Whether the suppressed are no safe class, or (if nobody is, or they need be none) people are known to be absent."""
        others = [i for key, some in people.items() if key not in rest for i in some]
        if not out or self.relaxed:
            return bool(others) and self.crowd[2] > 0
        return self.unsafe(out, others)

    def cost(self, node, kept, out):
        if self.loss == "discernibility":
            return sum(len(c) ** 2 for c in kept) + self.n * len(out)
        if self.loss == "average_class_size":
            return self.n / (len(kept) + (1 if out else 0)) / self.k
        parts = [self.part(a, level, set(out)) for a, level in enumerate(node)]
        return self.together(parts)

    def together(self, parts):
        """What the attributes lose, put together; ARX's losses as its source has it (ILMultiDimensional…)."""
        arx, n = self.loss in ("arx", "arx_entropy", "arx_bits", "height"), len(parts)
        how = self.aggregate or {"arx": "geometric", "height": "sum", "arx_bits": "sum"}.get(self.loss, "mean")
        most = max(self.weights) if arx else sum(self.weights) / n
        w = [one / most if most else 1.0 for one in self.weights]
        if how == "geometric" and arx:
            return prod(((v + 1) * x) ** (1 / n) for v, x in zip(parts, w, strict=True)) - 1
        if how == "geometric":
            return prod((v + 1) ** (x / n) for v, x in zip(parts, w, strict=True)) - 1
        both = [v * x for v, x in zip(parts, w, strict=True)]
        if how == "rank":  # ILMultiDimensionalRank compares the sorted parts one after the other
            return tuple(round(one, 10) for one in sorted(both, reverse=True))
        return {"max": max(both), "sum": sum(both), "mean": sum(both) / n}[how]

    def part(self, a, level, out):
        f = self.factor
        s, g = (2 * f if f < 0.5 else 1.0), (1.0 if f <= 0.5 else 1 - 2 * (f - 0.5))
        if self.loss == "height":
            return level
        if self.loss in ("arx_entropy", "arx_bits"):  # MetricMDNUNMEntropyPrecomputed over getUpperBounds
            values, labels = Counter(self.labels[a][0]), Counter(self.labels[a][level])
            pairs = Counter(zip(self.labels[a][0], self.labels[a][level], strict=True))
            raw = -g * sum(c * log2(values[v] / labels[label]) for (v, label), c in pairs.items())
            gone = Counter(self.labels[a][level][i] for i in out)
            raw -= s * sum(c * log2(c / len(out)) for c in gone.values())
            most = -sum(c * log2(c / self.n) for c in values.values())
            if self.loss == "arx_bits":
                return raw
            return raw / most if most else 0.0
        if self.loss == "entropy":
            values, labels = Counter(self.labels[a][0]), Counter(self.labels[a][level])
            most = sum(log2(self.n / values[v]) for v in self.labels[a][0])
            bits = 0.0
            for i in range(self.n):
                kept = log2(labels[self.labels[a][level][i]] / values[self.labels[a][0][i]])
                all_ = log2(self.n / values[self.labels[a][0][i]])
                if f > 0.5:  # a suppressed record adds what is left to lose
                    bits += g * kept + (all_ - kept if i in out else 0.0)
                else:
                    bits += kept + (s * (all_ - kept) if i in out else 0.0)
            return bits / most if most else 0.0
        height = max(len(self.labels[a]) - 1, 1)
        cell = [level / height if self.loss == "precision" else self.shares[a][level][i] for i in range(self.n)]
        gone = [1.0 if s == 1.0 else c + s * (1 - c) for c in cell]
        return sum(gone[i] if i in out else g * cell[i] for i in range(self.n)) / self.n

    def solve(self):
        """All minimal satisfying nodes, and the best node with its loss (None: nothing can be released)."""
        seen = {node: self.check(node) for node in self.nodes()}
        good = [node for node, result in seen.items() if result[2]]
        minimal = [
            node
            for node in good
            if not any(o != node and all(x <= y for x, y in zip(o, node, strict=True)) for o in good)
        ]
        released = [(_rounded(result[3]), node) for node, result in seen.items() if result[3] is not None]
        return sorted(minimal), min(released, default=None), seen


def _rounded(loss):
    return loss if isinstance(loss, tuple) else round(loss, 10)


def finer(one, other):
    return all(x <= y for x, y in zip(one, other, strict=True))


def _text(key):
    return tuple((label is not None, label or "") for label in key)
