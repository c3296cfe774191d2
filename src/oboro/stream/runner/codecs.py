"""Bytes into records and back: NDJSON (one object a line) and CSV (a header, then a record a line).

What is no record is said why it is none (`BadRecord`), without any of its values: the reason may be shown to others.
msgspec reads and writes what is plain, ten times as fast as the standard library, which has the last word on all else: msgspec
neither tells a field that stands twice nor explains itself.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from oboro.errors import InputError, UsageError
from oboro.stream.runner.line_blocks import HUGE
from oboro.table.named_columns import named_by_place
from oboro.table.spelling.formula_text import guarded_text
from oboro.text import Message

__all__ = [
    "DELIMITERS",
    "BadRecord",
    "CsvCodec",
    "Format",
    "NdjsonCodec",
    "codec",
    "decode_json",
    "decode_json_block",
    "encode_json",
    "encode_json_block",
    "form_of",
    "joined_objects",
    "none_twice",
    "reason_code",
]

Format = Literal["ndjson", "csv"]
BOM = b"\xef\xbb\xbf"
SHORT = 1024  # bytes
DELIMITERS = (",", ";", "\t")  # between cells of CSV; where a header does not decide, the first
csv.field_size_limit(1 << 30)  # the length of a whole line is limited before


class BadRecord(InputError):
    """A line that is no record, and why."""

    def __init__(self, why: str, **values: Any) -> None:
        super().__init__(Message(f"error_stream.letter.{why}", **values))
        self.why = why


def reason_code(error: InputError) -> str:
    """Return the short name of a reason, the same in every language: for counts.

    >>> reason_code(BadRecord("not_json", at=3))
    'not_json'
    """
    return error.words.id.rpartition(".")[2] if isinstance(error.words, Message) else "other"


def _check_length(line: bytes) -> None:
    """Raise where only the length of a line was kept. The body of a message may begin with a line's end too, and is none."""
    length = line[len(HUGE) :]
    if line.startswith(HUGE) and length.isdigit() and len(length) < 20:
        raise BadRecord("too_long", bytes=int(length))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadRecord("field_twice")
    return found


def _constant(name: str) -> Any:
    raise BadRecord("constant", name=name)


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise BadRecord("too_large")
    return number


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite)
_fast_decode = msgspec.json.Decoder().decode
_fast_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder().encode_lines


def decode_json(line: bytes) -> Any:
    """One JSON value."""
    try:
        value = _fast_decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _explained(line)
    return value if isinstance(value, dict) and none_twice(line, len(value)) else _explained(line)


def decode_json_block(lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """Flat JSON objects, one a line, by one call; None where each must be looked at by itself.

    Put together with a comma and a line's end between them they say the same as one by one: no text holds a raw line's end, so no
    line ends within one. Every line ends in a brace, and no object holds another or a list, so every such comma stands between two
    objects; and there are as many objects as lines.
    """
    text = joined_objects(lines)
    if text is None:
        return None
    try:
        found: list[Any] = _fast_decode(b"[" + text + b"]")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    plain = len(found) == len(lines) and {*map(type, found)} == {dict} and none_twice(text, sum(map(len, found)))
    return found if plain else None


def joined_objects(lines: Sequence[bytes]) -> bytes | None:
    """Lines as the inside of one list, if each that is JSON is a flat object; None if that is not sure."""
    text, count = b",\n".join(lines), len(lines)
    if _number(text, b"{") != count or b"[" in text or not text.endswith(b"}") or not _between_braces(text, count):
        return None
    return text


def _between_braces(text: bytes, lines: int) -> bool:
    """Whether there are so many lines and all but the last end in a brace and the comma that was put behind it."""
    found = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(found == b"\n"[0])
    if ends.size != lines - 1 or (ends.size and ends[0] < 2):
        return False
    return bool(np.all(found[ends - 2] == b"}"[0]) and np.all(found[ends - 1] == b","[0]))


def _number(text: bytes, byte: bytes) -> int:
    """How often a byte stands in a text: in a long one ten times as fast as `count` where that is often."""
    return text.count(byte) if len(text) < SHORT else int(np.count_nonzero(np.frombuffer(text, np.uint8) == byte[0]))


def encode_json_block(records: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """Each record as a line, without its end; no raw line's end stands within one."""
    try:
        return _encode_lines(records).split(b"\n")[:-1]
    except (UnicodeEncodeError, OverflowError):
        return [encode_json(record)[:-1] for record in records]


def none_twice(line: bytes, fields: int) -> bool:
    """Whether no field can stand twice: each takes a colon, after a quote and nothing else if there is no space there."""
    if _number(line, b":") == fields:
        return True
    spaced = any(space in line for space in (b'" ', b'"\t', b'"\r'))
    return not spaced and line.count(b'":') == fields


def _explained(line: bytes) -> Any:
    """The slow way, which also says what is wrong."""
    try:
        return _decoder.decode(line.decode())
    except BadRecord:
        raise
    except UnicodeDecodeError:
        raise BadRecord("not_utf8") from None
    except RecursionError:
        raise BadRecord("too_deep") from None
    except json.JSONDecodeError as error:
        raise BadRecord("not_json", at=error.pos + 1) from None
    except ValueError:
        raise BadRecord("too_many_digits") from None


def encode_json(record: Mapping[str, Any]) -> bytes:
    """One record as a line."""
    try:
        return _fast_encode(record) + b"\n"
    except (UnicodeEncodeError, OverflowError):  # half of a surrogate pair, which UTF-8 cannot carry; a huge number
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"


class NdjsonCodec:
    """One JSON object a line."""

    header: Sequence[str] | None = None
    delimiter = ","

    def decode(self, line: bytes) -> dict[str, Any] | None:
        """The record of a line; None for an empty line."""
        _check_length(line)
        line = line.removeprefix(BOM)
        if not line or line.isspace():
            return None
        record = decode_json(line)
        if not isinstance(record, dict):
            raise BadRecord("not_object")
        return record

    def decode_all(self, lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
        """By one call, if all are plain."""
        return decode_json_block(lines)

    def encode_all(self, records: Sequence[Mapping[str, Any]]) -> bytes:
        """Records as lines."""
        try:
            return _encode_lines(records)
        except (UnicodeEncodeError, OverflowError):
            return b"".join(map(encode_json, records))

    def begin(self, names: Sequence[str]) -> bytes:
        """What stands before the first record."""
        return b""

    def encode(self, record: Mapping[str, Any]) -> bytes:
        """A record as a line."""
        return encode_json(record)

    def ends(self, text: bytes) -> bool:
        """Whether a line is whole."""
        return True

    def ends_everywhere(self, text: bytes) -> bool:
        """Whether every line is whole."""
        return True


class CsvCodec:
    """A header that names the fields, then one record a line; quoted cells may hold line breaks. Empty cells are missing.

    What stands between cells (a comma, a semicolon, a tab) is seen in the header. `excel_safe`: what a spreadsheet would run as
    a formula is written so that it does not.
    """

    def __init__(
        self, header: Sequence[str] | None = None, excel_safe: bool = False, delimiter: str = DELIMITERS[0]
    ) -> None:
        self.header = header
        self.excel_safe = excel_safe
        self.delimiter = delimiter

    def decode(self, line: bytes) -> dict[str, Any] | None:
        """The record of a line; None for the header and for an empty line."""
        _check_length(line)
        if not line.strip(b"\r\n"):
            return None
        try:
            text = line.decode("utf-8-sig" if self.header is None else "utf-8")
            if self.header is None:
                self.delimiter = _delimiter(text)
            cells = _cells(text, self.delimiter)
        except UnicodeDecodeError:
            raise BadRecord("not_utf8") from None
        except (csv.Error, StopIteration):
            raise BadRecord("quotes") from None
        if self.header is None:
            self.header = _header(cells)
            return None
        if len(cells) != len(self.header):
            raise BadRecord("cells", cells=len(cells), header=len(self.header))
        return {name: cell or None for name, cell in zip(self.header, cells, strict=True)}

    def decode_all(self, lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
        """One by one."""
        return None

    def encode_all(self, records: Sequence[Mapping[str, Any]]) -> bytes:
        """Records as lines."""
        return b"".join(map(self.encode, records))

    def begin(self, names: Sequence[str]) -> bytes:
        """The header."""
        return self._line(names)

    def encode(self, record: Mapping[str, Any]) -> bytes:
        """A record as a line."""
        return self._line(list(record.values()))

    def _line(self, cells: Sequence[Any]) -> bytes:
        if self.excel_safe:
            cells = [guarded_text(cell) if isinstance(cell, str) else cell for cell in cells]
        return _csv_line(cells, self.delimiter)

    def ends(self, text: bytes) -> bool:
        """Whether a line is whole: no quoted cell goes on in the next one."""
        return text.count(b'"') % 2 == 0

    def ends_everywhere(self, text: bytes) -> bool:
        """Whether every line is whole."""
        return b'"' not in text


def _header(names: list[str]) -> list[str]:
    """The names of the fields. Not said by name: without a header, these are the values of a person."""
    names = names if all(names) else named_by_place(names)
    for place, name in enumerate(names):
        if name in names[:place]:
            raise UsageError(Message("error_stream.header_twice", first=names.index(name) + 1, second=place + 1))
    return names


def _cells(text: str, delimiter: str) -> list[str]:
    return next(csv.reader([text], delimiter=delimiter, strict=True))


def _delimiter(header: str) -> str:
    """What parts a header into the most names.

    >>> _delimiter("a,b"), _delimiter('"a";"b, c"'), _delimiter("a")
    (',', ';', ',')
    """

    def names(mark: str) -> int:
        try:
            return len(_cells(header, mark))
        except csv.Error:
            return 0

    return max(DELIMITERS, key=names)


def _csv_line(cells: Sequence[Any], delimiter: str) -> bytes:
    text = io.StringIO()
    # Written with this end, cells that hold CR are quoted too: unquoted, it ends the record for whoever reads it.
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerow(
        ["" if cell is None else cell for cell in cells]
    )
    return text.getvalue().removesuffix("\r\n").encode("utf-8", "backslashreplace") + b"\n"


def form_of(place: str, otherwise: Format = "ndjson") -> Format:
    """The format that the name of a file says."""
    if place.endswith((".csv", ".CSV")):
        return "csv"
    return "ndjson" if place.endswith((".ndjson", ".jsonl")) else otherwise


def codec(
    form: Format, header: Sequence[str] | None = None, excel_safe: bool = False, delimiter: str = DELIMITERS[0]
) -> NdjsonCodec | CsvCodec:
    """The codec of a format."""
    if form == "csv":
        return CsvCodec(header, excel_safe, delimiter)
    if excel_safe:
        raise UsageError(Message("error_stream.excel_safe_not_csv"))
    return NdjsonCodec()
