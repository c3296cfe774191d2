"""CSV text in another encoding than UTF-8: what its characters become, and that no two values become one.

Labels have characters that some encodings lack: cp932 has neither `–` nor `≥`. They are replaced by characters that say the same
and are read the same (`20～24`, `≧80`). Any other character that the encoding lacks is an error, before anything is written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.errors import FileError, UsageError
from oboro.io.byte_streams import text_encoding
from oboro.table.dataset import Column, Dataset
from oboro.text import Message

__all__ = ["AS_IT_IS", "NotUnicode", "encoding_named", "in_encoding"]

# What stands for a character that an encoding lacks: the first one that it has.
INSTEAD = {
    "–": ("～", "〜", "-"),
    "—": ("―", "-"),
    "≥": ("≧", ">="),
    "≤": ("≦", "<="),
    "−": ("－", "-"),
    "～": ("〜", "~"),
    "〜": ("～", "~"),
    "≧": (">=",),
    "≦": ("<=",),
    "…": ("...",),
    "¥": ("￥",),
}
AS_IT_IS = ("utf-8", "utf-8-sig")  # without or with a byte order mark


class NotUnicode(FileError):
    """Text that was taken for UTF-8 is something else."""


def encoding_named(name: str) -> str:
    """The encoding of that name, as Python calls it; an error if there is none, or if it is not for text.

    >>> encoding_named("Shift-JIS"), encoding_named("UTF8")
    ('shift_jis', 'utf-8')
    """
    found = text_encoding(name)
    if found is None:
        raise UsageError(Message("error_io.no_encoding", encoding=name))
    return found


def in_encoding(data: Dataset, encoding: str) -> Dataset:
    """The table with every character that the encoding lacks replaced, if one says the same.

    Raises `FileError` naming the column and the character where none does, or where two values would become one.
    """
    if encoding in AS_IT_IS:
        return data
    for name in data:
        if _lacking(name, encoding):
            raise FileError(
                Message(
                    "error_io.not_encodable_name", column=name, letter=_lacking(name, encoding)[0], encoding=encoding
                )
            )
    changed = {name: column for name in data if (column := _replaced(name, data[name], encoding)) is not None}
    return data.with_columns(changed) if changed else data


def _replaced(name: str, column: Column, encoding: str) -> Column | None:
    """The column with other characters in its dictionary; None where all are there."""
    if not (pa.types.is_string(column.values.type) or pa.types.is_large_string(column.values.type)):
        return None
    column = column.tidy()  # what no row has need not be written
    texts = column.values
    lacking = _lacking("".join(_letters(texts)), encoding)
    if not lacking:
        return None
    for letter in lacking:
        other = next((one for one in INSTEAD.get(letter, ()) if not _lacking(one, encoding)), None)
        if other is None:
            raise FileError(Message("error_io.not_encodable", column=name, letter=letter, encoding=encoding))
        texts = pc.replace_substring(texts, letter, other)
    if pc.count_distinct(texts, mode="all").as_py() < pc.count_distinct(column.values, mode="all").as_py():
        raise FileError(Message("error_io.merged", column=name, letters=lacking, encoding=encoding))
    return column.recode(np.arange(len(texts)), texts)


def _letters(texts: pa.Array) -> Sequence[str]:
    """The different characters beyond ASCII."""
    odd = texts.filter(pc.invert(pc.fill_null(pc.string_is_ascii(texts), True)))
    return sorted(set(re.sub(r"[\x00-\x7f]+", "", "".join(set("".join(odd.to_pylist()))))))


def _lacking(text: str, encoding: str) -> list[str]:
    """The characters that the encoding does not hold, or does not give back."""
    return [letter for letter in dict.fromkeys(text) if not letter.isascii() and not _held(letter, encoding)]


def _held(letter: str, encoding: str) -> bool:
    try:
        return letter.encode(encoding).decode(encoding) == letter
    except UnicodeError:
        return False
