"""The window paper as plain loops: regions, neighbours, groups, and the stream itself, sections 2.5 to 4.4."""

from __future__ import annotations

import math
from collections.abc import Sequence

Point = Sequence[float]


def squared(a: Point, b: Point) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def key(point: Point, anchors: Sequence[Point], radii: Sequence[Sequence[float]]) -> int:
    """One digit per anchor: how many of its radii the point lies beyond. `radii[i]` are those of anchor i."""
    number = 0
    for anchor, own in zip(anchors, radii, strict=True):
        digit = sum(math.sqrt(squared(point, anchor)) > radius for radius in own)
        number = number * (len(own) + 1) + digit
    return number


def nearest(point: Point, others: dict[int, Point], count: int) -> list[tuple[int, float]]:
    """Number and squared distance, nearest first, equal ones by number."""
    found = sorted((squared(point, other), number) for number, other in others.items())
    return [(number, distance) for distance, number in found[:count]]


def in_regions(
    point: Point,
    others: dict[int, Point],
    sets: Sequence[tuple[Sequence[Point], Sequence[Sequence[float]]]],
    least: int,
) -> set[int]:
    """Candidates: the own region in every set; with fewer than `least` also those one step away; then everybody."""
    found: set[int] = set()
    for anchors, radii in sets:
        own = key(point, anchors, radii)
        found |= {number for number, other in others.items() if key(other, anchors, radii) == own}
    if len(found) >= least:
        return found
    for anchors, radii in sets:
        base = len(radii[0]) + 1
        own = digits(key(point, anchors, radii), base, len(anchors))
        for number, other in others.items():
            theirs = digits(key(other, anchors, radii), base, len(anchors))
            if sum(abs(x - y) for x, y in zip(own, theirs, strict=True)) == 1:
                found.add(number)
    return found if len(found) >= least else set(others)


def digits(number: int, base: int, count: int) -> list[int]:
    return [number // base**i % base for i in range(count)]


def centroid(points: Sequence[Point]) -> list[float]:
    return [sum(column) / len(points) for column in zip(*points, strict=True)]


def loss(points: Sequence[Point]) -> float:
    centre = centroid(points)
    return sum(squared(point, centre) for point in points) / len(points)


def group(
    head: Point, others: dict[int, Point], k: int, rule: str, left_over: int | None = None
) -> tuple[list[int], float]:
    """Process 1: the members besides the head, and the loss per record. `left_over`: how many others wait, at the end."""
    near = [number for number, _ in nearest(head, others, 2 * k - 2 if rule == "paper" else max(32, 4 * k))]
    order: list[int] = []
    while near and len(order) < 2 * k - 2:
        centre = centroid([head, *(others[number] for number in order)])
        chosen = near[0] if rule == "paper" else min(near, key=lambda number: squared(others[number], centre))
        near.remove(chosen)
        order.append(chosen)
    best: tuple[list[int], float] = ([], math.inf)
    for size in range(k, 2 * k):
        if size - 1 > len(order) or (left_over is not None and 0 < left_over - (size - 1) < k):
            continue
        found = loss([head, *(others[number] for number in order[: size - 1])])
        if found < best[1]:
            best = order[: size - 1], found
    return best


class Paper:
    """Buffer, cache, process 1 and process 2. `released[i]` is what record i is released as."""

    def __init__(self, k: int, rule: str) -> None:
        self.k, self.rule = k, rule
        self.waiting: dict[int, Point] = {}
        self.cache: list[tuple[list[float], int]] = []
        self.released: dict[int, list[float]] = {}
        self.losses: list[float] = []

    def process(self, head: int, ending: bool = False) -> None:
        point = self.waiting.pop(head)
        members, first = group(point, self.waiting, self.k, self.rule, len(self.waiting) if ending else None)
        joinable = [
            (squared(point, centre), i) for i, (centre, count) in enumerate(self.cache) if count <= 2 * self.k - 1
        ]
        if ending and members and 0 < len(self.waiting) < self.k:
            joinable = []
        second, entry = min(joinable, default=(math.inf, -1))
        if first <= second and members:
            centre = centroid([point, *(self.waiting[number] for number in members)])
            self.cache.append((centre, len(members) + 1))
            for number in (head, *members):
                self.released[number] = centre
                self.waiting.pop(number, None)
        elif entry >= 0 or self.cache:
            if entry < 0:
                entry = min(range(len(self.cache)), key=lambda i: squared(point, self.cache[i][0]))
            centre, count = self.cache[entry]
            self.cache[entry] = centre, count + 1
            self.released[head] = centre
        self.losses.append(min(first, second))


def stream(points: Sequence[Point], k: int, window: int, rule: str) -> list[list[float] | None]:
    """The problem definition: one record in, one out, and everybody who is left at the end. None: withheld."""
    paper = Paper(k, rule)
    for i, point in enumerate(points):
        paper.waiting[i] = point
        head = i - window + 1
        if head >= 0 and head in paper.waiting:
            paper.process(head)
    for head in range(len(points)):
        if head in paper.waiting:
            paper.process(head, ending=True)
    return [paper.released.get(i) for i in range(len(points))]


def experiment(points: Sequence[Point], k: int, window: int, heads: int, rule: str = "paper") -> float:
    """Section 5.3 as its tables read: a record enters only for a head that is processed; the loss is theirs."""
    paper = Paper(k, rule)
    paper.waiting = dict(enumerate(points[:window]))
    tail = window
    for head in range(heads):
        if head in paper.waiting:
            paper.process(head)
            paper.waiting[tail] = points[tail]
            tail += 1
    return sum(paper.losses) / len(paper.losses)
