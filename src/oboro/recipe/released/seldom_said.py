"""What few recipes say: one acceptance or a list of them, and a budget of differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Discriminator, Tag

from oboro.table.parameters.loaded_later import loaded_later
from oboro.text.message import UNSAID

if TYPE_CHECKING:
    from oboro.disclosure.accept import Accept
    from oboro.recipe.released.privacy_budget import PrivacyBudget
else:
    (Accept,) = loaded_later("oboro.disclosure.accept", "Accept")
    (PrivacyBudget,) = loaded_later("oboro.recipe.released.privacy_budget", "PrivacyBudget")

__all__ = ["Accept", "OneOrMore", "PrivacyBudget"]

ONE, SEVERAL = f"{UNSAID}one", f"{UNSAID}several"


def _how_many(value: object) -> str:
    return SEVERAL if isinstance(value, list | tuple) else ONE


OneOrMore = Annotated[
    Annotated[Accept, Tag(ONE)] | Annotated[list[Accept], Tag(SEVERAL)],
    Discriminator(_how_many),
]
"""What is wrong with one acceptance is said of one, and of a list of the list."""
