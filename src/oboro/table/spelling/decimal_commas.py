"""Numbers with a decimal comma, as most of Europe writes them: `1234,56`, `1.234,56`.

`1,234` alone may be a thousand or a little more than one. So a column is read in this way only if every value can be, and at
least one of them cannot be meant otherwise.
"""

from __future__ import annotations

import pyarrow as pa

from oboro.system import arrow_functions as pc
from oboro.table.spelling.value_texts import is_text

__all__ = ["has_decimal_commas", "read_decimal_commas", "with_decimal_commas"]

HEAD = 100  # so many values settle nearly every column of words
NUMBER = r"^[-+]?([0-9]+(,[0-9]+)?|[1-9][0-9]{0,2}(\.[0-9]{3})+,[0-9]+)$"  # `1.234` without a comma is not certain
LEADING_ZERO = r"^[-+]?0[0-9]"  # a code, not a number
CERTAIN = r"(,([0-9]{1,2}|[0-9]{4,})$)|(^[-+]?0,)|(\.[0-9]{3},)|([0-9]{4},)"


def has_decimal_commas(texts: pa.Array) -> bool:
    """Whether a column of texts holds numbers with decimal commas, and can mean nothing else.

    >>> has_decimal_commas(pa.array(["1.234,56", "12", None])), has_decimal_commas(pa.array(["1,234", "5,678"]))
    (True, False)
    """
    if not is_text(texts):
        return False
    known = texts.drop_null()
    if not len(known) or not (_are_numbers(known.slice(0, HEAD)) and _are_numbers(known)):
        return False
    return bool(pc.any(pc.match_substring_regex(known, CERTAIN)).as_py())


def _are_numbers(texts: pa.Array) -> bool:
    codes = pc.match_substring_regex(texts, LEADING_ZERO)
    return bool(pc.all(pc.and_not(pc.match_substring_regex(texts, NUMBER), codes)).as_py())


def read_decimal_commas(texts: pa.Array) -> pa.Array:
    """Texts of a column that has decimal commas, or a part of them, as numbers; `ArrowInvalid` where one is none.

    >>> read_decimal_commas(pa.array(["1.234,56", "-0,5", None])).to_pylist()
    [1234.56, -0.5, None]
    """
    plain = pc.replace_substring(pc.replace_substring(texts, ".", ""), ",", ".")
    return pc.cast(pc.utf8_ltrim(plain, "+"), pa.float64())


def with_decimal_commas(numbers: pa.Array, column: pa.Array | None = None) -> pa.Array:
    """New numbers in the form that such a column uses; three places get a fourth, so that they are no thousands.

    With the texts of the `column`, a mean has two places more than the finest of them, at least four: more would only look exact.

    >>> with_decimal_commas(pa.array([12.5, 3.0, 1.125, None])).to_pylist()
    ['12,5', '3', '1,1250', None]
    >>> with_decimal_commas(pa.array([4077.0033333333336]), pa.array(["12231,01", "7"])).to_pylist()
    ['4077,0033']
    """
    if column is not None:
        behind = pc.struct_field(pc.extract_regex(column.drop_null(), "(?:,(?P<places>[0-9]+))?$"), "places")
        numbers = pc.round(numbers, ndigits=max(4, 2 + pc.max(pc.utf8_length(behind)).as_py()))
    texts = pc.replace_substring_regex(pc.cast(numbers, pa.string()), r"\.0$", "")
    return pc.replace_substring_regex(pc.replace_substring(texts, ".", ","), r"(,[0-9]{3})$", r"\10")
