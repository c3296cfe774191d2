"""Decoding and encoding of stream records: NDJSON (one object per line), CSV (a header, then one record per line),
messages.

Input that is no record is refused with a reason (`BadRecord`), without any of its values: others may see the reason.
msgspec reads and writes plain records, ten times as fast as the standard library, which decides on all others: msgspec
neither detects a repeated field nor explains its refusals.
"""

from __future__ import annotations

import base64
import codecs
import csv
import hmac
import io
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import Any, ClassVar, Literal, Protocol
from uuid import UUID

import msgspec
import numpy as np

from oboro._lazy import lazy_module
from oboro.data.parameters import named_by_place
from oboro.errors import FileError, InputError, UsageError
from oboro.notations.formulas import guarded_text
from oboro.notations.kinds import is_missing
from oboro.text import Message, Raw
from oboro.text.language import os_reason

fastavro = lazy_module("fastavro")

__all__ = [
    "DELIMITERS",
    "HUGE",
    "UTF_8",
    "AvroBody",
    "BadRecord",
    "BodyForm",
    "BodyFormat",
    "CsvCodec",
    "Format",
    "JsonBody",
    "LetterIds",
    "LineBlocks",
    "LineForm",
    "MessagePackBody",
    "NdjsonCodec",
    "OtherEncoding",
    "Partition",
    "RecordIds",
    "body_form",
    "codec",
    "decode_json",
    "decode_json_block",
    "encode_json",
    "encode_json_block",
    "form_of",
    "is_cut_by_bytes",
    "joined_objects",
    "new_key",
    "none_twice",
    "reason_code",
    "stream_encoding",
    "wrong_fields",
]


# Fields of a record ---------------------------------------------------------------------------------------------------
# Errors in the fields of a record that a stream refuses.


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


# Lines ----------------------------------------------------------------------------------------------------------------
# Bytes cut into lines as they arrive. Every byte is read once, in whatever pieces it arrives.


HUGE = b"\n"  # stands for a line that was too long to keep, before its length; no line and no record begins like that


class LineForm(Protocol):
    """Properties of the lines of a format."""

    def ends(self, text: bytes) -> bool:
        """Whether a record may end with this line; if not, it goes on until the next line of that kind."""
        ...

    def ends_everywhere(self, text: bytes) -> bool:
        """Whether a record may end with every line of this."""
        ...


class LineBlocks:
    """Cuts what arrives into records of whole lines. A line that is too long is replaced by a note of its length.

    A record whose quotes do not close within `most` bytes is given up: its first line stands alone, as the bad line that it is,
    and the lines after it are what they would have been without it. So no line is lost. Memory: at most twice `most` bytes.
    """

    def __init__(self, form: LineForm, most: int) -> None:
        self.form = form
        self.most = most
        self._clear()

    def _clear(self) -> None:
        self._open: list[bytes] = []  # lines of a record whose quotes have not closed
        self._open_bytes = 0
        self._pieces: list[bytes] = []  # of a line that has not ended; none once it is too long
        self._length = 0

    @property
    def waiting(self) -> int:
        """Bytes that arrived and are not yet part of a block."""
        return self._open_bytes + self._length

    def add(self, data: bytes) -> tuple[list[bytes], int]:
        """The records that are whole now, and how many bytes of input they take."""
        before = self.waiting
        *ended, rest = data.split(b"\n")
        plain = len(data) <= self.most and self.form.ends_everywhere(data)
        lines = list(self._end_line(ended[0])) if ended else []
        # What came before may have opened a quote, which the first line then does not close.
        if plain and not self._open:
            lines += ended[1:]
        else:
            lines += [record for part in ended[1:] for record in self._end_line(part)]
        self._piece(rest)
        return lines, before + len(data) - self.waiting

    def end(self) -> tuple[list[bytes], int]:
        """What is left at the end of the input, as its last lines."""
        taken = self.waiting
        lines = list(self._end_line(b"")) if self._length else []
        lines += self._open
        self._clear()
        return lines, taken

    def _piece(self, part: bytes) -> None:
        self._length += len(part)
        if self._length > self.most:
            self._pieces = []
        elif part:
            self._pieces.append(part)

    def _end_line(self, part: bytes) -> Iterator[bytes]:
        self._piece(part)
        line, length = b"".join(self._pieces), self._length
        self._pieces, self._length = [], 0
        if length > self.most:
            yield from self._give_up()
            yield HUGE + str(length).encode()
        else:
            yield from self._line(line)

    def _line(self, line: bytes) -> Iterator[bytes]:
        ends = self.form.ends(line)
        if not self._open and ends:
            yield line
            return
        if self._open and self._open_bytes + len(line) > self.most:
            yield from self._give_up()
            yield from self._line(line)
            return
        self._open.append(line)
        self._open_bytes += len(line) + 1
        if len(self._open) > 1 and not ends:
            yield b"\n".join(self._open)
            self._open, self._open_bytes = [], 0

    def _give_up(self) -> Iterator[bytes]:
        yield from self._open
        self._open, self._open_bytes = [], 0


# Codecs ---------------------------------------------------------------------------------------------------------------


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
    """Encode each record as a line, without its end; no raw line end is within one."""
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


# Text encodings -------------------------------------------------------------------------------------------------------
# Lines in another encoding than UTF-8: each becomes UTF-8 before its format reads it.


UTF_8 = "utf-8"
MARKS = '\r\n",;\t'  # what ends lines, cells and quotes
BEYOND_ASCII = "".join(map(chr, (*range(0x80, 0xD800), *range(0xE000, 0x10000))))


def stream_encoding(name: str | None) -> str | None:
    """The name as Python calls it; an error where a stream cannot be cut into its lines."""
    if name is not None and not is_cut_by_bytes(name):
        raise UsageError(Message("error_stream.encoding", encoding=name))
    return None if name is None else codecs.lookup(name).name


def is_cut_by_bytes(name: str) -> bool:
    """Whether the ends of lines and the quotes of an encoding are the bytes of ASCII, and these bytes are nothing else in it.

    >>> [is_cut_by_bytes(name) for name in ("latin-1", "cp932", "utf-16", "iso2022_jp", "no such")]
    [True, True, False, False, False]
    """
    try:
        marks, others = MARKS.encode(name), BEYOND_ASCII.encode(name, "ignore")
        text = marks.decode(name)
    except (LookupError, ValueError, AttributeError):
        return False
    return marks == MARKS.encode() and text == MARKS and not {*others} & {*b'\n"'}


class OtherEncoding:
    """A format whose lines come in another encoding. What is written is UTF-8: labels have characters that others lack."""

    def __init__(self, form: NdjsonCodec | CsvCodec, encoding: str) -> None:
        self.form = form
        self.encoding = encoding

    @property
    def header(self) -> Sequence[str] | None:
        """The names of the fields, where a line says them."""
        return self.form.header

    @property
    def delimiter(self) -> str:
        """What stands between cells."""
        return self.form.delimiter

    def decode(self, line: bytes) -> dict[str, Any] | None:
        """The record of a line; None where it holds none."""
        if line.startswith(HUGE):
            return self.form.decode(line)
        try:
            text = line.decode(self.encoding)
        except UnicodeDecodeError:
            raise BadRecord("not_encoded", encoding=self.encoding) from None
        return self.form.decode(text.encode("utf-8", "surrogatepass"))

    def decode_all(self, lines: Sequence[bytes]) -> None:
        """One by one."""
        return

    def ends(self, text: bytes) -> bool:
        """Whether a line is whole."""
        return self.form.ends(text)

    def ends_everywhere(self, text: bytes) -> bool:
        """Whether every line is whole."""
        return self.form.ends_everywhere(text)


# Ids of dead-letter records -------------------------------------------------------------------------------------------
# Ids of dead-letter records, by which a reader finds those of a record that a broker delivered again.
#
# Positions do not suffice: MQTT and RabbitMQ give a record that is delivered again a new one.


# UUIDs, ULIDs and ids of records that another oboro has released: they say nothing about a person.
OPAQUE = re.compile(
    r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}|[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-9a-f]{16}\.([0-9a-f]{12}\.)?[0-9]{1,19}"
)
SIZE = 32  # hexadecimal digits of an id that is made here: 128 bits


def new_key() -> str:
    """Make a key for the ids of one stream. It stays in the state."""
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


# Partitions -----------------------------------------------------------------------------------------------------------
# One part of a stream that several processes share. Each part keeps its own guarantee, over its own records only.
#
# A digest of its key assigns a record to a part, in every process and on every machine alike. Values are compared as
# text, so that a number means the same in JSON and in a table that is verified later.


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


# Record ids -----------------------------------------------------------------------------------------------------------
# Records that were taken already: a record that a producer sends again must not count as its own match.


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


# Interface of message bodies ------------------------------------------------------------------------------------------


class BodyForm(Protocol):
    """Encoding of a record in the body of a message."""

    json: ClassVar[bool]
    """Whether a body is a JSON object."""

    def decode(self, body: bytes) -> dict[str, Any] | None:
        """The record of a body, None if it holds none; raises `InputError` without any value in it."""
        ...

    def encode(self, record: Mapping[str, Any]) -> bytes:
        """The body of a released record."""
        ...

    def decode_all(self, bodies: Sequence[bytes]) -> list[dict[str, Any]] | None:
        """`decode` for each; None where they must be looked at one by one."""
        ...

    def encode_all(self, records: Sequence[Mapping[str, Any]]) -> list[bytes]:
        """`encode` for each."""
        ...


# Message bodies -------------------------------------------------------------------------------------------------------
# Encodings of a record in the body of a message: JSON, MessagePack, or Avro with a schema that both sides know.


BodyFormat = Literal["ndjson", "msgpack", "avro"]
CELL = ["null", "boolean", "long", "double", "string"]


class JsonBody:
    """One JSON object."""

    json: ClassVar[bool] = True

    def __init__(self) -> None:
        self._decode = NdjsonCodec().decode

    def decode(self, body: bytes) -> dict[str, Any] | None:
        """The record. A message without one is said: somebody sent it."""
        try:
            record = self._decode(body)
        except BadRecord as bad:
            if bad.why == "not_utf8":  # JSON has no other encoding, so none can be named
                raise BadRecord("not_utf8_body") from None
            raise
        if record is None:
            raise BadRecord("empty")
        return record

    def encode(self, record: Mapping[str, Any]) -> bytes:
        """A released record."""
        return encode_json(record)[:-1]

    def decode_all(self, bodies: Sequence[bytes]) -> list[dict[str, Any]] | None:
        """By one call, if all are plain; one by itself takes less."""
        return decode_json_block(bodies) if len(bodies) > 1 else None

    def encode_all(self, records: Sequence[Mapping[str, Any]]) -> list[bytes]:
        """By one call."""
        return encode_json_block(records) if len(records) > 1 else [self.encode(one) for one in records]


class MessagePackBody:
    """One map."""

    json: ClassVar[bool] = False

    def decode(self, body: bytes) -> dict[str, Any] | None:
        """The record."""
        try:
            found = _unpack(body)
        except (msgspec.DecodeError, RecursionError, ValueError):
            raise BadRecord("not_msgpack") from None
        if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
            raise BadRecord("not_object")
        return found

    def encode(self, record: Mapping[str, Any]) -> bytes:
        """A released record. A number that MessagePack cannot hold, or half of a surrogate pair, becomes text."""
        try:
            return msgspec.msgpack.encode(record)
        except (OverflowError, UnicodeEncodeError):
            return msgspec.msgpack.encode({name: _cell(value) for name, value in record.items()})

    def decode_all(self, bodies: Sequence[bytes]) -> list[dict[str, Any]] | None:
        """One by one."""
        return None

    def encode_all(self, records: Sequence[Mapping[str, Any]]) -> list[bytes]:
        """One by one."""
        return [self.encode(record) for record in records]


class AvroBody:
    """One record without its schema, as brokers carry it. Released cells may be labels, so each is a union of all simple types."""

    json: ClassVar[bool] = False

    def __init__(self, schema: Path | None, fields: Sequence[str]) -> None:
        if schema is None and not fields:
            raise UsageError(Message("error_service.avro_schema"))
        released = [{"name": name, "type": CELL} for name in fields]
        self.released = {"type": "record", "name": "Released", "fields": released}
        self._writer = fastavro.parse_schema(self.released)
        self._reader = self._writer if schema is None else fastavro.parse_schema(_read_schema(schema))

    def decode(self, body: bytes) -> dict[str, Any] | None:
        """The record."""
        data = io.BytesIO(body)
        try:
            found = fastavro.schemaless_reader(data, self._reader, None)
        except Exception:  # the reader raises whatever strange bytes make it raise
            raise BadRecord("not_avro") from None
        if not isinstance(found, dict) or data.read(1):
            raise BadRecord("not_avro")
        return found

    def encode(self, record: Mapping[str, Any]) -> bytes:
        """A released record. What is no simple value is written as in JSON, as text."""
        data = io.BytesIO()
        fastavro.schemaless_writer(data, self._writer, {name: _cell(value) for name, value in record.items()})
        return data.getvalue()

    def decode_all(self, bodies: Sequence[bytes]) -> list[dict[str, Any]] | None:
        """One by one."""
        return None

    def encode_all(self, records: Sequence[Mapping[str, Any]]) -> list[bytes]:
        """One by one."""
        return [self.encode(record) for record in records]


def _unknown(code: int, data: memoryview) -> None:
    raise ValueError(code)


_unpack = msgspec.msgpack.Decoder(ext_hook=_unknown).decode


def _cell(value: Any) -> Any:
    """A simple value as it is, if Avro and MessagePack can hold it; all else as the text that JSON has for it."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else str(value)
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="backslashreplace").decode()
    text = encode_json({"": value})[len(b'{"":') : -len(b"}\n")].decode()
    return text[1:-1] if isinstance(value, date | time | Decimal | UUID | bytes) else text


def _read_schema(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(Message("error_stream.cannot_read", place=path, why=os_reason(error))) from None
    except ValueError:
        raise FileError(Message("error_service.not_a_schema", path=path)) from None


def body_form(form: BodyFormat, schema: Path | None = None, fields: Sequence[str] = ()) -> BodyForm:
    """The form of bodies."""
    if form != "avro":
        return MessagePackBody() if form == "msgpack" else JsonBody()
    try:
        return AvroBody(schema, fields)
    except ImportError:
        raise UsageError(Message("error_service.avro_client")) from None
