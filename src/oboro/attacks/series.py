"""Attacks on sequential releases: intersection of the classes of several releases, and differences between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from oboro._lazy import bring
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import Groups, clean
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.labels import is_star, label_range
from oboro.hierarchies.recoding import PossibleValues, possible_values
from oboro.notations.kinds import STAR
from oboro.verifier.series import followed_by, old_places, released_classes, shared_labels, steady, suppressed_classes

__all__ = [
    "FollowedRows",
    "Narrowed",
    "Overlap",
    "SeriesRisk",
    "distinct_values",
    "known_people",
    "narrowed",
    "overlap",
    "overlapping_people",
    "rows_in_all",
    "series_attack",
]


# Candidates of people -------------------------------------------------------------------------------------------------
# Number of candidate rows of each person, and number of sensitive values in them.


@dataclass(frozen=True)
class Narrowed:
    """How far a series narrows some people down."""

    people: int
    """How many it is about."""
    below_k: int
    """Of these, how many are narrowed to fewer than k rows."""
    fewest: int | None
    """The fewest rows that somebody is narrowed to; None where it is about nobody."""
    below_l: Mapping[str, int]
    """For each secret, of how many people fewer than l values are left."""
    certain: Mapping[str, int]
    """For each secret, of how many people only one is left."""

    @property
    def exposed(self) -> int:
        """How many are below k or l, at least."""
        return max([self.below_k, *self.below_l.values()])


def narrowed(
    people: np.ndarray, left: np.ndarray, secrets: Mapping[str, np.ndarray], k: int, diverse: Mapping[str, int]
) -> Narrowed:
    """So many people each, with so many rows left to each of them, and so many values of each secret."""
    people = np.where(left > 0, people, 0)
    rows = left[people > 0]
    return Narrowed(
        int(people.sum()),
        int(people[left < k].sum()),
        int(rows.min()) if rows.size else None,
        {name: int(people[values < diverse[name]].sum()) for name, values in secrets.items()},
        {name: int(people[values == 1].sum()) for name, values in secrets.items()},
    )


def distinct_values(group: np.ndarray, values: np.ndarray, groups: int) -> np.ndarray:
    """Count the different values that each group holds.

    >>> distinct_values(np.array([0, 0, 2]), np.array([5, 5, 1]), 3)
    array([1, 0, 1])
    """
    width = int(values.max(initial=0)) + 1
    pairs = np.unique(group.astype(np.int64) * width + values)
    return np.bincount(pairs // width, minlength=groups)


# Overlapping classes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Overlap:
    """The classes of an old and a new release, the pairs of them that share values, and regions that both describe as a whole.

    The fully suppressed records stand for whoever fits no other class: they are a region of their own.
    """

    old: Groups
    new: Groups
    pairs: np.ndarray  # (old class, new class), one below the other
    old_region: np.ndarray
    new_region: np.ndarray


def overlap(
    old: Dataset,
    new: Dataset,
    quasi: Sequence[str],
    *,
    known: Dataset | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Overlap:
    """Compare the labels of both releases. Without `known`, a table whose values they stand for, they speak for themselves."""
    names = [name for name in quasi if name in old and name in new]
    classes = released_classes(old, names), released_classes(new, names)
    reaches = [_reach(clean(old[n]), clean(new[n]), _known(known, n), (hierarchies or {}).get(n)) for n in names]
    starred = suppressed_classes(old, names, classes[0]), suppressed_classes(new, names, classes[1])
    labels = [
        np.stack([clean(table[name]).codes[groups.first_rows()] for name in names], axis=1).astype(np.int64)
        if names
        else np.zeros((len(groups), 0), np.int64)
        for table, groups in zip((old, new), classes, strict=True)
    ]
    pairs = _pairs(labels, reaches, starred)
    both = np.argwhere(starred[0][:, None] & starred[1]) if starred[0].any() and starred[1].any() else pairs[:0]
    pairs = np.concatenate([pairs, both])
    regions = _regions(pairs, len(classes[0]), len(classes[1]))
    return Overlap(classes[0], classes[1], pairs, regions[: len(classes[0])], regions[len(classes[0]) :])


def _known(known: Dataset | None, name: str) -> Column | None:
    return known[name] if known is not None and name in known else None


def _reach(old: Column, new: Column, known: Column | None, hierarchy: Hierarchy | None) -> np.ndarray:
    """Find the labels of the old and the new column that share a value."""
    if known is None and hierarchy is not None:
        known = Column((hierarchy.whole or hierarchy).levels[0].labels, np.arange(0))
    domain = _atoms(old, new) if known is None else known
    one, other = (_matrix(possible_values(_all(domain), column, hierarchy)) for column in (old, new))
    shared = one.astype(np.float32) @ other.T.astype(np.float32) > 0
    alike = np.equal.outer(np.array(old.texts, dtype=object), np.array(new.texts, dtype=object))
    return np.asarray(shared | alike | is_star(old)[:, None] | is_star(new))


def _all(column: Column) -> Column:
    """Every value of a dictionary once."""
    return Column(column.values, np.arange(len(column.values)))


def _atoms(old: Column, new: Column) -> Column:
    """Values that tell the labels of two columns apart: what they name themselves, ends of ranges and the middles between, masks
    with their marks filled in."""
    texts = [text for text in dict.fromkeys([*old.texts, *new.texts]) if text is not None and text != STAR]
    ranges = [found for found in map(label_range, texts) if found is not None]
    ends = [_number(end) for found in ranges for end in (found.first, found.last) if end is not None]
    if ranges and all(end is not None for end in ends):
        plain = [_number(text) for text in texts if label_range(text) is None]
        line = np.unique([one for one in (*ends, *plain) if one is not None])
        outer = [line[0] - 1, *line, *((line[1:] + line[:-1]) / 2), line[-1] + 1]
        return Column(pa.array(np.unique(outer)), np.arange(0))
    filled = [text.replace("*", "0") if "*" in text else text for text in texts]
    return Column(pa.array(list(dict.fromkeys([*texts, *filled])), pa.string()), np.arange(0))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _matrix(found: PossibleValues) -> np.ndarray:
    """Which label reaches which value."""
    return np.array([found.reaches(label) for label in range(found.low.size)]).reshape(found.low.size, found.width)


def _pairs(
    labels: Sequence[np.ndarray], reaches: Sequence[np.ndarray], starred: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """The pairs of classes whose labels share a value in every column; only within the parts that columns fall apart into."""
    sizes = labels[0].shape[0], labels[1].shape[0]
    parts = [np.zeros((size, 0), np.int64) for size in sizes]
    for a, reach in enumerate(reaches):
        part = _regions(np.argwhere(reach), *reach.shape)
        cut = part[: reach.shape[0]], part[reach.shape[0] :]
        parts = [np.column_stack([one, c[codes[:, a]]]) for one, c, codes in zip(parts, cut, labels, strict=True)]
    _, group = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
    group = group.ravel()
    old, new = (np.flatnonzero(~stars) for stars in starred)
    mine, theirs = group[: sizes[0]][old], group[sizes[0] :][new]
    order = np.argsort(theirs, kind="stable")
    begin, end = (np.searchsorted(theirs[order], mine, side) for side in ("left", "right"))
    times = end - begin
    first = np.repeat(old, times)
    offsets = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
    second = new[order[np.repeat(begin, times) + offsets]]
    fits = np.ones(first.size, dtype=bool)
    for a, reach in enumerate(reaches):
        fits &= reach[labels[0][first, a], labels[1][second, a]]
    return np.column_stack([first[fits], second[fits]])


def _regions(pairs: np.ndarray, old: int, new: int) -> np.ndarray:
    """The connected parts of a graph between old and new ones, numbered; those of the old first."""
    csr_array = bring("scipy.sparse").csr_array
    connected_components = bring("scipy.sparse.csgraph").connected_components
    ones = np.ones(len(pairs), dtype=np.int8)
    graph = csr_array((ones, (pairs[:, 0], pairs[:, 1] + old)), shape=(old + new, old + new))
    return np.asarray(connected_components(graph, directed=False)[1])


# Rows followed between releases ---------------------------------------------------------------------------------------
# A new release beside an earlier one, row by row: overlapping classes, keys by which rows are followed, sensitive
# values.


@dataclass(frozen=True, eq=False)
class FollowedRows:
    """Keys are numbered alike in both releases. Pairs are of the earlier and of the new one."""

    overlap: Overlap
    followed: tuple[str, ...]
    keys: tuple[np.ndarray, np.ndarray]
    width: int
    secrets: tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]
    once: bool = False
    """Whether a key is a person, who counts once however many rows they have in a class."""

    @staticmethod
    def of(
        earlier: Dataset,
        released: Dataset,
        quasi: Sequence[str],
        sensitive: Sequence[str],
        *,
        person: str | None = None,
        known: Dataset | None = None,
        hierarchies: Mapping[str, Hierarchy] | None = None,
        steadily: bool = False,
    ) -> FollowedRows:
        """Compare classes and number keys. With `steadily`, rows are not followed by columns that change. O(rows · columns)."""
        found = overlap(earlier, released, quasi, known=known, hierarchies=hierarchies)
        followed = followed_by(released, earlier, quasi, person)
        if steadily and followed != (person,):
            regions = found.old_region[found.old.labels], found.new_region[found.new.labels]
            kept = steady(earlier, released, regions, [name for name in followed if name not in sensitive])
            followed = tuple(name for name in followed if name in (*sensitive, *kept))
        keys, width = shared_labels([earlier, released], followed)
        old, new = ({n: clean(one[n]).codes for n in sensitive if n in one} for one in (earlier, released))
        return FollowedRows(found, followed, (keys[0], keys[1]), width, (old, new), followed == (person,))

    @property
    def classes(self) -> tuple[Groups, Groups]:
        """The classes of both releases."""
        return self.overlap.old, self.overlap.new

    @property
    def followed_from(self) -> np.ndarray:
        """Which keys stand in which old class, as numbers in order."""
        return np.unique(self.overlap.old.labels.astype(np.int64) * self.width + self.keys[0])

    def changed(self, k: int, diverse: Mapping[str, int], *, new: bool) -> Narrowed:
        """The rows of one release that the other does not explain within the region that both describe, class by class.

        Somebody known to be in this release and not in the other is among those of their class.
        """
        mine = int(new)
        regions = self.overlap.old_region, self.overlap.new_region
        pairs = [
            regions[side][self.classes[side].labels].astype(np.int64) * self.width + self.keys[side] for side in (0, 1)
        ]
        found, ids = np.unique(np.concatenate(pairs), return_inverse=True)
        split = ids[: pairs[0].size], ids[pairs[0].size :]
        here, there = (self._number(np.bincount(split[side], minlength=found.size)) for side in (mine, 1 - mine))
        cells, each, rows = np.unique(
            self.classes[mine].labels.astype(np.int64) * found.size + split[mine],
            return_inverse=True,
            return_counts=True,
        )
        number = np.minimum(self._number(rows), np.maximum(here - there, 0)[cells % max(1, found.size)])
        group, groups = cells // max(1, found.size), len(self.classes[mine])
        sizes = np.bincount(group, weights=number, minlength=groups).astype(np.int64)
        told = number[each] > 0
        held = {n: distinct_values(group[each[told]], v[told], groups) for n, v in self.secrets[mine].items()}
        return narrowed(sizes, sizes, held, k, diverse)

    def _number(self, rows: np.ndarray) -> np.ndarray:
        return np.minimum(rows, 1) if self.once else rows


# Candidate rows -------------------------------------------------------------------------------------------------------
# Rows of the new release that may belong to a person of all releases: equal rows are in their class each time.


MOST = 20_000_000  # rows and combinations of classes that are looked at together


def known_people(
    people: Dataset, releases: Sequence[Dataset], quasi: Sequence[str], hierarchies: Mapping[str, Hierarchy] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Combinations of the classes of people, with their counts; without people who fit no class of a release."""
    names = [name for name in quasi if name in people]
    places = [old_places(people, one, names, hierarchies)[1] for one in releases]
    found, times = np.unique(np.column_stack(places), axis=0, return_counts=True)
    there = (found >= 0).all(axis=1)
    return found[there], times[there]


def overlapping_people(looks: Sequence[FollowedRows]) -> np.ndarray:
    """Every combination of a new class with an old one of each release that overlaps it."""
    vectors = np.arange(len(looks[0].classes[1]))[:, None]
    for look in looks:
        pairs = look.overlap.pairs
        order = np.argsort(pairs[:, 1], kind="stable")
        begin, end = (np.searchsorted(pairs[order, 1], vectors[:, 0], side) for side in ("left", "right"))
        place = np.repeat(begin, end - begin) + _within(end - begin)
        vectors = np.column_stack([np.repeat(vectors, end - begin, axis=0), pairs[order[place], 0]])
    return vectors


def rows_in_all(
    looks: Sequence[FollowedRows], vectors: np.ndarray, times: np.ndarray | None, k: int, diverse: Mapping[str, int]
) -> Narrowed:
    """Count for each combination of classes (the new one first) the rows that fit; `times` people stand in each.

    Without `times` it is about the rows: each is narrowed as far as the worst combination that it may belong to narrows it.
    """
    found = _Candidates.of(looks, vectors)
    if times is not None:
        return narrowed(times, found.left, found.values, k, diverse)
    least = [found.worst(array) for array in (found.left, *found.values.values())]
    values = dict(zip(found.values, least[1:], strict=True))
    return narrowed(found.weights, np.where(found.touched, least[0], 0), values, k, diverse)


@dataclass(frozen=True, eq=False)
class _Candidates:
    left: np.ndarray  # of each combination, how many rows (or people) fit
    values: Mapping[str, np.ndarray]  # and how many values of each secret they hold
    weights: np.ndarray  # of each row of the new release: 0 where another row of the same person in its class counts
    group: np.ndarray  # each fit: the combination,
    row: np.ndarray  # and the row

    @staticmethod
    def of(looks: Sequence[FollowedRows], vectors: np.ndarray) -> _Candidates:
        classes = looks[0].classes[1]
        members, there = classes.members(), [look.followed_from for look in looks]
        step = max(1, MOST // max(1, int(classes.sizes.max(initial=1))))
        parts = [
            _fitting(looks, there, vectors[begin : begin + step], members, begin)
            for begin in range(0, len(vectors), step)
        ]
        group, row = (
            np.concatenate([part[side] for part in parts]) if parts else np.zeros(0, np.int64) for side in (0, 1)
        )
        weights = _one_each(looks[0]) if looks[0].once else np.ones(classes.labels.size, np.int64)
        left = np.bincount(group, weights=weights[row], minlength=len(vectors)).astype(np.int64)
        secrets = looks[0].secrets[1]
        values = {name: distinct_values(group, codes[row], len(vectors)) for name, codes in secrets.items()}
        return _Candidates(left, values, weights, group, row)

    @property
    def touched(self) -> np.ndarray:
        """Which rows fit some combination."""
        out = np.zeros(self.weights.size, dtype=bool)
        out[self.row] = True
        return out

    def worst(self, figures: np.ndarray) -> np.ndarray:
        """For each row the least figure of the combinations that it fits."""
        out = np.full(self.weights.size, np.iinfo(np.int64).max)
        np.minimum.at(out, self.row, figures[self.group])
        return out


def _fitting(
    looks: Sequence[FollowedRows],
    there: Sequence[np.ndarray],
    vectors: np.ndarray,
    members: tuple[np.ndarray, np.ndarray],
    begin: int,
) -> tuple[np.ndarray, np.ndarray]:
    order, starts = members
    sizes = starts[vectors[:, 0] + 1] - starts[vectors[:, 0]]
    group = np.repeat(np.arange(len(vectors)), sizes)
    rows = order[starts[vectors[group, 0]] + _within(sizes)]
    for number, (look, known) in enumerate(zip(looks, there, strict=True), 1):
        asked = vectors[group, number] * look.width + look.keys[1][rows]
        fits = known[np.minimum(np.searchsorted(known, asked), known.size - 1)] == asked if known.size else asked < 0
        group, rows = group[fits], rows[fits]
    return group + begin, rows


def _within(sizes: np.ndarray) -> np.ndarray:
    """0, 1, 2 … within each of several runs."""
    return np.asarray(np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes))


def _one_each(look: FollowedRows) -> np.ndarray:
    """1 for one row of each person in a class."""
    pairs = look.classes[1].labels.astype(np.int64) * look.width + look.keys[1]
    out = np.zeros(pairs.size, np.int64)
    out[np.unique(pairs, return_index=True)[1]] = 1
    return out


# Intersection and difference attack -----------------------------------------------------------------------------------
# The intersection attack on people who are in all releases, the difference attack on people who came or left.
#
# The attacker has the released files, knows a person's quasi-identifiers, and knows in which releases the person is.
# Rows are followed from one release to the next by the values that both share beside the quasi-identifiers.
#
# - *In all*: the person's row is one of those of their class in the new release that have an equal row in their class of
#   every other.
# - *Came*: a person who is in the new release and not in an earlier one is among the rows that the earlier one does not
#   explain.
# - *Left*: the same the other way round.
#
# Everything is counted over all rows, nothing is drawn, and the order of rows plays no part.


@dataclass(frozen=True)
class SeriesRisk:
    """What a release tells together with those before it."""

    earlier: int
    k: int
    l: Mapping[str, int]  # noqa: E741
    followed_by: tuple[tuple[str, ...], ...]
    """For each earlier release, the columns by which rows were followed from it."""
    known: bool
    """Whether those who are in all are the people of an original table; otherwise rows are counted."""
    in_all: Narrowed
    came: tuple[Narrowed, ...]
    """For each earlier release, the rows that are new since."""
    left: tuple[Narrowed, ...]
    """For each earlier release, the rows that are gone since."""
    verified: bool = False
    """Whether a promise over the series was verified. What the attacks conclude is then wrong for some of those whom they name."""
    accepted: str = ""
    """Why it may be released although it tells some people; empty: nobody said so."""

    @property
    def attacks(self) -> list[tuple[str, int, Narrowed]]:
        """Each attack with its name and the number of the earlier release (0: all of them)."""
        found = [("in_all", 0, self.in_all)]
        for number, (came, left) in enumerate(zip(self.came, self.left, strict=True), 1):
            found += [("came", number, came), ("left", number, left)]
        return found

    @property
    def exposed(self) -> int:
        """The most people whom one of the attacks narrows below k or l."""
        return max(one.exposed for _, _, one in self.attacks)

    @property
    def refused(self) -> int:
        """The same, where nobody accepted it and no promise over the series was verified."""
        return 0 if self.accepted or self.verified else self.exposed

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "exposed": self.exposed}


def series_attack(
    released: Dataset,
    earlier: Sequence[Dataset],
    *,
    quasi: Sequence[str],
    k: int,
    diverse: Mapping[str, int] | None = None,
    person: str | None = None,
    original: Dataset | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> SeriesRisk:
    """Attack `released` with the releases before it. O(rows · log rows), and what classes overlap.

    `diverse` says of how many values of each sensitive column one must be in doubt. `original` are people whom the attacker knows;
    without it everybody is attacked who may stand in the classes. `person` is a released column that says whose a row is.
    """
    wanted = {name: least for name, least in (diverse or {}).items() if name in released}
    known: dict[str, Any] = {"person": person, "known": original, "hierarchies": hierarchies}
    found: list[SeriesRisk] = []
    for steadily in (False, True):
        looks = [FollowedRows.of(one, released, quasi, list(wanted), **known, steadily=steadily) for one in earlier]
        if not found or any(look.followed != names for look, names in zip(looks, found[0].followed_by, strict=True)):
            vectors, times = overlapping_people(looks), None
            if original is not None:
                vectors, times = known_people(original, [released, *earlier], quasi, hierarchies)
            found.append(_attacked(looks, vectors, times, k, wanted))
    return found[0] if len(found) == 1 else _worse(*found)


def _attacked(
    looks: Sequence[FollowedRows], vectors: np.ndarray, times: np.ndarray | None, k: int, diverse: Mapping[str, int]
) -> SeriesRisk:
    return SeriesRisk(
        earlier=len(looks),
        k=k,
        l=diverse,
        followed_by=tuple(look.followed for look in looks),
        known=times is not None,
        in_all=rows_in_all(looks, vectors, times, k, diverse),
        came=tuple(look.changed(k, diverse, new=True) for look in looks),
        left=tuple(look.changed(k, diverse, new=False) for look in looks),
    )


def _worse(one: SeriesRisk, other: SeriesRisk) -> SeriesRisk:
    """Of two ways to follow rows, for each attack the one that finds more."""

    def more(first: Narrowed, second: Narrowed) -> Narrowed:
        return second if second.exposed > first.exposed else first

    came, left = (tuple(map(more, *pair)) for pair in ((one.came, other.came), (one.left, other.left)))
    return replace(one, in_all=more(one.in_all, other.in_all), came=came, left=left)
