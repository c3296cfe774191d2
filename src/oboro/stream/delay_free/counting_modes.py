"""Deciding by counting: `swap` and `count`. They need no generating side: what they remember is up to date at every record.

- `count` releases the most that at least k − 1 earlier records match. No method that keeps the definition loses less.
- `swap` counts only earlier matches that could change places with the new record: it matches their output, they match its.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from struct import Struct
from typing import Any

import numpy as np

from oboro.stream.delay_free.delay_free_settings import DelayFreeSettings
from oboro.stream.delay_free.kernels import release_history as kept
from oboro.stream.delay_free.kernels.pattern_search import absorb
from oboro.stream.snapshot import require, within

__all__ = ["CountingMode"]

START = 256  # records and entries that there is room for at first
FOREVER = np.iinfo(np.int64).max
BY_RECORD = ("total", "head", "shared")
OF_ENTRY = ("out", "count", "person", "secret")
BY_ENTRY = ("next", "owner", *OF_ENTRY)


class CountingMode:
    """The history of `swap` and `count`, and the decisions that it allows.

    Given: rows of codes in the order of the stream. Promises: the mask of each row keeps only codes that at least k − 1
    earlier rows (of other people, where people are given) share, with l different secrets among them and the row itself.
    Checked by: `oboro.verifier.stream_check`; enumeration of all correspondences in `tests/stream/test_stream_promise.py`.
    """

    version = 0

    def __init__(self, settings: DelayFreeSettings, worth: np.ndarray) -> None:
        self.settings = settings
        self.bits = worth.size
        self.rules = kept.ReleaseRules(
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
        record = kept.lookup(self.history, self._row[0])
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
            kept.relink(history)
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
        bounds += [("person", kept.MISSING, known[1]), ("secret", kept.MISSING, known[2])]
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
        history.sizes[: kept.LARGEST] = records, entries, self.smallest_crowd  # `relink` finds the largest code
        _link(history, records, entries)
        kept.relink(history)
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
        return int(self.history.sizes[kept.CROWD])

    @smallest_crowd.setter
    def smallest_crowd(self, crowd: int) -> None:
        self.history.sizes[kept.CROWD] = crowd

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


def _empty(bits: int, records: int, entries: int) -> kept.ReleaseHistory:
    by_record = {name: np.zeros(records, dtype=np.int64) for name in BY_RECORD}
    by_entry = {name: np.zeros(entries, dtype=np.int64) for name in BY_ENTRY}
    slots = np.full(2 * records, -1, dtype=np.int64)
    codes, signs = np.zeros((bits, records), dtype=np.int32), np.zeros((2, records), dtype=np.int64)
    sizes = np.zeros(4, dtype=np.int64)
    return kept.ReleaseHistory(slots=slots, codes=codes, signs=signs, **by_record, **by_entry, sizes=sizes)


def _link(history: kept.ReleaseHistory, records: int, entries: int) -> None:
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


def _ring(size: int) -> kept.ArrivalOrder:
    return kept.ArrivalOrder(np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros(2, dtype=np.int64))


def _in_order(arrivals: kept.ArrivalOrder) -> np.ndarray:
    """The places of the ring from the oldest on."""
    return np.arange(arrivals.ends[0], arrivals.ends[1]) % max(arrivals.entry.size, 1)


def _longer(arrivals: kept.ArrivalOrder) -> kept.ArrivalOrder:
    order = _in_order(arrivals)
    ring = _ring(2 * arrivals.entry.size)
    ring.entry[: order.size], ring.time[: order.size] = arrivals.entry[order], arrivals.time[order]
    ring.ends[1] = order.size
    return ring


def _double(array: np.ndarray) -> np.ndarray:
    return np.concatenate([array, np.zeros_like(array)], axis=-1)
