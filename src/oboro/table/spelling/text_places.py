"""Many texts looked up among many others: by our own loops, where Arrow would take longer than they take to load."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oboro.system import arrow_functions as pc

__all__ = ["text_places"]

MANY = 1 << 16  # texts on both sides, so that loops are compiled for the table in any case


def text_places(asked: pa.Array, known: pa.Array) -> np.ndarray:
    """For each text, the place in `known` of the first that is equal, −1 where there is none, as for a missing one. O(bytes).

    >>> text_places(pa.array(["b", None, "c"]), pa.array(["a", "b", "b", None])).tolist()
    [1, -1, -1]
    """
    few = min(len(asked), len(known)) < MANY or known.null_count
    if few or not (pa.types.is_string(asked.type) and pa.types.is_string(known.type)):
        place = pc.index_in(asked, value_set=known, skip_nulls=True).fill_null(-1)
        found: np.ndarray = place.to_numpy(zero_copy_only=False).astype(np.int64)
        return found
    from oboro.kernels.finding_texts import BATCH, add_texts, find_texts

    theirs, (shift, slots), out = _parts(known), _slots(len(known)), np.empty(len(asked), dtype=np.int64)
    hashes = np.empty(BATCH, dtype=np.uint64)
    add_texts(*theirs, shift, slots, hashes)
    find_texts(*_parts(asked), *theirs, shift, slots, hashes, out)
    if asked.null_count:
        out[asked.is_null().to_numpy(zero_copy_only=False)] = -1
    return out


def _parts(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The offsets and the bytes, which nobody may change: what is compiled for both kinds is compiled twice."""
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    found = places, np.frombuffer(data or b"", dtype=np.uint8)
    for array in found:
        array.flags.writeable = False
    return found


def _slots(texts: int) -> tuple[int, np.ndarray]:
    """By how many bits a hash is shifted to be a slot, and free slots for so many texts, half of which stay free."""
    bits = max(2 * texts, 2).bit_length()
    return 64 - bits, np.zeros(1 << bits, dtype=np.uint64)
