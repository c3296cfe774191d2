"""A column of lists or structures: it can only be left out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oboro.errors import ColumnError
from oboro.table.unencoded_columns import UnreadColumn
from oboro.text import Message

__all__ = ["NestedColumn"]


class NestedColumn(UnreadColumn):
    """A column of lists, structures or somebody's own type: it can only be left out. Whoever uses it gets the reason."""

    def __init__(self, rows: int, why: Message) -> None:
        super().__init__(rows)
        object.__setattr__(self, "why", why)

    why: Message

    @property
    def values(self) -> pa.Array:
        """There are none."""
        raise ColumnError(self.why)

    @property
    def codes(self) -> np.ndarray:
        """There are none."""
        raise ColumnError(self.why)

    def take(self, rows: np.ndarray) -> NestedColumn:
        """So many rows."""
        return NestedColumn(len(super().take(rows)), self.why)
