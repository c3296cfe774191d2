"""A regular expression of a recipe ends, whatever it is: its time grows with the text only."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

import oboro
from oboro.errors import OboroError

LONG = "a" * 100_000 + "b"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a*)*c", "(.*a){20}", "((a{1,30}){1,30})c"])
def test_catastrophes_elsewhere_end_here(pattern: str) -> None:
    """Python's own engine would take longer than the universe has been there."""
    recipe = oboro.Recipe.parse(
        f"{{attributes: {{x: {{role: other}}}}, steps: [{{drop_records: {{where: {{x: {{matches: '{pattern}'}}}}}}}}],"
        " accept: {unique_on: [x], because: made up}}"
    )
    began = time.process_time()
    recipe.run(pa.table({"x": [LONG, "b"]}))
    assert time.process_time() - began < 5


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)", "((((a{1,100}){1,100}){1,100}){1,100})", "("])
def test_what_would_not_end_is_refused(pattern: str) -> None:
    with pytest.raises(OboroError):
        oboro.Recipe.parse(
            f"{{attributes: {{x: {{}}}}, steps: [{{drop_records: {{where: {{x: {{matches: '{pattern}'}}}}}}}}]}}"
        )
