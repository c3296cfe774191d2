"""Levels and suppression that are chosen without a look at the secrets.

Where the choice looks at secrets, it tells about them: a class of enough people that is suppressed is suppressed for its secrets
(minimality). Where it does not, every assignment of secrets that fits the released table leads to that very table, so whoever
knows the method learns nothing beyond it. The argument is in docs/guarantees/l-diversity.md.
"""

from __future__ import annotations

from oboro.errors import PromiseError
from oboro.table.dataset import Column
from oboro.techniques.base import Outcome
from oboro.text import Message
from oboro.verifier.promise_check import Promise

__all__ = ["keeps_or_not", "told_of_secrets"]


def keeps_or_not(outcome: Outcome, promise: Promise, person: Column | None, k: int) -> Outcome:
    """The outcome where every demand holds on it; else a `PromiseError`. Nothing is mended: that would look at the secrets.

    Whether it holds, the released table shows itself. So that it was released tells nothing more.
    """
    found = promise.verify(outcome.data, person)
    if found.holds:
        return outcome
    broken = [one.message() for one in found.verdicts if not one.holds]
    raise PromiseError(Message("error_technique.blind_broken", step=promise.step, verdicts=broken, k=k))


def told_of_secrets(plan: Message, *, blind: bool, suppresses: bool) -> Message:
    """The plan, and what the choice of levels and of suppressed records tells about secrets."""
    said = "blind" if blind else "suppression_tells" if suppresses else "levels_tell"
    return Message("text.sentences", said=[plan, Message(f"technique.k_anonymize.{said}")])
