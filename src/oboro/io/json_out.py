"""JSON lines out: one object a row. Each distinct value is written once, and rows are put together from these texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from oboro.errors import UsageError
from oboro.table.dataset import Column, Dataset
from oboro.text import Message

__all__ = ["write_json_lines"]


def write_json_lines(file: Any, blocks: Iterator[Dataset]) -> None:
    """Write all rows. Numbers and truth are written as such, missing values as null, dates and times as text."""
    for data in blocks:
        if not data.columns:
            raise UsageError(Message("error_io.no_column_left"))
        if data.rows:
            file.write(_lines(data))


def _lines(data: Dataset) -> bytes:
    wide = pa.large_string()
    texts = {name: pa.array(_texts(name, column), wide) for name, column in data.columns.items()}
    fields = [texts[name].take(pa.array(column.codes)) for name, column in data.columns.items()]
    begin, comma, end, nothing = (pa.scalar(text, wide) for text in ("{", ", ", "}\n", ""))
    rows = pc.binary_join_element_wise(*fields, comma)
    lines = pc.binary_join_element_wise(begin, rows, end, nothing)
    return bytes(
        pc.binary_join(pa.LargeListArray.from_arrays(pa.array([0, len(lines)]), lines), nothing)[0].as_buffer()
    )


def _texts(name: str, column: Column) -> list[str]:
    """Each distinct value as it stands in an object, behind its key."""
    key, type_ = json.dumps(name, ensure_ascii=False), column.values.type
    plain = pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_)
    values = column.values.to_pylist() if plain else column.texts
    return [f"{key}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}" for value in values]
