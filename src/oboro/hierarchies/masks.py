"""Hierarchy of masks: codes and other text, masked character by character."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.errors import HierarchyError
from oboro.hierarchies.hierarchy import Level, leaf_share, text_array
from oboro.text import Message, Raw

__all__ = ["mask_levels"]


LONGEST_VALUE = (
    1_000  # characters, where each is a level of its own: codes have up to 40, a cell of 100,000 took 5.5 GB
)
MOST_BYTES = 1 << 29  # of the labels of all levels: each one holds every value at the length of the longest


def mask_levels(name: str, values: pa.Array, side: str, steps: Sequence[int] | None, char: str) -> list[Level]:
    """One level per step, with so many characters (Unicode code points) hidden; without steps, one more each time.

    Values are first padded with the mask to the length of the longest, on the side that is masked: `12` beside `1234`
    counts as `12**`. So all labels have one length, and what is shown is always a part of what was shown before.

    Given: ascending steps. Promises: each level is a function of the one below; where nothing is left to show, `*`.
    O(distinct labels) per level. `HierarchyError` where a value is longer than `LONGEST_VALUE` and no steps are given, or where
    labels would take more than `MOST_BYTES`.
    """
    texts = text_array(values)
    lengths = pc.utf8_length(texts)
    longest = pc.max(lengths).as_py() or 0
    if steps is None and longest > LONGEST_VALUE:
        said = {"name": name, "letters": longest, "most": LONGEST_VALUE}
        raise HierarchyError(Message("error_table.mask_long", value=_longest(texts, lengths), **said))
    left = MOST_BYTES
    pad = pc.utf8_rpad if side == "right" else pc.utf8_lpad
    labels, table = texts, np.arange(len(texts))
    levels = list[Level]()
    for step in range(1, longest) if steps is None else steps:
        if step >= longest:
            levels.append(Level.star(len(texts)))
            continue
        left -= len(labels) * longest
        if left < 0:
            said = {"name": name, "letters": longest, "values": len(texts), "most": MOST_BYTES >> 20}
            raise HierarchyError(Message("error_table.mask_large", value=_longest(texts, lengths), **said))
        if labels is texts:
            labels = pad(texts, width=longest, padding=char)
        encoded = _masked(labels, side, longest - step, char * step).dictionary_encode()
        labels, table = encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)[table]
        levels.append(Level(labels, table, leaf_share(table, len(labels))).compact())
    return levels


def _longest(texts: pa.Array, lengths: pa.Array) -> Raw:
    """The longest value, for a message, which gives its row."""
    return Raw(texts[pc.index(lengths, pc.max(lengths)).as_py()].as_py())


def _masked(labels: pa.Array, side: str, kept: int, mask: str) -> pa.Array:
    if side == "right":
        return pc.binary_join_element_wise(pc.utf8_slice_codeunits(labels, 0, kept), mask, "")
    return pc.binary_join_element_wise(mask, pc.utf8_slice_codeunits(labels, len(mask)), "")
