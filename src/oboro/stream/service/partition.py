"""One part of a stream that several processes share. Each part keeps its own promise, over its own records only.

A record belongs to the part that a digest of its key gives, in every process and on every machine alike. Values are compared as
text, so that a number means the same in JSON and in a table that is verified later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from oboro.table.values import is_missing

__all__ = ["Partition"]


@dataclass(frozen=True)
class Partition:
    """Part `serve` of `count`, by the values of some fields.

    >>> parts = [Partition(("user",), 2, serve) for serve in (0, 1)]
    >>> [[part.mine({"user": name}) for part in parts] for name in ("ann", "bob")]
    [[False, True], [True, False]]
    """

    by: tuple[str, ...]
    count: int
    serve: int

    def number(self, values: Sequence[Any]) -> int:
        """The part of a key."""
        text = "\x1f".join("" if is_missing(value) else _text(value) for value in values)
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.count

    def mine(self, record: Mapping[str, Any]) -> bool:
        """Whether a record belongs to this part; one without its key belongs to the first, which refuses it."""
        if not all(name in record for name in self.by):
            return self.serve == 0
        return self.number([record[name] for name in self.by]) == self.serve


def _text(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
