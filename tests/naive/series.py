"""Series of releases by obvious loops: the attacks on the files, and every world that an attacker can think of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

Row = tuple[str, ...]  # labels of the quasi-identifiers, then what is said beside them
STAR = "*"


def reach(label: str, values: Sequence[int]) -> set[int]:
    """The values that a label stands for: `3`, `1–4` or `*`."""
    if label == STAR:
        return set(values)
    first, _, last = label.partition("–")
    return {value for value in values if int(first) <= value <= int(last or first)}


def alike(one: Row, other: Row, values: Sequence[int]) -> bool:
    """Whether two classes can hold the same person; the suppressed fit no other class."""
    stars = {all(label == STAR for label in row) for row in (one, other)}
    if len(stars) == 2:
        return False
    return all(reach(a, values) & reach(b, values) for a, b in zip(one, other, strict=True))


def changed(
    mine: Sequence[tuple[Row, Row]], theirs: Sequence[tuple[Row, Row]], values: Sequence[int]
) -> dict[Row, Counter[Row]]:
    """For each class of one release the keys of its rows that the other release does not explain."""
    classes = sorted({row for row, _ in mine}), sorted({row for row, _ in theirs})
    region: dict[tuple[int, Row], int] = {
        (side, row): len(classes[0]) * side + i for side in (0, 1) for i, row in enumerate(classes[side])
    }
    for one, other in product(*classes):
        if alike(one, other, values):
            keep, gone = region[0, one], region[1, other]
            region = {key: keep if at == gone else at for key, at in region.items()}
    here, there = (Counter((region[side, row], key) for row, key in rows) for side, rows in enumerate((mine, theirs)))
    found: dict[Row, Counter[Row]] = {}
    for row in classes[0]:
        held = Counter(key for one, key in mine if one == row)
        more = {key: here[region[0, row], key] - there[region[0, row], key] for key in held}
        found[row] = Counter({key: min(held[key], n) for key, n in more.items() if n > 0})
    return found


def candidates(
    new: Sequence[tuple[Row, Row]], olds: Sequence[Sequence[tuple[Row, Row]]], vector: Sequence[Row]
) -> list:
    """The rows (numbers) of the new release that somebody may be who stands in these classes."""
    return [
        number
        for number, (row, key) in enumerate(new)
        if row == vector[0]
        and all(any(one == place and k == key for one, k in old) for old, place in zip(olds, vector[1:], strict=True))
    ]


# Every world ---------------------------------------------------------------------------------------------------------


def possible_keys(
    people: Mapping[str, Sequence[Row | None]], releases: Sequence[Sequence[tuple[Row, Row]]]
) -> dict[str, set[Row]]:
    """For each person the keys that they have in some world: everybody has one key, and every release is explained.

    `people` gives for each person the class in each release, None where they are not in it.
    """
    wanted = [Counter(release) for release in releases]
    names = list(people)
    found: dict[str, set[Row]] = {name: set() for name in names}

    def go(at: int, left: list[Counter[tuple[Row, Row]]], given: dict[str, Row]) -> None:
        if at == len(names):
            if not any(+one for one in left):
                for name, key in given.items():
                    found[name].add(key)
            return
        places = [(i, row) for i, row in enumerate(people[names[at]]) if row is not None]
        first, row = places[0]
        for key in {k for (r, k), n in left[first].items() if r == row and n > 0}:
            if all(left[i][r, key] > 0 for i, r in places):
                for i, r in places:
                    left[i][r, key] -= 1
                go(at + 1, left, {**given, names[at]: key})
                for i, r in places:
                    left[i][r, key] += 1

    go(0, wanted, {})
    return found
