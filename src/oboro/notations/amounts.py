"""Amounts: numbers with a currency or per cent sign, a decimal comma, or separators of thousands: `$1,234.50`, `-£12`,
`64%`, `1.234,50 €`, `1,234,567`.

A column is read so only if every value has the same sign: `5` beside `$7` may be dollars or not. Dollars and pounds
have a comma between thousands and a point before decimals. Euros have either, by the country: all values of a column
must fit one of the two ways, and one of them only that way. The same holds for numbers with commas and no sign.
`1,234` alone may be a thousand or a little more than one: such a column is text, unless it shows many times that only
numbers above 999 have a comma.
"""

from __future__ import annotations

import pyarrow as pa

from oboro._lazy import pc
from oboro.notations.texts import all_match, is_text

__all__ = [
    "MARKED",
    "MARKS",
    "has_decimal_commas",
    "is_unclear_amount",
    "read_decimal_commas",
    "read_marked",
    "with_decimal_commas",
    "with_marks",
]


# Decimal commas -------------------------------------------------------------------------------------------------------
# Numbers with a decimal comma, as in most of Europe: `1234,56`, `1.234,56`.
#
# `1,234` alone may be a thousand or slightly more than one. So a column is read in this way only if every value can be,
# and at least one of them has no other reading.


HEAD = 100  # so many values settle nearly every column of words
NUMBER = r"^[-+]?([0-9]+(,[0-9]+)?|[1-9][0-9]{0,2}(\.[0-9]{3})+,[0-9]+)$"  # `1.234` without a comma is not certain
LEADING_ZERO = r"^[-+]?0[0-9]"  # a code, not a number
CERTAIN = r"(,([0-9]{1,2}|[0-9]{4,})$)|(^[-+]?0,)|(\.[0-9]{3},)|([0-9]{4},)"


def has_decimal_commas(texts: pa.Array) -> bool:
    """Return whether a column of texts holds numbers with decimal commas, and can mean nothing else.

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


# Currency signs, per cent and thousands -------------------------------------------------------------------------------


MARKS = "[$£€%,]"
MANY = 30  # numbers such as 1,234: decimals of three places would end in 0, and be shorter, in a tenth of them
POINTED = r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)(?:\.[0-9]+)?"
_GROUPED = r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[1-9][0-9]{0,2}(?:[ \x{a0}\x{202f}][0-9]{3})+"
COMMAED = rf"(?:{_GROUPED}|0|[1-9][0-9]*)(?:,[0-9]+)?"
THOUSANDS = rf"[-+]?{POINTED}"  # without a sign
_ANY = rf"(?:{POINTED}|{COMMAED})"
_MARKED = rf"[-+]?(?:[$£] ?[-+]?{POINTED}|€ ?[-+]?{_ANY}|{_ANY}[ \x{{a0}}\x{{202f}}]?[€%])"
MARKED = _MARKED.replace(r"\x{a0}\x{202f}", "\xa0\u202f")  # as Python's own patterns have it
_PARTS = (
    r"^(?P<before>[-+]?)(?P<sign>[$£€]? ?)(?P<after>[-+]?)"
    r"(?P<number>[0-9](?:[0-9., \x{a0}\x{202f}]*[0-9])?)(?P<unit>[ \x{a0}\x{202f}]?[€%]?)$"
)
OPEN, OPEN_POINT = r"^[0-9]{1,3}[.,][0-9]{3}$", r"^[0-9]{1,3}\.[0-9]{3}$"  # a thousand, or a little more than one
SEPARATED = r"[., \x{a0}\x{202f}][0-9]"


def read_marked(texts: pa.Array) -> pa.Array | None:
    """The values as whole numbers or numbers; None where one is none, or they do not all have the same sign. O(n).

    >>> read_marked(pa.array(["$1,234.50", "-$7", None])).to_pylist(), read_marked(pa.array(["64%", "8%"])).to_pylist()
    ([1234.5, -7.0, None], [64, 8])
    >>> read_marked(pa.array(["1.234,50 €", "7 €"])).to_pylist(), read_marked(pa.array(["1,234,567"])).to_pylist()
    ([1234.5, 7.0], [1234567])
    >>> [read_marked(pa.array(one)) for one in (["$5", "7"], ["$1.234"], ["€1.234"], ["1,234"])]
    [None, None, None, None]
    """
    decimal = _decimal_mark(texts)
    if decimal is None:
        return None
    field = _fields(texts)
    digits = pc.replace_substring_regex(field["number"], "[^0-9,]" if decimal == "," else "[^0-9.]", "")
    digits = pc.replace_substring(digits, ",", ".")
    plain = pc.replace_substring(pc.binary_join_element_wise(field["before"], field["after"], digits, ""), "+", "")
    try:
        return pc.cast(plain, pa.float64() if pc.any(pc.match_substring(digits, ".")).as_py() else pa.int64())
    except pa.ArrowInvalid:  # two signs, or more digits than a whole number has
        return None


def is_unclear_amount(texts: pa.Array) -> bool:
    """Return whether a column is text only because its marks may stand between thousands or before decimals: `1,234`, `€5.678`.

    >>> is_unclear_amount(pa.array(["1,234", "56"])), is_unclear_amount(pa.array(["€1.234", "€5,50"]))
    (True, False)
    """
    field = _alike(texts) if is_text(texts) else None
    if field is None or _decimal_mark(texts) is not None:
        return False
    return all_match(field["number"].drop_null(), "^[0-9]+$|" + OPEN)


def with_marks(numbers: pa.Array, column: pa.Array) -> pa.Array:
    """New numbers, as text, in the form that the column's values have.

    Three decimals get a fourth where they could be thousands.

    >>> with_marks(pa.array(["90", "-5", None]), pa.array(["$1,234.50"])).to_pylist()
    ['$90', '-$5', None]
    >>> with_marks(pa.array(["90.5", "1.125"]), pa.array(["1.234,50 €"])).to_pylist()
    ['90,5 €', '1,1250 €']
    >>> with_marks(pa.array(["46000"]), pa.array(["1,234,567"])).to_pylist()
    ['46,000']
    """
    first = _fields(column.drop_null().slice(0, 1))
    sign, unit = first["sign"][0], first["unit"][0]
    minus, digits = pc.if_else(pc.starts_with(numbers, "-"), "-", ""), pc.utf8_ltrim(numbers, "-")
    if not sign.as_py() and not unit.as_py():
        digits = pa.array([None if one is None else _in_thousands(one) for one in digits.to_pylist()], pa.string())
    elif "€" in sign.as_py() + unit.as_py():
        digits = pc.replace_substring_regex(digits, r"(\.[0-9]{3})$", r"\10")
    if _decimal_mark(column) == ",":
        digits = pc.replace_substring(digits, ".", ",")
    return pc.binary_join_element_wise(minus, sign, digits, unit, "")


def _in_thousands(digits: str) -> str:
    whole, point, decimals = digits.partition(".")
    return f"{int(whole):,}{point}{decimals}" if whole.isdecimal() else digits


def _decimal_mark(texts: pa.Array) -> str | None:
    """Return the decimal mark of a column of amounts; None if it has no amounts, or two readings."""
    field = _alike(texts)
    if field is None:
        return None
    numbers = field["number"].drop_null()
    mark = field["sign"].drop_null()[0].as_py() + field["unit"].drop_null()[0].as_py()
    points, commas = all_match(numbers, f"^{POINTED}$"), all_match(numbers, f"^{COMMAED}$")
    if "$" in mark or "£" in mark:
        return "." if points and _told(numbers, OPEN_POINT) else None
    if "%" in mark:
        return "." if points else "," if commas else None
    if not mark and not _matching(numbers, ",").true_count:
        return None  # plain numbers, which are read elsewhere
    if points and commas:
        return "." if _told(numbers, OPEN) or (not mark and _shows_thousands(numbers)) else None
    return "." if points else "," if commas and mark else None  # without a sign, decimal commas are read elsewhere


def _told(numbers: pa.Array, open_: str) -> bool:
    """Return whether no number is open, or another one shows what its mark means."""
    unsure = _matching(numbers, open_)
    shown = pc.and_not(_matching(numbers, SEPARATED), unsure)
    return not unsure.true_count or bool(shown.true_count)


def _shows_thousands(numbers: pa.Array) -> bool:
    """Return whether numbers up to 999 have no comma and many above have one, before three digits each."""
    plain = _matching(numbers, "^[0-9]{1,3}$")
    return (
        bool(plain.true_count)
        and len(pc.unique(numbers.filter(_matching(numbers, ",[0-9]{3}$")))) >= MANY
        and (plain.true_count + _matching(numbers, OPEN).true_count == len(numbers))
    )


def _alike(texts: pa.Array) -> dict[str, pa.Array] | None:
    """The parts of amounts that all have the same sign; None of other texts."""
    known = texts.drop_null()
    form = f"^(?:{_MARKED}|{THOUSANDS})$"
    if not all_match(known, form):
        return None
    field = _fields(known)
    return None if any(len(pc.unique(field[name])) > 1 for name in ("sign", "unit")) else field


def _fields(texts: pa.Array) -> dict[str, pa.Array]:
    parts = pc.extract_regex(texts.cast(pa.string()), _PARTS)
    return {name: pc.struct_field(parts, name) for name in ("before", "sign", "after", "number", "unit")}


def _matching(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.match_substring_regex(texts, pattern)
