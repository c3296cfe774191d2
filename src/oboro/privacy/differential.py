"""Differential privacy: the budget that all steps spend together, and the parts of a release without it.

Budgets add up, in ε and in δ (basic composition): of steps that tell whether a record is there, and of steps that
tell which value a record has. Work on what is private already takes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any, ClassVar

from pydantic import Field

from oboro.data.parameters import Parameters
from oboro.privacy.base import PrivacyModel, Scope
from oboro.schema import PrivacySpent
from oboro.text import Message

__all__ = ["DifferentialPrivacy", "PrivacyBudget", "budget_told", "composed"]


class DifferentialPrivacy(PrivacyModel):
    """(ε, δ)-differential privacy by a random sample: one record more or less changes little (Li, Qardaji and Su 2012)."""

    key: ClassVar[str] = "differential_privacy"
    scope: ClassVar[Scope] = "release"
    words: ClassVar[Mapping[str, Mapping[str, Any]]] = {"model.differential_privacy": {}}
    limit: ClassVar[str] = "epsilon"
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"epsilon": 1.0, "delta": 0.01, "sampling": 0.3},)
    in_recipe: ClassVar[bool] = False
    unsearched: ClassVar[str] = "no search may look at the data: `dp_anonymize` draws records and levels at random"
    unbounded: ClassVar[str] = (
        "it bounds the influence of one record, and a value that is frequent may be guessed without it"
    )

    epsilon: float = Field(gt=0)
    """The logarithm of the factor by which one record may change what is likely to be released."""
    delta: float = Field(gt=0, lt=1)
    """The probability that more than that is disclosed."""
    sampling: float = Field(gt=0, lt=1)
    """The part of the records that is drawn."""

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the model by its name."""
        return Message("model.differential_privacy", **self.model_dump())


class PrivacyBudget(Parameters):
    """The most that all steps together may take."""

    epsilon: float = Field(gt=0)
    """The greatest ε of all steps together."""
    delta: float = Field(default=0.0, ge=0, lt=1)
    """The greatest δ of all steps together."""
    ledger: str | None = None
    """A file beside the recipe that remembers what releases about the same people took; then epsilon and delta are the most that
    all of them may take together. It is made with the first release."""

    def exceeded(self, spent: Iterable[PrivacySpent]) -> Message | None:
        """Explain why the steps exceed the budget; None where they do not."""
        found = composed(spent)
        if not found:
            return Message("error_recipe.budget_of_nothing")
        for one in found:
            if one.epsilon > self.epsilon * (1 + 1e-12) or one.delta > self.delta * (1 + 1e-12):
                limits = {"most": self.epsilon, "most_delta": self.delta}
                return Message("error_recipe.beyond_budget", epsilon=one.epsilon, delta=one.delta, **limits)
        return None


def composed(spent: Iterable[PrivacySpent]) -> list[PrivacySpent]:
    """What some steps take together: at most one of each unit.

    >>> composed([PrivacySpent("value", 1.0, 0.0, ("age",)), PrivacySpent("value", 0.5, 1e-6, ("income",))])
    [PrivacySpent(unit='value', epsilon=1.5, delta=1e-06, columns=('age', 'income'))]
    """
    found = []
    parts = list(spent)
    for unit in ("record", "value"):
        if some := [one for one in parts if one.unit == unit]:
            columns = tuple(dict.fromkeys(name for one in some for name in one.columns))
            found.append(
                PrivacySpent(some[0].unit, fsum(one.epsilon for one in some), fsum(one.delta for one in some), columns)
            )
    return found


def budget_told(spent: Iterable[PrivacySpent], released: Sequence[str], *, whole: bool) -> list[Message]:
    """Describe the privacy budget that a release spent, and the columns that are not differentially private.

    `whole` says that a guarantee of a step that spends covers the whole release.
    """
    told = []
    for one in composed(spent):
        told.append(
            Message(f"recipe.budget.{one.unit}", epsilon=one.epsilon, delta=one.delta, columns=list(one.columns))
        )
        rest = [name for name in released if name not in one.columns]
        if one.unit == "value" and rest and not whole:
            told.append(Message("recipe.budget.rest", columns=rest))
    return told
