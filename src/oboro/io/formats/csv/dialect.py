"""Dialect of a CSV file: its delimiter, its quotes, whether spaces follow the delimiter, whether it has a header.

Guessed from the beginning of the file with Python's own `csv` module, so that a human could check every guess; what
the guess is made for is then held strictly on every row.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.parameters import LOOKS_LIKE_DATA, named_by_place, require_few_columns
from oboro.errors import FileError, UsageError
from oboro.io.bytes import EncodedFile, text_encoding
from oboro.text import Message, Raw

__all__ = [
    "AS_IT_IS",
    "DELIMITERS",
    "Dialect",
    "NotUnicode",
    "dialect_of",
    "encoded",
    "encoding_named",
    "first_record",
    "in_encoding",
    "names_by_place",
    "names_of",
    "notes_of",
]


DELIMITERS = (",", "\t", ";", "|")
NO_DELIMITER = "\x1f"  # Unicode's own separator, which nobody types
ROWS = 100  # records that the guesses are made from
SPACE = re.compile(" ")


@dataclass(frozen=True)
class Dialect:
    """Notation of a CSV file. `space`: spaces after a delimiter are not part of the value, as in `a, b`.

    `single`: there is one column, in which a delimiter is a character like any other (`Smith, John`). In such a table a blank line
    is a record, but for those `blank` ones before the header.
    """

    delimiter: str = ","
    quote: str = '"'
    space: bool = False
    header: bool = True
    encoding: str = "utf-8"
    single: bool = False
    blank: int = 0

    def __post_init__(self) -> None:
        for what, mark in (("delimiter", self.delimiter), ("quote", self.quote)):
            if len(mark) != 1 or not mark.isascii() or mark in "\r\n\0 " or mark.isalnum():
                raise UsageError(Message("error_io.one_character", what=what, mark=mark))
        if self.delimiter == self.quote:
            raise UsageError(Message("error_io.same_marks", quote=self.quote))

    @property
    def cut(self) -> str:
        """Delimiter of fields in the file."""
        return NO_DELIMITER if self.single else self.delimiter

    @property
    def skipped(self) -> int:
        """Number of records before the first row."""
        return int(self.header) + self.blank

    def records(self, text: str) -> list[list[str]]:
        """The first records of a text, without blank lines; the last one may be cut off."""
        marks = {"delimiter": self.cut, "quotechar": self.quote, "skipinitialspace": self.space}
        reader = csv.reader(io.StringIO(text, newline=""), strict=True, **marks)  # type: ignore[arg-type]
        found: list[list[str]] = []
        with suppress(csv.Error):  # the reader says later what is wrong, and where
            found.extend(islice(filter(None, reader), ROWS))
        return found


def dialect_of(
    sample: str, *, delimiter: str | None = None, quote: str | None = None, header: bool | None = True
) -> Dialect:
    """The dialect of a file that starts with `sample`; what is given is not guessed.

    >>> dialect_of("age;sex\\n39;M\\n50;F\\n").delimiter
    ';'
    >>> dialect_of("39, M\\n50, F\\n", header=None)
    Dialect(delimiter=',', quote='"', space=True, header=False, encoding='utf-8', single=False, blank=0)
    """
    quotes = [quote] if quote is not None else [mark for mark in "\"'" if mark != delimiter]
    if '"' in sample and quote is None:
        quotes = quotes[:1]
    delimiters = [delimiter] if delimiter is not None else [mark for mark in DELIMITERS if mark != quote]
    choices = [Dialect(one, mark) for mark in quotes for one in delimiters]
    best = max(choices, key=partial(_fit, sample))
    records = best.records(sample)
    if delimiter is None and records and len(records[0]) == 1:
        best = replace(best, single=True)
        records = best.records(sample)
    best = replace(best, space=bool(records) and all(map(_spaced, records)))
    records = best.records(sample)
    best = replace(best, header=_has_header(records) if header is None else header)
    return replace(best, blank=_blank_lines(sample)) if best.header and records and len(records[0]) == 1 else best


def _blank_lines(sample: str) -> int:
    """Count the blank lines before the first other one."""
    before = sample[: len(sample) - len(sample.lstrip("\r\n"))]
    return len(re.findall(r"\r\n?|\n", before))


def _fit(sample: str, dialect: Dialect) -> tuple[float, bool, int]:
    """Rate how well a dialect explains the sample: the share of records as wide as the first one, quotes used, how wide it is."""
    records = dialect.records(sample)[:ROWS]
    width = len(records[0]) if records else 0
    if width < 2:
        return 0.0, dialect.quote == '"', 0
    alike = Counter(map(len, records))[width] / len(records)
    return alike, dialect.quote == '"' or _quoted(dialect, sample), width


def _quoted(dialect: Dialect, sample: str) -> bool:
    """Return whether an unusual quote encloses some field of every record."""
    mark, edge = re.escape(dialect.quote), re.escape(dialect.delimiter)
    field = re.compile(f"(^|{edge}) *{mark}[^{mark}]*{mark} *({edge}|$)")
    lines = sample.splitlines()[1:ROWS]
    return bool(lines) and all(map(field.search, filter(None, lines)))


def _spaced(record: Sequence[str]) -> bool:
    return len(record) > 1 and all(map(SPACE.match, record[1:]))


def _has_header(records: Sequence[Sequence[str]]) -> bool:
    """A header has a different, non-empty word in every field, none of which looks like a number or a date."""
    first = records[0] if records else []
    words = all(field.strip() and not LOOKS_LIKE_DATA.fullmatch(field.strip()) for field in first)
    return words and len(set(first)) == len(first)


def first_record(path: str, sample: str, dialect: Dialect) -> list[str]:
    """The fields of the first record, which say how many columns there are."""
    text = sample.lstrip()
    if text[:1] in ("[", "{") and text[1:].lstrip()[:1] == ("{" if text[0] == "[" else '"'):
        raise FileError(Message("error_io.json", path=path))
    records = dialect.records(sample)
    if records:
        return records[0]
    if sample.strip("\r\n"):
        raise FileError(Message("error_io.first_record", path=path))
    raise FileError(Message("error_io.empty_file", path=path))


def names_of(path: str, first: Sequence[str], dialect: Dialect) -> list[str]:
    """The names of the columns: the header's, or column1, column2 … where there is none."""
    require_few_columns(path, len(first))
    if not dialect.header:
        return [f"column{place}" for place in range(1, len(first) + 1)]
    names = list(first) if all(first) else named_by_place(first)
    if not all(names):
        place = names.index("") + 1
        raise FileError(Message("error_io.no_first_name" if place == 1 else "error_io.no_name", path=path, place=place))
    if len(set(names)) < len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        again = set(twice)
        places = [str(place) for place, name in enumerate(names, 1) if name in again]
        raise FileError(Message("error_io.same_names", path=path, twice=[Raw(name) for name in twice], places=places))
    return names


def notes_of(path: str, sample: str, dialect: Dialect, names: Sequence[str]) -> tuple[Message, ...]:
    """Report columns without a name in the header, and one column that may be several."""
    below = _columns_below(sample) if dialect.single else None
    one = () if below is None else (Message("io.one_column", path=path, delimiter=below[0], columns=below[1]),)
    return (*names_by_place(path, dialect.records(sample)[0], names), *one)


def names_by_place(path: str, first: Sequence[str], names: Sequence[str]) -> tuple[Message, ...]:
    """Report the columns with names that the header does not have."""
    called = [(place, name) for place, name in enumerate(names, 1) if not first[place - 1]]
    return tuple(Message("io.named_by_place", path=path, place=place, name=name) for place, name in called)


def _columns_below(sample: str) -> tuple[str, int] | None:
    """Into how many columns the lines below the first fall, and by what; None where they do not fall into equally many.

    A comma may stand in a name or a number: three columns or more tell.
    """
    for mark in DELIMITERS:
        widths = Counter(map(len, Dialect(mark).records(sample)[1:]))
        width, lines = max(widths.items(), key=lambda one: one[1], default=(1, 0))
        if width >= (3 if mark == "," else 2) and lines > 1 and lines > 0.9 * sum(widths.values()):
            return mark, width
    return None


# Text in other encodings ----------------------------------------------------------------------------------------------
# CSV text in another encoding than UTF-8: characters are replaced so that no two values become equal.
#
# Labels have characters that some encodings lack: cp932 has neither `–` nor `≥`. They are replaced by characters of the
# same meaning that are read alike (`20～24`, `≧80`). Any other character that the encoding lacks is an error, before
# anything is written.


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


def encoded(file: Any, dialect: Dialect) -> Any:
    """Return a file that takes UTF-8 and writes the encoding of the dialect to `file`."""
    if dialect.encoding in AS_IT_IS:
        return file
    return EncodedFile(file, dialect.encoding)
