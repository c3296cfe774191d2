"""Budget ledger: a file with the privacy budget that differentially private releases about the same people have spent.

The privacy loss of all releases about the same people adds up, regardless of who makes them and when. So the file has
one budget for all of them, and what each spent. A release that would exceed the rest is refused, before any work and
once more before it exists. What a release spends is on the disk before the release appears: one that then fails to be
written has spent its budget all the same.

The account is OpenDP's: the composition of mechanisms, with rounding that never understates the loss.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError

from oboro.algorithms.private_sampling import opendp
from oboro.data.parameters import Parameters
from oboro.errors import ConflictError, FileError, PromiseError
from oboro.privacy.differential import composed
from oboro.schema import PrivacySpent
from oboro.system.files import FileLock, atomic
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

__all__ = ["PrivacyLedger", "charge", "check_ledger", "together"]


ROUNDING = 1e-12  # what sums may be above a limit by, as a part of it
PATIENCE = 10.0  # seconds until a ledger that another process holds is given up


class Entry(Parameters):
    """What one release took."""

    at: str
    """When, in UTC."""
    unit: Literal["record", "value"]
    """What is protected: that somebody's record is there, or which values it has."""
    epsilon: float = Field(ge=0, allow_inf_nan=False)
    """How much of ε."""
    delta: float = Field(ge=0, lt=1)
    """How much of δ."""
    columns: list[str] = Field(default_factory=list)
    """Of which columns, where it is about values."""


class PrivacyLedger(Parameters):
    """The budget of all releases about the same people, and what was taken of it."""

    epsilon: float = Field(gt=0, allow_inf_nan=False)
    """The most ε of all releases together."""
    delta: float = Field(ge=0, lt=1)
    """The most δ of all releases together."""
    spent: list[Entry] = Field(default_factory=list)
    """One entry a release and unit, oldest first."""

    @staticmethod
    def read(path: Path) -> PrivacyLedger | None:
        """Read the ledger in a file; None where there is none yet. Raises `FileError` for anything else."""
        try:
            return PrivacyLedger.model_validate(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, ValidationError):
            raise FileError(Message("error_recipe.no_ledger", path=str(path))) from None

    def taken(self, unit: str, more: Sequence[PrivacySpent] = ()) -> tuple[float, float]:
        """Compute ε and δ of all releases so far, and of some more, of one unit."""
        old = [(one.epsilon, one.delta) for one in self.spent if one.unit == unit]
        return together([*old, *((one.epsilon, one.delta) for one in more if one.unit == unit)])

    def refusal(self, more: Sequence[PrivacySpent]) -> Message | None:
        """Return the reason why this budget exceeds the rest; None where it does not."""
        for one in more:
            epsilon, delta = self.taken(one.unit, more)
            if epsilon > self.epsilon * (1 + ROUNDING) or delta > self.delta * (1 + ROUNDING):
                before = dict(zip(("before", "before_delta"), self.taken(one.unit), strict=True))
                asked = {"epsilon": one.epsilon, "delta": one.delta, "most": self.epsilon, "most_delta": self.delta}
                return Message("error_recipe.ledger_exhausted", **asked, **before, releases=len(self.spent))
        return None


def together(parts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Compute ε and δ of the composition of mechanisms, by OpenDP's account."""
    if not parts:
        return 0.0, 0.0
    dp = opendp()
    dp.enable_features("honest-but-curious")  # what each release took is believed as it was recorded
    space: Any = dp.vector_domain(dp.atom_domain(T="i64")), dp.symmetric_distance()

    def mechanism(epsilon: float, delta: float) -> Any:
        divergence = dp.approximate(dp.max_divergence())
        return dp.m.make_user_measurement(*space, divergence, lambda _: 0.0, lambda _: (epsilon, delta), TO="f64")

    epsilon, delta = dp.c.make_composition([mechanism(*one) for one in parts]).map(1)
    return float(epsilon), float(delta)


def check_ledger(recipe: Recipe) -> None:
    """Raise `PromiseError`, before any work, where the ledger that the recipe names has not enough left."""
    if (path := _path(recipe)) is not None:
        _room(recipe, path)


def charge(recipe: Recipe) -> Message | None:
    """Write the budget that a release of the recipe spends into the ledger; return the rest, or None without a ledger."""
    if (path := _path(recipe)) is None:
        return None
    lock = _held(path)
    try:
        ledger, more = _room(recipe, path)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entries = [
            Entry(at=now, unit=one.unit, epsilon=one.epsilon, delta=one.delta, columns=list(one.columns))
            for one in more
        ]
        ledger = ledger.model_copy(update={"spent": [*ledger.spent, *entries]})
        with atomic(path, private=True, lasting=True) as file:
            file.write((ledger.model_dump_json(indent=1) + "\n").encode())
    finally:
        lock.release()
    epsilon, delta = ledger.taken(more[0].unit)
    limits = {"most": ledger.epsilon, "most_delta": ledger.delta}
    return Message("recipe.budget.ledger", epsilon=epsilon, delta=delta, releases=len(ledger.spent), **limits)


def _path(recipe: Recipe) -> Path | None:
    if recipe.budget is None or recipe.budget.ledger is None:
        return None
    return recipe.folder / recipe.budget.ledger


def _room(recipe: Recipe, path: Path) -> tuple[PrivacyLedger, list[PrivacySpent]]:
    """The ledger, and what the recipe takes. Raises where that is too much, or where the recipe states more than the ledger."""
    budget = recipe.budget
    assert budget is not None
    more = composed(one for step in recipe.steps for one in step.spends())
    ledger = PrivacyLedger.read(path) or PrivacyLedger(epsilon=budget.epsilon, delta=budget.delta)
    if budget.epsilon > ledger.epsilon or budget.delta > ledger.delta:
        stated = {"epsilon": budget.epsilon, "delta": budget.delta}
        limits = {"most": ledger.epsilon, "most_delta": ledger.delta}
        raise PromiseError(Message("error_recipe.ledger_smaller", path=str(path), **stated, **limits))
    narrower = ledger.model_copy(update={"epsilon": budget.epsilon, "delta": budget.delta})
    if (why := narrower.refusal(more)) is not None:
        raise PromiseError(why)
    return ledger, more


def _held(path: Path) -> FileLock:
    """Hold the ledger: two releases at once must not both take what is left."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return FileLock(path.with_name(f".{path.name}.lock"))
        except BlockingIOError:
            if time.monotonic() > until:
                raise ConflictError(Message("error_recipe.ledger_held", path=str(path))) from None
            time.sleep(0.05)
        except OSError:
            raise FileError(Message("error_recipe.no_ledger", path=str(path))) from None
