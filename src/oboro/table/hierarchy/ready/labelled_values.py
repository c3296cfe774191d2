"""What ready hierarchies share: levels from one label for each value, and the words for values that do not fit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.errors import HierarchyError
from oboro.table.hierarchy.levels import Level, leaf_share, text_array
from oboro.text import Message, Raw

__all__ = ["apart", "level_of", "refuse"]

SHOWN = 5  # values in a message


def level_of(labels: pa.Array) -> Level:
    """The level on which each value has the given label; a label covers the part of the values under it."""
    encoded = labels.dictionary_encode()
    table = encoded.indices.to_numpy(zero_copy_only=False)
    return Level(encoded.dictionary, table, leaf_share(table, len(encoded.dictionary))).compact()


def apart(labels: pa.Array, values: pa.Array, suffix: str) -> pa.Array:
    """The labels, with a suffix where the column has the same text as a value beside others: else one could pass for the other.

    >>> apart(pa.array(["E11", "E11", "E12"]), pa.array(["E11", "E11.9", "E12"]), ".-").to_pylist()
    ['E11.-', 'E11.-', 'E12']
    """
    texts = text_array(values).cast(pa.string())
    others = labels.filter(pc.not_equal(labels, texts)).unique()
    clashing = others.filter(pc.is_in(others, value_set=texts))
    longer = pc.binary_join_element_wise(labels, suffix, "")
    return pc.if_else(pc.is_in(labels, value_set=clashing), longer, labels)


def refuse(id: str, name: str, values: pa.Array, wrong: np.ndarray) -> None:
    """Raise if some values do not fit, with the first of them."""
    if not wrong.any():
        return
    odd = text_array(values.filter(pa.array(wrong)))
    shown = [Raw(value) for value in odd.to_pylist()[:SHOWN]]
    raise HierarchyError(Message(f"error_hierarchy.{id}", column=name, wrong=len(odd), all=len(values), values=shown))
