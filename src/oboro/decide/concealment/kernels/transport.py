"""The cheapest way to send `supply` units from everybody to everybody else, at most one along each arc.

Costs and prices are whole numbers, so that nothing depends on rounding. With `sender` and `receiver` prices, the reduced
cost of an arc is cost − sender[i] − receiver[j]. A choice of arcs is optimal among the given arcs if every used one has a
reduced cost of at most zero, every other one of at least zero, and everybody receives as much as they send.

`settle` keeps the first two conditions for any receivers' prices by choosing each sender's cheapest arcs; `balance` then
moves what some receive too much, along shortest paths, to those who receive too little (successive shortest paths,
Ahuja, Magnanti & Orlin, "Network Flows", 1993, section 9.7). Good prices leave little to move, and not far: `auction` finds them.
"""

from __future__ import annotations

import heapq

import numpy as np

from oboro.kernels import kernel

__all__ = ["auction", "balance", "settle"]


@kernel()
def settle(
    starts: np.ndarray,
    heads: np.ndarray,
    costs: np.ndarray,
    supply: int,
    receiver: np.ndarray,
    stale: np.ndarray,
    sender: np.ndarray,
    used: np.ndarray,
    load: np.ndarray,
) -> None:
    """Let every `stale` sender choose its cheapest arcs anew; `used`, the senders' prices and the loads follow."""
    for i in range(starts.size - 1):
        if not stale[i]:
            continue
        first, last = starts[i], starts[i + 1]
        reduced = np.empty(last - first, dtype=np.int64)
        for arc in range(first, last):
            # Of equally cheap arcs those in use come first: doubled costs leave room for that.
            reduced[arc - first] = 2 * (costs[arc] - receiver[heads[arc]]) + (0 if used[arc] else 1)
            if used[arc]:
                load[heads[arc]] -= 1
            used[arc] = False
        order = np.argsort(reduced, kind="mergesort")
        for p in range(supply):
            arc = first + order[p]
            used[arc] = True
            load[heads[arc]] += 1
            sender[i] = costs[arc] - receiver[heads[arc]]


@kernel()
def auction(
    starts: np.ndarray,
    heads: np.ndarray,
    costs: np.ndarray,
    supply: int,
    step: int,
    most: int,
    receiver: np.ndarray,
) -> int:
    """Lower the receivers' prices until about as many want to send to each as should.

    Each receiver sells `supply` places. A sender bids for the cheapest places that it lacks as much as makes the next best
    as dear, and `step` more; who is outbid bids again (Bertsekas & Castañón, "The auction algorithm for the transportation
    problem", 1989). At the end every choice is within `step` of a cheapest one, or `most` bids were made: prices are
    a start for `settle` and `balance`, which are right with any. Returns the number of bids.
    """
    people = starts.size - 1
    slots, owner = np.empty((people, supply), dtype=np.int64), np.full((people, supply), -1, dtype=np.int64)
    price, tails = -receiver, np.empty(heads.size, dtype=np.int32)
    for i in range(people):
        slots[i] = price[i]
        tails[starts[i] : starts[i + 1]] = i
    held, missing = np.zeros(heads.size, dtype=np.bool_), np.full(people, supply, dtype=np.int64)
    queue, first, waiting, bids = np.arange(people), 0, people, 0
    value, wanted = np.empty(supply + 1, dtype=np.int64), np.empty(supply + 1, dtype=np.int64)
    while waiting > 0 and bids < most:
        i, need = queue[first], missing[queue[first]]
        first, waiting = (first + 1) % people, waiting - 1
        _cheapest(starts[i], starts[i + 1], heads, costs, price, held, value[: need + 1], wanted[: need + 1])
        limit = value[need] if value[need] < np.iinfo(np.int64).max else value[need - 1]
        for arc in wanted[:need]:
            outbid = _sell(arc, heads[arc], limit + step - costs[arc], slots, owner, price, held)
            if outbid >= 0:
                loser = tails[outbid]
                if missing[loser] == 0:
                    queue[(first + waiting) % people] = loser
                    waiting += 1
                missing[loser] += 1
        missing[i] = 0
        bids += need
    receiver[:] = -price
    return bids


@kernel(inner=True)
def _cheapest(
    begin: int,
    end: int,
    heads: np.ndarray,
    costs: np.ndarray,
    price: np.ndarray,
    held: np.ndarray,
    value: np.ndarray,
    wanted: np.ndarray,
) -> None:
    """The arcs not held that cost least with their prices, and what they cost."""
    value[:] = np.iinfo(np.int64).max
    last = value.size - 1
    for arc in range(begin, end):
        here = costs[arc] + price[heads[arc]]
        if here < value[last] and not held[arc]:
            at = last
            while at > 0 and value[at - 1] > here:
                value[at], wanted[at] = value[at - 1], wanted[at - 1]
                at -= 1
            value[at], wanted[at] = here, arc


@kernel(inner=True)
def _sell(arc: int, j: int, bid: int, slots: np.ndarray, owner: np.ndarray, price: np.ndarray, held: np.ndarray) -> int:
    """Sell a receiver's cheapest place; returns the arc that held it before, or −1. Its price is its cheapest place's."""
    place = 0
    for s in range(1, slots.shape[1]):
        if slots[j, s] < slots[j, place]:
            place = s
    before = owner[j, place]
    if before >= 0:
        held[before] = False
    owner[j, place], slots[j, place], held[arc] = arc, bid, True
    lowest = bid
    for s in range(slots.shape[1]):
        lowest = min(lowest, slots[j, s])
    price[j] = lowest
    return int(before)


@kernel()
def balance(
    starts: np.ndarray,
    heads: np.ndarray,
    costs: np.ndarray,
    supply: int,
    receiver: np.ndarray,
    sender: np.ndarray,
    used: np.ndarray,
    load: np.ndarray,
) -> int:
    """Move every unit too many along a shortest path to someone with too few.

    One search from all who have too much serves a quarter of them, by paths that share nothing but where they begin.
    (One search for each unit: four times slower at 48,842 people.) Returns how many units could not be moved: none, if
    the arcs allow any solution.
    """
    people = starts.size - 1
    first_in, next_in, prev_in, tails = _incoming(starts, heads, used)
    distance = np.full(2 * people, np.iinfo(np.int64).max, dtype=np.int64)  # senders, then receivers
    parent = np.full(2 * people, -1, dtype=np.int64)  # the arc by which a node was reached
    done = np.zeros(2 * people, dtype=np.bool_)
    touched = np.empty(2 * people, dtype=np.int64)
    ends = np.empty(people, dtype=np.int64)
    surplus = np.maximum(load - supply, 0).sum()
    while surplus > 0:
        wanted = max(1, surplus // 4)
        count, reached = _search(
            starts, heads, costs, load - supply, receiver, sender, used, first_in, next_in, tails, wanted,
            distance, parent, done, touched, ends,
        )  # fmt: skip
        if reached == 0:
            return int(surplus)
        _reprice(distance[ends[reached - 1]], touched[:count], done, distance, people, sender, receiver)
        for end in ends[:reached]:
            _shift(end, heads, tails, parent, used, load, first_in, next_in, prev_in)
        surplus -= reached
        for node in touched[:count]:
            distance[node], done[node], parent[node] = np.iinfo(np.int64).max, False, -1
    return 0


@kernel(inner=True)
def _shift(
    node: int,
    heads: np.ndarray,
    tails: np.ndarray,
    parent: np.ndarray,
    used: np.ndarray,
    load: np.ndarray,
    first_in: np.ndarray,
    next_in: np.ndarray,
    prev_in: np.ndarray,
) -> None:
    """Move one unit along the path that leads to a receiver."""
    people = load.size
    load[node - people] += 1
    while parent[node] >= 0:
        arc = parent[node]
        if node >= people:
            used[arc] = True
            _link(arc, heads[arc], first_in, next_in, prev_in)
            node = tails[arc]
        else:
            used[arc] = False
            _unlink(arc, heads[arc], first_in, next_in, prev_in)
            node = people + heads[arc]
    load[node - people] -= 1


@kernel(inner=True)
def _incoming(
    starts: np.ndarray, heads: np.ndarray, used: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The used arcs of each receiver as linked lists, and each arc's sender."""
    people = starts.size - 1
    first_in = np.full(people, -1, dtype=np.int32)
    next_in = np.full(heads.size, -1, dtype=np.int32)
    prev_in = np.full(heads.size, -1, dtype=np.int32)
    tails = np.empty(heads.size, dtype=np.int32)
    for i in range(people):
        for arc in range(starts[i], starts[i + 1]):
            tails[arc] = i
            if used[arc]:
                _link(arc, heads[arc], first_in, next_in, prev_in)
    return first_in, next_in, prev_in, tails


@kernel(inner=True)
def _link(arc: int, j: int, first_in: np.ndarray, next_in: np.ndarray, prev_in: np.ndarray) -> None:
    next_in[arc], prev_in[arc] = first_in[j], -1
    if first_in[j] >= 0:
        prev_in[first_in[j]] = arc
    first_in[j] = arc


@kernel(inner=True)
def _unlink(arc: int, j: int, first_in: np.ndarray, next_in: np.ndarray, prev_in: np.ndarray) -> None:
    if prev_in[arc] >= 0:
        next_in[prev_in[arc]] = next_in[arc]
    else:
        first_in[j] = next_in[arc]
    if next_in[arc] >= 0:
        prev_in[next_in[arc]] = prev_in[arc]


@kernel(inner=True)
def _search(
    starts: np.ndarray,
    heads: np.ndarray,
    costs: np.ndarray,
    excess: np.ndarray,
    receiver: np.ndarray,
    sender: np.ndarray,
    used: np.ndarray,
    first_in: np.ndarray,
    next_in: np.ndarray,
    tails: np.ndarray,
    wanted: int,
    distance: np.ndarray,
    parent: np.ndarray,
    done: np.ndarray,
    touched: np.ndarray,
    ends: np.ndarray,
) -> tuple[int, int]:
    """Dijkstra from all receivers with an excess, until `wanted` with too little are reached by disjoint paths.

    From a receiver the way leads back along used arcs, from a sender on along unused ones. Returns how many nodes were
    touched and how many `ends` were found, nearest first.
    """
    people = starts.size - 1
    count, reached = 0, 0
    spare = np.maximum(excess, 0)
    taken = np.zeros(2 * people, dtype=np.bool_)
    heap = [(np.int64(0), np.int64(0))]
    heap.pop()
    for j in range(people):
        if spare[j] > 0:
            distance[people + j] = 0
            touched[count] = people + j
            count += 1
            heap.append((np.int64(0), np.int64(people + j)))
    while len(heap) > 0 and reached < wanted:
        so_far, node = heapq.heappop(heap)
        if done[node]:
            continue
        done[node] = True
        if node >= people:
            j = node - people
            if excess[j] < 0 and _reserve(node, heads, tails, parent, spare, taken):
                ends[reached] = node
                reached += 1
            arc = first_in[j]
            while arc >= 0:
                i = tails[arc]
                through = so_far - (costs[arc] - sender[i] - receiver[j])
                if through < distance[i]:
                    if distance[i] == np.iinfo(np.int64).max:
                        touched[count] = i
                        count += 1
                    distance[i], parent[i] = through, arc
                    heapq.heappush(heap, (through, np.int64(i)))
                arc = next_in[arc]
        else:
            for arc in range(starts[node], starts[node + 1]):
                to = people + heads[arc]
                through = so_far + costs[arc] - sender[node] - receiver[heads[arc]]
                if not used[arc] and through < distance[to]:
                    if distance[to] == np.iinfo(np.int64).max:
                        touched[count] = to
                        count += 1
                    distance[to], parent[to] = through, arc
                    heapq.heappush(heap, (through, np.int64(to)))
    return count, reached


@kernel(inner=True)
def _reserve(
    end: int, heads: np.ndarray, tails: np.ndarray, parent: np.ndarray, spare: np.ndarray, taken: np.ndarray
) -> bool:
    """Take the path to this end, if it crosses no path taken before and still has a unit where it begins."""
    people = spare.size
    node = end
    while parent[node] >= 0:
        if taken[node]:
            return False
        node = tails[parent[node]] if node >= people else people + heads[parent[node]]
    if spare[node - people] <= 0:
        return False
    spare[node - people] -= 1
    node = end
    while parent[node] >= 0:
        taken[node] = True
        node = tails[parent[node]] if node >= people else people + heads[parent[node]]
    return True


@kernel(inner=True)
def _reprice(
    length: int,
    touched: np.ndarray,
    done: np.ndarray,
    distance: np.ndarray,
    people: int,
    sender: np.ndarray,
    receiver: np.ndarray,
) -> None:
    """New prices with which every arc on the shortest paths costs nothing and no condition breaks."""
    for node in touched:
        if done[node] and distance[node] < length:
            if node < people:
                sender[node] += length - distance[node]
            else:
                receiver[node - people] -= length - distance[node]
