"""What is wrong with the fields of a record that a stream refuses."""

from __future__ import annotations

from collections.abc import Mapping

from oboro.text import Message, Raw

__all__ = ["wrong_fields"]


def wrong_fields(fields: list[str], record: object) -> Message:
    """Why a record has not exactly the named fields, in words; without any of its values."""
    if not isinstance(record, Mapping):
        return Message("error_stream.not_a_record", fields=fields, kind=type(record).__name__)
    lacking = [name for name in fields if name not in record]
    extra = [name for name in record if name not in fields]
    parts = [Message("error_stream.field_missing", fields=lacking)] if lacking else []
    header = any(name in record for name in fields)  # else these may be the cells of a file without one
    named = extra if header else [Raw(name) for name in extra]
    parts += [Message("error_stream.field_unknown", fields=named)] if extra else []
    return Message("text.remarks", said=parts) if parts else Message("error_stream.two_fields")
