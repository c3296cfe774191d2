"""Records that come as JSON and leave as JSON, without a dictionary for each: a third of the time of reading and writing those.

The bytes are the same as by way of dictionaries. Whatever is not plain (an object within an object, a field that is missing,
unknown or there twice, text that is no JSON) goes that way, where each record is looked at by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import add, attrgetter
from typing import Any

import msgspec

from oboro.stream.delay_free.value_levels import ValueLevels
from oboro.stream.runner.codecs import encode_json, encode_json_block, joined_objects, none_twice

__all__ = ["JsonRows", "Row"]

Row = msgspec.Struct
_encode_lines = msgspec.json.Encoder().encode_lines


class JsonRows:
    """Reads records with exactly these fields, and writes released ones: attributes, then some fields as they came."""

    def __init__(self, fields: Sequence[str], attributes: Sequence[ValueLevels], rest: Sequence[str]) -> None:
        self._attributes, width = attributes, len(attributes)
        self._pieces: list[dict[tuple[int, int], bytes]] = [{} for _ in attributes]
        places = [f"at_{i}" for i in range(len(fields))]
        self._fields, self._rest, self._rest_places = len(fields), rest, places[width : width + len(rest)]
        given = {"gc": False, "kw_only": False}
        row = msgspec.defstruct(
            "Row",
            [(place, Any) for place in places],
            rename=dict(zip(places, fields, strict=True)),
            forbid_unknown_fields=True,
            **given,  # type: ignore[arg-type]
        )
        others = dict(zip(self._rest_places, rest, strict=True))
        self._others = msgspec.defstruct("Others", [(place, Any) for place in others], rename=others, **given)  # type: ignore[arg-type]
        self._decode = msgspec.json.Decoder(list[row]).decode  # type: ignore[valid-type]
        self.keys, self.values = _taken(places[:width]), _taken(places)

    def read(self, bodies: Sequence[bytes]) -> list[Row] | None:
        """The records; None where they must be looked at one by one."""
        text = joined_objects(bodies)
        if text is None:
            return None
        try:
            found: list[Row] = self._decode(b"[" + text + b"]")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return found if len(found) == len(bodies) and none_twice(text, len(found) * self._fields) else None

    def head(self, cells: Iterable[tuple[int, int]]) -> bytes:
        """The attributes of a released record in JSON, by code and level of each, up to where other fields begin."""
        pieces = [
            known.get(cell) or self._piece(i, cell)
            for i, (known, cell) in enumerate(zip(self._pieces, cells, strict=True))
        ]
        return b"{" + b",".join(pieces) + (b"," if self._rest else b"}")

    def _piece(self, place: int, cell: tuple[int, int]) -> bytes:
        one = self._attributes[place]
        piece = self._pieces[place][cell] = encode_json({one.name: one.released(*cell)})[1:-2]
        return piece

    def write(self, heads: Sequence[bytes], rows: Sequence[Row]) -> list[bytes]:
        """Released records, by the JSON of their attributes and the rest of each."""
        if not self._rest:
            return list(heads)
        columns = [list(map(attrgetter(place), rows)) for place in self._rest_places]
        try:
            lines = _encode_lines(list(map(self._others, *columns)))[1:-1].split(b"\n{")
        except (UnicodeEncodeError, OverflowError):
            others = [dict(zip(self._rest, one, strict=True)) for one in zip(*columns, strict=True)]
            lines = [line[1:] for line in encode_json_block(others)]
        return list(map(add, heads, lines))


def _taken(places: Sequence[str]) -> Callable[[Sequence[Row]], list[tuple[Any, ...]]]:
    """What takes some fields of each row."""
    take = attrgetter(*places)
    if len(places) == 1:
        return lambda rows: [(take(row),) for row in rows]
    return lambda rows: list(map(take, rows))
