"""Which ready hierarchy suits a column, by its name and its values."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from oboro.table.hierarchy.levels import text_array
from oboro.table.values import Kind

__all__ = ["fitting"]

SAMPLE = 1000  # values that are looked at before all of them are
AGE_NAME = re.compile(r"年齢|年令|歳")
POSTCODE_NAME = re.compile(r"郵便|〒")
DISEASE_NAME = re.compile(r"icd|diag|diseas|病名|傷病|疾病|疾患|診断|死因", re.IGNORECASE)
ERA = r"^\s*(明|大|昭|平|令|㍾|㍽|㍼|㍻|㋿|[MTSHRmtshr][0-9０-９])"
IDEOGRAPHS = r"[\p{Han}\p{Hiragana}\p{Katakana}]"


def fitting(name: str, values: pa.Array, kind: Kind) -> tuple[str, str] | None:
    """The form and which one of it, `("japan", "address")`; None where none suits all values.

    >>> fitting("住所", pa.array(["東京都千代田区丸の内1-1", "大阪府堺市北区"]), Kind.TEXT)
    ('japan', 'address')
    >>> fitting("年齢", pa.array([39, 40]), Kind.INTEGER), fitting("age", pa.array([39, 40]), Kind.INTEGER)
    (('japan', 'age'), None)
    """
    texts = text_array(values).cast(pa.string())
    if not len(texts):
        return None
    if kind is Kind.DATE:
        by_era = pc.any(pc.match_substring_regex(texts, ERA)).as_py()
        return ("japan", "era") if by_era else None
    if kind in (Kind.INTEGER, Kind.NUMBER) and _ages(name, values, texts):
        return ("japan", "age")
    for suits in (_postcodes, _addresses, _diseases):
        if (found := suits(name, values.slice(0, SAMPLE), texts)) and suits(name, values, texts):
            return found
    return None


def _ages(name: str, values: pa.Array, texts: pa.Array) -> bool:
    from oboro.table.hierarchy.ready.age_classes import OLDEST
    from oboro.table.values import numbers_of

    numbers = numbers_of(values)
    named = AGE_NAME.search(name) or pc.any(pc.match_substring_regex(texts, "[歳才]$")).as_py()
    return bool(named) and bool(((numbers >= 0) & (numbers <= OLDEST)).all())


def _postcodes(name: str, values: pa.Array, texts: pa.Array) -> tuple[str, str] | None:
    from oboro.table.hierarchy.ready.postcodes import postcode_digits

    marked = POSTCODE_NAME.search(name) or pc.any(pc.match_substring_regex(texts, r"^〒|^[0-9]{3}-[0-9]{4}$")).as_py()
    return ("japan", "postcode") if marked and not postcode_digits(values).null_count else None


def _addresses(name: str, values: pa.Array, texts: pa.Array) -> tuple[str, str] | None:
    from oboro.table.hierarchy.ready.addresses import with_place

    if not pc.all(pc.match_substring_regex(texts.slice(0, SAMPLE), IDEOGRAPHS)).as_py():
        return None
    return ("japan", "address") if not with_place(values)[1].null_count else None


def _diseases(name: str, values: pa.Array, texts: pa.Array) -> tuple[str, str] | None:
    from oboro.table.hierarchy.ready.icd10_chapters import categories

    pointed = pc.mean(pc.match_substring_regex(texts, r"^[A-Z][0-9]{2}\.[0-9]").cast(pa.int8())).as_py() > 0.5
    return (
        ("icd10", "chapters") if (pointed or DISEASE_NAME.search(name)) and not categories(values).null_count else None
    )
