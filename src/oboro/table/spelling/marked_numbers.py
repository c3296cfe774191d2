"""Numbers with a sign of money or per cent: `$1,234.50`, `-£12`, `64%`.

A column is read so only if every value has the same sign: `5` beside `$7` may be dollars or not. A comma before three digits stands
between thousands. Where only values such as `$1.234` have a point, it may be a thousand or a little more than one, and the column
is text. So are amounts in euros, of which every country has its own way.
"""

from __future__ import annotations

import pyarrow as pa

from oboro.system import arrow_functions as pc

__all__ = ["MARKED", "MARKS", "read_marked", "with_marks"]

MARKS = "[$£%]"
HEAD = 100  # so many values settle nearly every column of words
_DIGITS = r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)(?:\.[0-9]+)?"
MARKED = rf"[-+]?(?:[$£] ?[-+]?{_DIGITS}|{_DIGITS} ?%)"
_PARTS = r"^(?P<before>[-+]?)(?P<sign>[$£]? ?)(?P<after>[-+]?)(?P<number>[0-9.,]+)(?P<unit> ?%?)$"
POINT, OPEN_POINT = r"\.[0-9]", r"^[-+]?[$£] ?[-+]?[0-9]{1,3}\.[0-9]{3}$"


def read_marked(texts: pa.Array) -> pa.Array | None:
    """The values as whole numbers or numbers; None where one is none, or they do not all have the same sign. O(n).

    >>> read_marked(pa.array(["$1,234.50", "-$7", None])).to_pylist(), read_marked(pa.array(["64%", "8%"])).to_pylist()
    ([1234.5, -7.0, None], [64, 8])
    >>> read_marked(pa.array(["$5", "7"])) is None, read_marked(pa.array(["$1.234"])) is None
    (True, True)
    """
    known = texts.drop_null()
    if not len(known) or not (_fits(known.slice(0, HEAD)) and _fits(known)) or not _certain(known):
        return None
    field = _fields(texts)
    if any(len(pc.unique(field[name].drop_null())) > 1 for name in ("sign", "unit")):
        return None
    digits = pc.replace_substring(field["number"], ",", "")
    plain = pc.replace_substring(pc.binary_join_element_wise(field["before"], field["after"], digits, ""), "+", "")
    try:
        return pc.cast(plain, pa.float64() if pc.any(pc.match_substring(digits, ".")).as_py() else pa.int64())
    except pa.ArrowInvalid:  # two signs, or more digits than a whole number has
        return None


def with_marks(numbers: pa.Array, column: pa.Array) -> pa.Array:
    """New numbers, as text, with the sign that the column's values have.

    >>> with_marks(pa.array(["90", "-5", None]), pa.array(["$1,234.50"])).to_pylist()
    ['$90', '-$5', None]
    """
    first = _fields(column.drop_null().slice(0, 1))
    minus = pc.if_else(pc.starts_with(numbers, "-"), "-", "")
    return pc.binary_join_element_wise(minus, first["sign"][0], pc.utf8_ltrim(numbers, "-"), first["unit"][0], "")


def _fields(texts: pa.Array) -> dict[str, pa.Array]:
    parts = pc.extract_regex(texts.cast(pa.string()), _PARTS)
    return {name: pc.struct_field(parts, name) for name in ("before", "sign", "after", "number", "unit")}


def _fits(texts: pa.Array) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, f"^{MARKED}$")).as_py())


def _certain(texts: pa.Array) -> bool:
    """Whether some value shows that a point is before decimals, where a thousand could be meant."""
    open_ = pc.match_substring_regex(texts, OPEN_POINT)
    shown = pc.and_not(pc.or_(pc.match_substring_regex(texts, POINT), pc.match_substring(texts, ",")), open_)
    return not pc.any(open_).as_py() or bool(pc.any(shown).as_py())
