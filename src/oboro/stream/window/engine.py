"""Engine of a window: its state as arrays, learned from the stream. It knows no fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from oboro.algorithms.neighbours.index import (
    SearchPlan,
    anchors_of,
    empty,
    no_anchors,
    no_lists,
    no_neighbours,
    note,
    places,
    shortlists,
)
from oboro.algorithms.neighbours.kernels import LivePoints, Metric
from oboro.errors import ColumnError
from oboro.notations.kinds import is_missing
from oboro.stream.window import kernels
from oboro.stream.window.kernels import (
    CHANCE_NEEDED,
    DRAWN,
    DUE,
    ENTRY,
    HEAD,
    LEARN,
    REFILLS,
    TAIL,
    WAITERS,
    GroupRules,
    GroupScratch,
    Incoming,
    Outgoing,
    WindowState,
)
from oboro.text import Message

__all__ = ["EngineSpec", "ValueCodes", "WindowEngine"]


# Value codes ----------------------------------------------------------------------------------------------------------
# Values as numbers in the order of arrival; those without records can be forgotten.


class ValueCodes:
    """The values of one field. Equal values (1, 1.0 and true) are one, in the form first seen; missing is one of them,
    unless it does not count (`missing_counts`): then its number is −1. `none` says which values are missing: empty text is a
    value of a category, but no person, and no secret, which `NA` and the like are not either.

    >>> codes = ValueCodes("sex")
    >>> [codes.code(value) for value in ("F", "M", "F", None)], codes.values
    ([0, 1, 0, 2], ['F', 'M', None])
    """

    def __init__(self, name: str, missing_counts: bool = True, none: Callable[[object], bool] = is_missing) -> None:
        self.name = name
        self._is_none = none
        self.missing_counts = missing_counts
        self.values: list[Any] = []
        self._codes: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self.values)

    @property
    def different(self) -> int:
        """How many different values there are: as many as there are values, unless somebody wrote them down wrongly."""
        return len(self._codes)

    def checked(self, value: Any) -> Any:
        """A value that can be one; NaN is missing."""
        if isinstance(value, list | dict | set):
            raise ColumnError(Message("error_stream.one_value", name=self.name))
        return None if self._is_none(value) else value

    def code(self, value: Any) -> int:
        """The number of a value, a new one for a new value."""
        if value is None and not self.missing_counts:
            return -1
        code = self._codes.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code

    def load(self, values: Sequence[Any]) -> None:
        """Known values, in order."""
        self.values = list(values)
        self._codes = {value: code for code, value in enumerate(self.values)}

    def renumber(self, uses: Sequence[np.ndarray]) -> None:
        """Forget every value whose number occurs in none of the arrays, and write the new numbers into them. Order stays."""
        used = np.zeros(max(len(self.values), 1), dtype=bool)
        for codes in uses:
            used[codes[codes >= 0]] = True
        place = np.append(np.cumsum(used) - 1, -1)
        for codes in uses:
            codes[...] = place[codes]
        self.load([value for value, keep in zip(self.values, used, strict=False) if keep])


# Window engine --------------------------------------------------------------------------------------------------------


KINDS = {"exhaustive": kernels.EXHAUSTIVE, "fdh": kernels.REGIONS, "fdhq": kernels.REGIONS, "auto": kernels.LISTS}
CACHE_LIST = 8  # published centroids that a list holds at least
LATE = 16  # records that came later and are written down for a head: about one comes near enough
DRAWS = 4096  # random numbers that are made at once
SAVED = ("raw", "status", "arrived", "owner", "demands", "cache_raw", "count", "centre", "factor", "marks", "losses")


@dataclass(frozen=True)
class EngineSpec:
    """Specification of an engine: counts, and the squared weights of numbers and categories."""

    k: int
    window: int
    numbers: int
    traits: int
    plan: SearchPlan
    cache: int
    group: Literal["paper", "grow"] = "grow"
    p: int = 2
    least: tuple[int, ...] = ()  # different values of each demand
    people: bool = False  # whether the last demand is that for different people
    weights: np.ndarray = field(default_factory=lambda: np.empty(0))  # of numbers, then of categories
    scales: np.ndarray | None = None  # NaN: learned from the stream; None: all are 1
    seed: int = 0
    key: int | None = None
    """What the places of a group's members are exchanged by, 128 secret bits; None: they keep their places."""

    @property
    def pool(self) -> int:
        """How many of the nearest are considered for a group."""
        return max(32, 4 * self.k) if self.group == "grow" else 2 * self.k - 2


class WindowEngine:
    """A window over a stream of points.

    Memory: W slots of about 25d + 8 bytes (with regions 12 s more, with `auto` 4d), as many for the cache; nothing else grows.
    """

    def __init__(self, spec: EngineSpec) -> None:
        self.spec = spec
        plan = spec.plan
        self.rules = GroupRules(
            k=spec.k,
            grow=spec.group == "grow",
            pool=spec.pool,
            least=np.array(spec.least, dtype=np.int64),
            candidates=2 * spec.p * spec.k,
            kind=KINDS[plan.kind],
            base=plan.base,
            exchange=spec.key is not None,
            people=len(spec.least) - 1 if spec.people else -1,
        )
        squared = np.square(spec.weights if spec.weights.size else np.ones(spec.numbers + spec.traits))
        self.heads = max(1, min(plan.batch, spec.window // 16))
        self.batches = 0
        self.state = WindowState(
            buffer=empty(spec.window, spec.numbers, spec.traits, plan),
            raw=np.zeros((spec.window, spec.numbers)),
            status=np.zeros(spec.window, dtype=np.int64),
            arrived=np.zeros(spec.window),
            owner=np.zeros(spec.window, dtype=np.int64),
            demands=np.zeros((spec.window, len(spec.least)), dtype=np.int64),
            cache=empty(spec.cache, spec.numbers, spec.traits, plan),
            cache_raw=np.zeros((spec.cache, spec.numbers)),
            count=np.zeros(spec.cache, dtype=np.int64),
            anchors=no_anchors(spec.numbers),
            metric=Metric(squared[spec.numbers :].copy(), squared[: spec.numbers].copy()),
            centre=np.zeros(spec.numbers),
            factor=np.ones(spec.numbers),
            lists=no_lists(spec.window, self.heads, 2 * (spec.pool + 16), spec.numbers, LATE),
            cache_lists=no_lists(0, self.heads, 2 * CACHE_LIST, spec.numbers, LATE),
            scratch=_scratch(spec),
            marks=np.zeros(kernels.MARKS, dtype=np.int64),
            chance=np.zeros(max(DRAWS, 2 * spec.k), dtype=np.uint64),
            losses=np.zeros(3),
            crowd=np.zeros(1, dtype=np.int64),
        )
        lists = self.state.lists  # both sets of lists are made for the same heads
        self.state = self.state._replace(
            cache_lists=self.state.cache_lists._replace(row=lists.row, places=lists.places)
        )
        self._draw(0)

    @property
    def held(self) -> int:
        """Records that came and have not left."""
        return int(self.state.marks[TAIL] - self.state.marks[HEAD])

    @property
    def owners(self) -> list[int]:
        """The numbers of the records whose other fields have not left."""
        held = np.arange(self.state.marks[HEAD], self.state.marks[TAIL]) % self.spec.window
        owners: list[int] = self.state.owner[held].tolist()
        return owners

    @property
    def waiting(self) -> int:
        """Records without a group."""
        return int(self.state.marks[WAITERS])

    @property
    def smallest_crowd(self) -> int:
        """The smallest group so far, in records or people; 0 before the first."""
        return int(self.state.crowd[0])

    @smallest_crowd.setter
    def smallest_crowd(self, crowd: int) -> None:
        self.state.crowd[0] = crowd

    def advance(self, rows: Incoming) -> Outgoing:
        """Take records in; what leaves for that, in the order of coming."""
        out, progress = self._room(self.held + len(rows.raw)), np.zeros(2, dtype=np.int64)
        while why := kernels.advance(self.state, self.rules, rows, out, progress):
            self.provide(why)
        count = int(progress[1])
        return Outgoing(*(each[:count] for each in out))

    def incoming(
        self,
        raw: np.ndarray,
        traits: np.ndarray | None = None,
        demands: np.ndarray | None = None,
        now: float = 0.0,
        delay: float = np.inf,
        ending: bool = False,
    ) -> Incoming:
        """Rows of numbers (NaN: missing), categories and demands, ready to come in."""
        numbers = np.ascontiguousarray(raw, dtype=np.float64).reshape(len(raw), self.spec.numbers)
        if traits is None:
            traits = np.zeros((len(numbers), self.spec.traits))
        if demands is None:
            demands = np.zeros((len(numbers), len(self.spec.least)))
        lacking = np.isnan(numbers)
        return Incoming(
            numbers,
            np.ascontiguousarray(traits, dtype=np.int32),
            lacking.astype(np.uint8),
            np.ascontiguousarray(demands, dtype=np.int64),
            float(now),
            float(delay),
            ending,
        )

    def _room(self, count: int) -> Outgoing:
        spec = self.spec
        return Outgoing(
            np.empty((count, spec.numbers)),
            np.empty((count, spec.traits), dtype=np.int32),
            np.empty((count, spec.numbers), dtype=np.uint8),
            np.empty(count, dtype=np.int64),
            np.empty(count, dtype=np.uint8),
        )

    def provide(self, why: int) -> None:
        """Give the kernels what they came back for."""
        if why == LEARN:
            self.learn()
        elif why == CHANCE_NEEDED:
            self._draw(int(self.state.marks[REFILLS]) + 1)
            self.state.marks[DRAWN] = 0
        else:
            self._make_lists()

    def _draw(self, block: int) -> None:
        """Random numbers, by their block: after a restart the same ones come again."""
        if self.spec.key is not None:
            source = np.random.Philox(key=self.spec.key, counter=block << 192)
            self.state.chance[:] = source.random_raw(self.state.chance.size)
            self.state.marks[REFILLS] = block

    # What is learned ----------------------------------------------------------------------------------------------

    def learn(self) -> None:
        """Scale, anchors and radii from the records that wait, and everybody placed anew.

        At first from what is there; then whenever as many came again, at most every W records.
        """
        state, spec = self.state, self.spec
        alive = state.buffer.alive.astype(bool)
        values = np.where(state.buffer.at.lacking[alive].astype(bool), np.nan, state.raw[alive])
        present = ~np.isnan(values).all(axis=0)
        if spec.scales is not None and len(values):
            state.centre[present] = np.nanmean(values[:, present], axis=0)
            spread = np.where(present, 1.0, state.factor)
            spread[present] = np.nanstd(values[:, present], axis=0)
            spread = np.where(np.isnan(spec.scales), np.where(spread > 0, spread, 1.0), spec.scales)
            state.factor[:] = self._weights() / spread
        else:
            state.factor[:] = self._weights()
        points = np.where(np.isnan(values), state.centre, values) * state.factor
        for live in (state.buffer, state.cache):
            live.shift[:] = points.mean(axis=0) if len(points) else 0.0
        came = int(state.marks[TAIL])
        rng = np.random.default_rng([spec.seed, came])
        self.state = state._replace(anchors=anchors_of(points, spec.plan, rng))
        self.state.marks[DUE] = came + min(spec.window, max(came, spec.k))
        kernels.reindex(self.state)

    def _weights(self) -> np.ndarray:
        weights = self.spec.weights
        return weights[: self.spec.numbers] if weights.size else np.ones(self.spec.numbers)

    # Lists for many heads -----------------------------------------------------------------------------------------

    def _make_lists(self) -> None:
        """Candidates for the next heads, all at once: the longest pause there is, and proportional to `batch`."""
        state = self.state
        size = self.spec.window
        numbers = np.arange(state.marks[HEAD], state.marks[TAIL])[: 8 * self.heads]
        slots = numbers % size
        slots = slots[state.status[slots] == kernels.WAITING][: self.heads]
        state.lists.row[:] = -1
        state.lists.row[slots] = np.arange(slots.size)
        points, traits = state.buffer.at.points[slots], state.buffer.at.traits[slots]
        sides = ((state.buffer, state.lists, TAIL), (state.cache, state.cache_lists, ENTRY))
        wanted = [(live, lists.slots.shape[1] // 2) for live, lists, _ in sides]
        moved = points - state.buffer.shift  # which is that of the cache too
        state.lists.places[:, : slots.size] = moved.T
        norms = np.sqrt(np.einsum("ij,ij->i", moved, moved))
        for (_, lists, mark), found in zip(sides, shortlists(wanted, points, traits, state.metric), strict=True):
            note(lists, found, norms)
            lists.since[0] = state.marks[mark]
        self.batches += 1

    # State --------------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, np.ndarray]:
        """Everything that must survive a restart; indexes are made again from it."""
        state = self.state
        arrays = {name: getattr(state, name) for name in SAVED}
        for name, live in (("buffer", state.buffer), ("cache", state.cache)):
            arrays |= {f"{name}_{key}": value for key, value in _kept(live).items()}
        arrays |= {"anchor_places": state.anchors.places, "anchor_radii": state.anchors.radii}
        return arrays

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from what was dumped."""
        state, plan = self.state, self.spec.plan
        for name in SAVED:
            getattr(state, name)[...] = arrays[name]
        self._draw(int(state.marks[REFILLS]))
        for name, live in (("buffer", state.buffer), ("cache", state.cache)):
            for key, value in _kept(live).items():
                value[...] = arrays[f"{name}_{key}"]
        if state.marks[DUE]:
            if arrays["anchor_places"].shape[1]:
                anchors = state.anchors._replace(
                    places=arrays["anchor_places"],
                    radii=arrays["anchor_radii"],
                    sets=plan.sets,
                    each=plan.anchors,
                    distances=np.empty(arrays["anchor_places"].shape[1]),
                )
                self.state = state._replace(anchors=anchors)
            kernels.reindex(self.state)

    def facts(self) -> dict[str, Any]:
        """Counts so far; losses are squared distances in scaled units, per record."""
        marks, losses = self.state.marks, self.state.losses
        decided = max(int(marks[TAIL] - marks[WAITERS]), 1)
        return {
            "held": self.held,
            "waiting": self.waiting,
            "groups": int(marks[kernels.GROUPS]),
            "joins": int(marks[kernels.JOINS]),
            "loss": float(losses[2] / decided),
            "searched_again": int(marks[kernels.AGAIN]),
            "batches": self.batches,
        }


def _scratch(spec: EngineSpec) -> GroupScratch:
    return GroupScratch(
        best=no_neighbours(spec.pool),
        nearest=no_neighbours(1),
        order=np.zeros(2 * spec.k - 1, dtype=np.int64),
        values=np.zeros((2 * spec.k + 2, spec.numbers)),
        used=np.zeros(spec.pool, dtype=np.bool_),
        different=np.ones(len(spec.least), dtype=np.int64),
        centre=places(1, spec.numbers, spec.traits),
    )


def _kept(live: LivePoints) -> dict[str, np.ndarray]:
    return {
        "traits": live.at.traits,
        "lacking": live.at.lacking,
        "alive": live.alive,
        "number": live.number,
        "shift": live.shift,
    }
