"""Algorithms that form equivalence classes: lattice search, partitioning, microaggregation, k-concealment."""
