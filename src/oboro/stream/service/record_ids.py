"""Which records were taken already: a producer that sends a record again must not make it protect itself."""

from __future__ import annotations

import base64
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Literal

from oboro.stream.runner.codecs import BadRecord, encode_json

__all__ = ["RecordIds"]

ID, FORM = 16, 8  # bytes that are kept of an id and of what came with it


class RecordIds:
    """The ids of the latest records, and what came with them. Memory: about 200 bytes each, `horizon` of them at most.

    The same record again is a repeat and is passed over. Another record under an id that was there is refused: nobody can say
    which of the two is meant.

    >>> ids = RecordIds("order", horizon=2)
    >>> [ids.meet({"order": n, "sex": "F"}) for n in (1, 2, 1, 3, 1)]
    ['new', 'new', 'repeat', 'new', 'new']
    """

    def __init__(self, field: str, horizon: int) -> None:
        self.field = field
        self.horizon = horizon
        self._seen: OrderedDict[bytes, bytes] = OrderedDict()  # a plain dict finds its oldest key ever more slowly

    def meet(self, record: Mapping[str, Any]) -> Literal["new", "repeat"]:
        """Whether a record is new; raises `BadRecord` where it has no id, or another record had it."""
        value = record.get(self.field)
        if value is None or isinstance(value, list | dict):
            raise BadRecord("no_id", field=self.field)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 1 and 1.0 are one number, however somebody writes it
        key = blake2b(encode_json({"": value}), digest_size=ID).digest()
        form = blake2b(encode_json(record), digest_size=FORM).digest()
        known = self._seen.get(key)
        if known is None:
            self._remember(key, form)
            return "new"
        if known != form:
            raise BadRecord("other_record", field=self.field)
        return "repeat"

    def _remember(self, key: bytes, form: bytes) -> None:
        self._seen[key] = form
        if len(self._seen) > self.horizon:
            self._seen.popitem(last=False)

    def dump(self) -> str:
        """All of it, for a snapshot."""
        return base64.b64encode(b"".join(key + form for key, form in self._seen.items())).decode()

    def load(self, text: str) -> None:
        """The way back."""
        data = base64.b64decode(text)
        size = ID + FORM
        self._seen = OrderedDict((data[at : at + ID], data[at + ID : at + size]) for at in range(0, len(data), size))
