"""Ids of dead letters, by which a reader finds the letters of a record that a broker has handed over again.

Positions do not tell: MQTT and RabbitMQ give a record that is handed over again a new one.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable

__all__ = ["LetterIds", "new_key"]

# UUIDs, ULIDs and ids of records that another oboro has released: they say nothing about a person.
OPAQUE = re.compile(
    r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}|[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-9a-f]{16}\.([0-9a-f]{12}\.)?[0-9]{1,19}"
)
SIZE = 32  # hexadecimal digits of an id that is made here: 128 bits


def new_key() -> str:
    """Make a key for the ids of one stream. It stays in the state."""
    from secrets import token_hex

    return token_hex(32)


class LetterIds:
    """Ids of the dead letters of one stream.

    A record has the id that its broker gives it, if that stays the same whenever the record is handed over. Otherwise the id is an
    HMAC of the body under a key of the stream: a plain digest of a personal record could be guessed. Records with equal bodies
    then have equal ids.

    Parameters
    ----------
    key
        The key, from `new_key`.
    of_broker
        Returns the broker's id of the record at a position, if it has one.
    verbatim
        Whether ids that producers chose are repeated as they are, as where letters hold the refused record. Otherwise only ids
        that cannot tell of a person are; of others there is an HMAC.

    Examples
    --------
    >>> ids = LetterIds("00", lambda position: {"1": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "2": "ann@example.com"}.get(position))
    >>> ids.id_of("1", b"{}"), ids.id_of("2", b"{}") == ids.id_of("2", b"[]"), ids.id_of("3", b"{}") == ids.id_of("4", b"{}")
    ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', True, True)
    """

    def __init__(
        self, key: str, of_broker: Callable[[str], str | None] = lambda position: None, verbatim: bool = False
    ) -> None:
        self._key, self._of_broker, self._verbatim = bytes.fromhex(key), of_broker, verbatim

    def id_of(self, position: str, body: bytes) -> str:
        """Return the id of the letter about a record."""
        named = self._of_broker(position)
        if named is None:
            return self._digest(b"body", body)
        if self._verbatim or OPAQUE.fullmatch(named):
            return named
        return self._digest(b"id", named.encode("utf-8", "surrogatepass"))

    def _digest(self, kind: bytes, data: bytes) -> str:
        return hmac.digest(self._key, kind + b"\0" + data, "sha256").hex()[:SIZE]
