"""Finding the nearest records of a live set: everything, by the regions of FDH and FDHQ, or for many heads at once."""

from __future__ import annotations

from oboro.decide.neighbours.live_index import LiveIndex
from oboro.decide.neighbours.search_plan import SearchPlan

__all__ = ["LiveIndex", "SearchPlan"]
