"""How a record is written in the body of a message: JSON, MessagePack, or Avro with a schema that both sides know."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Literal
from uuid import UUID

import msgspec

from oboro.errors import FileError, UsageError
from oboro.stream.runner.codecs import BadRecord, NdjsonCodec, decode_json_block, encode_json, encode_json_block
from oboro.stream.service.deciding import BodyForm
from oboro.text import Message
from oboro.text.os_reasons import os_reason

__all__ = ["AvroBody", "BodyFormat", "JsonBody", "MessagePackBody", "body_form"]

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
        import fastavro

        self._avro = fastavro
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
            found = self._avro.schemaless_reader(data, self._reader, None)
        except Exception:  # the reader raises whatever strange bytes make it raise
            raise BadRecord("not_avro") from None
        if not isinstance(found, dict) or data.read(1):
            raise BadRecord("not_avro")
        return found

    def encode(self, record: Mapping[str, Any]) -> bytes:
        """A released record. What is no simple value is written as in JSON, as text."""
        data = io.BytesIO()
        self._avro.schemaless_writer(data, self._writer, {name: _cell(value) for name, value in record.items()})
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
