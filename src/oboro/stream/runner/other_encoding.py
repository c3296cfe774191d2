"""Lines in another encoding than UTF-8: each becomes UTF-8 before its format reads it."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any

from oboro.errors import UsageError
from oboro.stream.runner.codecs import BadRecord, CsvCodec, NdjsonCodec
from oboro.stream.runner.line_blocks import HUGE
from oboro.text import Message

__all__ = ["UTF_8", "OtherEncoding", "is_cut_by_bytes", "stream_encoding"]

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
