"""Registry of notations of numbers and dates, in the order in which they are tried on a column.

A notation is judged on the distinct texts of a whole column: it is used only where every text can be read in it and all of them
together mean one thing. What programs write (`-1.5`, `2024-01-31`) is read by `kinds` before any of these.
"""

from __future__ import annotations

import pyarrow as pa

from oboro._lazy import lazy_module, pc
from oboro.notations.texts import all_match
from oboro.text import Message

amounts = lazy_module("oboro.notations.amounts")
japanese = lazy_module("oboro.notations.japanese")
ordered_dates = lazy_module("oboro.notations.ordered_dates")
partial_dates = lazy_module("oboro.notations.partial_dates")

__all__ = ["DECIMAL_COMMAS", "NOTATIONS", "PARTIAL_DATES", "ValueNotation", "format_like", "may_be_japanese"]


OFFICE_DATE = (
    r"^[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}([ T][0-9]{1,2}:[0-9]{2}|$)"  # the order of its parts is found or given
)
AMOUNT = (  # with a sign of money or per cent, or commas between thousands
    r"^[-+]?([$£€] ?[-+]?[0-9][0-9., \x{a0}\x{202f}]*|[0-9][0-9., \x{a0}\x{202f}]*[€%]|[1-9][0-9]{0,2}(,[0-9]{3})*(\.[0-9]+)?|0)$"
)
# ASCII without a digit, or a character that is part of no date and no amount of Japan.
WORD = r"^[\x00-\x2f\x3a-\x7f]*$|[^\x{0}-\x{4dff}\x{a000}-\x{10ffff}西暦明治大正昭和平成令元年月日満兆億十百万千円歳才]"
ERA = r"^\s*[MTSHRmtshr][0-9]"  # an era's letter: the only sign of a Japanese date in ASCII
HEAD = 100  # so many values settle nearly every column of words


class ValueNotation:
    """A notation of numbers or dates."""

    def recognise(self, texts: pa.Array) -> bool:
        """Return whether a column without missing values may be written so; cheap, and before the reader is loaded."""
        raise NotImplementedError

    def parse(self, texts: pa.Array) -> pa.Array | None:
        """Return the texts as numbers, days or moments; None where one is none, or they may mean several things. O(n)."""
        raise NotImplementedError

    def format(self, numbers: pa.Array, column: pa.Array) -> pa.Array | None:
        """Return new numbers as the texts of a column are written; None where the column is not written so."""
        return None

    def explain(self, texts: pa.Array) -> Message | None:
        """Return the reason for which texts that look like this notation are not read in it; None of other texts."""
        return None


class DecimalCommas(ValueNotation):
    """Numbers with a decimal comma: `1.234,56`."""

    def recognise(self, texts: pa.Array) -> bool:
        """Return whether all are such numbers and one can mean nothing else."""
        return bool(amounts.has_decimal_commas(texts))

    def parse(self, texts: pa.Array) -> pa.Array | None:
        """Return numbers, where `recognise` is true."""
        return amounts.read_decimal_commas(texts) if self.recognise(texts) else None

    def format(self, numbers: pa.Array, column: pa.Array) -> pa.Array | None:
        """Return numbers with a decimal comma."""
        return amounts.with_decimal_commas(numbers) if self.recognise(column) else None


class Japanese(ValueNotation):
    """Numbers and dates of Japanese offices: `39歳`, `350万円`, `昭和34年6月7日`."""

    def recognise(self, texts: pa.Array) -> bool:
        """Return whether no text is a word, and one is not ASCII or begins with an era's letter."""
        return may_be_japanese(texts)

    def parse(self, texts: pa.Array) -> pa.Array | None:
        """Return days or numbers."""
        return japanese.read_written(texts) if may_be_japanese(texts.drop_null()) else None

    def format(self, numbers: pa.Array, column: pa.Array) -> pa.Array | None:
        """Return numbers with the unit that all texts of the column have: 40 beside `39歳` is `40歳`."""
        unit = japanese.unit_written(column) if may_be_japanese(column.drop_null()) else ""
        return pc.binary_join_element_wise(pc.cast(numbers, pa.string()), unit, "") if unit else None

    def explain(self, texts: pa.Array) -> Message | None:
        """Return why dates or amounts are not read: a day that does not exist, a unit that is missing."""
        reason: Message | None = japanese.why_unread(texts)
        return reason


class OrderedDates(ValueNotation):
    """Dates whose day and month have an order that the whole column shows: `12/31/1990`."""

    def recognise(self, texts: pa.Array) -> bool:
        """Return whether all texts have three numbers, and maybe a time."""
        return all_match(texts, OFFICE_DATE)

    def parse(self, texts: pa.Array) -> pa.Array | None:
        """Return days, or moments where all have a time."""
        return ordered_dates.read_in_order(texts)

    def explain(self, texts: pa.Array) -> Message | None:
        """Return why the order is not certain."""
        reason: Message | None = ordered_dates.why_no_order(texts)
        return reason


class MarkedAmounts(ValueNotation):
    """Numbers with a sign of money or per cent, or with commas between thousands: `$1,234.50`."""

    def recognise(self, texts: pa.Array) -> bool:
        """Return whether all texts are digits with such marks."""
        return all_match(texts, AMOUNT)

    def parse(self, texts: pa.Array) -> pa.Array | None:
        """Return numbers."""
        return amounts.read_marked(texts)

    def format(self, numbers: pa.Array, column: pa.Array) -> pa.Array | None:
        """Return numbers with the marks of the column."""
        marked = pc.any(pc.match_substring_regex(column, amounts.MARKS)).as_py()
        if not marked or amounts.read_marked(column) is None:
            return None
        return amounts.with_marks(pc.cast(numbers, pa.string()), column)

    def explain(self, texts: pa.Array) -> Message | None:
        """Return that marks may be between thousands or before decimals."""
        return Message("error_table.unclear_amount") if amounts.is_unclear_amount(texts) else None


class PartialDates(ValueNotation):
    """Months (`2024-05`) and dates of digits (`20240531`). They might be numbers, so only a hierarchy of dates asks for them."""

    def recognise(self, texts: pa.Array) -> bool:
        """Return whether all are of one of these forms."""
        return partial_dates.read_plain_dates(texts) is not None

    def parse(self, texts: pa.Array) -> pa.Array | None:
        """Return days; a month is its first day."""
        return partial_dates.read_plain_dates(texts)


DECIMAL_COMMAS = DecimalCommas()
NOTATIONS: tuple[ValueNotation, ...] = (DECIMAL_COMMAS, Japanese(), OrderedDates(), MarkedAmounts())
"""In the order in which a column is tried."""
PARTIAL_DATES = PartialDates()


def format_like(numbers: pa.Array, column: pa.Array) -> pa.Array | None:
    """Return new numbers in the notation in which the texts of a column are written; None where programs write so.

    >>> format_like(pa.array([40, None]), pa.array(["39歳"])).to_pylist(), format_like(pa.array([40]), pa.array(["39"]))
    (['40歳', None], None)
    """
    found = (notation.format(numbers, column) for notation in NOTATIONS)
    return next((texts for texts in found if texts is not None), None)


def may_be_japanese(texts: pa.Array) -> bool:
    """Return whether a column can hold numbers or dates as they are written in Japan; their reader is loaded only then.

    A text is not ASCII, or begins with an era's letter, and none of the first hundred is a word.
    """
    if not len(texts) or pc.any(pc.match_substring_regex(texts.slice(0, HEAD), WORD)).as_py():
        return False
    return not pc.all(pc.string_is_ascii(texts)).as_py() or bool(pc.any(pc.match_substring_regex(texts, ERA)).as_py())
