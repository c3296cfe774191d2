"""Whether what looks like an identifier hardly can be anything else.

A form is enough for a warning. A run is refused only for what stands a second look: order numbers, versions, labels of ranges and
masked values look like identifiers, too.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from oboro.measure.identifying.identifier_forms import DAY, NAMES, has_form, words_of

__all__ = ["NAMING", "named_telephone", "names_of_people", "naming", "telephones"]

NAMING = frozenset(  # forms that are somebody's, and hardly anything else's
    {
        "email",
        "phone",
        "ssn",
        "ip",
        "card",
        "account",
        "my_number",
        "licence",
        "residence_card",
        "plate",
        "device",
        "name",
    }
)
MASKED = r"[*●]"
BARE = r"^\d+$"
BARE_TELEPHONE = (
    r"^0[789]0[1-9]\d{7}$"  # Japanese mobile ones; other bare digits are as often numbers with zeros before them
)
DECIMAL = r"^[+-]?\d*\.\d+$"  # degrees of latitude, amounts
NUMBER = r"^\+?[\d\s()./-]{7,20}$"  # is a telephone number where the name of the column says so
TELEPHONES = (
    r"(phone|mobile|(^|_)(tel|fax|contact))(_?(no|nr|num|number|\d))?_?$|(電話|携帯|連絡先|ファックス)(番号)?\d?$"
)
SHAPES = {  # a shape that numbers of other kinds have, and which of them can be: of random numbers a tenth or more cannot
    "phone": (r"^\(?\d{3}\)?[-. ] ?\d{3}[-. ]\d{4}$", r"^\(?[2-9]\d{2}\)?[-. ] ?[2-9]\d{2}[-. ]\d{4}$"),
    "ssn": (r"^\d{3}-\d{2}-\d{4}$", r"^([0-57]\d{2}|6[0-57-9]\d|66[0-57-9]|8\d{2})-(0[1-9]|[1-9]\d)-"),
}
NEARLY_ALL = 0.95
NETWORK = r"\.0($|[^\d.])|/\d{1,2}$"  # several machines: what is left of an address whose last part is masked
LARGE_PART = r"(^|[^\d])[12]\d\d($|[^\d])|:"  # versions and chapters have small ones
SOME = 1000  # account numbers whose check digits are worked out; the others are like them


def naming(kind: str, name: str, texts: pa.Array, hits: np.ndarray) -> np.ndarray:
    """Of the texts that look like an identifier (`hits`), those that hardly can be anything else. O(texts)."""
    hits = hits & ~has_form(texts, MASKED)
    if kind == "ip":
        return _addresses(name, texts, hits)
    if kind == "account":
        return hits if _valid_accounts(texts, hits) else np.zeros_like(hits)
    if kind == "phone" and not named_telephone(name):
        bare = has_form(texts, BARE) & ~has_form(texts, BARE_TELEPHONE)
        hits = hits & ~bare & ~has_form(texts, DECIMAL)
    return _of_possible_shape(texts, hits, *SHAPES[kind]) if kind in SHAPES else hits


def named_telephone(name: str) -> bool:
    """Whether the name of a column says that it holds telephone numbers, not something about telephones.

    >>> named_telephone("Home phone"), named_telephone("phone_minutes")
    (True, False)
    """
    return re.search(TELEPHONES, words_of(name)) is not None


def telephones(texts: pa.Array) -> np.ndarray:
    """Which texts may be telephone numbers where the name of the column says so: digits that are no date and no amount."""
    other = has_form(texts, DAY) | has_form(texts, DECIMAL)
    return np.asarray(has_form(texts, NUMBER) & ~other)


def names_of_people(name: str, texts: pa.Array) -> np.ndarray:
    """Which texts are somebody's name, where the name of the column says that it holds such: nothing in a text tells it."""
    if re.search(NAMES["name"], words_of(name)) is None:
        return np.zeros(len(texts), bool)
    return has_form(texts, r"\p{L}{2}")


def _addresses(name: str, texts: pa.Array, hits: np.ndarray) -> np.ndarray:
    hits = hits & ~has_form(texts, NETWORK)
    if re.search(NAMES["ip"], words_of(name)):
        return hits
    large = hits & has_form(texts, LARGE_PART)
    return hits if 2 * large.sum() >= hits.sum() else large


def _of_possible_shape(texts: pa.Array, hits: np.ndarray, shape: str, possible: str) -> np.ndarray:
    """Without those of a shape of which too many cannot be."""
    shaped = hits & has_form(texts, shape)
    alike = has_form(texts, shape)
    return hits if (alike & has_form(texts, possible)).sum() >= NEARLY_ALL * alike.sum() else hits & ~shaped


def _valid_accounts(texts: pa.Array, hits: np.ndarray) -> bool:
    """Whether most have the check digits of an IBAN (ISO 13616); of numbers that only look alike, one in 97 has."""
    some = [one.replace(" ", "") for one in texts.filter(pa.array(hits)).slice(0, SOME).to_pylist()]
    valid = [int("".join(str(int(letter, 36)) for letter in one[4:] + one[:4])) % 97 == 1 for one in some]
    return 2 * sum(valid) >= len(valid) > 0
