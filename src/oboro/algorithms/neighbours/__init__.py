"""Nearest-neighbour search over a changing set of records (FDH, FDHQ, exhaustive)."""
