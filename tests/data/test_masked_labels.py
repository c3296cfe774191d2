"""Labels with hidden characters, from anybody's release: read as a regular expression would, in linear time."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from oboro.hierarchies.labels import masked_values

texts = st.text(alphabet="ab*", min_size=1, max_size=8)


@given(texts, st.lists(st.text(alphabet="ab", max_size=8), max_size=8, unique=True).map(sorted))
def test_it_is_what_a_regular_expression_finds(label: str, known: list[str]) -> None:
    def fitting(star: str) -> list[int]:
        form = re.compile(re.sub(r"\*", star, label), re.DOTALL)
        return [place for place, text in enumerate(known) if form.fullmatch(text)]

    assert masked_values(label, known) == (fitting(".") or fitting(".*"))


def test_a_label_of_many_stars_takes_no_time() -> None:
    """By backtracking this would take longer than anybody lives."""
    assert masked_values("a*" * 500 + "b", ["a" * 100_000]) == []
