"""Lists of property tests, drawn at once: hypothesis looks at each draw several times, and most are elements of lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from hypothesis import strategies as st

__all__ = ["picks"]

T = TypeVar("T")


def picks(values: Iterable[T], **sizes: Any) -> st.SearchStrategy[list[T]]:
    """What `st.lists(st.sampled_from(values), **sizes)` draws, with one draw of bytes instead of one for each element.

    The same lists can come, as long as before, and one that fails is made shorter and simpler in the same way: a byte becomes 0,
    which is the first value.
    """
    known = tuple(values)
    assert 0 < len(known) <= 256, "an element is one byte"
    return st.binary(**sizes).map(lambda drawn: [known[number % len(known)] for number in drawn])
