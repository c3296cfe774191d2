"""How far a stream is: what every snapshot says beside the state of the anonymizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oboro.stream.runner.codecs import DELIMITERS
from oboro.stream.runner.other_encoding import UTF_8, is_cut_by_bytes
from oboro.stream.snapshot import moment, require
from oboro.text import LANGUAGES

__all__ = ["StreamPosition"]


@dataclass
class StreamPosition:
    """Bytes and lines taken, written and refused, and where they began."""

    taken: int = 0
    written: int = 0
    refused: int = 0
    lines: int = 0
    released: int = 0
    header: Sequence[str] | None = None
    origin: int = 0  # what was taken before the first byte of this input, where one input followed another
    seen: str = ""  # a digest of the input up to some place
    seen_at: int = 0
    base: int = 0
    dead_base: int = 0
    now: float = 0.0  # when the last block came
    lang: str = "en"
    delimiter: str = DELIMITERS[0]  # between cells, as the header shows
    encoding: str = UTF_8  # of the input

    @staticmethod
    def of(noted: Mapping[str, Any]) -> StreamPosition:
        """What a snapshot says, if it can be."""
        at = StreamPosition(**noted)
        numbers = (
            at.taken,
            at.written,
            at.refused,
            at.lines,
            at.released,
            at.origin,
            at.seen_at,
            at.base,
            at.dead_base,
        )
        require(all(type(number) is int and 0 <= number < 1 << 62 for number in numbers))
        require(max(at.origin, at.seen_at) <= at.taken and isinstance(at.seen, str) and at.lang in LANGUAGES)
        require(at.header is None or all(isinstance(name, str) for name in at.header))
        require(at.delimiter in DELIMITERS and isinstance(at.encoding, str) and is_cut_by_bytes(at.encoding))
        at.now = moment(at.now)
        return at
