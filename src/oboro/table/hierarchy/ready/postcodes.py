"""Japanese postcodes of seven digits → the first three → the first two."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from oboro.table.hierarchy.levels import Level, text_array
from oboro.table.hierarchy.ready.labelled_values import level_of, refuse
from oboro.table.japanese.written_values import plain_text

__all__ = ["postcode_digits", "postcode_levels"]

SEVEN = r"^〒?[0-9]{3}-?[0-9]{4}$"


def postcode_digits(values: pa.Array) -> pa.Array:
    """The seven digits, whatever stands around them (`〒１００－０００１`); null where there are not seven.

    A spreadsheet that took postcodes for numbers has lost their first zero: numbers get it back.

    >>> postcode_digits(pa.array(["〒１００－０００１", "1000001", "100"])).to_pylist()
    ['1000001', '1000001', None]
    >>> postcode_digits(pa.array([600001])).to_pylist()
    ['0600001']
    """
    plain = plain_text(text_array(values).cast(pa.string()))
    if pa.types.is_integer(values.type):
        plain = pc.utf8_lpad(plain, 7, "0")
    digits = pc.replace_substring_regex(plain, "[〒-]", "")
    return pc.if_else(pc.match_substring_regex(plain, SEVEN), digits, None)


def postcode_levels(name: str, values: pa.Array) -> list[Level]:
    """`100-****`, then `10*-****`. Raises `HierarchyError` for values that are no postcodes.

    Given: postcodes with or without 〒 and hyphen. Promises: each level is a function of the one below.
    """
    digits = postcode_digits(values)
    refuse("postcodes", name, values, digits.is_null().to_numpy(zero_copy_only=False))
    return [
        level_of(pc.binary_join_element_wise(pc.utf8_slice_codeunits(digits, 0, kept), hidden, ""))
        for kept, hidden in ((3, "-****"), (2, "*-****"))
    ]
