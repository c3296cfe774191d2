"""What a recipe accepts, and why: people who are unique, told by several releases, or counted by rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from oboro.errors import RecipeError
from oboro.table.named_columns import names_shown
from oboro.table.parameters import Parameters
from oboro.text import Message

__all__ = ["Accept", "check_accept"]


class Accept(Parameters):
    """What of three things is acceptable, and why: columns by which people may be unique in the release; that it tells people
    together with `earlier` ones; that it counts the rows of an identifier, of which several may be one person's."""

    unique_on: Annotated[list[str], Field(description="the columns")] = Field(default_factory=list)
    series: Annotated[bool, Field(description="whom the release tells together with earlier ones")] = False
    rows_of: Annotated[list[str], Field(description="identifiers whose rows are counted, not their values")] = Field(
        default_factory=list
    )
    because: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1), Field(description="why; it stands in the report")
    ]

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        if bool(self.unique_on) + self.series + bool(self.rows_of) != 1:
            raise ValueError(Message("error_exposure.accept_what"))
        return self


def check_accept(accept: Sequence[Accept], data: Iterable[str]) -> None:
    """Every column that an acceptance names is in the table."""
    known = dict.fromkeys(data)
    for one in accept:
        unknown = [name for name in (*one.unique_on, *one.rows_of) if name not in known]
        if unknown:
            raise RecipeError(
                Message(
                    "error_exposure.accept_unknown",
                    columns=unknown,
                    known=names_shown(list(known), [*one.unique_on, *one.rows_of]),
                )
            )
