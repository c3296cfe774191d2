"""A block of records at once, with the decisions of one after the other.

What is always released whole is copied; all else is decided by one call of the kernel, in the order of the block. Each different
release is made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from oboro.stream.anonymizer import Record
from oboro.stream.delay_free.counting_modes import CountingMode
from oboro.stream.delay_free.record_coder import Form, KnownRecord, RecordCoder

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
    known = coder.meet_all(admitted if len(admitted[0]) == width else [values[:width] for values in admitted])
    numbers = None if coder.nobody else [coder.numbers(values) for values in admitted]
    cells, gone, coarser, masks = zip(*_forms(coder, side, known, numbers, now, again), strict=True)
    released = list(map(dict.copy, cells))
    for place, name in enumerate(coder.rest, width):
        for one, values in zip(released, admitted, strict=True):
            one[name] = values[place]
    return DecidedBlock(released, list(masks), sum(gone), sum(coarser), gone.count(width))


def _forms(
    coder: RecordCoder,
    side: CountingMode,
    known: list[KnownRecord],
    numbers: list[tuple[int, int]] | None,
    now: float,
    again: Sequence[int] | None,
) -> list[Form]:
    forms: list[Any] = [one.settled for one in known]
    new = [i for i, form in enumerate(forms) if form is None] if None in forms else []
    asked = [i for i in new if not _settle(coder, side, known[i])]
    decided = side.decide_some(
        [known[i].codes for i in asked],
        [numbers[i] for i in asked] if numbers is not None else None,
        now,
        [again[i] for i in asked] if again is not None else None,
    )
    for i, mask in zip(asked, decided, strict=True):
        forms[i] = coder.kept_form(known[i], mask)
    for i in new:
        forms[i] = forms[i] or known[i].settled
    return forms


def _settle(coder: RecordCoder, side: CountingMode, known: KnownRecord) -> bool:
    """Whether a record is always released whole from now on; then that is kept at hand."""
    if known.settled is None and known.codes in side.whole:
        known.settled = coder.kept_form(known, known.full)
    return known.settled is not None
