"""A block of records at once, with the decisions of one after the other.

What is always released whole is copied; all else is decided by one call of the kernel, in the order of the block. Each different
release is made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from oboro.stream.anonymizer import Record
from oboro.stream.delay_free.counting_modes import CountingMode
from oboro.stream.delay_free.record_coder import KnownRecord, RecordCoder

__all__ = ["DecidedBlock", "decided_block"]


class DecidedBlock(NamedTuple):
    """What came of a block: releases, masks, and the number of cells suppressed, generalized, and records suppressed."""

    released: list[dict[str, Any]]
    masks: list[int]
    suppressed: int
    generalized: int
    fully: int


def decided_block(
    coder: RecordCoder, side: CountingMode, records: Sequence[Record], now: float, again: Sequence[int] | None
) -> DecidedBlock:
    """All of a block; raises `InputError` where one of them is refused, and then none is taken."""
    admitted, width = coder.admit_all(records), len(coder.attributes)
    known = coder.meet_all([values[:width] for values in admitted])
    numbers = None if coder.nobody else [coder.numbers(values) for values in admitted]
    masks = _masks(side, known, numbers, now, again)
    block = _released(coder, known, masks)
    for place, name in enumerate(coder.rest, width):
        for one, values in zip(block.released, admitted, strict=True):
            one[name] = values[place]
    return block


def _masks(
    side: CountingMode,
    known: list[KnownRecord],
    numbers: list[tuple[int, int]] | None,
    now: float,
    again: Sequence[int] | None,
) -> list[int]:
    masks, whole = [one.full for one in known], side.whole
    asked = [i for i, one in enumerate(known) if one.codes not in whole]
    if not asked:
        return masks
    decided = side.decide_some(
        [known[i].codes for i in asked],
        [numbers[i] for i in asked] if numbers is not None else None,
        now,
        [again[i] for i in asked] if again is not None else None,
    )
    for i, mask in zip(asked, decided, strict=True):
        masks[i] = mask
    return masks


def _released(coder: RecordCoder, known: list[KnownRecord], masks: list[int]) -> DecidedBlock:
    form, width = coder.form, len(coder.attributes)
    forms = [one.forms.get(mask) or form(one, mask) for one, mask in zip(known, masks, strict=True)]
    gone = [suppressed for _, suppressed, _ in forms]
    coarser = sum([generalized for _, _, generalized in forms])
    return DecidedBlock([cells.copy() for cells, _, _ in forms], masks, sum(gone), coarser, gone.count(width))
