"""What is wrong with the fields of a record that a stream refuses."""

from __future__ import annotations

from collections.abc import Mapping

from oboro.errors import listing

__all__ = ["wrong_fields"]


def wrong_fields(fields: list[str], record: object) -> str:
    """Why a record has not exactly the named fields, in words; without any of its values."""
    if not isinstance(record, Mapping):
        return f"a record is an object with the fields {listing(fields, most=30)}; this is a {type(record).__name__}"
    lacking = [name for name in fields if name not in record]
    extra = [name for name in record if name not in fields]
    parts = [f"the field {listing(lacking)} is missing"] if lacking else []
    parts += [f"the field {listing(extra)} is not known"] if extra else []
    return "; ".join(parts) or "the record has two fields of one name"
