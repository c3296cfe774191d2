"""Verification of streams, from the original and the released records.

A released record *matches* an original one if every released cell is the original value, or `*`, or a label of the
attribute's hierarchy over that value. A *correspondence* pairs released and original records of a prefix one to one, each
pair matching; the candidates of a released record are the originals that it has in some correspondence. Stream k-anonymity
(Yamaoka & Itoh): in every prefix every released record has at least k candidates, or all of them are fully suppressed.

It holds exactly if every released record that is not fully suppressed matches at least k − 1 earlier originals; the proof
is in docs/guarantees/stream-k-anonymity.md. `verify_stream` counts those. `candidates` goes the long way, over all
correspondences of one prefix, and also for an attacker who already knows the owners of some records.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.folding import merged_missing
from oboro.data.frames import Frame
from oboro.data.grouping import Groups, clean
from oboro.errors import ColumnError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.spec import HierarchySpec, form_alone
from oboro.notations.kinds import STAR, is_missing, reads_as_no_secret, tells_nothing
from oboro.notations.texts import texts_of
from oboro.text import Message
from oboro.verifier.matching import Relation, correspondence
from oboro.verifier.verdict import Verdict, Verification

__all__ = ["Pairing", "candidates", "verify_stream", "verify_window"]


Record = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Pairing:
    """A stream as numbers: for each attribute and level, which label an original has, and which one was released.

    `labels[a][level, record]` are labels of originals; `level[a, record]` says on which level the release speaks, the
    number of levels for `*`. −1 is a label that no release can match.
    """

    labels: tuple[np.ndarray, ...]
    level: np.ndarray

    @staticmethod
    def of(
        originals: Sequence[Record],
        released: Sequence[Record],
        attributes: Sequence[str],
        hierarchies: Mapping[str, Any] | None = None,
        folder: Path = Path("."),
        missing: str = "star",
    ) -> Pairing:
        """From the records as they went in and came out, in order; `missing` as in `oboro.stream.DelayFree`.

        Raises `UsageError` where a release does not match its own original: then it is no generalization at all.
        """
        if len(originals) != len(released):
            raise UsageError(Message("error_verifier.in_and_out", originals=len(originals), released=len(released)))
        labels, levels = [], []
        for name in attributes:
            spec = HierarchySpec.model_validate((hierarchies or {}).get(name) or {})
            known: dict[Any, str | None] = {}
            texts = _ladder(name, _texts([record[name] for record in originals], known), spec, folder)
            labels.append(_label_numbers(texts, missing == "value"))
            levels.append(_levels(name, texts, _texts([record[name] for record in released], known)))
        return Pairing(tuple(labels), np.array(levels).reshape(len(attributes), len(originals)))

    def __len__(self) -> int:
        return int(self.level.shape[1])

    def first(self, count: int) -> Pairing:
        """The first records only."""
        return Pairing(tuple(each[:, :count] for each in self.labels), self.level[:, :count])

    def take(self, records: np.ndarray) -> Pairing:
        """Some of the records."""
        return Pairing(tuple(each[:, records] for each in self.labels), self.level[:, records])

    def suppressed(self) -> np.ndarray:
        """Mask of the releases that are fully suppressed."""
        heights = np.array([each.shape[0] for each in self.labels])
        return np.asarray((self.level == heights[:, None]).all(axis=0))

    def keys(self, level: np.ndarray) -> np.ndarray:
        """All originals on the levels of one release, as one number each: equal numbers, equal labels."""
        keys = np.zeros(len(self), dtype=np.int64)
        for each, at in zip(self.labels, level, strict=True):
            if at < each.shape[0]:
                _, keys = np.unique(keys * (int(each[at].max(initial=0)) + 2) + each[at] + 1, return_inverse=True)
        return keys


def verify_stream(
    originals: Sequence[Record],
    released: Sequence[Record],
    *,
    attributes: Sequence[str],
    k: int,
    hierarchies: Mapping[str, Any] | None = None,
    folder: Path = Path("."),
    missing: str = "star",
    person: str | None = None,
    sensitive: str | None = None,
    l: int = 1,  # noqa: E741  (the literature's letter)
) -> Verification:
    """Check stream k-anonymity of a whole stream, and with it of every prefix. O(records · different levels · attributes).

    With `person` the earlier matches must be of k − 1 other people; with `sensitive` they and the record itself must have
    `l` different values of it. A missing person protects nobody; missing secrets are one value. Records are given in order;
    `released[i]` is what came out for `originals[i]`.

    >>> stream = [{"sex": "F"}, {"sex": "F"}]
    >>> verify_stream(stream, [{"sex": "*"}, {"sex": "F"}], attributes=["sex"], k=2).holds
    True
    >>> verify_stream(stream, stream, attributes=["sex"], k=2).sentence()
    'stream 2-anonymity is broken for 1 of 2 records (required 2, achieved 1).'
    """
    pairing = Pairing.of(originals, released, attributes, hierarchies, folder, missing)
    people = _people([record[person] for record in originals]) if person else np.arange(len(pairing))
    secrets = (
        _codes([record[sensitive] for record in originals]) if sensitive else np.zeros(len(pairing), dtype=np.int64)
    )
    others, kinds = _earlier(pairing, people, secrets)
    free = pairing.suppressed()
    ones = np.ones(len(pairing), dtype=np.int64)
    model = Message("model.stream_k_anonymity", k=k)
    if not len(pairing):
        return Verification.of([Verdict.vacuous(model, k, Message("verdict.no_stream_records"))], attributes)
    verdicts = [_verdict(model, k, np.where(free, k, others + 1), ones)]
    if sensitive:
        diverse = Message("model.stream_l_diversity", l=l, sensitive=sensitive)
        verdicts.append(_verdict(diverse, l, np.where(free, l, kinds), ones))
    return Verification.of(verdicts, attributes)


def _verdict(model: Message, required: int, scores: np.ndarray, sizes: np.ndarray) -> Verdict:
    return Verdict.of(model, required, scores.astype(np.float64), scores < required, sizes, most=False)


def _earlier(pairing: Pairing, people: np.ndarray, secrets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each release: how many other people's earlier originals it matches, and their different secrets with its own.

    A missing person (−1) is nobody to be taken for; and whoever is missing may be one of the others, so one of them less.
    """
    others, kinds = np.zeros(len(pairing), dtype=np.int64), np.ones(len(pairing), dtype=np.int64)
    distinct, which = np.unique(pairing.level, axis=1, return_inverse=True)
    for number in range(distinct.shape[1]):
        keys = pairing.keys(distinct[:, number])
        asked = which.ravel() == number
        # Somebody's first record under a key counts for all later records of others: people so far, less oneself.
        everybody, mine = _first_so_far(keys, people)
        mine = np.where(people < 0, np.minimum(everybody, 1), mine)
        others[asked] = (everybody - mine)[asked]
        values, own = _first_so_far(keys, secrets)
        kinds[asked] = (values + 1 - own)[asked]
    return others, kinds


def _first_so_far(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Before each record: how many different values its key has had, and whether its own was among them (0 or 1)."""
    pairs = keys * (int(values.max(initial=0)) + 2) + values
    first = np.zeros(keys.size, dtype=np.int64)
    first[np.unique(pairs, return_index=True)[1]] = 1
    first[values < 0] = 0
    order = np.argsort(keys, kind="stable")
    running = np.cumsum(first[order]) - first[order]
    starts = (
        np.flatnonzero(np.append(True, keys[order][1:] != keys[order][:-1])) if keys.size else np.zeros(0, np.int64)
    )
    lengths = np.diff(np.append(starts, keys.size))
    before = np.empty(keys.size, dtype=np.int64)
    before[order] = running - np.repeat(running[starts], lengths)
    return before, 1 - first


def candidates(pairing: Pairing, known: int = 0) -> np.ndarray:
    """For each release of a prefix, how many originals it has in some correspondence.

    `known` is how many of the first owners somebody knows: those pairs are fixed, and their releases have one candidate.
    Alike originals are one node, and alike releases; see `oboro.verifier.matching`.
    """
    found = np.ones(len(pairing), dtype=np.int64)
    if known < len(pairing):
        found[known:] = correspondence(_relation(pairing.take(np.arange(known, len(pairing))))).candidates
    return found


def _relation(pairing: Pairing) -> Relation:
    """Kinds of originals, kinds of releases, and which match."""
    leaf = pairing.keys(np.zeros(pairing.level.shape[0], dtype=np.int64))
    one = np.unique(leaf, return_index=True)[1]
    pattern, example = _patterns(pairing)
    matches = []
    for at in example:
        keys = pairing.keys(pairing.level[:, at])
        matches.append(np.flatnonzero(keys[one] == keys[at]).astype(np.int32))
    starts = np.concatenate([[0], np.cumsum([match.size for match in matches])])
    originals, released = (Groups(labels, np.bincount(labels)) for labels in (leaf, pattern))
    return Relation(originals, released, starts, np.concatenate(matches))


def _patterns(pairing: Pairing) -> tuple[np.ndarray, np.ndarray]:
    """The number of each release among the different ones, and one record for each."""
    own = [
        np.where(at < each.shape[0], each[np.minimum(at, each.shape[0] - 1), np.arange(at.size)], -2) * 64 + at
        for each, at in zip(pairing.labels, pairing.level, strict=True)
    ]
    _, example, pattern = np.unique(np.array(own), axis=1, return_index=True, return_inverse=True)
    return pattern.ravel(), example


def _text(value: object) -> str | None:
    if is_missing(value):
        return None
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _texts(values: Sequence[Any], known: dict[Any, str | None]) -> list[str | None]:
    """Values as text; equal ones (1 and 1.0) as the first of them, for they are one value, and released as first seen."""
    return [known.setdefault(value, _text(value)) for value in values]


def _codes(values: Sequence[Any]) -> np.ndarray:
    """Equal values have equal numbers; all that some reader takes for missing are one."""
    known: dict[Any, int] = {}
    return np.array(
        [known.setdefault(None if reads_as_no_secret(value) else value, len(known)) for value in values], dtype=np.int64
    )


def _people(values: Sequence[Any]) -> np.ndarray:
    """People as numbers, −1 for a missing one."""
    known: dict[Any, int] = {}
    return np.array(
        [-1 if tells_nothing(value) else known.setdefault(value, len(known)) for value in values], dtype=np.int64
    )


def _ladder(name: str, texts: list[str | None], spec: HierarchySpec, folder: Path) -> list[list[str | None]]:
    """The labels of each record, level by level, without last levels that are `*` for all. A value has those that it has alone."""
    different = [text for text in dict.fromkeys(texts) if text is not None and text != STAR]
    if spec == HierarchySpec() or not different:
        return [texts]
    whole = spec.whole(name, folder)
    listed = None if whole is None else frozenset(texts_of(whole.levels[0].labels))
    forms: dict[Hashable, list[str]] = {}
    for text in different:
        forms.setdefault(form_alone(spec, listed, text), []).append(text)
    paths: dict[str | None, list[str | None]] = {}
    for alike in forms.values():
        column = Column.of(alike)
        paths |= _paths(spec.build(name, column, folder) if whole is None else whole.bind(column), column, alike)
    height = max(map(len, paths.values()))
    levels = [
        texts,
        *(
            [None if text in (None, STAR) else _label(text, paths[text], at, height) for text in texts]
            for at in range(1, height)
        ),
    ]
    while len(levels) > 1 and {*levels[-1]} <= {STAR, None}:
        levels.pop()
    return levels


def _paths(hierarchy: Hierarchy, column: Column, texts: Sequence[str]) -> dict[str | None, list[str | None]]:
    """For each text its labels, from itself upwards."""
    labels = [texts_of(level.labels) for level in hierarchy.levels]
    steps = [level.table[column.codes] for level in hierarchy.levels]
    return {
        text: [text, *(own[step[row]] for own, step in zip(labels[1:], steps[1:], strict=True))]
        for row, text in enumerate(texts)
    }


def _label(text: str, path: list[str | None], at: int, height: int) -> str | None:
    """The label on a level; where a value has fewer than others (a day has no time of day), it stands for itself on those below."""
    place = at - (height - len(path))
    return path[place] if place > 0 else text


def _label_numbers(levels: list[list[str | None]], missing: bool) -> np.ndarray:
    """Labels as numbers, level by level. A missing original matches `*` only, and has −1, unless it counts as a value."""
    known: dict[Any, int] = {}
    nothing = (STAR,) if missing else (STAR, None)
    rows = [[-1 if one in nothing else known.setdefault(one, len(known)) for one in level] for level in levels]
    return np.array(rows, dtype=np.int64).reshape(len(levels), -1)


def _levels(name: str, levels: list[list[str | None]], released: list[str | None]) -> list[int]:
    """On which level each release speaks: the lowest with that label."""
    found = []
    for i, text in enumerate(released):
        if text == STAR:
            found.append(len(levels))
            continue
        at = next((number for number, level in enumerate(levels) if level[i] == text), None)
        if at is None:
            raise UsageError(Message("error_verifier.not_covered", name=name, record=i + 1))
        found.append(at)
    return found


# Verification of windows ----------------------------------------------------------------------------------------------
# Verification of a window from the released records alone.
#
# The condition of the paper (Yamayoshi et al., 2.4): for every released record U_i, at least k of U_1 … U_{i + W − 1}
# are equal to it in all attributes. Without `window`: among all released records.


def verify_window(
    released: Any,
    *,
    attributes: Sequence[str],
    k: int,
    window: int | None = None,
    sensitive: str | None = None,
    l: int = 1,  # noqa: E741  (the literature's letter)
    people: Sequence[Any] | None = None,
) -> Verification:
    """Check that every released combination of the attributes occurs k times, and within the window. O(n log n).

    `released` are the records in the order in which they came out, a list or a frame. With `sensitive` they must also have `l`
    different values of it; with `people` (whose record each is, in the same order) be of k different people. A missing person
    protects nobody.

    >>> verify_window([{"x": 1.5}, {"x": 1.5}], attributes=["x"], k=2, window=2).holds
    True
    >>> verify_window([{"x": 1.5}, {"x": 3.0}, {"x": 1.5}, {"x": 3.0}], attributes=["x"], k=2, window=2).sentence()
    '2-anonymity within 2 records is broken in 2 of 2 groups (4 records; required 2, achieved 1; sizes of the worst groups: 2, 2).'
    """
    if k < 1 or (window is not None and window < 1):
        raise UsageError(Message("error_verifier.window", k=k, window=window))
    data = _data(released, [*attributes, *([sensitive] if sensitive else [])])
    if not data.rows:
        return Verification.of(
            [Verdict.vacuous(_anonymity(k, window), k, Message("verdict.nothing_released"))], attributes
        )
    label = _labels(np.stack([data[name].codes.astype(np.int64) for name in attributes], axis=1))
    sizes = np.bincount(label)
    counted = _counted(label, window)
    who = np.arange(data.rows) if people is None else _person_numbers(people, data.rows)
    verdicts = [_verdict(_anonymity(k, window), k, _different(label, who, counted & (who >= 0)), sizes)]
    if sensitive:
        secrets = clean(merged_missing(data[sensitive])).codes.astype(np.int64)  # as the reader who merges the most
        verdicts.append(_verdict(_diversity(l, sensitive, window), l, _different(label, secrets, counted), sizes))
    return Verification.of(verdicts, attributes)


def _data(released: Any, names: Sequence[str]) -> Dataset:
    if isinstance(released, Sequence) and all(isinstance(record, Mapping) for record in released):
        lacking = [name for name in names if any(name not in record for record in released)]
        data = Dataset.of({name: [record.get(name) for record in released] for name in names})
    else:
        data = Frame.read(released).data
        lacking = [name for name in names if name not in data]
    if lacking:
        raise ColumnError(Message("error_verifier.released_lacks", lacking=lacking))
    return data


def _labels(rows: np.ndarray) -> np.ndarray:
    """Equal rows have equal numbers, from 0 on."""
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def _counted(label: np.ndarray, window: int | None) -> np.ndarray:
    """Which records count for their group: those that came out within the window of its first one.

    If the first one has k equals by then, every later one has them too: its own window reaches farther.
    """
    position = np.arange(label.size)
    first = np.full(label.max() + 1, label.size)
    np.minimum.at(first, label, position)
    return position >= 0 if window is None else position <= first[label] + window - 1


def _different(label: np.ndarray, values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Count the different values that each group has among the records that count."""
    pairs = np.unique(np.stack([label[counted], values[counted]], axis=1), axis=0)
    return np.bincount(pairs[:, 0], minlength=int(label.max()) + 1)


def _person_numbers(people: Sequence[Any], rows: int) -> np.ndarray:
    """Return people as numbers; −1 for a missing one, who does not count."""
    if len(people) != rows:
        raise UsageError(Message("error_verifier.people", people=len(people), rows=rows))
    known: dict[Any, int] = {}
    return np.array([-1 if tells_nothing(one) else known.setdefault(one, len(known)) for one in people], dtype=np.int64)


def _anonymity(k: int, window: int | None) -> Message:
    if window is None:
        return Message("model.k_anonymity", k=k)
    return Message("model.k_anonymity_within", k=k, window=window)


def _diversity(l: int, sensitive: str, window: int | None) -> Message:  # noqa: E741
    if window is None:
        return Message("model.distinct_l_diversity", l=l, sensitive=sensitive)
    return Message("model.distinct_l_diversity_within", l=l, sensitive=sensitive, window=window)
