"""Where a promise cannot be kept: the nearest ones that can, each with one demand weakened and all others as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oboro.explorer.answers import SessionAnswer

if TYPE_CHECKING:
    from oboro.techniques.k_anonymize import KAnonymize

__all__ = ["NearPromise", "nearest_promises"]

OTHERS = (
    *("l_diversity", "t_closeness", "alpha", "delta_disclosure", "beta_likeness"),
    *("maximum_risk", "average_risk", "records_at_risk", "sample_uniqueness"),
    *("population_uniqueness", "estimated_k_map", "k_map", "presence", "profitability"),
)
PERCENT = 100


@dataclass(frozen=True)
class NearPromise(SessionAnswer):
    """One demand, and the value nearest to the one asked for with which the promise can be kept."""

    demand: str
    value: Any
    """None: the demand is left out."""
    demands: dict[str, Any]
    """All demands with that value, as a recipe writes them."""


def nearest_promises(asked: KAnonymize, version: int, kept: Callable[[KAnonymize], bool]) -> Iterator[NearPromise]:
    """The largest smaller k, the smallest larger share of suppressed records in whole percent, and each other demand left out.

    Where none of that is enough, the largest k without all other demands.
    Whether a promise can be kept grows with a smaller k and with a larger share, so both are found by halving: at most log2(k) + 7
    searches, nearly all of which end at once.
    """
    found = list(_one_weakened(asked, version, kept))
    if not found:
        alone = _leaving_out(asked, *_others(asked))
        found = [_near(alone, version, "k", k) for k in _ks(alone, alone.k, kept)]
    yield from found


def _one_weakened(asked: KAnonymize, version: int, kept: Callable[[KAnonymize], bool]) -> Iterator[NearPromise]:
    for k in _ks(asked, asked.k - 1, kept):
        yield _near(asked, version, "k", k)
    least = int(asked.suppress * PERCENT) + 1
    share = _largest(-PERCENT, -least, lambda one: kept(asked.model_copy(update={"suppress": -one / PERCENT})))
    if share is not None:
        yield _near(asked, version, "suppress", -share / PERCENT)
    for name in _others(asked):
        without = _leaving_out(asked, name)
        if kept(without):
            yield NearPromise(version, name, None, _written(without))


def _ks(asked: KAnonymize, most: int, kept: Callable[[KAnonymize], bool]) -> list[int]:
    """The largest k up to `most`, if there is one."""
    found = _largest(1, most, lambda one: kept(asked.model_copy(update={"k": one})))
    return [] if found is None else [found]


def _others(asked: KAnonymize) -> list[str]:
    paid = {"profitability"} if asked.loss == "payout" else set()
    return [name for name in OTHERS if getattr(asked, name) not in (None, {}) and name not in paid]


def _leaving_out(asked: KAnonymize, *names: str) -> KAnonymize:
    """The demands without some; a population that nothing is asked of any more goes with them."""
    fields = type(asked).model_fields
    left = asked.model_copy(update={name: fields[name].get_default(call_default_factory=True) for name in names})
    return left if left.needs_population else left.model_copy(update={"population": None})


def _largest(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """The largest number for which something holds that holds for all smaller ones too; None where it holds for none."""
    if low > high or not holds(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _near(asked: KAnonymize, version: int, demand: str, value: Any) -> NearPromise:
    return NearPromise(version, demand, value, _written(asked.model_copy(update={demand: value})))


def _written(asked: KAnonymize) -> dict[str, Any]:
    found: dict[str, Any] = asked.model_dump(mode="json", exclude_defaults=True)
    return found
