"""Combinations of values that few records share."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from oboro.table.dataset import Dataset
from oboro.table.groups import Groups
from oboro.table.parameters import Parameters

__all__ = ["RarerThan"]


class RarerThan(Parameters):
    """Combinations of values that occur too rarely."""

    attributes: tuple[str, ...] = Field(min_length=1)
    """The columns whose combination is counted; a missing value is a value like any other."""
    count: int = Field(ge=2)
    """Combinations that fewer records share are rare."""

    def find(self, data: Dataset) -> np.ndarray:
        """One boolean per row: its combination is rare."""
        groups = Groups.of([data[name] for name in self.attributes], data.rows)
        return groups.row_sizes() < self.count
