"""People counted with plain loops and fractions: what every model asks of a class where one person may have several rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import inf, log

from tests.naive.lattice import Naive, _text, breaks, compared

Row = tuple[object, ...]


def classes(keys: Sequence[object], people: Sequence[object], secrets: Sequence[object]) -> list[list[Row]]:
    """The known people of each class with their values, each pair once."""
    found: dict[object, list[Row]] = defaultdict(list)
    for key, person, secret in zip(keys, people, secrets, strict=True):
        held = found[key]
        if person is not None and (person, secret) not in held:
            held.append((person, secret))
    return list(found.values())


def persons(members: Sequence[Row]) -> int:
    """How many different people."""
    return len({person for person, _ in members})


def values(members: Sequence[Row]) -> Counter[object]:
    """How many people have each value."""
    return Counter(secret for _, secret in members)


def certain(members: Sequence[Row]) -> bool:
    """Whether everybody has one value (or nobody is known)."""
    return max(values(members).values(), default=0) >= persons(members)


def distinct(members: Sequence[Row]) -> int:
    """How many values, where one that everybody has makes the others worthless."""
    return min(1, len(values(members))) if certain(members) else len(values(members))


def entropy(members: Sequence[Row]) -> float:
    """Of the pairs of person and value."""
    total = len(members)
    return -sum(count / total * log(count / total) for count in values(members).values())


def recursive(members: Sequence[Row], level: int) -> float:
    """r₁ / (r_l + … + r_m)."""
    counts = sorted(values(members).values(), reverse=True)
    rest = sum(counts[level - 1 :])
    return inf if not rest or (level > 1 and certain(members)) else counts[0] / rest


def share(members: Sequence[Row], value: object = None) -> float:
    """The part of the people who have the most frequent value, or the given one."""
    if not members:
        return inf
    held = values(members)
    return (max(held.values()) if value is None else held[value]) / persons(members)


def distance(members: Sequence[Row], everybody: Sequence[Row]) -> Fraction:
    """Total variation between the pairs of a class and those of the whole table."""
    if not members:
        return Fraction(1)
    here, whole = values(members), values(everybody)
    gaps = (abs(Fraction(here[v], len(members)) - Fraction(whole[v], len(everybody))) for v in whole)
    return sum(gaps, Fraction(0)) / 2


def ordered_distance(members: Sequence[Row], everybody: Sequence[Row]) -> Fraction:
    """Mean difference of the cumulated shares over the sorted values."""
    if not members:
        return Fraction(1)
    here, whole = values(members), values(everybody)
    ranks = sorted(whole, key=str)
    total, ahead = Fraction(0), Fraction(0)
    for value in ranks[:-1]:
        ahead += Fraction(here[value], len(members)) - Fraction(whole[value], len(everybody))
        total += abs(ahead)
    return total / max(1, len(ranks) - 1)


def everybody(people: Sequence[object], secrets: Sequence[object]) -> list[Row]:
    """Each pair of a known person and a value once."""
    return classes([0] * len(people), people, secrets)[0]


class NaivePeople(Naive):
    """Global recoding where classes hold k people: `owners[i]` is whose record i is. `whole`: people go with all their records."""

    def __init__(self, plain: Naive, owners: Sequence[object], whole: bool) -> None:
        vars(self).update(vars(plain))
        self.owners, self.whole = owners, whole

    def unsafe(self, members, people=()):
        owners = [self.owners[i] for i in members]
        if len(set(owners)) < self.k:
            return True
        return any(self.breaks(owners, [secret[i] for i in members], secret, demand) for secret, demand in self.demands)

    def breaks(self, owners, secrets, whole, demand):
        pairs, all_pairs = everybody(owners, secrets), everybody(self.owners, whole)
        kind, *rest = demand
        if kind == "alpha":
            return share(pairs, rest[1]) > rest[0]
        if kind in ("disclosure", "held", "basic", "enhanced"):
            return compared(values(pairs), persons(pairs), values(all_pairs), persons(all_pairs), demand)
        least = {"distinct": rest[0], "entropy": rest[0], "recursive": rest[-1]}.get(kind, 1)
        if least > 1 and certain(pairs):
            return True
        return breaks([secret for _, secret in pairs], [secret for _, secret in all_pairs], demand)

    def check(self, node):
        return self.check_whole(node) if self.whole else super().check(node)

    def check_whole(self, node):
        """(people who go, of these in addition, satisfying, loss or None)."""
        gone = self.settled(node, set())
        first = len(gone)
        if first > self.limit:
            return first, 0, False, None
        while self.told([i for i in range(self.n) if self.owners[i] in gone], [], {}):
            kept = self.kept(node, gone)
            if not kept:
                return first, 0, True, None
            smallest = min(kept, key=lambda key: (len(kept[key]), _text(key)))
            gone = self.settled(node, gone | {self.owners[i] for i in kept[smallest]})
            if len(gone) > self.limit:
                return first, 0, True, None
        out = [i for i in range(self.n) if self.owners[i] in gone]
        return first, len(gone) - first, True, self.cost(node, list(self.kept(node, gone).values()), out)

    def kept(self, node, gone):
        found = defaultdict(list)
        for i in range(self.n):
            if self.owners[i] not in gone:
                found[tuple(self.labels[a][level][i] for a, level in enumerate(node))].append(i)
        return found

    def settled(self, node, gone):
        """First by size alone, then by the demands too, until nothing changes."""
        demands = self.demands
        for asked in ([], demands):
            self.demands = asked
            while True:
                bad = [one for one in self.kept(node, gone).values() if self.unsafe(one)]
                if not bad:
                    break
                gone = gone | {self.owners[i] for members in bad for i in members}
            if len(gone) > self.limit:
                break
        self.demands = demands
        return gone
