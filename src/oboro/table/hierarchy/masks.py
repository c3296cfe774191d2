"""Codes and other text, hidden character by character."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oboro.system import arrow_functions as pc
from oboro.table.hierarchy.levels import Level, leaf_share, text_array

__all__ = ["mask_levels"]


def mask_levels(values: pa.Array, side: str, steps: Sequence[int] | None, char: str) -> list[Level]:
    """One level per step, with so many characters (Unicode code points) hidden; without steps, one more each time.

    Values are first padded with the mask to the length of the longest, on the side that is masked: `12` beside `1234`
    counts as `12**`. So all labels have one length, and what is shown is always a part of what was shown before.

    Given: ascending steps. Promises: each level is a function of the one below; where nothing is left to show, `*`.
    O(distinct labels) per level.
    """
    texts = text_array(values)
    longest = pc.max(pc.utf8_length(texts)).as_py() or 0
    pad = pc.utf8_rpad if side == "right" else pc.utf8_lpad
    labels, table = pad(texts, width=longest, padding=char), np.arange(len(texts))
    levels = []
    for step in range(1, longest) if steps is None else steps:
        if step >= longest:
            levels.append(Level.star(len(texts)))
            continue
        encoded = _masked(labels, side, longest - step, char * step).dictionary_encode()
        labels, table = encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)[table]
        levels.append(Level(labels, table, leaf_share(table, len(labels))).compact())
    return levels


def _masked(labels: pa.Array, side: str, kept: int, mask: str) -> pa.Array:
    if side == "right":
        return pc.binary_join_element_wise(pc.utf8_slice_codeunits(labels, 0, kept), mask, "")
    return pc.binary_join_element_wise(mask, pc.utf8_slice_codeunits(labels, len(mask)), "")
