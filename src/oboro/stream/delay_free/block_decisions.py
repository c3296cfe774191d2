"""A block of records at once, with the decisions of one after the other.

What is always released whole is copied; all else is decided by one call of the kernel, in the order of the block. Each different
release is made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from oboro.stream.delay_free.counting_modes import CountingMode
from oboro.stream.delay_free.json_rows import Row
from oboro.stream.delay_free.record_coder import Form, KnownRecord, RecordCoder

__all__ = ["DecidedBlock", "Values", "decided_block", "released_json", "released_records"]

Values = tuple[Any, ...]


class DecidedBlock(NamedTuple):
    """What came of a block: each record as it is known, and how it is released."""

    known: list[KnownRecord]
    forms: list[Form]

    @property
    def masks(self) -> list[int]:
        """What was decided."""
        return [form.mask for form in self.forms]


def decided_block(
    coder: RecordCoder,
    side: CountingMode,
    keys: Sequence[Values],
    numbers: list[tuple[int, int]] | None,
    now: float,
    again: Sequence[int] | None,
) -> DecidedBlock:
    """All of a block, by the values of its attributes; raises `InputError` where one of them is refused, and then none is taken."""
    known = coder.meet_all(keys)
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
        forms[i] = coder.form(known[i], mask)
    for i in new:
        forms[i] = forms[i] or known[i].settled
    return DecidedBlock(known, forms)


def released_records(coder: RecordCoder, block: DecidedBlock, admitted: Sequence[Values]) -> list[dict[str, Any]]:
    """The released records: cells of attributes, and the other fields as they came."""
    released = [(form.cells or coder.cells(one, form)).copy() for one, form in zip(*block, strict=True)]
    for place, name in enumerate(coder.rest, len(coder.attributes)):
        for one, values in zip(released, admitted, strict=True):
            one[name] = values[place]
    return released


def released_json(coder: RecordCoder, block: DecidedBlock, rows: Sequence[Row]) -> list[bytes]:
    """The same in JSON."""
    return coder.json.write([form.head or coder.head(one, form) for one, form in zip(*block, strict=True)], rows)


def _settle(coder: RecordCoder, side: CountingMode, known: KnownRecord) -> bool:
    """Whether a record is always released whole from now on; then that is kept at hand."""
    if known.settled is None and known.codes in side.whole:
        known.settled = coder.form(known, known.full)
    return known.settled is not None
