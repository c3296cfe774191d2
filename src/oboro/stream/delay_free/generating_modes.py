"""Deciding by a function that is made from earlier records: `paper`, `fixed` and `sequential`.

After Yamaoka & Itoh, "Entropy improvement on delay-free k-anonymization of streaming data". The *generalizing side* takes
the newest function, applies it, and stores the record where the function changed it. The *generating side* k-anonymizes
what is stored (top-down, Xu et al. 2006) and makes a function of the groups: a record becomes the most specific pattern of
a group that it matches, or all `*`. A notice during a run only marks that another one is due.

Each pattern comes from at least k earlier records of the stream, which all match it: that is the promise.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.decide.class_rules import diversity_rule
from oboro.decide.local.records import Records, TreeAttribute
from oboro.decide.local.top_down import patterns, published
from oboro.errors import InputError, OboroError
from oboro.stream.delay_free.delay_free_settings import DelayFreeSettings
from oboro.stream.delay_free.kernels.release_history import MISSING
from oboro.stream.delay_free.stored_records import FACTS, StoredRecords
from oboro.stream.delay_free.value_levels import ValueLevels
from oboro.stream.snapshot import require, within
from oboro.table.dataset import Column
from oboro.table.groups import Groups
from oboro.text import Message

__all__ = ["FixedMode", "GeneralizingFunction", "PaperMode", "SequentialMode"]

NOTHING: frozenset[tuple[int, ...]] = frozenset()
CHUNK = 512  # records of a batch that share a function before the newest is asked for again


class GeneralizingFunction:
    """Patterns, ready to be looked up: for each mask that occurs, the codes that it keeps, and from how many records they come."""

    def __init__(self, found: np.ndarray, members: np.ndarray, worth: np.ndarray) -> None:
        self.found, self.members = found, members
        self.whole = set(map(tuple, found.tolist()))
        """Rows that a pattern leaves as they are: those that look like one, missing values included."""
        bits = np.int64(1) << np.arange(worth.size, dtype=np.int64)
        masks = ((found >= 0) * bits).sum(axis=1)
        distinct = sorted(set(masks.tolist()) - {0}, key=lambda mask: (-_value(mask, worth), mask))
        self._tables = []
        for mask in distinct:
            kept = np.flatnonzero(mask & bits)
            take = _taker(kept.tolist())
            rows, sizes = found[masks == mask].tolist(), members[masks == mask].tolist()
            self._tables.append((mask, take, dict(zip(map(take, rows), sizes, strict=True))))
        self._known: dict[tuple[int, ...], int] = {}

    @staticmethod
    def none(worth: np.ndarray) -> GeneralizingFunction:
        """What there is before anything is known: everything becomes `*`."""
        return GeneralizingFunction(np.zeros((0, worth.size), dtype=np.int64), np.zeros(0, dtype=np.int64), worth)

    def masks(self, rows: np.ndarray) -> np.ndarray:
        """The masks for rows of codes."""
        return np.array([self.mask(tuple(row)) for row in rows.tolist()], dtype=np.int64)

    def mask(self, codes: tuple[int, ...]) -> int:
        """The mask of the most specific pattern that a row matches, 0 if there is none. O(1) for a row seen before."""
        mask = self._known.get(codes)
        if mask is None:
            mask = next((m for m, take, rows in self._tables if take(codes) in rows), 0)
            self._known[codes] = mask
        return mask

    def made_from(self, codes: tuple[int, ...], mask: int) -> int | None:
        """From how many records the pattern was made that keeps these bits of a row; None if there is none."""
        return next((rows.get(take(codes)) for m, take, rows in self._tables if m == mask), None)


def _taker(places: list[int]) -> Callable[[Sequence[int]], tuple[int, ...]]:
    """Some codes of a row, as a key."""
    only = places[0]
    return itemgetter(*places) if len(places) > 1 else lambda row: (row[only],)


def _value(mask: int, worth: np.ndarray) -> int:
    return int(sum(int(one) for bit, one in enumerate(worth) if mask >> bit & 1))


def _group(
    settings: DelayFreeSettings, attributes: Sequence[ValueLevels], rows: np.ndarray, secrets: np.ndarray
) -> Groups | None:
    """Groups of k or more rows, l-diverse where asked; None where there are too few rows for any."""
    if rows.shape[0] < settings.k:
        return None
    offsets = np.cumsum([0, *(attribute.height for attribute in attributes)])
    trees = [
        _tree(rows[:, offset], attribute, settings.weights.get(attribute.name, 1.0))
        for offset, attribute in zip(offsets[:-1], attributes, strict=True)
    ]
    rules = []
    if settings.sensitive is not None:
        distinct, codes = np.unique(secrets, return_inverse=True)
        column = Column(pa.array(distinct), codes.astype(np.uint32))
        rules.append(diversity_rule(settings.sensitive, column, l=settings.secrets))
    try:
        return published(Records.each(trees, rules), settings.k, seed=rows.shape[0])
    except InputError:
        return None  # not even all rows together are diverse enough


def _tree(codes: np.ndarray, attribute: ValueLevels, weight: float) -> TreeAttribute:
    """An attribute as top-down takes it; a missing value has a code of its own, and has lost everything already."""
    table = attribute.table
    count = int(codes.max(initial=-1)) + 1  # not len(attribute.paths): the other side may be learning new values
    labels = table[:count].T
    own = labels.max(axis=1, initial=-1)[:, None] + 1
    levels = np.concatenate([labels, own], axis=1)
    levels = np.concatenate([levels, np.zeros((1, count + 1), dtype=levels.dtype)]).astype(np.int32)
    losses = np.repeat(np.linspace(0, weight, attribute.height + 1)[:, None], count + 1, axis=1)
    losses[:, count] = weight
    names = tuple(pa.nulls(int(level.max()) + 1, pa.string()) for level in levels)
    return TreeAttribute(np.where(codes < 0, count, codes).astype(np.int64), levels, losses, weight, names)


def _generate(
    settings: DelayFreeSettings,
    attributes: Sequence[ValueLevels],
    rows: np.ndarray,
    secrets: np.ndarray,
    worth: np.ndarray,
) -> GeneralizingFunction | None:
    groups = _group(settings, attributes, rows, secrets)
    if groups is None:
        return None
    found, which = np.unique(patterns(rows, groups), axis=0, return_inverse=True)
    members = np.zeros(len(found), dtype=np.int64)
    np.add.at(members, which.ravel(), groups.sizes)
    return GeneralizingFunction(found, members, worth)


class PaperMode:
    """The published method. `background` puts the generating side into a thread of its own; the loops release the GIL.

    Given: rows of codes in the order of the stream. Promises: the mask of each row belongs to a pattern that at least k
    earlier rows match. Checked by: `oboro.verifier.stream_check`, `tests/stream/test_stream_promise.py`.
    """

    def __init__(self, settings: DelayFreeSettings, attributes: Sequence[ValueLevels], worth: np.ndarray) -> None:
        self.settings = settings
        self.attributes = attributes
        self.worth = worth
        self.version = 0
        self.stored = StoredRecords(settings, worth.size)
        self.seen = self.smallest_crowd = 0
        self._function = GeneralizingFunction.none(worth)
        self._due = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._lock = (
            threading.Lock()
        )  # held only while the stored records are copied or added to, never while a function is made
        self._ended = False
        self._failed: Exception | None = None
        self._thread: threading.Thread | None = None

    def decide(self, rows: np.ndarray, people: np.ndarray, secrets: np.ndarray, now: float) -> np.ndarray:
        """The masks under which rows are released, by the newest function at hand."""
        if self._failed is not None:
            raise OboroError(Message("error_stream.generating", why=type(self._failed).__name__)) from self._failed
        step = CHUNK if self.settings.background else 1
        masks = np.zeros(rows.shape[0], dtype=np.int64)
        for start in range(0, rows.shape[0], step):
            part = slice(start, start + step)
            masks[part] = self._released(rows[part])
            self.replay(rows[part], people[part], secrets[part], now, masks[part])
        return masks

    def _released(self, rows: np.ndarray) -> np.ndarray:
        masks = self._function.masks(rows)
        for row, mask in zip(rows.tolist(), masks.tolist(), strict=True):
            self.note_whole(tuple(row), mask)
        return masks

    def note_whole(self, codes: tuple[int, ...], mask: int) -> None:
        """Note the crowd behind a release: those that its pattern was made from, and itself unless it may be one of them.

        In a replay the function may be another one by now; none was made from fewer than k.
        """
        alone = self.settings.person is None
        if mask and (self.smallest_crowd == 0 or self.smallest_crowd > self.settings.k + alone):
            self._note((self._function.made_from(codes, mask) or self.settings.k) + alone)

    def _note(self, crowd: int) -> None:
        self.smallest_crowd = min(self.smallest_crowd or crowd, crowd)

    def decide_one(
        self, codes: tuple[int, ...], person: int, secret: int, now: float, forced: int | None = None
    ) -> int:
        """The mask of one row; `forced` was decided earlier."""
        row, person_, secret_ = np.array([codes], dtype=np.int32), np.array([person]), np.array([secret])
        if forced is None:
            return int(self.decide(row, person_, secret_, now)[0])
        self.note_whole(codes, forced)
        self.replay(row, person_, secret_, now, np.array([forced]))
        return forced

    def replay(self, rows: np.ndarray, people: np.ndarray, secrets: np.ndarray, now: float, masks: np.ndarray) -> None:
        """Store the rows that were changed, and give notice."""
        full = ((rows >= 0) * (np.int64(1) << np.arange(self.worth.size, dtype=np.int64))).sum(axis=1)
        changed = np.flatnonzero(full != masks)
        notice = False
        with self._lock:
            for i in changed.tolist():
                notice |= self.stored.add(rows[i], int(people[i]), int(secrets[i]), now, self.seen + i)
            self.seen += rows.shape[0]
            if self.settings.forgets:
                notice |= self.stored.forget(now, self.seen)
        if notice:
            self._notice()

    def _notice(self) -> None:
        if not self.settings.background:
            self._renew()
            return
        self._idle.clear()
        self._due.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="oboro-generating", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            self._due.wait()
            if self._ended:
                return
            self._due.clear()  # before the stored records are read: what is stored from now on asks for another run
            try:
                self._renew()
            except Exception as error:  # whoever asks next is told; a stream that goes on would hide it
                self._failed = error
                self._idle.set()
                return
            if not self._due.is_set():
                self._idle.set()

    def _renew(self) -> None:
        with self._lock:
            arrays = self.stored.dump()
        function = _generate(self.settings, self.attributes, arrays["rows"], arrays["secrets"], self.worth)
        if function is None:
            function = GeneralizingFunction.none(self.worth)
        self._function = function  # one assignment: the other side sees the old one or the new one
        self.version += 1

    def wait(self, timeout: float | None = None) -> bool:
        """Until the generating side has nothing left to do."""
        return self._idle.wait(timeout)

    @property
    def whole(self) -> AbstractSet[tuple[int, ...]]:
        """Rows that are released whole, and so not stored, as long as this function is in force."""
        return NOTHING if self.settings.forgets else self._function.whole

    def dump(self) -> dict[str, np.ndarray]:
        """What is stored, and the function."""
        with self._lock:
            arrays = {f"store_{name}": values for name, values in self.stored.dump().items()}
        return {
            **arrays,
            "function": self._function.found,
            "members": self._function.members,
            "seen": np.array([self.seen, self.version]),
        }

    def check(self, arrays: Mapping[str, np.ndarray], known: tuple[np.ndarray, int, int]) -> None:
        """Raise `ValueError` unless `load` may take these up. `known`: labels of each bit, people, secrets."""
        rows, function, seen = arrays["store_rows"], arrays["function"], arrays["seen"]
        require(rows.dtype == np.int32 and rows.shape == (len(rows), self.worth.size))
        require(function.dtype == np.int64 and function.shape == (len(function), self.worth.size))
        require(within(rows, -1, known[0]) and within(function, -1, known[0]))
        members = arrays.get("members", function[:, 0])
        require(members.dtype == np.int64 and members.shape == (len(function),))
        for name, (kind, *_) in (FACTS.fields or {}).items():
            require(arrays[f"store_{name}"].dtype == kind and arrays[f"store_{name}"].shape == (len(rows),))
        require(
            within(arrays["store_people"], MISSING, known[1]) and within(arrays["store_secrets"], MISSING, known[2])
        )
        require(seen.dtype == np.int64 and seen.shape == (2,) and within(seen, 0, 1 << 62))

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take up what `dump` gave."""
        prefix = "store_"
        self.stored.load({name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)})
        found = arrays["function"]
        members = arrays.get(
            "members", np.full(len(found), self.settings.k)
        )  # what was saved earlier did not know them
        self._function = GeneralizingFunction(found, members, self.worth)
        self.seen, self.version = (int(number) for number in arrays["seen"])

    def facts(self) -> dict[str, Any]:
        """How much is stored."""
        return {"stored": len(self.stored), "patterns": int(self._function.found.shape[0])}

    def close(self) -> None:
        """End the generating side."""
        self._ended = True
        self._due.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None


class FixedMode(PaperMode):
    """The earlier method: one function, made from the first records, which are released fully suppressed."""

    def decide(self, rows: np.ndarray, people: np.ndarray, secrets: np.ndarray, now: float) -> np.ndarray:
        """The masks: nothing until the function is there, then always the same."""
        masks = np.zeros(rows.shape[0], dtype=np.int64)
        start = min(max(0, self.settings.initial - self.seen), rows.shape[0])
        self.replay(rows[:start], people[:start], secrets[:start], now, masks[:start])
        masks[start:] = self._released(rows[start:])
        self.seen += rows.shape[0] - start
        return masks

    def replay(self, rows: np.ndarray, people: np.ndarray, secrets: np.ndarray, now: float, masks: np.ndarray) -> None:
        """Store the first rows; when the last of them is there, make the function."""
        before = self.seen
        for i in range(min(rows.shape[0], max(0, self.settings.initial - before))):
            self.stored.add(rows[i], int(people[i]), int(secrets[i]), now, before + i)
        self.seen += rows.shape[0]
        if before < self.settings.initial <= self.seen:
            self._renew()


class SequentialMode(PaperMode):
    """The baseline: all earlier records and the new one are anonymized anew for each record. O(n) each."""

    def decide(self, rows: np.ndarray, people: np.ndarray, secrets: np.ndarray, now: float) -> np.ndarray:
        """The masks: of the group that the new record falls into."""
        masks = np.zeros(rows.shape[0], dtype=np.int64)
        bits = np.int64(1) << np.arange(self.worth.size, dtype=np.int64)
        for i in range(rows.shape[0]):
            self.replay(rows[i : i + 1], people[i : i + 1], secrets[i : i + 1], now, masks[i : i + 1])
            if people[i] == MISSING:
                continue  # not stored, so in no group
            arrays = self.stored.dump()
            groups = _group(self.settings, self.attributes, arrays["rows"], arrays["secrets"])
            if groups is not None:
                mine = arrays["rows"][groups.labels == groups.labels[-1]]
                shared = (mine == mine[0]).all(axis=0) & (mine[0] >= 0)
                masks[i] = int((shared * bits).sum())
                if masks[i]:
                    self._note(len(mine))
        return masks

    def replay(self, rows: np.ndarray, people: np.ndarray, secrets: np.ndarray, now: float, masks: np.ndarray) -> None:
        """Store every row; of each person only the newest."""
        for i in range(rows.shape[0]):
            self.stored.forget(now, self.seen)
            self.stored.replace(rows[i], int(people[i]), int(secrets[i]), now, self.seen)
            self.seen += 1
