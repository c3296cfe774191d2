"""Optimal global recoding: the search over the generalization lattice."""
