"""Optimal global recoding: search the lattice of levels for the transformation with the least information loss."""
