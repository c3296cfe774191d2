"""A population beside the table to anonymize: as it stands in a recipe, a file, or in Python a frame."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, InstanceOf, PlainSerializer
from pydantic.json_schema import SkipJsonSchema

from oboro.table.dataset import Dataset
from oboro.table.frames import Frame

__all__ = ["PopulationTable"]


def _given(value: Any) -> str | Dataset:
    if isinstance(value, str | Path):
        return str(value)
    return value if isinstance(value, Dataset) else Frame.read(value).data


def _plain(value: str | Dataset) -> str:
    return value if isinstance(value, str) else f"(a table of {value.rows} people)"


PopulationTable = Annotated[
    str | SkipJsonSchema[InstanceOf[Dataset]], BeforeValidator(_given), PlainSerializer(_plain, return_type=str)
]
