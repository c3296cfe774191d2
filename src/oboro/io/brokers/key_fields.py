"""Keys and headers of messages, kept by choice: they come in as fields of the record, and the recipe says what becomes of them.

A key often identifies a person. So none is forwarded beside the record: what is asked for (`?key=FIELD&headers=NAME,NAME`) is put
into the JSON object of the input, where the recipe names it like every other field, and the output takes released values out again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

__all__ = ["KeyFields"]


@dataclass(frozen=True)
class KeyFields:
    """The field that stands for the key, and headers, each a field of its own name."""

    key: str | None
    headers: tuple[str, ...]

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self | None:
        """As an address asks; None if it does not."""
        headers = tuple(name for name in options.get("headers", "").split(",") if name)
        return cls(options.get("key") or None, headers) if options.get("key") or headers else None

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields."""
        return (*((self.key,) if self.key is not None else ()), *self.headers)

    def put_in(self, body: bytes, key: object, headers: Mapping[str, object]) -> bytes:
        """A JSON object with these fields; what is none is left as it is, and refused where it is read."""
        text = body.strip()
        if not (text.startswith(b"{") and text.endswith(b"}")):
            return body
        found = {
            **({self.key: key} if self.key is not None else {}),
            **{name: headers.get(name) for name in self.headers},
        }
        more = json.dumps({name: _text(value) for name, value in found.items()}).encode()[1:-1]
        inside = text[1:-1].strip()
        return b"{" + (inside + b", " if inside else b"") + more + b"}"

    def taken_from(self, body: bytes) -> tuple[bytes | None, list[tuple[str, bytes]]]:
        """Key and headers of a released record; raises `KeyError` and the like where it has no such field, or is no JSON."""
        record = json.loads(body)
        key = _bytes(record[self.key]) if self.key is not None else None
        return key, [(name, _bytes(record[name]) or b"") for name in self.headers]


def _text(value: object) -> str | None:
    """Bytes that are no text are written with escapes."""
    return (
        value.decode(errors="backslashreplace") if isinstance(value, bytes) else None if value is None else str(value)
    )


def _bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()
