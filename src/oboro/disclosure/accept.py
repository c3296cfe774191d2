"""Accept a finding of a release check: people who are unique, disclosed by several releases, counted by rows, or named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from oboro.data.parameters import Parameters, names_shown
from oboro.errors import RecipeError
from oboro.text import Message

__all__ = ["Accept", "check_accept"]


class Accept(Parameters):
    """One accepted finding, and why: columns by which people may be unique in the release; people disclosed together with
    `earlier` releases; rows of an identifier counted, of which several may be one person's; a column of addresses or numbers that
    names people, or names none."""

    unique_on: Annotated[list[str], Field(description="the columns")] = Field(default_factory=list)
    series: Annotated[bool, Field(description="whom the release tells together with earlier ones")] = False
    rows_of: Annotated[list[str], Field(description="identifiers whose rows are counted, not their values")] = Field(
        default_factory=list
    )
    identifiers: Annotated[list[str], Field(description="released columns of addresses, numbers and the like")] = Field(
        default_factory=list
    )
    because: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1), Field(description="why; it stands in the report")
    ]

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        if bool(self.unique_on) + self.series + bool(self.rows_of) + bool(self.identifiers) != 1:
            raise ValueError(Message("error_exposure.accept_what"))
        return self


def check_accept(accept: Sequence[Accept], data: Iterable[str]) -> None:
    """Raise a `RecipeError` where an acceptance names a column that is not in the table."""
    known = dict.fromkeys(data)
    for one in accept:
        named = [*one.unique_on, *one.rows_of, *one.identifiers]
        unknown = [name for name in named if name not in known]
        if unknown:
            raise RecipeError(
                Message("error_exposure.accept_unknown", columns=unknown, known=names_shown(list(known), named))
            )
