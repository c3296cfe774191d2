"""Modes of delay-free streams: by counting (`swap`, `count`), and by generalizing functions of earlier records.

The modes `paper`, `fixed` and `sequential` follow Yamaoka & Itoh, "Entropy improvement on delay-free k-anonymization of
streaming data". The *generalizing side* takes the newest function, applies it, and stores the record where the function
changed it. The *generating side* k-anonymizes the stored records (top-down, Xu et al. 2006) and makes a function of the
groups: a record becomes the most specific pattern of a group that it matches, or all `*`. A notice during a run only
marks that another one is due.

Each pattern comes from at least k earlier records of the stream, which all match it: that is the guarantee.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import chain
from operator import itemgetter
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa

from oboro.algorithms.lattice.constraints import diversity_rule
from oboro.algorithms.partitioning.records import Records, TreeAttribute
from oboro.algorithms.partitioning.top_down import patterns, published
from oboro.data.column import Column
from oboro.data.grouping import Groups
from oboro.errors import InputError, OboroError
from oboro.stream.anonymizer import require, within
from oboro.stream.delay_free import kernels
from oboro.stream.delay_free.kernels import MISSING, absorb
from oboro.stream.delay_free.settings import DelayFreeSettings
from oboro.stream.delay_free.values import ValueLevels
from oboro.text import Message

__all__ = ["FACTS", "CountingMode", "FixedMode", "GeneralizingFunction", "PaperMode", "SequentialMode", "StoredRecords"]


# Counting modes -------------------------------------------------------------------------------------------------------
# The modes `swap` and `count`. They need no generating side: their memory is up to date at every record.
#
# - `count` releases the most that at least k − 1 earlier records match. No method that keeps the definition loses less.
# - `swap` counts only earlier matches that could change places with the new record: it matches their output, they match
#   its.


START = 256  # records and entries that there is room for at first
FOREVER = np.iinfo(np.int64).max
BY_RECORD = ("total", "head", "shared")
OF_ENTRY = ("out", "count", "person", "secret")
BY_ENTRY = ("next", "owner", *OF_ENTRY)


class CountingMode:
    """The history of `swap` and `count`, and the decisions that it allows.

    Given: rows of codes in the order of the stream. Promises: the mask of each row keeps only codes that at least k − 1
    earlier rows (of other people, where people are given) share, with l different secrets among them and the row itself.
    Checked by: `oboro.verifier.stream`; enumeration of all correspondences in `tests/stream/test_stream_promise.py`.
    """

    version = 0

    def __init__(self, settings: DelayFreeSettings, worth: np.ndarray) -> None:
        self.settings = settings
        self.bits = worth.size
        self.rules = kernels.ReleaseRules(
            others=settings.k - 1,
            secrets=settings.secrets,
            swap=settings.mode == "swap",
            people=settings.person is not None,
            forgets=settings.forgets,
            reach=settings.reach,
            worth=_sums(worth),
        )
        self.history = _empty(self.bits, START, START)
        self.arrivals = _ring(START if settings.forgets else 0)
        self.whole: set[tuple[int, ...]] = set()
        """Records that from now on are always released whole, with nothing to remember; no later decision depends on them."""
        # Whether what is once released whole always is: nothing is forgotten, and only numbers count.
        self._simple = not (settings.forgets or settings.person is not None or settings.sensitive is not None)
        self._horizon, self._horizon_seconds = settings.horizon or FOREVER, settings.horizon_seconds
        self._row, self._person, self._secret = (
            np.empty((1, self.bits), np.int32),
            np.empty(1, np.int64),
            np.empty(1, np.int64),
        )
        self._mask = np.empty(1, dtype=np.int64)
        self._write_row = partial(
            Struct(f"={self.bits}i").pack_into, self._row.data, 0
        )  # 2 µs sooner than an assignment

    def decide_one(
        self, codes: tuple[int, ...], person: int, secret: int, now: float, forced: int | None = None
    ) -> int:
        """The mask under which one row is released; `forced` was decided earlier and only has to be remembered."""
        self._write_row(*codes)
        self._person[0], self._secret[0] = person, secret
        self._mask[0] = 0 if forced is None else forced
        keep, cutoff, now = self._kept_since(now)
        row, person_, secret_, again, mask_ = self._row, self._person, self._secret, forced is not None, self._mask
        while not absorb(
            *self.history, *self.rules, *self.arrivals, keep, cutoff, now, row, person_, secret_, again, mask_
        ):
            self._make_room()
        mask = int(self._mask[0])
        if self._simple and self._settled(codes, mask):
            self.whole.add(codes)
        return mask

    def _settled(self, codes: tuple[int, ...], mask: int) -> bool:
        """Whether k − 1 records are the same as this one."""
        if mask.bit_count() == self.bits:
            return True  # they agree on everything and nothing is missing
        if mask.bit_count() < self.bits - codes.count(-1):
            return False
        self._write_row(*codes)
        record = kernels.lookup(self.history, self._row[0])
        return bool(self.history.total[record] >= self.rules.others)

    def decide_some(
        self, codes: list[tuple[int, ...]], numbers: list[tuple[int, int]] | None, now: float, forced: list[int] | None
    ) -> list[int]:
        """`decide_one` for one row after the other, by one call; `numbers`: of people and secrets, where there are any."""
        count = len(codes)
        if not count:
            return []
        rows = np.fromiter(chain.from_iterable(codes), np.int32, count * self.bits).reshape(count, self.bits)
        who = np.full((2, count), -1, dtype=np.int64) if numbers is None else np.array(numbers, dtype=np.int64).T.copy()
        masks = np.zeros(count, dtype=np.int64) if forced is None else np.array(forced, dtype=np.int64)
        self.absorb_rows(rows, (who[0], who[1]), now, forced is not None, masks)
        decided: list[int] = masks.tolist()
        if self._simple:
            self.whole.update(row for row, mask in zip(codes, decided, strict=True) if self._settled(row, mask))
        return decided

    def decide(self, rows: np.ndarray, people: np.ndarray, secrets: np.ndarray, now: float) -> np.ndarray:
        """The masks under which rows are released, one after the other."""
        masks = np.zeros(rows.shape[0], dtype=np.int64)
        people, secrets = np.ascontiguousarray(people), np.ascontiguousarray(secrets)  # or it is compiled once more
        self.absorb_rows(rows, (people, secrets), now, False, masks)
        return masks

    def replay(self, rows: np.ndarray, people: np.ndarray, secrets: np.ndarray, now: float, masks: np.ndarray) -> None:
        """Remember rows that were released before."""
        people, secrets = np.ascontiguousarray(people), np.ascontiguousarray(secrets)
        self.absorb_rows(rows, (people, secrets), now, True, np.ascontiguousarray(masks))

    def absorb_rows(
        self, rows: np.ndarray, numbers: tuple[np.ndarray, np.ndarray], now: float, forced: bool, masks: np.ndarray
    ) -> None:
        """Decide rows one after the other into `masks`, or remember what was decided; `numbers`: of people and secrets."""
        (people, secrets), since = numbers, self._kept_since(now)
        done, total = 0, rows.shape[0]
        while done < total:
            done += absorb(
                *self.history,
                *self.rules,
                *self.arrivals,
                *since,
                rows[done:],
                people[done:],
                secrets[done:],
                forced,
                masks[done:],
            )
            if done < total:
                self._make_room()

    def _kept_since(self, now: float) -> tuple[int, float, float]:
        """How many records are remembered, since when, and the moment; an integer would have the kernel compiled once more."""
        now, seconds = float(now), self._horizon_seconds
        return self._horizon, now - seconds if seconds else -np.inf, now

    def _make_room(self) -> None:
        """Double whatever is full; memory that holds mostly forgotten entries is tidied instead."""
        history, arrivals = self.history, self.arrivals
        records, entries, *_ = history.sizes.tolist()
        if self.rules.forgets and arrivals.ends[1] - arrivals.ends[0] >= arrivals.entry.size:
            self.arrivals = _longer(arrivals)
        if (
            entries == history.count.size
            and self.rules.forgets
            and 2 * np.count_nonzero(history.count[:entries]) < entries
        ):
            self._tidy()
            return
        if entries == history.count.size:
            history = history._replace(**{name: _double(getattr(history, name)) for name in BY_ENTRY})
        if records == history.total.size:
            history = history._replace(
                codes=_double(history.codes),
                signs=_double(history.signs),
                slots=np.full(2 * history.slots.size, -1, dtype=np.int64),
                **{name: _double(getattr(history, name)) for name in BY_RECORD},
            )
            kernels.relink(history)
        self.history = history

    def _tidy(self) -> None:
        """Leave out entries and records that nothing stands for any more."""
        self.load(self._living())

    def dump(self) -> dict[str, np.ndarray]:
        """What is remembered, as arrays; also what is forgotten but still has its place, and the room that there is.

        A record that comes back takes its old place, and of equally good agreements the first counts: without these the
        stream would go on differently.
        """
        history, arrivals = self.history, self.arrivals
        records, entries, *_ = history.sizes.tolist()
        arrays = {name: getattr(history, name)[:entries].copy() for name in (*OF_ENTRY, "owner")}
        arrays["codes"] = history.codes[:, :records].copy()
        order = _in_order(arrivals)
        arrays["trail"], arrays["time"] = arrivals.entry[order], arrivals.time[order]
        arrays["room"] = np.array([history.total.size, history.count.size, arrivals.entry.size])
        return arrays

    def _living(self) -> dict[str, np.ndarray]:
        """The arrays of `dump` without anything forgotten."""
        arrays = self.dump()
        del arrays["room"]
        alive = arrays["count"] > 0
        held = self.history.total[: arrays["codes"].shape[1]] > 0
        # Lists run from new to old entries, so linking them again in their order keeps that.
        living = {name: arrays[name][alive] for name in OF_ENTRY}
        living["owner"] = (np.cumsum(held) - 1)[arrays["owner"][alive]]
        return {
            **living,
            "codes": arrays["codes"][:, held],
            "trail": (np.cumsum(alive) - 1)[arrays["trail"]],
            "time": arrays["time"],
        }

    def check(self, arrays: Mapping[str, np.ndarray], known: tuple[np.ndarray, int, int]) -> None:
        """Raise `ValueError` unless `load` may take these up: kernels follow the numbers in them. `known`: labels of each bit,
        people, secrets."""
        codes, labels = arrays["codes"], known[0]
        require(codes.dtype == np.int32 and codes.ndim == 2 and len(codes) == self.bits == labels.size)
        records, entries, trail = codes.shape[1], arrays["owner"].size, arrays["trail"].size
        for name in (*OF_ENTRY, "owner", "trail", "room"):
            require(arrays[name].dtype == np.int64)
        require(all(arrays[name].shape == (entries,) for name in (*OF_ENTRY, "owner")))
        require(arrays["trail"].shape == arrays["time"].shape == (trail,) and arrays["time"].dtype == np.float64)
        bounds = [("owner", 0, records), ("trail", 0, entries), ("out", 0, 1 << self.bits), ("count", 0, FOREVER >> 8)]
        bounds += [("person", kernels.MISSING, known[1]), ("secret", kernels.MISSING, known[2])]
        require(all(within(arrays[name], least, below) for name, least, below in bounds))
        require(within(codes.T, -1, labels))
        room = arrays["room"]
        require(room.shape == (3,) and room[0] in _rooms(records) and room[1] in _rooms(entries))
        require(not self.rules.forgets or room[2] >= max(trail, START))

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take up what `dump` gave."""
        codes, owner, count = arrays["codes"], arrays["owner"], arrays["trail"].size
        records, entries = codes.shape[1], owner.size
        rooms = arrays["room"].tolist() if "room" in arrays else [_room(used) for used in (records, entries, count)]
        history = _empty(self.bits, rooms[0], rooms[1])
        history.codes[:, :records] = codes
        for name in (*OF_ENTRY, "owner"):
            getattr(history, name)[:entries] = arrays[name]
        history.total[:records] = np.bincount(owner, weights=arrays["count"], minlength=records).astype(np.int64)
        history.sizes[: kernels.LARGEST] = records, entries, self.smallest_crowd  # `relink` finds the largest code
        _link(history, records, entries)
        kernels.relink(history)
        self.history = history
        self.arrivals = _ring(
            min(rooms[2], _room(count)) if self.rules.forgets else 0
        )  # how long it is decides nothing
        self.arrivals.entry[:count], self.arrivals.time[:count] = arrays["trail"], arrays["time"]
        self.arrivals.ends[1] = count

    def facts(self) -> dict[str, Any]:
        """How much is remembered."""
        records, entries, *_ = self.history.sizes.tolist()
        return {
            "distinct": int(np.count_nonzero(self.history.total[:records])),
            "entries": int(np.count_nonzero(self.history.count[:entries])),
        }

    @property
    def smallest_crowd(self) -> int:
        """The fewest records, or people, that were counted behind a release; 0 where there was none."""
        return int(self.history.sizes[kernels.CROWD])

    @smallest_crowd.setter
    def smallest_crowd(self, crowd: int) -> None:
        self.history.sizes[kernels.CROWD] = crowd

    def note_whole(self, codes: tuple[int, ...], mask: int) -> None:
        """Nothing: what is always released whole was counted when that began."""

    def rewrite(self, change: Callable[[dict[str, np.ndarray]], None]) -> None:
        """Let somebody number codes, people or secrets anew, in the arrays of what is not forgotten."""
        arrays = self._living()
        change(arrays)
        self.load(arrays)

    def close(self) -> None:
        """Nothing runs in the background."""


def _sums(worth: np.ndarray) -> np.ndarray:
    """For each eight bits of a mask, what each of their 256 combinations is worth."""
    padded = np.zeros(-(-worth.size // 8) * 8, dtype=np.int64)
    padded[: worth.size] = worth
    combinations = np.arange(256)[:, None] >> np.arange(8) & 1
    return np.ascontiguousarray((combinations @ padded.reshape(-1, 8).T).T)


def _empty(bits: int, records: int, entries: int) -> kernels.ReleaseHistory:
    by_record = {name: np.zeros(records, dtype=np.int64) for name in BY_RECORD}
    by_entry = {name: np.zeros(entries, dtype=np.int64) for name in BY_ENTRY}
    slots = np.full(2 * records, -1, dtype=np.int64)
    codes, signs = np.zeros((bits, records), dtype=np.int32), np.zeros((2, records), dtype=np.int64)
    sizes = np.zeros(4, dtype=np.int64)
    return kernels.ReleaseHistory(slots=slots, codes=codes, signs=signs, **by_record, **by_entry, sizes=sizes)


def _link(history: kernels.ReleaseHistory, records: int, entries: int) -> None:
    """Hang the entries on their records again, in their order."""
    owner = history.owner[:entries]
    order = np.argsort(owner, kind="stable")
    same = np.zeros(entries, dtype=bool)
    same[1:] = owner[order][1:] == owner[order][:-1]
    history.next[order] = np.where(same, np.roll(order, 1), -1)
    history.head[:records] = -1
    history.head[owner] = np.arange(entries)  # the last one written stays: the newest
    history.shared[:records] = -1
    np.bitwise_and.at(history.shared, owner, history.out[:entries])


def _room(used: int) -> int:
    """A power of two with room for as much again."""
    return max(START, 1 << int(used + 1).bit_length())


def _rooms(used: int) -> list[int]:
    """How much room there can be for so many: it is doubled when it is full, and after forgetting `_room`."""
    return [START << n for n in range(48) if used <= START << n <= 4 * max(used, START)]


def _ring(size: int) -> kernels.ArrivalOrder:
    return kernels.ArrivalOrder(np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros(2, dtype=np.int64))


def _in_order(arrivals: kernels.ArrivalOrder) -> np.ndarray:
    """The places of the ring from the oldest on."""
    return np.arange(arrivals.ends[0], arrivals.ends[1]) % max(arrivals.entry.size, 1)


def _longer(arrivals: kernels.ArrivalOrder) -> kernels.ArrivalOrder:
    order = _in_order(arrivals)
    ring = _ring(2 * arrivals.entry.size)
    ring.entry[: order.size], ring.time[: order.size] = arrivals.entry[order], arrivals.time[order]
    ring.ends[1] = order.size
    return ring


def _double(array: np.ndarray) -> np.ndarray:
    return np.concatenate([array, np.zeros_like(array)], axis=-1)


# Stored records -------------------------------------------------------------------------------------------------------
# The records from which functions are made, in order of arrival.


FACTS = np.dtype([("people", np.int64), ("secrets", np.int64), ("times", np.float64), ("numbers", np.int64)])


class StoredRecords:
    """Rows of codes with what belongs to them: person, secret, time, number in the stream. Grows with what is stored.

    Taking a copy of everything is one move of memory, so whoever stores waits for it hardly at all.
    """

    def __init__(self, settings: DelayFreeSettings, bits: int) -> None:
        self.settings = settings
        self._rows = np.empty((START, bits), dtype=np.int32)
        self._facts = np.empty(START, dtype=FACTS)
        self._size = 0
        self._who: set[int] = set()

    def __len__(self) -> int:
        return self._size

    def add(self, row: np.ndarray, person: int, secret: int, now: float, number: int) -> bool:
        """Keep one more; of each person only one, so that k records are k people, and none of a missing person."""
        if person == MISSING or (person >= 0 and person in self._who):
            return False
        if person >= 0:
            self._who.add(person)
        if self._size == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            self._facts = np.concatenate([self._facts, np.empty_like(self._facts)])
        self._rows[self._size] = row
        self._facts[self._size] = (person, secret, now, number)
        self._size += 1
        return True

    def replace(self, row: np.ndarray, person: int, secret: int, now: float, number: int) -> None:
        """Keep one more instead of an earlier one of the same person."""
        if person >= 0 and person in self._who:
            at = int(np.flatnonzero(self._facts["people"][: self._size] == person)[0])
            self._drop(at, at + 1)
        self.add(row, person, secret, now, number)

    def forget(self, now: float, number: int) -> bool:
        """Drop what lies beyond the horizon; whether anything did."""
        horizon, seconds = self.settings.horizon, self.settings.horizon_seconds
        facts, first = self._facts[: self._size], 0
        while first < self._size and (
            (horizon is not None and facts["numbers"][first] < number - horizon)
            or (seconds is not None and facts["times"][first] < now - seconds)
        ):
            first += 1
        if first:
            self._drop(0, first)
        return first > 0

    def _drop(self, start: int, stop: int) -> None:
        """Leave some out; those after them move up."""
        self._who.difference_update(self._facts["people"][start:stop].tolist())
        for array in (self._rows, self._facts):
            array[start : self._size - stop + start] = array[stop : self._size].copy()
        self._size -= stop - start

    def dump(self) -> dict[str, np.ndarray]:
        """Everything as arrays of its own."""
        facts = self._facts[: self._size]
        return {"rows": self._rows[: self._size].copy(), **{name: facts[name].copy() for name in FACTS.fields or ()}}

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take up what `dump` gave."""
        self._size = len(arrays["rows"])
        room = max(START, self._size)
        self._rows = np.empty((room, arrays["rows"].shape[1]), dtype=np.int32)
        self._facts = np.empty(room, dtype=FACTS)
        self._rows[: self._size] = arrays["rows"]
        for name in FACTS.fields or ():
            self._facts[name][: self._size] = arrays[name]
        self._who = {person for person in arrays["people"].tolist() if person >= 0}


# Generating modes -----------------------------------------------------------------------------------------------------


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
    earlier rows match. Checked by: `oboro.verifier.stream`, `tests/stream/test_stream_promise.py`.
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
    """The baseline: all earlier records and the new one are anonymized again for each record. O(n) each."""

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
