"""Bottom coding: replace small values by a bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from oboro.techniques.base import SecretExample
from oboro.techniques.top_code import Coding

__all__ = ["BottomCode"]


class BottomCode(Coding):
    """Replace every value below a bound by the bound, or from there down by a label: small values single people out.

    Given: as for `TopCode`; the percentile is a low one (1 leaves the lowest hundredth at the bound).
    Promises: no value below the bound is left; with a label none from the bound down. The rest as for `TopCode`.
    Checked by: tests/techniques/test_top_code.py, against a comparison row by row.

    >>> BottomCode(attribute="born", at="1930-01-01").apply({"born": ["1921-05-06", "1987-01-31"]})
    {'born': ['1930-01-01', '1987-01-31']}
    """

    step: ClassVar[str] = "bottom_code"
    by_value: ClassVar[bool] = True
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ({"attribute": "age", "at": 30},)
    secret_example: ClassVar[SecretExample | None] = SecretExample(
        {"attribute": "income", "at": 12345}, hidden=("12345", "12,345")
    )
    top: ClassVar[bool] = False
