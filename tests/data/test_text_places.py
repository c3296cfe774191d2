"""Texts looked up among many others, beside a dictionary of Python."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oboro.data import matching

TEXTS = st.lists(st.text(st.sampled_from("aé\0"), max_size=30), min_size=1, max_size=200)


@given(TEXTS, st.lists(st.one_of(st.none(), st.text(st.sampled_from("aé\0"), max_size=30)), max_size=20), st.data())
def test_every_text_is_found_where_it_stands_first(
    known: list[str], others: list[str | None], data: st.DataObject
) -> None:
    asked = data.draw(st.permutations([*known, *others]))
    first = {text: len(known) - 1 - place for place, text in enumerate(reversed(known))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MANY", 1)
        found = matching.text_places(pa.array(["x", *asked])[1:], pa.array(["x", *known])[1:])
    assert found.tolist() == [-1 if text is None else first.get(text, -1) for text in asked]
